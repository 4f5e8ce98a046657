"""Other places for the tensors of a function, one step away from those that were made: what may be tried.

Whether a move fits is said by the passes that take it, which refuse it where it does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from tadc.passes.maps.map import Map, MapFunction
from tadc.passes.nest.squares import TOGETHER
from tadc.passes.where import AtRows, Inline, Merge, OnTape, WhereStep

ROWS = 2 * TOGETHER
"""Maps that did not run together are tried with so many rows at a time: short vectors of two blocks."""

Places = tuple[WhereStep, ...]


def moves(made: Sequence[WhereStep], function: MapFunction) -> Iterator[Places]:
    """The steps of a function with one changed, left out, or added."""
    made = tuple(made)
    for number, step in enumerate(made):
        for other in _instead(step):
            yield (*made[:number], *other, *made[number + 1 :])
    for step in _more(made, function):
        yield (*made, step)


def _instead(step: WhereStep) -> Iterator[Places]:
    """What may stand in the place of a step: nothing, or the same for more or less."""
    match step:
        case AtRows(rows=rows) if rows > 1:
            yield from ((replace(step, rows=other),) for other in (2 * rows, rows // 2))
        case OnTape(block=block):
            yield from ((replace(step, block=other),) for other in (2 * block, block // 2) if other)
        case Merge(tensors=tensors) if len(tensors) > 2:
            yield from ((Merge(tuple(t for t in tensors if t != each)),) for each in tensors)
        case _:
            pass
    yield ()


def _more(made: Places, function: MapFunction) -> Iterator[WhereStep]:
    """Steps that were not made: tensors in between as formulas, neighbours in one nest, or row by row."""
    maps, given = function.maps, {*function.results}
    together = {tensor for step in made if isinstance(step, AtRows) for tensor in step.tensors}
    yield from (Inline(item.name) for item in maps if given.isdisjoint(item.names) and len(item.names) == 1)
    for one, other in pairwise(maps):
        if one.order is None and other.order is None:
            yield from _of_neighbours(one, other, together)


def _of_neighbours(one: Map, other: Map, together: set[str]) -> Iterator[WhereStep]:
    names = *one.names, *other.names
    if one.extents == other.extents:
        yield Merge(names)
    if one.indices and other.extents[:1] == one.extents[:1] and together.isdisjoint(names):
        yield AtRows(one.indices[:1], ROWS, names)
