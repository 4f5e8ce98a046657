"""What backends share of upstream: pipelines of passes on a module, and the llvm dialect to LLVM IR text."""

from __future__ import annotations

from tadc.backend.backend_errors import backend_error
from tadc.backend.llvm_exchange import to_older_llvm
from tadc.dialect import mlir
from tadc.dialect.mlir import ir
from tadc.passes.maps.index_width import fits_32_bits
from tadc.passes.pass_manager import build_pipeline


def drop_repeated_marks(module: ir.Module) -> None:
    """Conversions of kernels copy `gpu.kernel` and set it again; such text cannot be read back."""
    for op in operations(module.operation):
        if op.name == "llvm.func" and "gpu.kernel" in op.attributes:
            del op.attributes["gpu.kernel"]


def index_bits(module: ir.Module) -> int:
    """The bits that an index of the kernels of a module needs."""
    modules = [op for op in module.body.operations if op.operation.name == "gpu.module"]
    with module.context:
        return 32 if all(fits_32_bits(op.operation) for op in modules) else 64


def run(pipeline: str, module: ir.Module) -> None:
    """Run MLIR's passes on a module, in place. Raises ir.MLIRError; the module is then left half lowered."""
    with module.context:
        manager = build_pipeline(pipeline, module.context)
        # Once at the end: after each of twenty passes it takes as long as the passes.
        manager.enable_verifier(False)
        manager.run(module.operation)
        module.operation.verify()


def translate(module: ir.Module, dialect: str = "llvm") -> str:
    """LLVM IR text of a module of the llvm dialect and another one, or of its one gpu module.

    Functions that the text calls are declarations; `llvm_ir.complete` defines them.

    Raises:
        CompileError: TAD0701, an operation has no translation (upstream would crash on it).
    """
    found = operations(module.operation)
    kernels = [op for op in found if op.name == "gpu.module"]
    if len(kernels) > 1:
        raise backend_error(
            "TAD0701", f"a module holds {len(kernels)} gpu modules; one is translated at a time"
        )
    root: ir.Operation = kernels[0] if kernels else module.operation
    for op in operations(root) if kernels else found:
        if not _has_translation(op.name, dialect):
            raise backend_error(
                "TAD0701",
                f"operation `{op.name}` has no translation to LLVM IR",
                [f"at {str(op.location).removeprefix('loc(').removesuffix(')')}"],
                ["lower it to the llvm dialect first"],
            )
    return to_older_llvm(mlir.llvm_translation.translate_module_to_llvmir(root))


def _has_translation(name: str, dialect: str) -> bool:
    return name.split(".")[0] in ("llvm", dialect) or name in ("builtin.module", "gpu.module")


def operations(root: ir.Operation) -> list[ir.Operation]:
    """The operation and all in it. To walk does not import the Python modules of their dialects, 80 ms."""
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        found.append(op)
        return ir.WalkResult.ADVANCE

    root.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found
