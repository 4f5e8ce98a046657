"""`python -m bench functions`: scalar functions on one thread, data in cache, against NumPy."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from bench.timing import seconds
from tadc.backend.base import Settings
from tadc.backend.cpu.jit import load
from tadc.backend.cpu.linking import Library
from tadc.backend.object_code import object_code
from tadc.backend.pipelines import translate
from tadc.backend.to_llvm_dialect import lower_to_llvm_dialect
from tadc.dialect.mlir import ir
from tadc.passes.numpy_types import numpy_type

Array = NDArray[Any]

#: `math` op, NumPy's function, the interval of arguments.
FUNCTIONS: list[tuple[str, Callable[..., Any] | None, float, float]] = [
    ("exp", np.exp, -10, 10),
    ("exp2", np.exp2, -10, 10),
    ("expm1", np.expm1, -10, 10),
    ("log", np.log, 0, 100),
    ("log2", np.log2, 0, 100),
    ("log10", np.log10, 0, 100),
    ("log1p", np.log1p, 0, 100),
    ("sin", np.sin, -100, 100),
    ("cos", np.cos, -100, 100),
    ("tan", np.tan, -100, 100),
    ("asin", np.arcsin, -1, 1),
    ("acos", np.arccos, -1, 1),
    ("atan", np.arctan, -10, 10),
    ("sinh", np.sinh, -10, 10),
    ("cosh", np.cosh, -10, 10),
    ("tanh", np.tanh, -5, 5),
    ("asinh", np.arcsinh, -10, 10),
    ("acosh", np.arccosh, 1, 10),
    ("atanh", np.arctanh, -1, 1),
    ("cbrt", np.cbrt, -10, 10),
    ("erf", None, -4, 4),
    ("erfc", None, -4, 12),
    ("powf", np.power, 0, 10),
    ("atan2", np.arctan2, -10, 10),
]

BINARY = ("powf", "atan2")

BYTES = 16384
"""Of one array: two or three of them fit into a core's first cache."""

ROUNDS = 100
"""How often a kernel goes over the arrays in one call."""

TEXT = """
func.func @k(%X: memref<SIZExTYPE> {llvm.noalias}, %Z: memref<SIZExTYPE> {llvm.noalias},
             %Y: memref<SIZExTYPE> {llvm.noalias}) {
  affine.for %round = 0 to ROUNDS {
    affine.for %i = 0 to SIZE {
      %x = memref.load %X[%i] : memref<SIZExTYPE>
      %z = memref.load %Z[%i] : memref<SIZExTYPE>
      %y = math.FUNCTION : TYPE
      memref.store %y, %Y[%i] : memref<SIZExTYPE>
    }
  }
  return
}"""


def kernel(name: str, kind: str, size: int) -> tuple[Library, Callable[..., None]]:
    """A function of three addresses that goes over the arrays `ROUNDS` times, and what keeps it in memory."""
    call = f"{name} %x, %z" if name in BINARY else f"{name} %x"
    text = TEXT.replace("FUNCTION", call).replace("TYPE", kind)
    text = text.replace("ROUNDS", str(ROUNDS)).replace("SIZE", str(size))
    with ir.Context():
        module = ir.Module.parse(text)
        lower_to_llvm_dialect(module, Settings())
        library = load(object_code(translate(module)), ["k"])
    return library, ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(library["k"])


def _peer(name: str, function: Callable[..., Any] | None) -> Callable[..., Any]:
    if function is not None:
        return function
    import scipy.special  # NumPy has no error function; JAX brings SciPy.

    return getattr(scipy.special, name)


def speeds(row: tuple[str, Callable[..., Any] | None, float, float], kind: str) -> tuple[float, float]:
    """Elements a second of tadc and of NumPy, the best of interleaved trials; they agree."""
    name, function, low, high = row
    dtype = numpy_type(kind)
    size = BYTES // dtype.itemsize
    x, z = np.random.default_rng(0).uniform(low, high, (2, size)).astype(dtype)
    y, expected = np.empty_like(x), np.empty_like(x)
    library, ours = kernel(name, kind, size)
    peer, arguments = _peer(name, function), (x, z) if name in BINARY else (x,)

    def run_ours() -> None:
        ours(x.ctypes.data, z.ctypes.data, y.ctypes.data)

    def run_peer() -> None:
        for _ in range(ROUNDS):
            peer(*arguments, out=expected)

    trials = [(seconds(run_ours), seconds(run_peer)) for _ in range(15)]
    best = [min(times) for times in zip(*trials, strict=True)]
    np.testing.assert_allclose(y, expected, rtol=32 * float(np.finfo(dtype).eps))
    del library
    return size * ROUNDS / best[0], size * ROUNDS / best[1]


def main() -> None:
    """Print the table."""
    table = Table(title="billions of elements a second, one thread, data in cache")
    table.add_column("function")
    for kind in ("f32", "f64"):
        for column in (f"{kind} tadc", "NumPy", "ratio"):
            table.add_column(column, justify="right")
    for row in FUNCTIONS:
        cells = [row[0]]
        for kind in ("f32", "f64"):
            ours, peer = speeds(row, kind)
            cells += [f"{ours / 1e9:.2f}", f"{peer / 1e9:.2f}", f"{ours / peer:.1f}"]
        table.add_row(*cells)
    Console().print(table)
