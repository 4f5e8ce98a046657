"""Products as powers: the equations, and what is written of them."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import tadc
from tadc.frontend.formula_values import OPERANDS, evaluate
from tadc.passes.terms.equations import EQUATIONS, PAIRS, PairEquation, PowerEquation, joins
from tadc.passes.terms.value_intervals import ValueInterval, exactly

Number = Any
"""One of mpmath."""

EXPONENTS = [Fraction(n, 2) for n in (-6, -4, -3, -2, -1, 1, 2, 3, 4, 6)]
POINTS = [-2.75, -1.0, -0.3, 0.0, 0.3, 1.0, 2.75]


class _Precise:
    """Numbers with fifty digits; those that are not real are NaN."""

    def const(self, value: float) -> Number:
        return mpmath.mpf(value)

    def apply(self, function: str, *x: Number) -> Number:
        match function:
            case "sqrt":
                return power(x[0], Fraction(1, 2))
            case "div":
                return x[0] * power(x[1], Fraction(-1))
            case "mul":
                return x[0] * x[1]
            case "neg":
                return -x[0]
            case "add":
                return x[0] + x[1]
            case "sub":
                return x[0] - x[1]
            case "abs":
                return abs(x[0])
            case "sigmoid":
                return 1 / (1 + mpmath.exp(-x[0]))
            case "pow":
                if x[1] == int(x[1]):
                    return power(x[0], Fraction(int(x[1])))
                return power(x[0], Fraction(1, 2)) ** (2 * x[1])
            case _:
                return getattr(mpmath, function)(*x)

    def power(self, x: Number, n: int) -> Number:
        return power(x, Fraction(n))

    def select(self, relation: str, *x: Number) -> Number:
        raise NotImplementedError(relation)


def power(x: Number, a: Fraction) -> Number:
    """A power of a real number, NaN where that is none."""
    if x == 0 and a < 0:
        raise ZeroDivisionError
    if (x < 0 and a.denominator > 1) or mpmath.isnan(x):
        return mpmath.nan
    return mpmath.power(x, mpmath.mpf(a.numerator) / a.denominator)


def value(equation: PowerEquation, point: tuple[float, ...], a: Fraction, b: Fraction, side: str) -> Number:
    given = dict(zip(OPERANDS, map(mpmath.mpf, point), strict=False))
    if side == "left":
        if equation.has_literal:
            return power(power(given["x"], b), a)
        return power(evaluate(equation.left, given, _Precise()), a)
    factors = [
        power(evaluate(text, given, _Precise()), a * (b if times is None else times))
        for text, times in equation.right
    ]
    return mpmath.fprod(factors)


@pytest.mark.parametrize("equation", EQUATIONS, ids=lambda e: e.left)
def test_both_sides_of_an_equation(equation: PowerEquation) -> None:
    tried = 0
    count = sum(name in equation.left.replace("exp", "") for name in OPERANDS)
    others = EXPONENTS if equation.has_literal else [Fraction(1)]
    with mpmath.workdps(50):
        for a, b, point in itertools.product(EXPONENTS, others, itertools.product(POINTS, repeat=count)):
            if not equation.holds(a, b, dict(zip(OPERANDS, map(exactly, point), strict=False))):
                continue
            try:
                left, right = (value(equation, point, a, b, side) for side in ("left", "right"))
            except ZeroDivisionError:
                continue
            tried += 1
            assert (mpmath.isnan(left) and mpmath.isnan(right)) or abs(left - right) <= abs(left) * 1e-40, (
                a,
                b,
                point,
            )
    assert tried > 12


@pytest.mark.parametrize("equation", PAIRS, ids=lambda e: e.right)
def test_both_sides_of_a_pair(equation: PairEquation) -> None:
    with mpmath.workdps(50):
        for x in map(mpmath.mpf, POINTS):
            first, second, both = (
                evaluate(t, {"x": x}, _Precise()) for t in (*equation.left, equation.right)
            )
            assert abs(first * power(second, equation.times) - both) <= abs(both) * 1e-40


def test_reciprocals_of_any_power() -> None:
    x, p = np.array([0.3, 1.0, 2.5]), np.array([-1.5, 0.0, 2.25])
    f = tadc.function("x: f64[N]; p: f64[N]; f[i] = 1/x[i]**1.3 + 2/(x[i]*x[i]**p[i])")
    np.testing.assert_allclose(f(x=x, p=p), x**-1.3 + 2 * x ** (-1 - p), rtol=1e-14)
    zeros = tadc.function("x: f64[N]; p: f64[N]; f[i] = 1/x[i]**p[i]")(x=np.zeros(3), p=p)
    np.testing.assert_array_equal(zeros, [0.0, 1.0, np.inf])


def test_powers_that_join() -> None:
    values = [
        ValueInterval(),
        ValueInterval(0.0),
        ValueInterval(0.0, nonzero=True),
        ValueInterval(nonzero=True),
    ]
    with mpmath.workdps(50):
        for a, b, x in itertools.product(EXPONENTS, EXPONENTS, POINTS):
            for known in values:
                if x < known.low or (x == 0 and known.is_nonzero) or not joins(a, b, known):
                    continue
                if x == 0 and min(a, b) < 0:
                    assert a * b > 0  # infinite either way
                    continue
                apart, joined = power(x, a) * power(x, b), power(x, a + b)
                assert mpmath.isnan(apart) == mpmath.isnan(joined)
                assert mpmath.isnan(apart) or abs(apart - joined) <= abs(joined) * mpmath.mpf(10) ** -40


def test_roots_of_what_may_be_negative_stay() -> None:
    x = np.array([-1.0, 0.0, 4.0])
    f = tadc.function("x: f64[N]; f[i] = sqrt(x[i])**2 + 1/(x[i]*sqrt(x[i])); g = sum{i} (x[i]**-3)")
    value, _ = f(x=x)
    np.testing.assert_array_equal(value, [np.nan, np.inf, 4.125])
    (total,) = (tadc.function("x: f64[N]; g = sum{i} (x[i]**-3 + x[i]**-1)")(x=x[[0, 2]]),)
    assert total == -2 + 0.25 + 4.0**-3


def test_what_is_compared_or_jumps_is_as_written() -> None:
    x = np.arange(1.0, 400.0)
    f = tadc.function("x: f64[N]; n: f64; f[i] = floor(x[i]/n) + select(x[i]/n = 1, 1, 0)")
    for n in (49.0, 98.0, 103.0):
        np.testing.assert_array_equal(f(x=x, n=n), np.floor(x / n) + (x == n))


def test_integers_and_means_are_divided() -> None:
    f = tadc.function("x: f64[49]; f = sum{i} (x[i])/49; g[i: 99] = i/49")
    mean, quotients = f(x=np.ones(49))
    assert mean == 1
    np.testing.assert_array_equal(quotients, np.arange(99) / 49)


@pytest.mark.parametrize("type", ["f32", "f64"])
def test_errors_of_powers(type: str) -> None:
    """Less than four units for each division and root that became a product."""
    rng = np.random.default_rng(3)
    r = rng.uniform(1e-3, 10, (40, 30)).astype(np.float32 if type == "f32" else float)
    f = tadc.function(
        f"r: {type}[N, M]; let s[i, j] = r[i, j]**2 + 0.001; f[i, j] = 1/(s[i, j]*sqrt(s[i, j])); "
        "g = sum{i, j} (1/s[i, j]**2 + s[i, j]**-0.5)"
    )
    found, _ = f(r=r)
    exact = (r.astype(np.longdouble) ** 2 + np.longdouble(0.001)) ** np.longdouble(-1.5)
    assert np.abs(found / exact - 1).max() < 12 * np.finfo(r.dtype).eps
