"""Sets on which few elements of a map are."""

from __future__ import annotations

from tadc.passes.maps.map import Choice, Map
from tadc.passes.terms.costs import LARGE

THIN = 32
"""A set is thin that has one of so many elements, or fewer."""


def is_on_thin_set(choice: Choice, item: Map) -> bool:
    """Whether a choice has its first value only where equations give some of the map's indices, for few of
    its elements."""
    used = frozenset[str]().union(*(row.form.variables for row in choice.rows))
    return used <= set(item.indices) and _elements_of_one(choice, item) >= THIN


def _elements_of_one(choice: Choice, item: Map) -> int:
    """So many elements a map has about for each of those where equations of a choice hold."""
    left = dict(zip(item.indices, item.extents, strict=True))
    count = 1
    for row in choice.rows:
        inside = frozenset[str]().union(*(atom.variables for atom in row.form.inner_atoms()))
        given = [n for n in left if row.equality and abs(row.form.coefficient(n)) == 1 and n not in inside]
        sizes = {n: left[n].constant if left[n].is_constant else LARGE for n in given}
        if given:
            name = max(given, key=lambda n: sizes[n])
            count *= sizes[name]
            del left[name]
    return count
