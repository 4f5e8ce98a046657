"""The kinds of folds over tiles: how an element joins a result, and how two results join."""

from __future__ import annotations

from tadc.dialect.mlir import ir
from tadc.frontend.functions import REDUCTIONS, complete
from tadc.passes.maps.map import Fold, Let, factors
from tadc.passes.maps.scalar_lowering import Scalars
from tadc.passes.nest.exponentials import exponentials
from tadc.passes.nest.fold_blocks import FoldInBlocks
from tadc.passes.nest.fold_loops import Combine, FoldLoops
from tadc.passes.nest.joins import JOIN
from tadc.passes.nest.lockstep import Lockstep, LockstepContext
from tadc.passes.nest.lockstep_folds import join_in_lockstep
from tadc.passes.nest.tile import Copy


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
    """A product is added in one rounding."""
    if element in of.left_out:
        x, y = (
            of.body.lanes.spread_to(of.body.value(name, copy), s.type, s.point)
            for name in factors(of.made[element].value)
        )
        return s.op("math.fma", x, y, result)
    return JOIN["sum"](s, result, of.joining(s, element, copy))


def _joined(kind: str) -> Combine:
    return lambda of, s, element, result, copy: JOIN[kind](s, result, of.joining(s, element, copy))


_COMBINE: dict[str, Combine] = {**{kind: _joined(kind) for kind in JOIN}, "sum": _sum}

complete("a lowering", {**_COMBINE, "logsumexp": exponentials}, REDUCTIONS)
