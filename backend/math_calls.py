"""Scalar functions of the `math` dialect on the CPU: our own functions, or LLVM intrinsics.

What neither table holds is left for upstream's convert-math-to-libm.
"""

from __future__ import annotations

from tadc.backend.scalar_functions import DEFINED, symbol
from tadc.dialect import mlir
from tadc.dialect.mlir import ir

#: `math` ops that every CPU has instructions for, by the LLVM intrinsic's op.
INTRINSICS = {
    "math.sqrt": "llvm.intr.sqrt",
    "math.absf": "llvm.intr.fabs",
    "math.floor": "llvm.intr.floor",
    "math.ceil": "llvm.intr.ceil",
    "math.trunc": "llvm.intr.trunc",
    "math.roundeven": "llvm.intr.roundeven",
    "math.fma": "llvm.intr.fma",
    "math.copysign": "llvm.intr.copysign",
}


def replace_math_ops(module: ir.Module) -> None:
    """Replace `math` ops on f32 and f64, in place: by calls of `tadc_exp_f64` and the like
    where `scalar_functions` defines them, by intrinsics where LLVM has them.
    """  # noqa: D205
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name.startswith("math."):
            found.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    declared: set[str] = set()
    for op in found:
        if op.name in INTRINSICS:
            _replace(op, ir.Operation.create(INTRINSICS[op.name], [op.result.type], list(op.operands), loc=op.location, ip=ir.InsertionPoint(op)))
            continue
        kind, function = str(op.result.type), op.name.removeprefix("math.")
        if kind in ("f32", "f64") and function in DEFINED:
            name = symbol(function, kind)
            if name not in declared:
                _declare(module, name, op.result.type, len(op.operands))
                declared.add(name)
            with ir.InsertionPoint(op), op.location:
                call = mlir.func.CallOp([op.result.type], name, list(op.operands))
            _replace(op, call.operation)


def _declare(module: ir.Module, name: str, kind: ir.Type, operands: int) -> None:
    if name in ir.SymbolTable(module.operation):
        return
    with module.context, ir.Location.unknown(), ir.InsertionPoint.at_block_begin(module.body):
        mlir.func.FuncOp(name, ir.FunctionType.get([kind] * operands, [kind]), visibility="private")


def _replace(op: ir.Operation, new: ir.Operation) -> None:
    op.result.replace_all_uses_with(new.results[0])
    op.erase()
