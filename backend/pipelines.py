"""Upstream lowering: memref-level or gpu-level MLIR to the llvm dialect, then to LLVM IR text."""

from __future__ import annotations

from tadc.backend.carried import carry
from tadc.backend.errors import backend_error
from tadc.backend.fast_math import FUSED, relax
from tadc.backend.llvm_exchange import to_older_llvm
from tadc.backend.math_calls import replace_math_ops
from tadc.backend.target import Target
from tadc.dialect import mlir
from tadc.dialect.mlir import ir
from tadc.passes.maps.index_width import fits_32_bits
from tadc.passes.registry import build_pipeline

#: Before scalar functions become calls, which upstream passes cannot merge.
CLEAN_UP = "builtin.module(canonicalize,cse,lower-affine,canonicalize,cse)"

#: What the back end runs after `math_calls` for the CPU.
CPU_PIPELINE = (
    "builtin.module(convert-math-to-libm,convert-scf-to-cf,convert-vector-to-llvm,"
    "expand-strided-metadata,lower-affine,finalize-memref-to-llvm,convert-arith-to-llvm,"
    "convert-index-to-llvm,convert-func-to-llvm{use-bare-ptr-memref-call-conv=1},"
    "convert-cf-to-llvm,convert-ub-to-llvm,reconcile-unrealized-casts,canonicalize,cse)"
)

#: The same for a gpu.module, by the bits of an index; `math` becomes calls of libdevice's `__nv_*`.
GPU_PIPELINE = (
    "builtin.module(canonicalize,cse,lower-affine,convert-vector-to-scf,convert-scf-to-cf,canonicalize,cse,"
    "gpu.module(expand-strided-metadata,lower-affine,"
    "convert-gpu-to-nvvm{{use-bare-ptr-memref-call-conv=1 index-bitwidth={bits} has-redux=0}},"
    "convert-math-to-llvm,convert-vector-to-llvm,convert-nvvm-to-llvm,convert-ub-to-llvm,canonicalize,cse,"
    "reconcile-unrealized-casts))"
)


#: Lines of the program in PTX (`.loc`), which the emulator reports.
LINES = "builtin.module(ensure-debug-info-scope-on-llvm-func{emission-kind=DebugDirectivesOnly})"


def lower_to_llvm_dialect(
    module: ir.Module, target: Target, fast_math: bool = False, *, fused: bool = False
) -> None:
    """Lower a module in place to the llvm dialect; for CUDA its gpu modules, to llvm and nvvm.

    No floating-point operation is reassociated, contracted or approximated, unless `fast_math` allows
    what `fast_math.py` says; `fused` allows a product and a sum to be rounded once.

    Raises:
        ir.MLIRError: a pass fails; the module is then left half lowered.
    """
    if fast_math:
        relax(module, is_gpu=target.is_cuda)
    elif fused:
        relax(module, FUSED)
        carry(module)
    if target.is_cuda:
        modules = [op for op in module.body.operations if op.operation.name == "gpu.module"]
        with module.context:
            bits = 32 if all(fits_32_bits(op.operation) for op in modules) else 64
        _run(GPU_PIPELINE.format(bits=bits), module)
        _drop_repeated_marks(module)
        if target.is_emulated:
            _run(LINES, module)
        return
    _run(CLEAN_UP, module)
    replace_math_ops(module, fast_math)
    _run(CPU_PIPELINE, module)


def _drop_repeated_marks(module: ir.Module) -> None:
    """convert-gpu-to-nvvm copies `gpu.kernel` and sets it again; such text cannot be read back."""
    for op in _operations(module.operation):
        if op.name == "llvm.func" and "gpu.kernel" in op.attributes:
            del op.attributes["gpu.kernel"]


def _run(pipeline: str, module: ir.Module) -> None:
    with module.context:
        manager = build_pipeline(pipeline, module.context)
        # Once at the end: after each of twenty passes it takes as long as the passes.
        manager.enable_verifier(False)
        manager.run(module.operation)
        module.operation.verify()


def translate(module: ir.Module) -> str:
    """LLVM IR text of a module of the llvm dialect, or of its one gpu module.

    Functions that the text calls are declarations; `llvm_ir.complete` defines them.

    Raises:
        CompileError: TAD0701, an operation has no translation (upstream would crash on it).
    """
    kernels = [op for op in _operations(module.operation) if op.name == "gpu.module"]
    if len(kernels) > 1:
        raise backend_error(
            "TAD0701", f"a module holds {len(kernels)} gpu modules; one is translated at a time"
        )
    root: ir.Operation = kernels[0] if kernels else module.operation
    for op in _operations(root):
        if not _has_translation(op.name):
            raise backend_error(
                "TAD0701",
                f"operation `{op.name}` has no translation to LLVM IR",
                [f"at {str(op.location).removeprefix('loc(').removesuffix(')')}"],
                ["lower it to the llvm dialect first"],
            )
    return to_older_llvm(mlir.llvm_translation.translate_module_to_llvmir(root))


def _has_translation(name: str) -> bool:
    return name.startswith(("llvm.", "nvvm.")) or name in ("builtin.module", "gpu.module")


def _operations(root: ir.Operation) -> list[ir.Operation]:
    """The operation and all in it. To walk does not import the Python modules of their dialects, 80 ms."""
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        found.append(op)
        return ir.WalkResult.ADVANCE

    root.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found
