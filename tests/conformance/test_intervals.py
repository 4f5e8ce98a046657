"""Intervals hold what they say: every function against mpmath, programs and Python code against samples."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import tadc
from tadc.apps.uncertainty.float_intervals import Interval
from tadc.apps.uncertainty.interval_rules import bounds_of
from tadc.frontend.functions import BINARY, OPERATORS, UNARY

MP: Any = mpmath.mp
Real = Callable[..., Any]

EXACT: dict[str, Real] = {
    **{name: getattr(MP, name) for name in UNARY if hasattr(MP, name) and name not in ("sign", "abs")},
    **{"abs": abs, "sign": MP.sign, "floor": MP.floor, "ceil": MP.ceil, "relu": lambda x: max(x, MP.mpf(0))},
    **{"exp2": lambda x: MP.mpf(2) ** x, "log2": lambda x: MP.log(x) / MP.log(2)},
    "cbrt": lambda x: MP.sign(x) * MP.cbrt(abs(x)),
    "sigmoid": lambda x: 1 / (1 + MP.exp(-x)),
    **{"add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y},
    **{"safe": lambda x, y: x * y if x else x, "neg": lambda x: -x, "pinv": lambda x: 1 / x if x else x},
    **{"div": lambda x, y: x / y, "mod": lambda x, y: x - MP.floor(x / y) * y, "pow": lambda x, y: x**y},
    **{"max": max, "min": min, "atan2": MP.atan2, "hypot": MP.hypot},
    "logaddexp": lambda x, y: max(x, y) + MP.log1p(MP.exp(-abs(x - y))),
    "floordiv": lambda x, y: MP.floor(x / y),
    **{f"j{n}": lambda x, n=n: MP.besselj(n, x) for n in range(5)},
    **{f"i{n}": lambda x, n=n: MP.besseli(n, x) for n in range(4)},
    **{"sinc": MP.sincpi, "trigamma": lambda x: MP.psi(1, x), "polygamma2": lambda x: MP.psi(2, x)},
    "sinc1": lambda x: (MP.cospi(x) - MP.sincpi(x)) / x if x else x,
    **{"gamma": MP.gamma, "lgamma": lambda x: MP.log(abs(MP.gamma(x)))},
}
ARITY = {
    **dict.fromkeys(UNARY, 1),
    **dict.fromkeys(BINARY, 2),
    "neg": 1,
    "gamma": 1,
    **dict.fromkeys(("sinc1", "polygamma2", "j2", "j3", "j4", "i2", "i3"), 1),
}

reals = st.one_of(
    st.floats(-4, 4),
    st.floats(-700, 700),
    st.integers(-6, 6).map(float),
    st.integers(-9, 9).map(lambda n: n * math.pi / 2),
)
radii = st.sampled_from([0.0, 1e-12, 1e-3, 0.5, 3.0, 7.0])
boxes = st.tuples(reals, radii).map(lambda p: (p[0] - p[1], p[0] + p[1]))


def test_every_function_of_the_language_has_bounds() -> None:
    assert {*UNARY, *BINARY, *OPERATORS.values()} <= EXACT.keys()
    for name in (*UNARY, *BINARY, *OPERATORS.values()):
        low, high = bounds_of(name, *[(1.25, 1.5) if name == "acosh" else (0.25, 0.5)] * ARITY.get(name, 2))
        assert low <= high


@pytest.mark.parametrize("name", EXACT)
@given(x=boxes, y=boxes, s=st.floats(0, 1), t=st.floats(0, 1))
@example(x=(0.0, 0.0), y=(1.0, 2.0), s=0.0, t=0.0)
def test_function(name: str, x: tuple[float, float], y: tuple[float, float], s: float, t: float) -> None:
    """The exact value, at ends and in between, lies inside."""
    intervals = (x,) if ARITY.get(name, 2) == 1 else (x, y)
    try:
        low, high = bounds_of(name, *intervals)
    except tadc.ArgumentError:  # it has none there
        return
    assert low <= high
    with mpmath.workdps(60):
        for a, b in ((0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0), (s, t)):
            point = [
                min(max(lo + w * (hi - lo), lo), hi) for (lo, hi), w in zip(intervals, (a, b), strict=False)
            ]
            exact = EXACT[name](*map(MP.mpf, point))
            assert low <= exact <= high, (name, point)


def test_bounds_are_tight_where_they_can_be() -> None:
    assert bounds_of("sin", (0.0, 7.0)) == (-1.0, 1.0)
    low, high = bounds_of("cos", (-0.5, 1.0))
    assert high == 1.0
    assert low == pytest.approx(math.cos(1), rel=1e-14)
    assert bounds_of("pow", (-2.0, 3.0), (2.0, 2.0)) == (0.0, pytest.approx(9, rel=1e-14))
    assert bounds_of("sub", (1.0, 1.0), (1.0, 1.0)) == (0.0, 0.0)
    assert bounds_of("sqrt", (0.0, 4.0))[0] == 0.0
    # The least value, between the ends.
    assert bounds_of("gamma", (1.0, 2.0)) == pytest.approx((0.8856031944108887, 1), rel=1e-14)
    assert bounds_of("gamma", (2.0, 3.0)) == pytest.approx((1, 2), rel=1e-14)
    assert bounds_of("gamma", (-1.5, -1.5)) == pytest.approx((math.gamma(-1.5),) * 2, rel=1e-14)
    assert bounds_of("gamma", (-2.5, -2.5)) == pytest.approx((math.gamma(-2.5),) * 2, rel=1e-14)
    assert bounds_of("lgamma", (1e3, 1e5)) == pytest.approx((math.lgamma(1e3), math.lgamma(1e5)), rel=1e-14)
    assert bounds_of("lgamma", (99.0, 101.0)) == pytest.approx((math.lgamma(99), math.lgamma(101)), rel=1e-14)
    assert bounds_of("atan2", (-1.0, 1.0), (1.0, 2.0)) == pytest.approx((-math.pi / 4, math.pi / 4))


@pytest.mark.parametrize(
    ("name", "intervals"),
    [
        ("div", [(1, 2), (-1, 1)]),
        ("div", [(1, 2), (0, 1)]),
        ("log", [(0, 1)]),
        ("sqrt", [(-1e-9, 1)]),
        ("asin", [(0, 1.5)]),
        ("tan", [(1, 2)]),
        ("pow", [(-1, 1), (0.5, 0.5)]),
        ("gamma", [(-0.5, 1)]),
        ("gamma", [(-3.5, -2.5)]),
        ("lgamma", [(0, 1)]),
        ("airy", [(1, 2)]),
    ],
)
def test_no_bounds(name: str, intervals: list[tuple[float, float]]) -> None:
    with pytest.raises(tadc.ArgumentError, match="bounds") as error:
        bounds_of(name, *intervals)
    assert error.value.diagnostics[0].code == "TAD0908"


def semenov(x: float) -> float:
    return math.sin(x) * math.exp(-(x**2)) + x


def test_semenov_is_inside() -> None:
    """The true range, which the linear estimate leaves."""
    for fn, name in ((semenov, "semenov"), (tadc.function("x: f64; f = sin(x)*exp(-x**2) + x"), "f")):
        r = tadc.propagate(fn, {"x": 1.0}, u={"x": 0.1}, method="interval")
        low, high = r.bounds[name]
        assert low <= 1.24847 <= 1.36576 <= high
        assert r.is_rigorous
        assert r.U[name] == (high - low) / 2


PROGRAMS = {
    "guards": "x: f64[5]; y[i] = if {i % 2 = 0} then (x[i]) else (x[i - 1]**3)",
    "selects": "x: f64[5]; y[i] = select(x[i] > 1, x[i], 2 - x[i]) + select(x[i] = 9, 1, 0)",
    "sums": "x: f64[N]; let h[i] = x[i]**2; y[i: N] = sum{k}_0^i (h[k] * x[i - k]) + N * i",
    "reductions": "x: f64[5]; a = prod{i} (x[i]); b = max{i} (x[i]) - min{j} (x[j]); d = logsumexp{i} (x[i])",
    "recurrences": "x: f64[5]; scan{-i} y[i] = x[i] + (if {i < 4} then (0.5 * x[i] * y[i + 1]) else (0))",
    "functions": "x: f64[5]; y[i] = atan2(x[i], 2) * tanh(-x[i]) / sqrt(x[i]) + max(x[i], 1) % 3",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_hold_their_samples(name: str) -> None:
    f = tadc.function(PROGRAMS[name])
    random = np.random.default_rng(1)
    x, u = random.uniform(0.7, 1.5, 5), random.uniform(0.01, 0.2, 5)
    r = tadc.propagate(f, {"x": x}, u={"x": u}, method="interval")
    for weight in [-np.ones(5), np.ones(5), *random.uniform(-1, 1, (50, 5))]:
        found = f(x=x + u * weight)
        for output, y in zip(f.outputs, found if len(f.outputs) > 1 else (found,), strict=True):
            low, high = r.bounds[output]
            slack = 1e-13  # the kernel rounds, the bounds are of the exact value
            assert np.all(low - slack <= y)
            assert np.all(y <= high + slack)
    assert all(np.all(half < 25) for half in r.U.values())


def test_python_code_with_loops_and_decided_branches() -> None:
    def code(a: float, b: float) -> dict[str, float]:
        total = 0.0
        for k in range(3):
            total = max(total, a) * min(b, 2.0) + math.hypot(a, k) if a > 0 else -a
        return {"total": total, "floor": math.floor(b) * a}

    at, u = {"a": 1.0, "b": 1.5}, {"a": 0.1, "b": 0.2}
    r = tadc.propagate(code, at, u=u, method="interval")
    for a in np.linspace(0.9, 1.1, 9):
        for b in np.linspace(1.3, 1.7, 9):
            for name, y in code(float(a), float(b)).items():
                assert r.bounds[name][0] <= y <= r.bounds[name][1]
    assert r.bounds["floor"] == pytest.approx((0.9, 1.1), rel=1e-15)


def test_measurements() -> None:
    at = {"x": np.array([1.0, 2.0]), "y": 3.0}
    f = tadc.function("x: f64; y: f64; z = x * y")
    python: Real = lambda x, y: x * y  # noqa: E731
    for fn, name in ((f, "z"), (python, "f")):
        r = tadc.propagate(fn, at, u={"x": np.array([0.5, 0.25])}, method="interval")
        np.testing.assert_allclose(r.bounds[name][0], [1.5, 5.25], rtol=1e-15)
        np.testing.assert_allclose(r.bounds[name][1], [4.5, 6.75], rtol=1e-15)
        assert np.all(r.bounds[name][0] <= [1.5, 5.25])


@pytest.mark.parametrize(
    ("code", "code_of_error"),
    [
        (lambda x: x if x > 1 else 2 - x, "TAD0907"),
        (lambda x: 1.0 if x == 1 else 0.0, "TAD0907"),
        (lambda x: float(math.floor(x)), "TAD0907"),
        (lambda x: 1 / (x - 1), "TAD0908"),
        (lambda x: math.fmod(x, 0.7), "TAD0908"),
    ],
)
def test_what_has_no_bounds_is_a_diagnostic(code: Real, code_of_error: str) -> None:
    with pytest.raises(tadc.ArgumentError) as error:
        tadc.propagate(code, {"x": 1.0}, u={"x": 0.1}, method="interval")
    assert [d.code for d in error.value.diagnostics] == [code_of_error]


def test_an_interval_is_no_float() -> None:
    with pytest.raises(TypeError, match="cannot become a float"):
        tadc.propagate(lambda x: math.ulp(x), {"x": 1.0}, u={"x": 0.1}, method="interval")
    assert repr(Interval(1.0, 2.0)) == "[1, 2]"


@pytest.mark.parametrize(
    "fn", [semenov, tadc.function("x: f64; f = sin(x)*exp(-x**2) + x")], ids=["Python", "program"]
)
def test_pieces_are_tighter_and_hold(fn: Any) -> None:
    """Towards the true range of conformance.md, from outside; one piece is what there is without."""
    widths: list[float] = []
    for pieces in (1, 8, 64, 512):
        r = tadc.propagate(fn, {"x": 1.0}, u={"x": 0.1}, method="interval", pieces=pieces)
        ((low, high),) = r.bounds.values()
        for x in np.linspace(0.9, 1.1, 101):
            assert low <= semenov(float(x)) <= high
        widths.append(high - low)
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] == pytest.approx(1.36576 - 1.24847, rel=0.02)
    plain = tadc.propagate(fn, {"x": 1.0}, u={"x": 0.1}, method="interval")
    assert plain.U == tadc.propagate(fn, {"x": 1.0}, u={"x": 0.1}, method="interval", pieces=1).U


def test_pieces_of_arrays_and_measurements() -> None:
    """`x - x` cut 200 times is near 0; of many measurements each is cut by itself."""
    f = tadc.function("x: f64[2]; y: f64; z = x[0] * y - x[0] * y; w[i] = x[i] * (1 - x[i])")
    at, u = {"x": np.array([0.5, 0.25]), "y": 2.0}, {"x": 0.25, "y": 0.1}
    one, many = (tadc.propagate(f, at, u=u, method="interval", pieces=n) for n in (1, 200))
    assert many.U["z"] < one.U["z"] / 4
    assert np.all(many.U["w"] < one.U["w"])
    low, high = many.bounds["w"]
    for x in np.linspace(0.25, 0.75, 21):
        assert low[0] <= x * (1 - x) <= high[0]
    g = tadc.function("x: f64; w = x * (1 - x)")
    found = tadc.propagate(g, {"x": at["x"]}, u={"x": 0.25}, method="interval", pieces=64)
    assert found.bounds["w"][0].shape == (2,)
    for n, middle in enumerate(at["x"]):
        alone = tadc.propagate(g, {"x": middle}, u={"x": 0.25}, method="interval", pieces=64)
        assert (found.bounds["w"][0][n], found.bounds["w"][1][n]) == alone.bounds["w"]


def test_pieces_decide_what_the_whole_does_not() -> None:
    """A quotient that is bounded, as no piece divides by 0; one that is not stays an error."""
    fn: Real = lambda x: 1 / (x * x - x + 1)  # noqa: E731
    at, u = {"x": 0.5}, {"x": 1.0}
    with pytest.raises(tadc.ArgumentError):
        tadc.propagate(fn, at, u=u, method="interval")
    low, high = tadc.propagate(fn, at, u=u, method="interval", pieces=256).bounds["f"]
    assert low <= 1 / 1.75 < 4 / 3 <= high < 1.4
    with pytest.raises(tadc.ArgumentError) as error:
        tadc.propagate(lambda x: 1 / x, {"x": 0.0}, u={"x": 1.0}, method="interval", pieces=20)
    assert [d.code for d in error.value.diagnostics] == ["TAD0908"]


@pytest.mark.parametrize(("pieces", "method"), [(0, "interval"), (2.5, "interval"), (4, "gum")])
def test_wrong_pieces(pieces: Any, method: str) -> None:
    """A positive number, for intervals."""
    with pytest.raises(ValueError, match="pieces"):
        tadc.propagate(semenov, {"x": 1.0}, u={"x": 0.1}, method=method, pieces=pieces)
