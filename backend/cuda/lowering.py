"""Kernels of the gpu dialect to the nvvm dialect."""

from __future__ import annotations

from tadc.backend.pipelines import drop_repeated_marks, index_bits, operations, run
from tadc.dialect.mlir import ir

#: By the bits of an index; `math` becomes calls of libdevice's `__nv_*`.
PIPELINE = (
    "builtin.module(canonicalize,cse,lower-affine,convert-vector-to-scf,convert-scf-to-cf,canonicalize,cse,"
    "gpu.module(expand-strided-metadata,lower-affine,"
    "convert-gpu-to-nvvm{{use-bare-ptr-memref-call-conv=1 index-bitwidth={bits} has-redux=0}},"
    "convert-math-to-llvm,convert-vector-to-llvm,convert-nvvm-to-llvm,convert-ub-to-llvm,canonicalize,cse,"
    "reconcile-unrealized-casts))"
)

#: Lines of the program in PTX (`.loc`), which the emulator reports.
LINES = "builtin.module(ensure-debug-info-scope-on-llvm-func{emission-kind=DebugDirectivesOnly})"


def lower(module: ir.Module, with_lines: bool) -> None:
    """Lower the gpu modules of a module, in place."""
    one = ir.IntegerType.get_signless(32, module.context)
    for op in operations(module.operation):
        if op.name == "gpu.func":
            # Without it ptxas spills a little to fit more blocks than the plan reckons with.
            op.attributes["nvvm.minctasm"] = ir.IntegerAttr.get(one, 1)
    run(PIPELINE.format(bits=index_bits(module)), module)
    drop_repeated_marks(module)
    if with_lines:
        run(LINES, module)
