"""Which instructions of a GPU compute what, with `--fast-math` and without."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tadc
from tadc.backend.cuda.ptx import assemble, emit_ptx
from tadc.backend.target import parse_target
from tadc.cli import main
from tests.backend.kernels import elementwise, llvm_text

DIVISION = "%s = math.sqrt %x : TYPE\n    %y = arith.divf %x, %s : TYPE"


def ptx_of(compute: str, kind: str = "f32", fast: bool = True, use_libdevice: bool = True) -> str:
    text = llvm_text(elementwise(compute, kind, gpu=True), parse_target("cuda:sm_80"), fast_math=fast)
    return emit_ptx(text, 80, use_libdevice=use_libdevice, fast_math=fast)


def arithmetic(text: str) -> list[str]:
    """The instructions on numbers of the language, in order."""
    return re.findall(r"^\t([\w.]+\.f(?:32|64)) ", text[text.index(".entry") :], re.M)


@pytest.mark.parametrize("use_libdevice", [True, False])
@pytest.mark.parametrize(
    ("compute", "expected"),
    [
        ("%y = math.exp %x : TYPE", ["mul.rn.f32", "ex2.approx.f32"]),
        ("%y = math.log %x : TYPE", ["lg2.approx.f32", "mul.rn.f32"]),
        ("%y = math.log2 %x : TYPE", ["lg2.approx.f32"]),
        ("%y = math.log10 %x : TYPE", ["lg2.approx.f32", "mul.rn.f32"]),
        (DIVISION, ["sqrt.approx.f32", "div.full.f32"]),
        ("%p = arith.mulf %x, %x : TYPE\n    %y = arith.addf %p, %x : TYPE", ["fma.rn.f32"]),
    ],
)
def test_approximate_instructions(compute: str, expected: list[str], use_libdevice: bool) -> None:
    """In f32 with `--fast-math`, libdevice or not; never without it."""
    assert arithmetic(ptx_of(compute, use_libdevice=use_libdevice)) == expected
    strict = ptx_of(compute, fast=False, use_libdevice=use_libdevice)
    assert "lg2.approx" not in strict
    assert "sqrt.approx" not in strict
    assert "div.full" not in strict
    assert arithmetic(strict) != expected
    assemble(ptx_of(compute, use_libdevice=use_libdevice), 80)


def test_f64_has_none() -> None:
    for compute in (DIVISION, "%y = math.exp %x : TYPE", "%y = math.log %x : TYPE"):
        assert ".approx.f32" not in ptx_of(compute, "f64")
    assert "sqrt.rn.f64" in ptx_of(DIVISION, "f64")


def test_functions_of_libdevice_have_exact_square_roots() -> None:
    """They ask how to compile them, and denormals are never flushed where that can be chosen."""
    for function in ("asinh", "acosh"):
        strict, fast = (ptx_of(f"%y = math.{function} %x : TYPE", fast=fast) for fast in (False, True))
        assert "sqrt.rn.f32" in strict
        assert "sqrt.approx.f32" in fast
        assert "sqrt.approx.ftz" not in fast
        assert "__nvvm_reflect" not in strict


def test_the_option_reaches_the_kernels(capsys: pytest.CaptureFixture[str]) -> None:
    """Also where a thread computes several elements."""
    words = [
        "-e",
        "x: f32[64, 128]; y: f32[64, 128]; f[i, j] = exp(x[i, j]) / y[i, j]",
        "--target",
        "cuda:sm_80",
    ]
    assert main([*words, "--fast-math", "--emit", "ptx"]) == 0
    fast = capsys.readouterr().out
    assert main([*words, "--emit", "ptx"]) == 0
    strict = capsys.readouterr().out
    assert ("ex2.approx.f32" in fast, "div.full.f32" in fast, "div.rn.f32" in fast) == (True, True, False)
    assert ("ex2.approx.f32" in strict, "div.full.f32" in strict) == (False, False)
    assert "div.rn.f32" in strict


def test_values_in_the_emulator() -> None:
    """Within the errors that the documentation states; infinities and NaN keep their meaning."""
    f = tadc.compile(
        tadc.function("x: f32[N]; f[i] = exp(x[i]); g[i] = log(x[i]); h[i] = sqrt(x[i]) / x[i]"),
        target="emulated", fast_math=True,
    )  # fmt: skip
    x = np.concatenate([np.linspace(0.01, 80, 500), [np.inf, np.nan, -1, 0]]).astype(np.float32)
    found = f(x)
    with np.errstate(all="ignore"):
        exact = [np.exp(x.astype(float)), np.log(x.astype(float)), np.sqrt(x.astype(float)) / x.astype(float)]
    unit = 2.0**-23
    limits = [(2 + 1.2 * np.abs(x)) * unit, 3 * unit, 4 * unit]
    for result, value, limit in zip(found, exact, limits, strict=True):
        finite = np.isfinite(value)
        np.testing.assert_array_equal(result[~finite], value[~finite].astype(np.float32))
        error = np.abs(result[finite] - value[finite]) / np.maximum(np.abs(value[finite]), 0.5)
        assert (error <= np.broadcast_to(limit, value.shape)[finite]).all()
