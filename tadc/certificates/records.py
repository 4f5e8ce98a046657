"""Certificates as data: of each read what was solved and proven, and why others had nothing to solve."""

from __future__ import annotations

from tadc.frontend.source import Source
from tadc.lattice.affine import Affine, Constraint
from tadc.lattice.certificate import Certificate
from tadc.lattice.late_dataclasses import dataclass
from tadc.lattice.verify import Check


@dataclass(frozen=True)
class ReadRecord:
    """The fields of a `ReadCertificate`."""

    tensor: str
    gradient: str
    text: str
    line: int
    column: int
    element: tuple[str, ...]
    indices: tuple[str, ...]
    access: tuple[Affine, ...]
    scope: tuple[Constraint, ...]
    counted: tuple[Constraint, ...]
    outside: tuple[tuple[Constraint, ...], ...]
    facts: tuple[Constraint, ...]
    proof: Certificate | None
    checks: tuple[Check, ...]


@dataclass(frozen=True)
class Unsolved:
    """A read for which nothing had to be solved, and why."""

    line: int
    column: int
    text: str
    reason: str


@dataclass(frozen=True)
class Records:
    """The fields of `Certificates`."""

    source: Source
    wrt: tuple[str, ...]
    reads: tuple[ReadRecord, ...]
    others: tuple[Unsolved, ...] = ()
    conditions: tuple[str, ...] = ()
    per_value: tuple[str, ...] = ()
    windows: tuple[str, ...] = ()
