"""Something wrong with a nest."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mistake:
    """What is wrong with a statement, a `Let` or a store, the nest itself where it is none of these."""

    node: object
    label: str
    help: str
    note: str = ""
