"""Elements of f16 and bf16 as their bits: code for a CPU has integers of 16 bits in their place.

What converts them takes integers (`backend/functions/narrow_floats.py`), and all else moves them: LLVM would
extend and round values of `bfloat` on the way, by functions that a process need not have.
"""

from __future__ import annotations

import re

from tadc.backend.functions.narrow_floats import NARROW
from tadc.dialect.mlir import ir
from tadc.frontend.dtypes import DTYPES

_NARROW = re.compile(rf"({'|'.join(NARROW)})(?![\w])")


def as_bits(module: ir.Module) -> None:
    """Put integers in the place of narrow floats, in place."""

    def visit(op: ir.Operation) -> ir.WalkResult:
        for value in (
            *op.results,
            *(a for region in op.regions for block in region for a in block.arguments),
        ):
            if (type := _bits(value.type)) is not None:
                value.set_type(type)
                if op.name == "arith.constant":
                    op.attributes["value"] = _zeros(type)
        if op.name == "func.func":
            kind = ir.TypeAttr(op.attributes["function_type"]).value
            ends = ([_bits(t) or t for t in part] for part in (kind.inputs, kind.results))
            op.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(*ends))
        return ir.WalkResult.ADVANCE

    functions = [op for op in module.body if op.operation.name == "func.func"]
    if any(_NARROW.search(str(function.attributes["function_type"])) for function in functions):
        with module.context, ir.Location.unknown():
            module.operation.walk(visit)


def _bits(type: ir.Type) -> ir.Type | None:
    """The type with integers for narrow floats; None of one that has none."""
    text = str(type)
    return (
        ir.Type.parse(_NARROW.sub(lambda found: f"i{DTYPES[found[0]].bits}", text))
        if _NARROW.search(text)
        else None
    )


def _zeros(type: ir.Type) -> ir.Attribute:
    """No other literal is one of a narrow float."""
    return ir.Attribute.parse(f"{'dense<0>' if isinstance(type, ir.VectorType) else 0} : {type}")
