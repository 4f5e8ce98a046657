"""The kinds of reductions over tiles: how an element joins a result, and how two results join."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tadc.dialect.mlir import ir
from tadc.frontend.functions import REDUCTIONS, complete
from tadc.passes.cpu.tile_reductions import Combine, TileReduction
from tadc.passes.maps.reduction_nests import JOIN
from tadc.passes.maps.scalar_lowering import LESS, Scalars
from tadc.passes.maps.tile_values import Copy, factors, owner

if TYPE_CHECKING:
    from tadc.passes.cpu.tile_body import Context, TileBody


def _sum(of: TileReduction, s: Scalars, element: Any, result: Any, copy: Copy) -> Any:
    """A product is added in one rounding."""
    made = owner(element)
    product = factors(made)
    if made in of.left_out:
        x, y = (of.body.lanes.spread_to(of.body.value(v, copy), s.type, s.point) for v in product)
        return s.op("math.fma", x, y, result)
    return JOIN["sum"](s, result, of.value(s, element, copy))


def _joined(kind: str) -> Combine:
    return lambda of, s, element, result, copy: JOIN[kind](s, result, of.value(s, element, copy))


_COMBINE: dict[str, Combine] = {**{kind: _joined(kind) for kind in JOIN}, "sum": _sum}

#: The results of a reduction for each element of a tile.
Lowering = Callable[[TileReduction, "Context"], list[Any]]


def _folded(kind: str) -> Lowering:
    """Elements joined to a result one after the other."""
    combine, join, start = _COMBINE[kind], JOIN[kind], REDUCTIONS[kind].nothing
    return lambda of, context: of.fold(combine, join, start, context)


def _summed(of: TileReduction, context: Context) -> list[Any]:
    of.leave_out_products()
    return of.fold(_COMBINE["sum"], JOIN["sum"], REDUCTIONS["sum"].nothing, context)


def lower_tiled_reduction(body: TileBody, op: Any, context: Context) -> None:
    """Give the results of a `tad.sum`, `tad.sums` or `tad.reduce` their values.

    Raises UnsupportedIR or IndexSetLimit for a domain without loops.
    """
    kind = "sum" if op.name != "tad.reduce" else ir.StringAttr(op.attributes["kind"]).value
    made = body.reduction(op, context)
    results = LOWERINGS[kind](made, context)
    each = len(results) // len(op.results)
    for number, result in enumerate(op.results):
        body.values.put(result, made.kept, results[number * each : (number + 1) * each])


def _logsumexp(of: TileReduction, context: Context) -> list[Any]:
    """`m + log(sum{k} (exp(e - m)))` with m the maximum, 0 where that is not finite.

    It neither overflows nor makes a NaN of infinite elements, as `scipy.special.logsumexp`.
    """
    copies = list(of.body.tile.points(of.kept))
    greatest = of.fold(_COMBINE["max"], JOIN["max"], REDUCTIONS["max"].nothing, context)
    shifts: dict[tuple[int, ...], Any] = {}
    for copy, most in zip(copies, greatest, strict=True):
        s = Scalars(of.body.low, context.point, most.type)
        finite = s.compare(LESS, s.op("math.absf", most), s.const(math.inf))
        shifts[tuple(copy.values())] = s.select(finite, most, s.const(0.0))

    def shift(copy: Copy) -> Any:
        return shifts[tuple(copy[name] for name in of.kept)]

    def add(of: TileReduction, s: Scalars, element: Any, result: Any, copy: Copy) -> Any:
        value = of.value(s, element, copy)
        moved = s.op("arith.subf", value, of.body.lanes.spread_to(shift(copy), s.type, s.point))
        return s.op("arith.addf", result, s.op("math.exp", moved))

    totals = of.fold(add, JOIN["sum"], 0.0, context)
    results: list[Any] = []
    for copy, total in zip(copies, totals, strict=True):
        s = Scalars(of.body.low, context.point, total.type)
        results.append(s.op("arith.addf", s.op("math.log", total), shift(copy)))
    return results


LOWERINGS: dict[str, Lowering] = {
    "sum": _summed,
    "prod": _folded("prod"),
    "max": _folded("max"),
    "min": _folded("min"),
    "logsumexp": _logsumexp,
}
complete("a lowering", LOWERINGS, REDUCTIONS)
