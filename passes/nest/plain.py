"""The plain loop nest of a map: one loop an index, one after the other, around its whole body."""

from __future__ import annotations

import re

from tadc.frontend.terms import Domain
from tadc.lattice.affine import ZERO, Affine
from tadc.passes.maps.blocks import BlockNames, index_arrays, indices_bound
from tadc.passes.maps.map import Map, MapFunction
from tadc.passes.maps.recurrence import recurrence_of
from tadc.passes.nest.late_terms import with_late_terms
from tadc.passes.nest.loop_bounds import around
from tadc.passes.nest.nest import At, Body, Compute, Nest, Store
from tadc.passes.nest.point_loops import loops_in_order
from tadc.passes.nest.rare_folds import with_rare_folds
from tadc.passes.terms.costs import WRITTEN_OUT

MOST_NAMED = WRITTEN_OUT
"""A nest has the names of no more of its tensors."""


def plain_nests(function: MapFunction) -> tuple[Nest, ...]:
    """The plain nest of each map of a function, in order."""
    return tuple(plain_nest(function, item) for item in function.maps)


def plain_nest(function: MapFunction, map: Map) -> Nest:
    """The loops over the indices of a map, each from 0 up, those of a recurrence in its order.

    Tensors are those that the map reads, as the function names them, then those that it computes. Raises
    Unbounded or EliminationLimit where the order of a recurrence gives no loops.
    """
    map, made = with_rare_folds(with_late_terms(map)), map.names
    used = {*index_arrays(map.body), *map.read} - set(made)
    read = tuple(tensor for name, tensor in function.tensors().items() if name in used)
    at = tuple(Affine.var(index) for index in map.indices)
    stores = tuple(Store(name, at, value) for name, value in zip(made, map.body.gives, strict=True))
    name = re.sub(r"\W", "_", "_".join(made[:MOST_NAMED]))
    body = _loops(map, (Compute(map.body, stores),), function.known)
    return Nest(name, (*read, *map.tensors), function.sizes, (), function.known, made, body)


def _loops(map: Map, body: Body, known: Domain) -> Body:
    """The loops of a map around a body."""
    extents = dict(zip(map.indices, map.extents, strict=True))
    recurrence = recurrence_of(map)
    if recurrence is None:
        return around(body, *((index, ZERO, extents[index]) for index in map.indices))
    if recurrence.order is not None:
        sizes = (name for extent in map.extents for name in extent.variables)
        step = BlockNames({*map.indices, *sizes, *indices_bound(map.body)}).new("step")
        return loops_in_order(extents, recurrence.order, step, known, body)
    for index in reversed(recurrence.loops(map.indices)):
        loop = index
        if index in recurrence.down:
            loop = going_down(index)
            body = (At(index, extents[index] - 1 - Affine.var(loop)), *body)
        body = around(body, (loop, ZERO, extents[index]))
    return body


def going_down(index: str) -> str:
    """The loop over the values of an index from the last one to the first."""
    return f"{index}_down"
