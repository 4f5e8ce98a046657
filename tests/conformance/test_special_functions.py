"""The gamma function's logarithm, Bessel functions and the like: values and slopes to the last places."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan
from typing import Any

import mpmath
import numpy as np
import pytest

import tadc

MP: Any = mpmath.mp
Real = Callable[[Any], Any]


def _wave(x: Any) -> Any:
    """The size of the waves of Bessel functions of the first kind, where they go through zeros."""
    return MP.sqrt(2 / (MP.pi * abs(x))) if abs(x) > 7 else 0


def _reflected(x: Any) -> Any:
    """The terms of reflection, and 1."""
    if x >= 0:
        return 0
    return max(1, abs(MP.log(abs(MP.sinpi(x) / MP.pi))), abs(MP.loggamma(1 - x)))


def _below(x: Any) -> Any:
    return 0 if x >= 0 else max(1, abs(MP.digamma(1 - x)))


def _none(x: Any) -> Any:
    return 0


#: Each function: its value and its slope by mpmath, the sizes that errors of both are relative to beside the
#: values, the range of arguments in f32 and f64, whether it is tried below 0.
CASES: dict[str, tuple[Real, Real, Real, Real, float, float, bool]] = {
    "lgamma": (lambda x: MP.log(abs(MP.gamma(x))), MP.digamma, _reflected, _below, 1e4, 1e4, True),
    "digamma": (MP.digamma, lambda x: MP.psi(1, x), _below, _none, 1e4, 1e4, True),
    "sinc": (
        MP.sincpi,
        lambda x: (MP.cospi(x) - MP.sincpi(x)) / x if x else x,
        _none,
        lambda x: 1 / abs(x) if abs(x) > 0.5 else 0,
        1e4,
        1e6,
        True,
    ),
    "j0": (MP.j0, lambda x: -MP.j1(x), _wave, _wave, 1e4, 1e6, True),
    "j1": (
        MP.j1,
        lambda x: (MP.j0(x) - MP.besselj(2, x)) / 2,
        _wave,
        lambda x: MP.mpf("0.25"),
        1e3,
        1e3,
        True,
    ),
    "i0": (lambda x: MP.besseli(0, x), lambda x: MP.besseli(1, x), _none, _none, 91, 713, True),
    "i1": (
        lambda x: MP.besseli(1, x),
        lambda x: (MP.besseli(0, x) + MP.besseli(2, x)) / 2,
        _none,
        _none,
        91,
        713,
        True,
    ),
}
#: Zeros and other places where something may go wrong.
PLACES = (
    1.0,
    2.0,
    1.4616321449683622,
    2.404825557695773,
    5.520078110286311,
    3.8317059702075125,
    1.3,
    3.83,
    7.0,
    8.5,
    9.0,
)


def points(dtype: Any, most: float, below: bool, count: int) -> np.ndarray[Any, Any]:
    """Arguments of all sizes, dense near places."""
    rng = np.random.default_rng(5)
    near = [place * (1 + rng.uniform(-1, 1, 8) * 10.0 ** rng.uniform(-8, -2, 8)) for place in PLACES]
    parts = [
        rng.uniform(0, 10, count),
        10.0 ** rng.uniform(-6, np.log10(most), count),
        *near,
        np.array(PLACES),
    ]
    x = np.concatenate(parts)
    return np.concatenate([x, -x[x < 60][::3]] if below else [x]).astype(dtype)


def worst(found: np.ndarray[Any, Any], x: np.ndarray[Any, Any], exact: Real, size: Real) -> float:
    """The greatest error in units in the last place of the exact value, or of the size beside it."""
    limits = np.finfo(found.dtype)
    errors = [0.0]
    for argument, value in zip(x.tolist(), found.tolist(), strict=True):
        with mpmath.workdps(40):
            try:
                true = exact(MP.mpf(argument))
            except (ValueError, ZeroDivisionError):
                continue  # a pole
            reach = max(abs(true), size(MP.mpf(argument)))
            if float(limits.tiny) < reach < float(limits.max):
                unit = MP.mpf(2) ** (mpmath.frexp(reach)[1] - 1 - int(limits.nmant))
                errors.append(float(abs(value - true) / unit))
    return max(errors)


@pytest.mark.parametrize("type", ["f32", "f64"])
@pytest.mark.parametrize("name", CASES)
def test_values_and_slopes(name: str, type: str) -> None:
    exact, slope, size, size_of_slope, most, most_of_f64, below = CASES[name]
    x = points(np.dtype("f4" if type == "f32" else "f8"), most_of_f64 if type == "f64" else most, below, 150)
    g = tadc.value_and_vjp(tadc.function(f"x: {type}[{len(x)}]\nf[i] = {name}(x[i])"))
    found = g(x=x, df=np.ones_like(x))
    assert worst(found.f, x, exact, size) < 4
    assert worst(found.dx, x, slope, size_of_slope) < 4


@pytest.mark.parametrize("type", ["f32", "f64"])
@pytest.mark.parametrize("name", CASES)
def test_on_a_gpu(name: str, type: str) -> None:
    """The same formula as on a processor, whose elementary functions are others."""
    x = np.linspace(-4.3, 12, 33).astype("f4" if type == "f32" else "f8")
    f = tadc.value_and_vjp(tadc.function(f"x: {type}[33]\nf[i] = {name}(x[i])"))
    found = tadc.compile(f, target="emulated")(x=x, df=np.ones_like(x))
    for value, expected in zip(found, f(x=x, df=np.ones_like(x)), strict=True):
        error = 2e-6 if type == "f32" else 1e-14
        np.testing.assert_allclose(value, expected, rtol=error, atol=error)


@pytest.mark.parametrize(
    ("name", "at"),
    [
        ("lgamma", [(1, 0), (2, 0), (0, inf), (-1, inf), (inf, inf), (-inf, inf), (nan, nan)]),
        ("digamma", [(0.0, -inf), (-0.0, inf), (-2, nan), (inf, inf), (-inf, nan), (nan, nan)]),
        ("trigamma", [(0, inf), (-1, inf), (inf, 0), (nan, nan)]),
        ("sinc", [(0, 1), (-0.0, 1), (1, 0), (-2, 0), (1e300, 0), (inf, nan), (nan, nan)]),
        ("sinc1", [(0, 0), (1, -1), (2, 0.5), (nan, nan)]),
        ("j0", [(0, 1), (inf, 0), (-inf, 0), (nan, nan)]),
        ("j1", [(0, 0), (inf, 0), (-inf, 0), (nan, nan)]),
        ("j2", [(0, 0), (inf, 0), (nan, nan)]),
        ("i0", [(0, 1), (720, inf), (-720, inf), (-inf, inf), (nan, nan)]),
        ("i1", [(0, 0), (720, inf), (-720, -inf), (-inf, -inf), (nan, nan)]),
        ("i2", [(0, 0), (720, inf), (-720, inf), (-inf, inf), (nan, nan)]),
    ],
)  # fmt: skip
def test_ends(name: str, at: list[tuple[float, float]]) -> None:
    """At poles, zeros and infinities."""
    f = tadc.function(f"x: f64[{len(at)}]\nf[i] = {name}(x[i])")
    np.testing.assert_array_equal(f(np.array([x for x, _ in at], float)), [y for _, y in at])


def test_logaddexp() -> None:
    """NumPy's values, infinities included; slopes are shares of 1, and 0 where both are minus infinity."""
    ends = np.array([0.0, -3.5, 2.25, 700.0, -700.0, 1e300, inf, -inf, nan])
    f = tadc.function("x: f64[9]\ny: f64[9]\nf[i, j] = logaddexp(x[i], y[j])")
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(f(ends, ends), np.logaddexp(ends[:, None], ends), rtol=1e-15)
    g = tadc.vjp(tadc.function("x: f64\ny: f64\nf = logaddexp(x, y)"))
    assert [tuple(g(*at, 1.0)) for at in ((0.0, 0.0), (-inf, -inf), (3.0, -inf), (-inf, inf))] == [
        (0.5, 0.5), (0.0, 0.0), (1.0, 0.0), (0.0, 1.0)
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["lgamma", "sinc", "j0", "i1"])
def test_derivatives_go_on(name: str) -> None:
    """The fifth derivative, at 0 too where there is one, against mpmath."""
    f = tadc.function(f"x: f64\nf = {name}(x)")
    for _ in range(5):
        f = tadc.grad(f)
    for x in (0.7, 2.5) if name == "lgamma" else (0.0, 0.7, 2.5, 9.0):
        with mpmath.workdps(60):
            exact = float(MP.taylor(CASES[name][0], x, 5)[5] * 120)
        assert float(f(x)) == pytest.approx(exact, rel=1e-12, abs=1e-13)


def test_orders_end() -> None:
    with pytest.raises(tadc.CompileError) as error:
        tadc.function("x: f64\nf = j25(x)")
    assert error.value.diagnostics[0].code == "TAD0201"


def test_names_are_free() -> None:
    """No program that has an index or a tensor of these names is another one."""
    f = tadc.function("x: f64[3, 2]\ni0[j0, j1] = x[j0, j1] + j1")
    np.testing.assert_array_equal(f(np.zeros((3, 2))), [[0, 1]] * 3)
