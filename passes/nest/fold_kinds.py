"""The kinds of folds over tiles: how an element joins a result, and how two results join."""

from __future__ import annotations

from collections.abc import Callable

from tadc.dialect.mlir import ir
from tadc.frontend.functions import REDUCTIONS, complete
from tadc.passes.maps.map import Fold, Let
from tadc.passes.maps.scalar_lowering import Scalars
from tadc.passes.nest.exponentials import exponentials
from tadc.passes.nest.fold_blocks import FoldInBlocks
from tadc.passes.nest.fold_loops import Combine, FoldLoops, factors
from tadc.passes.nest.joins import JOIN, Made
from tadc.passes.nest.lockstep import Context, Lockstep
from tadc.passes.nest.lockstep_folds import join_in_lockstep
from tadc.passes.nest.tile import Copy


def lower_fold(body: Lockstep, let: Let, fold: Fold, context: Context) -> None:
    """Give the names of a fold their values. Raises UnsupportedIR or IndexSetLimit for a set without
    loops."""
    if fold.is_in_tile:
        join_in_lockstep(body, let, fold, context)
    else:
        put_results(FoldInBlocks(body, let, fold, context))


def put_results(made: FoldLoops) -> None:
    """Make the loops of a fold, and give its names what they leave."""
    body, let, fold = made.body, made.let, made.value
    results = LOWERINGS[fold.kind](made)
    each = len(results) // len(let.names)
    for number, name in enumerate(let.names):
        body.values.put(name, made.kept, results[number * each : (number + 1) * each])


def _sum(of: FoldLoops, s: Scalars, element: str, result: ir.Value, copy: Copy) -> ir.Value:
    """A product is added in one rounding."""
    if element in of.left_out:
        x, y = (
            of.body.lanes.spread_to(of.body.value(name, copy), s.type, s.point)
            for name in factors(of.made[element], of.made)
        )
        return s.op("math.fma", x, y, result)
    return JOIN["sum"](s, result, of.joining(s, element, copy))


def _joined(kind: str) -> Combine:
    return lambda of, s, element, result, copy: JOIN[kind](s, result, of.joining(s, element, copy))


_COMBINE: dict[str, Combine] = {**{kind: _joined(kind) for kind in JOIN}, "sum": _sum}

#: The results of a fold for each element of a tile.
Lowering = Callable[[FoldLoops], Made]


def _folded(kind: str) -> Lowering:
    """Elements joined to a result one after the other."""
    return lambda of: of.fold(_COMBINE[kind], JOIN[kind], REDUCTIONS[kind].nothing)


def _summed(of: FoldLoops) -> Made:
    of.leave_out_products()
    return _folded("sum")(of)


LOWERINGS: dict[str, Lowering] = {**{kind: _folded(kind) for kind in JOIN}, "sum": _summed}
complete("a lowering", {**LOWERINGS, "logsumexp": exponentials}, REDUCTIONS)
