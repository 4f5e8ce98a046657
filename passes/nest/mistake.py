"""Something wrong with a nest."""

from __future__ import annotations

from tadc.lattice.late_dataclasses import dataclass


@dataclass(frozen=True)
class Mistake:
    """A mistake at a statement, a `Let` or a store, or in the nest as a whole."""

    node: object
    label: str
    help: str
    note: str = ""
