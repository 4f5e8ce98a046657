"""Loops over buffers to the llvm dialect, for a CPU."""

from __future__ import annotations

from tadc.backend.cpu.invariant_code import hoist
from tadc.backend.cpu.math_calls import replace_math_ops
from tadc.backend.cpu.narrow_elements import as_bits
from tadc.backend.pipelines import run
from tadc.dialect.mlir import ir

#: As in `tadc/compiler/stages.py`, from the bottom up.
_CANONICALIZE = "canonicalize{top-down=0}"

#: Before scalar functions become calls, which upstream passes cannot merge or move.
CLEAN_UP = f"builtin.module(lower-affine,{_CANONICALIZE},cse,loop-invariant-code-motion)"

#: What runs after `math_calls`.
PIPELINE = (
    "builtin.module(convert-math-to-libm,convert-scf-to-cf,convert-vector-to-llvm,"
    "expand-strided-metadata,lower-affine,finalize-memref-to-llvm,convert-arith-to-llvm,"
    "convert-index-to-llvm,convert-func-to-llvm{use-bare-ptr-memref-call-conv=1},"
    f"convert-cf-to-llvm,convert-ub-to-llvm,reconcile-unrealized-casts,{_CANONICALIZE},cse)"
)


def lower(module: ir.Module, fast_math: bool) -> None:
    """Lower a module in place."""
    run(CLEAN_UP, module)
    hoist(module)
    replace_math_ops(module, fast_math)
    as_bits(module)
    run(PIPELINE, module)
