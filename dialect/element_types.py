"""Element types as types of MLIR, and the operations that convert between them."""

from __future__ import annotations

from tadc.dialect.mlir import ir
from tadc.frontend.dtypes import DTYPES


def types_in(context: ir.Context) -> dict[str, ir.Type]:
    """The types by their names in programs, which are those of MLIR."""
    return {name: ir.Type.parse(name, context) for name in DTYPES}


def conversion(given: ir.Type, wanted: ir.Type) -> str:
    """The operation from one type of floats, or vectors of these, to another."""
    before, after = (
        DTYPES[str(type.element_type if isinstance(type, ir.VectorType) else type)].bits
        for type in (given, wanted)
    )
    return "arith.extf" if after > before else "arith.truncf"
