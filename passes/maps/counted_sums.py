"""Indices of reductions whose bounds move with an element count from the first value of each.

    y[i] = sum j where 2*i <= j <= 2*i + 1: x[j] * w[j % 2]

becomes

    y[i] = sum j where 0 <= j <= 1: x[2*i + j] * w[j % 2]

All elements have the same loops then, whose operands can be packed, and what does not move with an element is
the same for all. The order is as before. An index with other bounds keeps them, as do the steps of a
recurrence.
"""

from __future__ import annotations

from collections.abc import Collection

from tadc.lattice.affine import Affine
from tadc.lattice.late_dataclasses import replace
from tadc.passes.maps.blocks import Renaming, rewrite_lets
from tadc.passes.maps.closest_bounds import counted_from
from tadc.passes.maps.map import Fold, Let, Map, MapFunction


def with_counted_sums(function: MapFunction) -> MapFunction:
    """The maps of a function, their reductions counted from 0 where bounds move with elements alone."""
    maps = tuple(map(_counted, function.maps))
    return function if maps == function.maps else replace(function, maps=maps)


def _counted(item: Map) -> Map:
    if item.order is not None or item.marks.in_place:
        return item

    def rule(let: Let) -> Let:
        fold = let.value
        return replace(let, value=_from_first(fold, item.indices)) if isinstance(fold, Fold) else let

    return replace(item, body=rewrite_lets(item.body, rule))


def _from_first(fold: Fold, own: Collection[str]) -> Fold:
    """A reduction whose indices of two bounds that move with those of the map count from the first value."""
    for index in fold.indices:
        rows = [row for row in fold.rows if index in row.form.variables]
        start, count = counted_from(index, rows) or (Affine.const(0), None)
        if len(rows) != 2 or not count or not start.variables or not start.variables <= set(own):
            continue
        moved = Renaming(forms={index: Affine.var(index) + start})
        body = replace(fold.body, lets=tuple(map(moved.let, fold.body.lets)))
        fold = replace(fold, rows=moved.rows(fold.rows), body=body)
    return fold
