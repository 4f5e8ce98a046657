"""Modules of MLIR, brought to `linalg`."""

from __future__ import annotations

from typing import Any

from tadc.dialect import mlir
from tadc.passes.linalg.linalg_generic import inner_operations
from tadc.passes.linalg.slice_updates import insert_slices

#: From StableHLO, and whatever named operations there are, to `linalg.generic`.
_PASSES = (
    "builtin.module(symbol-dce,stablehlo-legalize-to-linalg,linalg-generalize-named-ops,canonicalize,cse)"
)


def module_context() -> Any:
    """A context that knows StableHLO, and leaves operations of others as they are."""
    context = mlir.ir.Context()
    mlir.torch_mlir.register_dialect(context)
    mlir.stablehlo.register_dialect(context)
    context.allow_unregistered_dialects = True
    return context


def lowered(module: Any) -> Any:
    """The module in `linalg`, in place."""
    run = mlir.passmanager.PassManager.parse
    run("builtin.module(inline)", module.context).run(module.operation)
    _inline_the_rest(module)
    run(_PASSES, module.context).run(module.operation)
    insert_slices(module.body)
    return module


def entry_of(module: Any) -> Any:
    """The first function of a module that has a body."""
    return next(
        op.operation
        for op in module.body.operations
        if op.operation.name == "func.func" and list(op.operation.regions[0].blocks)
    )


def _inline_the_rest(module: Any) -> None:
    """Put in place what MLIR leaves as calls, as it does not know an operation of the function."""
    functions = {op.attributes["sym_name"].value: op.operation for op in module.body.operations}
    entry = entry_of(module)
    while calls := [op for op in inner_operations(entry.regions[0].blocks[0]) if op.name == "func.call"]:
        for call in calls:
            with mlir.ir.InsertionPoint(call):
                copy = functions[call.attributes["callee"].value].clone()
            block = copy.regions[0].blocks[0]
            for argument, operand in zip(block.arguments, call.operands, strict=True):
                argument.replace_all_uses_with(operand)
            *body, returned = (op.operation for op in block.operations)
            for op in body:
                op.move_before(call)
            for result, value in zip(call.results, returned.operands, strict=True):
                result.replace_all_uses_with(value)
            call.erase()
            copy.erase()
