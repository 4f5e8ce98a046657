"""The kinds of folds over tiles: how an element joins a result, and how results join.

In lockstep, the block is computed at all values of an index, copies or lanes, then their results are one.
"""

from __future__ import annotations

from functools import reduce

from tadc.dialect.mlir import ir
from tadc.frontend.functions import REDUCTIONS, complete
from tadc.lattice.affine import Affine
from tadc.passes.maps.map import Fold, Let, addends, factors
from tadc.passes.maps.scalar_lowering import Scalars
from tadc.passes.nest.exponentials import exponentials
from tadc.passes.nest.fold_blocks import FoldInBlocks
from tadc.passes.nest.fold_loops import Combine, FoldLoops
from tadc.passes.nest.joins import JOIN, Made, Point
from tadc.passes.nest.lockstep import Lockstep, LockstepContext
from tadc.passes.nest.tile import LANE, Copy, lockstep_variable


def lower_fold(body: Lockstep, let: Let, fold: Fold, context: LockstepContext) -> None:
    """Give the names of a fold their values. Raises UnsupportedIR or IndexSetLimit for a set without
    loops."""
    if fold.is_in_tile:
        join_in_lockstep(body, let, fold, context)
        return
    made = FoldInBlocks(body, let, fold, context)
    if fold.kind == "sum":
        made.leave_out_products()
    results = made.fold(_COMBINE[fold.kind], REDUCTIONS[fold.kind].nothing)
    each = len(results) // len(let.names)
    for number, name in enumerate(let.names):
        body.values.put(name, made.kept, results[number * each : (number + 1) * each])


def _sum(of: FoldLoops, s: Scalars, element: str, result: ir.Value, copy: Copy) -> ir.Value:
    """A product is added in one rounding, and what adds up products one after the other."""
    if element not in of.left_out:
        return JOIN["sum"](s, result, of.joining(s, element, copy))
    value = of.made[element].value
    if of_product := factors(value):
        x, y = (of.joining(s, name, copy) for name in of_product)
        return s.op("math.fma", x, y, result)
    return reduce(lambda so_far, name: _sum(of, s, name, so_far, copy), addends(value), result)


def _joined(kind: str) -> Combine:
    return lambda of, s, element, result, copy: JOIN[kind](s, result, of.joining(s, element, copy))


_COMBINE: dict[str, Combine] = {**{kind: _joined(kind) for kind in JOIN}, "sum": _sum}

complete("a lowering", {**_COMBINE, "logsumexp": exponentials}, REDUCTIONS)


def join_in_lockstep(body: Lockstep, let: Let, fold: Fold, context: LockstepContext) -> None:
    """Give the names of a reduction in lockstep their values."""
    variable = lockstep_variable(fold)
    body.block(fold.body, context.with_forms({fold.indices[0]: Affine.var(variable)}))
    for name, given in zip(let.names, fold.body.gives, strict=True):
        names, made = body.names(name, context), Made()
        for copy in body.tile.points(names):
            places = body.tile.points(() if variable == LANE else [variable])
            values = [body.value(given, {**copy, **place}) for place in places]
            made.append(_in_one(fold, body, values, context.point))
        body.values.put(name, names, made)


def _in_one(fold: Fold, body: Lockstep, values: Made, point: Point) -> ir.Value:
    """The results of copies, or those of the lanes of one vector, in one."""
    join = JOIN[fold.kind]
    if fold.loop == "lane":
        return body.lanes.folded(body.lanes.spread(values[0], point), join, point)
    return reduce(lambda x, y: join(Scalars(body.low, point, x.type), x, y), values)
