"""Reductions in lockstep: the block at all values of an index, copies or lanes, then their results in one."""

from __future__ import annotations

from functools import reduce

from tadc.dialect.mlir import ir
from tadc.lattice.affine import Affine
from tadc.passes.maps.map import Fold, Let
from tadc.passes.maps.scalar_lowering import Scalars
from tadc.passes.nest.joins import JOIN, Made, Point
from tadc.passes.nest.lockstep import Lockstep, LockstepContext
from tadc.passes.nest.tile import LANE, lockstep_variable


def join_in_lockstep(body: Lockstep, let: Let, fold: Fold, context: LockstepContext) -> None:
    """Give the names of a reduction in lockstep their values."""
    variable = lockstep_variable(fold)
    body.block(fold.body, context.with_forms({fold.indices[0]: Affine.var(variable)}))
    for name, given in zip(let.names, fold.body.gives, strict=True):
        names, made = body.names(name, context), Made()
        for copy in body.tile.points(names):
            places = body.tile.points(() if variable == LANE else [variable])
            values = [body.value(given, {**copy, **place}) for place in places]
            made.append(_joined(fold, body, values, context.point))
        body.values.put(name, names, made)


def _joined(fold: Fold, body: Lockstep, values: Made, point: Point) -> ir.Value:
    """The results of copies, or those of the lanes of one vector, in one."""
    join = JOIN[fold.kind]
    if fold.loop == "lane":
        return body.lanes.folded(body.lanes.spread(values[0], point), join, point)
    return reduce(lambda x, y: join(Scalars(body.low, point, x.type), x, y), values)
