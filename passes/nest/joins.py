"""Names for what code of nests is made with, and how two results of a reduction are one, by its kind."""

from __future__ import annotations

from collections.abc import Callable

from tadc.dialect.mlir import ir
from tadc.frontend.functions import REDUCTIONS
from tadc.passes.maps.scalar_lowering import InOperations, Scalars

Point = ir.InsertionPoint
Made = list[ir.Value]

#: What makes values at a point.
Emit = Callable[[Point], Made]

#: Two results of parts of a set, in order, to that of both; an element is the result of itself.
Join = Callable[[Scalars, ir.Value, ir.Value], ir.Value]


def _of_record(join: str) -> Join:
    return lambda s, x, y: InOperations(s).apply(join, x, y)


JOIN: dict[str, Join] = {r.name: _of_record(r.join) for r in REDUCTIONS.values() if r.in_loops}
