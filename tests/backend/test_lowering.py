"""MLIR to LLVM IR text to object code."""

from __future__ import annotations

import re

import ml_dtypes
import numpy as np
import pytest

import tadc
from tadc.backend.base import CPU, Target
from tadc.backend.binding import binding
from tadc.backend.cpu.processors import host_features
from tadc.backend.llvm_exchange import to_older_llvm
from tadc.backend.llvm_ir import complete
from tadc.backend.object_code import assembly, object_code, optimised
from tadc.backend.pipelines import translate
from tadc.backend.runtime.parameters import Parameter
from tadc.backend.target import parse_target
from tadc.dialect.mlir import ir
from tadc.frontend.diagnostics import CompileError
from tests.backend.kernels import compiled, elementwise, llvm_text

MULTIPLY_ADD = "%p = arith.mulf %x, %x : TYPE\n    %y = arith.addf %p, %x : TYPE"

FLAGS = re.compile(r"\b(fast|reassoc|contract|arcp|afn|nnan|ninf|nsz)\b")


def test_no_operation_is_fused_or_approximated() -> None:
    text = llvm_text(elementwise(MULTIPLY_ADD))
    assert not FLAGS.search(text)
    code = assembly(text)
    assert "mul" in code
    assert "fma" not in code
    assert "fmadd" not in code


def test_arguments_keep_noalias() -> None:
    assert "define void @k(ptr noalias %0, ptr noalias %1)" in llvm_text(
        elementwise("%y = arith.negf %x : TYPE")
    )


def test_only_functions_in_use_are_defined() -> None:
    text = complete(llvm_text(elementwise("%y = math.exp %x : TYPE")))
    assert re.findall(r"^define .*@(tadc_\w+)", text, re.M) == ["tadc_exp_f64"]
    assert complete(text) == text


def test_a_module_may_call_every_function_at_once() -> None:
    names = [
        "exp",
        "exp2",
        "expm1",
        "log",
        "log2",
        "log10",
        "log1p",
        "tanh",
        "sin",
        "cos",
        "sqrt",
        "floor",
        "ceil",
        "absf",
    ]
    names += ["erf", "erfc", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "cbrt"]
    steps = [f"%v{n} = math.{name} %x : TYPE" for n, name in enumerate(names)]
    total = "%v0"
    for n in range(1, len(names)):
        steps.append(f"%s{n} = arith.addf {total}, %v{n} : TYPE")
        total = f"%s{n}"
    steps.append(f"%y = arith.negf {total} : TYPE")
    for kind in ("f32", "f64"):
        kernel = compiled(
            elementwise("\n".join(steps), kind, 5), [Parameter("x", kind, (5,))], [Parameter("y", kind, (5,))]
        )
        x = np.array([0.1, 0.3, 0.5, 0.7, 0.9], kernel.inputs[0].dtype)
        assert np.isnan(kernel([x])[0]).all()  # acosh has no value below 1


BINARY = {"powf": np.power, "atan2": np.arctan2, "copysign": np.copysign}


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("name", BINARY)
def test_binary_functions(name: str, kind: str) -> None:
    compute = f"%q = arith.constant 0.7 : TYPE\n    %y = math.{name} %x, %q : TYPE"
    kernel = compiled(
        elementwise(compute, kind, 9), [Parameter("x", kind, (9,))], [Parameter("y", kind, (9,))]
    )
    x = np.linspace(0.1, 3, 9).astype(kernel.inputs[0].dtype)
    np.testing.assert_allclose(
        kernel([x])[0], BINARY[name](x, x.dtype.type(0.7)), rtol=4e-7 if kind == "f32" else 1e-15
    )


def test_a_function_that_only_libm_has() -> None:
    kernel = compiled(
        elementwise("%y = math.round %x : TYPE", "f64", 20),
        [Parameter("x", "f64", (20,))],
        [Parameter("y", "f64", (20,))],
    )
    x = np.linspace(-2.9, 2.9, 20)
    np.testing.assert_array_equal(kernel([x])[0], np.round(x))


@pytest.mark.parametrize("name", ["exp", "log1p", "tanh", "sin", "cos", "tan", "atan", "cosh", "cbrt"])
@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_loops_over_functions_vectorise(name: str, kind: str) -> None:
    f = tadc.function(f"x: {kind}[4096]\ny[i] = {name}(x[i])")
    text = optimised(str(f.lower("cpu").as_text("llvm")))
    width = 64 if host_features().get("avx512f") else 32 if host_features().get("avx2") else 16
    element, size = ("float", 4) if kind == "f32" else ("double", 8)
    assert f"@llvm.fma.v{width // size}{kind}" in text
    assert f"load <{width // size} x {element}>" in text


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("name", ["exp", "log10", "expm1", "tanh", "sin"])
def test_functions_of_vectors(name: str, kind: str) -> None:
    text = f"""
func.func @k(%X: memref<8x{kind}>, %Y: memref<8x{kind}>, %Z: memref<8x{kind}>) {{
  %c0 = arith.constant 0 : index
  %x = vector.load %X[%c0] : memref<8x{kind}>, vector<8x{kind}>
  %y = math.{name} %x : vector<8x{kind}>
  vector.store %y, %Y[%c0] : memref<8x{kind}>, vector<8x{kind}>
  affine.for %i = 0 to 8 {{
    %a = memref.load %X[%i] : memref<8x{kind}>
    %b = math.{name} %a : {kind}
    memref.store %b, %Z[%i] : memref<8x{kind}>
  }}
  return
}}"""
    inputs, outputs = [Parameter("x", kind, (8,))], [Parameter("y", kind, (8,)), Parameter("z", kind, (8,))]
    values = [0.25, 1.5, 3.0, 1e-5, 0.5, 30.0, 1e20, 2.0]
    whole, by_element = compiled(text, inputs, outputs)([values])
    np.testing.assert_array_equal(whole, by_element)
    with np.errstate(over="ignore"):
        expected = getattr(np, name)(np.array(values, inputs[0].dtype).astype(np.float64))
        np.testing.assert_allclose(
            whole, expected.astype(inputs[0].dtype), rtol=3e-7 if kind == "f32" else 6e-16
        )


@pytest.mark.parametrize("level", [0, 1, 2, 3])
@pytest.mark.parametrize("name", ["exp", "sin"])
def test_every_level_computes_the_same(name: str, level: int) -> None:
    text = elementwise(f"%y = math.{name} %x : TYPE", "f64", 37)
    kernel = compiled(text, [Parameter("x", "f64", (37,))], [Parameter("y", "f64", (37,))], level=level)
    x = np.linspace(-40, 40, 37)
    x[5] = 1e18
    with np.errstate(over="ignore"):
        expected = getattr(np, name)(x)
    np.testing.assert_allclose(kernel([x])[0], expected, rtol=1e-15)


def test_object_code_of_a_completed_text_is_the_same() -> None:
    text = llvm_text(elementwise("%y = math.cos %x : TYPE"))
    assert object_code(complete(text)) == object_code(text)


def test_an_operation_without_a_translation_is_an_error() -> None:
    with ir.Context() as context:
        module = ir.Module.parse(
            'func.func @k() {\n  %0 = ub.poison : i64 loc("f.tad":2:5)\n  return\n}', context
        )
        with pytest.raises(CompileError) as found:
            translate(module)
    (problem,) = found.value.diagnostics
    assert problem.code == "TAD0701"
    assert "`func.func`" in problem.message

    with ir.Context() as context:
        text = 'llvm.func @k() {\n  %0 = ub.poison : i64 loc("f.tad":2:5)\n  llvm.return\n}'
        with pytest.raises(CompileError) as found:
            translate(ir.Module.parse(text, context))
    (problem,) = found.value.diagnostics
    assert "`ub.poison`" in problem.message
    assert problem.notes == ['at "f.tad":2:5']


DECIMALS = ["0.1", "-0.0", "1.0e-40", "123456789.0", "3.4028235e38"]
BITS = {
    "f32": ["0x7F800000", "0xFF800000", "0x7FC00000", "0x00000001"],
    "f64": ["0x7FF0000000000000", "0x7FF8000000000000"],
}


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_constants_survive_the_way_to_the_older_llvm(kind: str) -> None:
    """LLVM 24 writes floats in ways that LLVM 22 does not read, or reads as other numbers."""
    dtype = np.dtype(np.float32 if kind == "f32" else np.float64)
    values = [(text, dtype.type(float(text))) for text in DECIMALS]
    for bits in BITS[kind]:
        raw = np.array([int(bits, 16)], np.uint32 if kind == "f32" else np.uint64)
        values.append((bits, raw.view(dtype)[0]))
    stores = "\n".join(
        f"%c{n} = arith.constant {text} : {kind}\n%i{n} = arith.constant {n} : index\n"
        f"memref.store %c{n}, %Y[%i{n}] : memref<{len(values)}x{kind}>"
        for n, (text, _) in enumerate(values)
    )
    text = f"func.func @k(%Y: memref<{len(values)}x{kind}>) {{\n{stores}\nreturn\n}}"
    (found,) = compiled(text, [], [Parameter("y", kind, (len(values),))])()
    assert found.tobytes() == np.array([value for _, value in values], dtype).tobytes()


def test_the_way_to_the_older_llvm_changes_floats_only() -> None:
    text = (
        '@name.1.5e+00 = private constant [4 x i8] c"+inf"\n'
        "%a = fadd float %x1.5e, 1.000000e-01\n"
        "%b = fcmp olt double 1.000000e-01, +inf\n"
        "%c = phi float [ f0x3DCCCCCD, %4 ], [ -inf, %5 ]\n"
        "%d = select i1 %b, <2 x float> <float 1.0, float -nan(0x1)>, <2 x float> %e\n"
        "%f = fadd half %float.1, 9.997550e-02 ; float 1.000000e-01\n"
        "store bfloat 1.000980e-01, ptr %1\n"
        "store <2 x half> <half -inf, half 5.000000e-01>, ptr %1\n"
    )
    assert to_older_llvm(text) == (
        '@name.1.5e+00 = private constant [4 x i8] c"+inf"\n'
        "%a = fadd float %x1.5e, 0x3FB99999A0000000\n"
        "%b = fcmp olt double 1.000000e-01, 0x7FF0000000000000\n"
        "%c = phi float [ 0x3FB99999A0000000, %4 ], [ 0xFFF0000000000000, %5 ]\n"
        "%d = select i1 %b, <2 x float> <float 1.0, float 0xFFF8000020000000>, <2 x float> %e\n"
        f"%f = fadd half %float.1, 0xH{np.float16(0.1).view(np.uint16):04X} ; float 1.000000e-01\n"
        f"store bfloat 0xR{np.array(0.1, ml_dtypes.bfloat16).view(np.uint16):04X}, ptr %1\n"
        "store <2 x half> <half 0xHFC00, half 5.000000e-01>, ptr %1\n"
    )


def test_sums_of_indices_are_exact_in_programs_alone() -> None:
    f = tadc.function("x: f64[N]; w: f64[K]; y[i: N - K + 1] = sum{k} (x[i + k] * w[k])")
    text = f.lower().as_text("llvm")
    assert re.search(r" = add +nsw i64 ", text)
    assert not re.search(r" = (add|sub) i64 ", text)
    given = "func.func @k(%n: i64) -> i64 {\n%m = arith.addi %n, %n : i64\nreturn %m : i64\n}"
    assert " = add i64 " in llvm_text(given)


UPSTREAM = """
#low = affine_map<(d0) -> (0, d0 - 1)>
#high = affine_map<(d0) -> (4, d0 floordiv 2 + 3)>
func.func @k(%X: memref<3x4xf64> {llvm.noalias}, %Y: memref<3x4xf64> {llvm.noalias}, %T: memref<f64>) {
  %zero = arith.constant 0.0 : f64
  %hundred = arith.constant 100.0 : f64
  %one = arith.constant 1 : index
  memref.store %zero, %T[] : memref<f64>
  affine.for %i = 0 to 3 {
    affine.for %j = max #low(%i) to min #high(%i) {
      %a = affine.apply affine_map<(d0, d1) -> ((d0 + d1) mod 4)>(%i, %j)
      %b = affine.min affine_map<(d0) -> (2, d0)>(%i)
      %x = memref.load %X[%b, %a] : memref<3x4xf64>
      %f = arith.index_cast %a : index to i64
      %g = arith.sitofp %f : i64 to f64
      %big = arith.cmpf ogt, %x, %g : f64
      %y = scf.if %big -> f64 {
        %m = arith.maximumf %x, %g : f64
        scf.yield %m : f64
      } else {
        %m = arith.minnumf %x, %g : f64
        scf.yield %m : f64
      }
      %s = scf.for %k = %a to %b step %one iter_args(%c = %y) -> f64 {
        %d = arith.remf %c, %hundred : f64
        scf.yield %d : f64
      }
      memref.store %s, %Y[%i, %j] : memref<3x4xf64>
      %t = memref.load %T[] : memref<f64>
      %u = arith.addf %t, %s : f64
      memref.store %u, %T[] : memref<f64>
    }
  }
  return
}
"""


def test_the_older_llvm_reads_all_that_the_lowering_writes() -> None:
    text = complete(llvm_text(UPSTREAM))
    binding().parse_assembly(text).verify()
    kernel = compiled(
        UPSTREAM, [Parameter("x", "f64", (3, 4))], [Parameter("y", "f64", (3, 4)), Parameter("t", "f64", ())]
    )
    x = np.arange(12.0).reshape(3, 4)
    y, total = kernel([x])
    written = [(i, j) for i in range(3) for j in range(max(0, i - 1), min(4, i // 2 + 3))]
    expected = {(i, j): max(x[i, (i + j) % 4], (i + j) % 4) for i, j in written}
    assert total == sum(expected.values()) == sum(y[at] for at in written)


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("cpu", CPU),
        ("cuda", Target("cuda")),
        ("cuda:sm_90", Target("cuda", "sm_90")),
        ("emulated", Target("emulated", "sm_80")),
        ("emulated:sm_120", Target("emulated", "sm_120")),
    ],
)
def test_targets_by_name(text: str, target: Target) -> None:
    assert parse_target(text) == target
    assert parse_target(str(target)) == target


@pytest.mark.parametrize("text", ["gpu", "cuda:sm_91", "cuda:90", "cuda:sm_60"])
def test_unknown_targets(text: str) -> None:
    with pytest.raises(CompileError, match=r"TAD0705.*unknown target"):
        parse_target(text)
