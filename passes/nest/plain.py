"""The plain loop nest of a map: one loop an index, one after the other, around its whole body."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tadc.frontend.terms import Domain
from tadc.lattice.affine import ZERO, Affine, Constraint, box
from tadc.lattice.bounds import Level
from tadc.lattice.nest import loop_nest
from tadc.passes.maps.map import Map, MapFunction
from tadc.passes.nest.nest import At, Body, Bound, Compute, Extreme, For, If, Nest, Store

MOST_NAMED = 4
"""A nest has the names of no more of its tensors."""


def plain_nests(function: MapFunction) -> tuple[Nest, ...]:
    """The plain nest of each map of a function, in order."""
    return tuple(plain_nest(function, item) for item in function.maps)


def plain_nest(function: MapFunction, map: Map) -> Nest:
    """The loops over the indices of a map, each from 0 up, those of a recurrence in its order.

    Tensors are those that the map reads, as the function names them, then those that it computes. Raises
    Unbounded or EliminationLimit where the order of a recurrence gives no loops.
    """
    made = tuple(tensor.name for tensor in map.tensors)
    used = {load.tensor for load in map.loads()} - set(made)
    read = tuple(tensor for name, tensor in function.tensors().items() if name in used)
    at = tuple(Affine.var(index) for index in map.indices)
    stores = tuple(Store(name, at, value) for name, value in zip(made, map.body.gives, strict=True))
    name = re.sub(r"\W", "_", "_".join(made[:MOST_NAMED]))
    body = _loops(map, (Compute(map.body, stores),), function.known)
    return Nest(name, (*read, *map.tensors), function.sizes, (), function.known, made, body)


def _loops(map: Map, body: Body, known: Domain) -> Body:
    """The loops of a map around a body."""
    extents = dict(zip(map.indices, map.extents, strict=True))
    order = map.order
    if order is None:
        return _from_zero(map.indices, extents, body)
    if len(order.terms) == 1:
        (index,) = order.variables
        inner = _from_zero([name for name in map.indices if name != index], extents, body)
        if order.coefficient(index) > 0:
            return _from_zero([index], extents, inner)
        up = _unused("up", map)
        down = At(index, extents[index] - 1 - Affine.var(up))
        return (For(up, ZERO, extents[index], 1, "seq", (down, *inner)),)
    return _wavefront(map, order, body, known)


def _from_zero(indices: Sequence[str], extents: dict[str, Affine], body: Body) -> Body:
    """A loop an index, the first outermost."""
    for index in reversed(indices):
        body = (For(index, ZERO, extents[index], 1, "seq", body),)
    return body


def _wavefront(map: Map, order: Affine, body: Body, known: Domain) -> Body:
    """A loop over the values of the order, around those over the elements that have each."""
    step = _unused("step", map)
    rows = (*box(map.indices, map.extents), Constraint(Affine.var(step) - order, equality=True))
    nest = loop_nest((step, *map.indices), rows, known)
    body = _where(nest.inside, body)
    for level in reversed(nest.levels):
        start, stop = _ends(level)
        body = (For(level.name, start, stop, 1, "seq", body),)
    return _where(nest.outside, body)


def _ends(level: Level) -> tuple[Bound, Bound]:
    """From where to below where the loop of a level runs."""
    lower = tuple(bound.ceil() for bound in level.lower)
    upper = tuple(bound.floor() + 1 for bound in level.upper)
    return (
        lower[0] if len(lower) == 1 else Extreme("max", lower),
        upper[0] if len(upper) == 1 else Extreme("min", upper),
    )


def _where(rows: Domain, body: Body) -> Body:
    return (If(rows, body),) if rows else body


def _unused(wanted: str, map: Map) -> str:
    """A name for an index that nothing in a map has."""
    taken = {*map.indices, *(name for extent in map.extents for name in extent.variables)}
    for let in map.body.all_lets():
        taken |= set(getattr(let.value, "indices", ()))
    while wanted in taken:
        wanted += "_"
    return wanted
