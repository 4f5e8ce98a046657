"""Modules of hosts that call programs of ours: through our passes and upstream's they run, and are right."""

import ctypes
from pathlib import Path

import numpy as np
import pytest

from tadc.compiler.run_passes import run_passes
from tadc.dialect.mlir import ir, new_context
from tadc.dialect.readable_text import parse_module

engine = pytest.importorskip("torch_mlir.execution_engine")
runtime = pytest.importorskip("torch_mlir.runtime")

GUESTS = Path(__file__).parents[2] / "lit_tests" / "guests"

#: Upstream's passes from tensors to LLVM.
TO_LLVM = (
    "one-shot-bufferize{bufferize-function-boundaries allow-return-allocs-from-loops "
    "function-boundary-type-conversion=identity-layout-map},buffer-deallocation-pipeline,"
    "convert-linalg-to-loops,convert-vector-to-scf,convert-bufferization-to-memref,lower-affine,"
    "convert-scf-to-cf,expand-strided-metadata,lower-affine,convert-vector-to-llvm,"
    "finalize-memref-to-llvm,convert-math-to-llvm,convert-func-to-llvm,convert-arith-to-llvm,"
    "convert-cf-to-llvm,convert-ub-to-llvm,reconcile-unrealized-casts"
)


def run(text: str, passes: str, name: str, *arrays: np.ndarray, like: np.ndarray) -> np.ndarray:
    """What a function of a module gives for arrays, one array of this shape."""
    context = new_context()
    module = parse_module(text, context)
    with context:
        (function,) = (
            op for op in module.body.operations if ir.StringAttr(op.attributes["sym_name"]).value == name
        )
        function.attributes["llvm.emit_c_interface"] = ir.UnitAttr.get()
    run_passes(module, f"{passes},{TO_LLVM}")
    with context:
        made = engine.ExecutionEngine(module, opt_level=2)
        result = runtime.get_ranked_memref_descriptor(np.empty_like(like))
        given = [runtime.get_ranked_memref_descriptor(array) for array in arrays]
        made.invoke(name, *(ctypes.pointer(ctypes.pointer(each)) for each in (result, *given)))
        return runtime.ranked_memref_to_numpy(ctypes.pointer(result)).copy()


@pytest.mark.parametrize("options", ["vector-bytes=0", "vector-bytes=64"])
def test_a_host_trains_by_a_gradient(options):
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(8, 2)), np.array([2.0, -3.0])
    passes = f"tad-vjp,tad-cancel-deltas,tad-simplify,tad-fuse,tad-to-loops{{{options}}}"
    found = run((GUESTS / "train.mlir").read_text(), passes, "train", np.zeros(2), x, x @ w, like=w)
    np.testing.assert_allclose(found, w, atol=1e-6)
    # As many steps by hand have the same result.
    by_hand = np.zeros(2)
    for _ in range(200):
        by_hand -= 0.05 * 2 * x.T @ (x @ by_hand - x @ w)
    np.testing.assert_allclose(found, by_hand, atol=1e-12)


@pytest.mark.parametrize("passes", ["tad-to-loops", "tad-specialise{sizes=N=40},tad-to-loops"])
def test_a_host_calls_over_sizes(passes):
    x = np.random.default_rng(1).normal(size=40)
    found = run((GUESTS / "sizes.mlir").read_text(), passes, "host", x, like=np.empty(38))
    np.testing.assert_allclose(found, np.exp(x[1:-1]) + np.exp(x[:1:-1]), rtol=1e-14)
