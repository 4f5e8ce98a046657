"""Sequences of loops in which each element of a recurrence comes after those that it reads.

Loops over some indices, outermost first and each up or down, are right where every element that is read comes
before the one that reads it, lexicographically (Allen and Kennedy, Automatic translation of Fortran programs
to vector form, 1987).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations, product

from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine
from tadc.lattice.late_dataclasses import dataclass
from tadc.lattice.polyhedron import implied
from tadc.passes.terms.costs import ORDERED


@dataclass(frozen=True)
class StepRead:
    """The element that is read, by index, and what holds where it is, in one of some cases."""

    forms: tuple[tuple[str, Affine], ...]
    facts: Domain

    def back(self, index: str) -> Affine:
        """How far before the own element it is."""
        return Affine.var(index) - dict(self.forms)[index]


def lexicographic(
    indices: Sequence[str], reads: Sequence[StepRead]
) -> tuple[tuple[str, ...], frozenset[str]] | None:
    """The fewest loops in which each read is lexicographically before, and those of them that run down."""
    for count in range(len(indices) + 1) if len(indices) <= ORDERED else ():
        for chosen in permutations(indices, count):
            for signs in product((1, -1), repeat=count):
                if _is_legal(reads, chosen, signs):
                    return chosen, frozenset(n for n, sign in zip(chosen, signs, strict=True) if sign < 0)
    return None


def _is_legal(reads: Sequence[StepRead], chosen: Sequence[str], signs: Sequence[int]) -> bool:
    """Whether each read is lexicographically before, in loops over the chosen indices."""
    left = list(reads)
    for name, sign in zip(chosen, signs, strict=True):
        still: list[StepRead] = []
        for read in left:
            back = read.back(name) * sign
            if implied(back - 1, read.facts):
                continue
            if not implied(back, read.facts):
                return False
            still.append(read)
        left = still
    return not left
