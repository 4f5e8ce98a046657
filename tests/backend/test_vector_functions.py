"""Functions of vectors compute, lane by lane, what functions of scalars compute."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from tadc.backend.object_code import optimised
from tadc.backend.runtime.parameters import Parameter
from tadc.passes.numpy_types import numpy_type
from tests.backend.kernels import Array, apply, compiled, llvm_text

LANES = (2, 4, 8, 16, 32)

UNARY = (
    "absf acos acosh asin asinh atan atanh cbrt ceil cos cosh erf erfc exp exp2 expm1 floor log log10 log1p "
    "log2 sin sinh sqrt tan tanh"
).split()

VALUES = [0.25, -0.75, 1.5, -3.0, 1e-5, 0.5, 30.0, 1e20, -1e6, 0.0, -0.0, math.inf, -math.inf, math.nan, 1.0]


def arguments(kind: str) -> Array:
    x = np.array([*VALUES, float(np.finfo(numpy_type(kind)).smallest_subnormal)], numpy_type(kind))
    return np.concatenate([x, np.random.default_rng(3).uniform(-9, 9, 16).astype(x.dtype)])


def on_vectors(operation: str, operands: int, kind: str, lanes: int) -> str:
    """A kernel that takes 32 elements, and their reverse where there are two operands, as vectors."""
    steps: list[str] = []
    for n in range(32 // lanes):
        loads = [
            f"  %x{n} = vector.load %X[%c{n}] : memref<32xTYPE>, vector<LANESxTYPE>",
            f"  %z{n} = vector.load %Z[%c{n}] : memref<32xTYPE>, vector<LANESxTYPE>",
        ]
        arguments = ", ".join([f"%x{n}", f"%z{n}"][:operands])
        steps += [
            f"  %c{n} = arith.constant {n * lanes} : index",
            *loads[:operands],
            f"  %y{n} = {operation} {arguments} : vector<LANESxTYPE>",
            f"  vector.store %y{n}, %Y[%c{n}] : memref<32xTYPE>, vector<LANESxTYPE>",
        ]
    head = ", ".join(f"%{name}: memref<32xTYPE> {{llvm.noalias}}" for name in [*"XZ"[:operands], "Y"])
    text = "\n".join([f"func.func @k({head}) {{", *steps, "  return", "}"])
    return text.replace("LANES", str(lanes)).replace("TYPE", kind)


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("name", UNARY)
def test_lanes_equal_scalars(name: str, kind: str) -> None:
    x = arguments(kind)
    expected = apply(name, kind, x)
    for lanes in LANES:
        kernel = compiled(
            on_vectors(f"math.{name}", 1, kind, lanes),
            [Parameter("x", kind, (32,))],
            [Parameter("y", kind, (32,))],
        )
        np.testing.assert_array_equal(kernel([x])[0], expected, err_msg=f"{lanes} lanes")


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("operation", ["math.powf", "math.atan2", "math.copysign", "arith.remf"])
def test_lanes_of_two_operands_equal_scalars(operation: str, kind: str) -> None:
    x = arguments(kind)
    one_by_one = f"""
func.func @k(%X: memref<32x{kind}>, %Z: memref<32x{kind}>, %Y: memref<32x{kind}>) {{
  affine.for %i = 0 to 32 {{
    %x = memref.load %X[%i] : memref<32x{kind}>
    %z = memref.load %Z[%i] : memref<32x{kind}>
    %y = {operation} %x, %z : {kind}
    memref.store %y, %Y[%i] : memref<32x{kind}>
  }}
  return
}}"""
    inputs, outputs = [Parameter(n, kind, (32,)) for n in "xz"], [Parameter("y", kind, (32,))]
    expected = compiled(one_by_one, inputs, outputs)([x, x[::-1].copy()])[0]
    for lanes in LANES:
        kernel = compiled(on_vectors(operation, 2, kind, lanes), inputs, outputs)
        found = kernel([x, x[::-1].copy()])[0]
        np.testing.assert_array_equal(found, expected, err_msg=f"{lanes} lanes")


@pytest.mark.parametrize("shape", ["", "1x", "2x1x", "2x4x", "2x2x2x"])
@pytest.mark.parametrize("name", ["sqrt", "exp", "cbrt"])
def test_any_shape_of_vectors(name: str, shape: str) -> None:
    """Also vectors of no dimension, of several, and of one lane."""
    extents = [int(extent) for extent in re.findall(r"\d+", shape)]
    vector, last = f"vector<{shape}f32>", ", ".join(str(extent - 1) for extent in extents)
    text = f"""
func.func @k(%X: memref<1xf32>, %Y: memref<1xf32>) {{
  %c0 = arith.constant 0 : index
  %x = memref.load %X[%c0] : memref<1xf32>
  %v = vector.broadcast %x : f32 to {vector}
  %w = math.{name} %v : {vector}
  %y = vector.extract %w[{last}] : f32 from {vector}
  memref.store %y, %Y[%c0] : memref<1xf32>
  return
}}"""
    kernel = compiled(text, [Parameter("x", "f32", (1,))], [Parameter("y", "f32", (1,))])
    x = np.array([0.7], np.float32)
    np.testing.assert_array_equal(kernel([x])[0], apply(name, "f32", x))


@pytest.mark.parametrize("name", ["exp", "log", "tanh"])
def test_no_lane_is_taken_apart(name: str) -> None:
    text = optimised(llvm_text(on_vectors(f"math.{name}", 1, "f32", 32)))
    assert "extractelement" not in text
    assert set(re.findall(r"call [^@\n]* @([\w.]+)\(", text)) <= {
        *(f"llvm.{intrinsic}.v32f32" for intrinsic in ("fma", "fabs", "copysign")),
        "llvm.ldexp.v32f32.v32i32",
    }
