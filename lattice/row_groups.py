"""Rows in groups that share no atom: those of other groups say of a form only whether they have a point."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from tadc.lattice.affine import Affine, Constraint, Lookup

Rows = tuple[Constraint, ...]
Group = tuple[frozenset[str | Lookup], tuple[int, ...]]
"""The variables, and elements of index arrays, of rows, and the places of these."""


@lru_cache(maxsize=1 << 12)
def grouped(rows: Rows) -> tuple[Group, ...]:
    """The groups of rows, in the order of their first rows. A row without variables is alone."""
    made: dict[int, tuple[set[str | Lookup], list[int]]] = {}
    group_of: dict[str | Lookup, int] = {}
    for place, row in enumerate(rows):
        nodes = row.form.nodes
        first, *others = sorted({group_of[node] for node in nodes if node in group_of} | {place})
        held, places = made.setdefault(first, (set(), []))
        held |= nodes
        for other in others:
            more, also = made.pop(other, (nodes, [place]))
            held |= more
            places += also
        if not others:
            places.append(place)
        group_of.update(dict.fromkeys(held if len(others) > 1 else nodes, first))
    return tuple((frozenset(held), tuple(sorted(places))) for held, places in made.values())


def row_groups(rows: Sequence[Constraint]) -> Iterator[Rows]:
    """The rows of the groups."""
    return (tuple(rows[n] for n in places) for _, places in grouped(tuple(rows)))


def parted(form: Affine, rows: Rows) -> tuple[Rows, list[Rows]]:
    """The rows that share variables with a form, be it by others, in their order; and the groups of all
    others."""
    near, far = list[int](), list[Rows]()
    for nodes, places in grouped(rows):
        if nodes.isdisjoint(form.nodes):
            far.append(tuple(rows[n] for n in places))
        else:
            near += places
    return tuple(rows[n] for n in sorted(near)), far
