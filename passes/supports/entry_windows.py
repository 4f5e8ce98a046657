"""What rows say of places beside equalities: floors as quotients that are unknown, and windows.

`x // 2 = s[e]` has an unknown q, the quotient: q = s[e], and 0 <= x - 2*q <= 1. Such a pair of rows is a
window: x is one of the two places from 2*s[e] on, wherever these are, and not any place of a dimension.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import combinations

from tadc.frontend.terms import Domain
from tadc.lattice.affine import ZERO, Affine, Constraint, Floor
from tadc.lattice.late_dataclasses import dataclass
from tadc.lattice.polyhedron import normalised


@dataclass(frozen=True)
class EntryWindow:
    """`0 <= form <= width`, as two rows say; the width is a form of sizes."""

    form: Affine
    width: Affine
    rows: Domain

    def of(self, name: str) -> tuple[int, Affine, Affine] | None:
        """The window of an index: its factor, the least that it may be, and by how much it may be more.

        None where it is told by no form without it.
        """
        k = self.form.coefficient(name)
        rest = (self.form if k > 0 else self.width - self.form) - Affine.var(name) * abs(k)
        if not k or name in rest.variables:
            return None
        return abs(k), -rest.floordiv(abs(k)), self.width.floordiv(abs(k))


def windows(rows: Sequence[Constraint], sizes: Collection[str]) -> list[EntryWindow]:
    """The forms that rows keep in windows, the narrow ones first; an equality is one of no width."""
    found = [EntryWindow(row.form, ZERO, (row,)) for row in rows if row.equality]
    sides = [row for row in rows if not row.equality and not row.form.variables <= {*sizes}]
    for one, other in combinations(sides, 2):
        form = normalised(one).form
        width = form + normalised(other).form
        if width.variables <= {*sizes} and not width.has_lookups:
            found.append(EntryWindow(form, width, (one, other)))
    return sorted(found, key=lambda window: (len(window.width.terms), window.width.constant))


def with_quotient(rows: Domain, floor: Floor, unknown: str) -> Domain:
    """The rows with an unknown for a floor, and what says that it is that."""
    rest = floor.numerator - Affine.var(unknown) * floor.denominator

    def replaced(form: Affine) -> Affine:
        return form.replace(lambda atom: Affine.var(unknown) if atom == floor else None)

    return (
        *(Constraint(replaced(row.form), row.equality) for row in rows),
        Constraint(rest),
        Constraint(floor.denominator - 1 - rest),
    )


def floors_of(rows: Sequence[Constraint], names: Collection[str]) -> Iterator[Floor]:
    """The floors of some indices, that stand in no other floor."""
    for row in rows:
        for atom, _ in row.form.terms:
            if isinstance(atom, Floor) and not outside_lookups(atom.numerator).isdisjoint(names):
                yield atom


def outside_lookups(form: Affine) -> set[str]:
    """The variables of a form that stand in no lookup."""
    found: set[str] = set()
    for atom, _ in form.terms:
        if isinstance(atom, str):
            found.add(atom)
        elif isinstance(atom, Floor):
            found |= outside_lookups(atom.numerator)
    return found
