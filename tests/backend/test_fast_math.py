"""What `--fast-math` changes, and what it leaves."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import tadc
from tadc.backend.functions.scalar_functions import FAST
from tadc.passes.numpy_types import numpy_type
from tests.backend.kernels import apply, elementwise, llvm_text
from tests.backend.test_scalar_functions import REFERENCE, error_in_ulp, points

inf, nan = math.inf, math.nan


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("name", sorted(FAST))
def test_error_of_cheaper_functions_is_below_five_ulp(name: str, kind: str) -> None:
    x = points(name, kind)
    if name == "exp":  # results that are nearly denormal are 0
        x = x[x > 0.99 * math.log(float(np.finfo(x.dtype).tiny))]
    errors = error_in_ulp(x, apply(name, kind, x, fast_math=True), REFERENCE[name])
    worst = int(np.argmax(errors))
    assert errors[worst] < 5, f"{name}({x[worst]!r}) is off by {errors[worst]:.2f} ulp"


SPECIAL = {
    "exp": [(0.0, 1.0), (-0.0, 1.0), (inf, inf), (-inf, 0.0), (1e4, inf), (-1e4, 0.0)],
    "tanh": [(0.0, 0.0), (-0.0, -0.0), (inf, 1.0), (-inf, -1.0), (100.0, 1.0), (-100.0, -1.0)],
}


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("name", sorted(FAST))
def test_special_values_stay_exact(name: str, kind: str) -> None:
    x, expected = (np.array(c, numpy_type(kind)) for c in zip(*SPECIAL[name], (nan, nan), strict=True))
    found = apply(name, kind, x, fast_math=True)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found[:-1]), np.signbit(expected[:-1]))


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_tanh_stays_within_one(kind: str) -> None:
    x = np.linspace(0, 25, 20001).astype(numpy_type(kind))
    assert apply("tanh", kind, x, fast_math=True).max() <= 1


def test_a_function_without_a_cheaper_form_is_the_same() -> None:
    x = points("log", "f32")
    np.testing.assert_array_equal(apply("log", "f32", x, fast_math=True), apply("log", "f32", x))


def test_only_when_asked() -> None:
    compute = "%p = arith.mulf %x, %x : TYPE\n    %y = math.exp %p : TYPE"
    strict, fast = (llvm_text(elementwise(compute), fast_math=asked) for asked in (False, True))
    assert re.search(r"fmul reassoc nsz arcp contract double", fast)
    assert "@tadc_fast_exp_f64(" in fast
    assert "reassoc" not in strict
    assert "fast" not in strict


def test_infinities_and_nan_keep_their_meaning() -> None:
    f = tadc.function(
        "x: f64[4]\nd[i] = x[i] - x[i]\np[i] = x[i]*0\nq[i] = 1 / x[i]\nlet s = sum{i} (x[i])\nt = s"
    )
    x = np.array([1.0, inf, -inf, nan])
    found = tadc.compile(f, fast_math=True)(x=x)
    np.testing.assert_array_equal(found.d, [0, nan, nan, nan])
    np.testing.assert_array_equal(found.p, [0, nan, nan, nan])
    np.testing.assert_array_equal(found.q, [1, 0, 0, nan])
    assert np.isnan(found.t)


def test_sums_agree_with_the_strict_ones() -> None:
    f = tadc.function("x: f32[N]\nw: f32[N]\nt = sum{i} (x[i]*w[i] + x[i] / 3)")
    x, w = np.random.default_rng(0).uniform(0, 1, (2, 5000)).astype(np.float32)
    exact = np.sum(x.astype(float) * w + x.astype(float) / 3)
    np.testing.assert_allclose(tadc.compile(f, fast_math=True)(x=x, w=w), exact, rtol=1e-5)
