"""Names for what code of nests is made with, and how two results of a reduction are one, by its kind."""

from __future__ import annotations

from collections.abc import Callable

from tadc.dialect.mlir import ir
from tadc.passes.maps.scalar_lowering import EXPANSIONS, Scalars

Point = ir.InsertionPoint
Made = list[ir.Value]

#: What makes values at a point.
Emit = Callable[[Point], Made]

#: Two results of parts of a set, in order, to that of both; an element is the result of itself.
Join = Callable[[Scalars, ir.Value, ir.Value], ir.Value]

JOIN: dict[str, Join] = {
    "sum": lambda s, x, y: s.op("arith.addf", x, y),
    "prod": lambda s, x, y: s.op("arith.mulf", x, y),
    "max": EXPANSIONS["arith.maximumf"],
    "min": EXPANSIONS["arith.minimumf"],
}
