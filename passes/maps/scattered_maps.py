"""Maps whose one sum has an equality that tells the element: dx[b] = sum{q: src[q] = b, …} f(q, b).

Which q are looked at depends on the block of b alone, so many elements from a multiple of their number on.
Loops over elements and over q are interchanged (`nest/primitives/scattered.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine, Constraint, Floor, Lookup
from tadc.passes.maps.map import Fold, Map


@dataclass(frozen=True)
class Scattered:
    """The sum of a name, which adds to the element `at`; its bounds are those of a block of `count`."""

    fold: str
    at: Affine
    bounds: Domain
    count: int


def scattered(item: Map) -> Scattered | None:
    """What a map has that is scattered; None for any other map."""
    if item.order is not None or len(item.indices) != 1 or len(item.body.lets) != 1:
        return None
    (let,), fold = item.body.lets, item.body.lets[0].value
    return scattered_fold(let.names[0], fold, item.indices[0]) if isinstance(fold, Fold) else None


def scattered_fold(name: str, fold: Fold, index: str) -> Scattered | None:
    """How a sum is scattered over the elements of an index; None if it is not."""
    element = Affine.var(index)
    told = [row for row in fold.rows if row.equality and abs(row.form.coefficient(index)) == 1]
    if fold.kind != "sum" or len(fold.indices) != 1 or len(told) != 1:
        return None
    at = element - told[0].form * told[0].form.coefficient(index)
    bounds = tuple(row for row in fold.rows if row is not told[0])
    counts = {count for row in bounds for count in _blocks(row, index)}
    if not any(at.lookups()) or index in at.variables or len(counts) != 1 or None in counts:
        return None
    (count,) = counts
    return Scattered(name, at, bounds, count) if count is not None else None


def _blocks(row: Constraint, index: str) -> set[int | None]:
    """How many elements have an equal row, for each place that the index has in it; None where one has."""
    found = set[int | None]()

    def note(atom: str | Floor | Lookup) -> Affine | None:
        if isinstance(atom, Floor) and atom.numerator == Affine.var(index):
            found.add(atom.denominator)
            return Affine.const(0)
        if atom == index:
            found.add(None)
        return None

    row.form.replace(note)
    return found
