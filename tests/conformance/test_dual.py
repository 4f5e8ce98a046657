"""Dual numbers: the facts of Semenov 2011, the algebra, functions against mpmath, and what code may do."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from math import cos as imported_cos
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tadc
from tadc.dual import Dual, jvp, lift, value_and_partials
from tadc.frontend.float_functions import float_function

Real = Callable[..., Any]


def semenov(x: float) -> float:
    return math.sin(x) * math.exp(-(x**2)) + x


def slope_of_semenov(x: float) -> float:
    return -2 * x * math.exp(-x * x) * math.sin(x) + math.exp(-x * x) * math.cos(x) + 1


def test_semenov_at_zero() -> None:
    assert jvp(semenov, (0.0,), (1.0,)) == (0.0, 2.0)
    x = Dual(0.0, (1.0,))
    parts = [lift(math_part)(x) for math_part in (lambda x: math.sin(x), lambda x: math.exp(-(x**2)))]
    assert [(p.value, p.partials) for p in parts] == [(0.0, (1.0,)), (1.0, (0.0,))]
    assert ((parts[0] * parts[1]).value, (parts[0] * parts[1]).partials) == (0.0, (1.0,))


@given(st.floats(-3, 3))
def test_value_has_the_bits_and_derivative_a_few_ulp(x: float) -> None:
    value, slope = jvp(semenov, (x,), (1.0,))
    assert value.hex() == semenov(x).hex()
    # Of the largest term: near a zero of the derivative its terms cancel.
    assert abs(slope - slope_of_semenov(x)) <= 8 * math.ulp(2.0)


numbers = st.integers(-50, 50).map(lambda n: n / 4)  # exact sums and products
duals = st.builds(lambda v, a, b: Dual(v, (a, b)), numbers, numbers, numbers)


def same(x: Dual, y: Dual) -> bool:
    return (x.value, x.partials) == (y.value, y.partials)


@given(duals, duals, duals)
def test_algebra(x: Dual, y: Dual, z: Dual) -> None:
    assert same(x + y, y + x)
    assert same(x * y, y * x)
    assert same((x + y) + z, x + (y + z))
    assert same((x * y) * z, x * (y * z))
    assert same(x * (y + z), x * y + x * z)
    zero, one = Dual(0.0, (0.0, 0.0)), Dual(1.0, (0.0, 0.0))
    assert same(x + zero, x)
    assert same(x * one, x)


def test_nilpotent_and_no_division_by_them() -> None:
    a, b = Dual(0.0, (2.0,)), Dual(0.0, (3.0,))
    assert same(a * b, Dual(0.0, (0.0,)))
    divisions: list[Real] = [operator.truediv, operator.mod, operator.floordiv, np.divide]
    for divide in divisions:
        for one in (1.0, Dual(1.0, (1.0,)), Dual(np.float64(1), (1.0,))):
            with pytest.raises(ZeroDivisionError, match="value 0"):
                divide(one, b)


def newton(a: float, x: float = 1.0) -> float:
    while abs(x * x - a) > 1e-12:
        x = (x + a / x) / 2
    return x


def test_iteration() -> None:
    value, slope = jvp(newton, (2.0,), (1.0,))
    assert value.hex() == newton(2.0).hex()
    assert slope == pytest.approx(0.35355339, abs=1e-8)


def test_iteration_that_starts_at_the_root_has_derivative_zero() -> None:
    root = newton(2.0)
    value, (by_square, by_start) = value_and_partials(newton, 2.0, root)
    assert (value, by_square, by_start) == (root, 0.0, 1.0)
    assert jvp(lambda a: newton(a, root), (2.0,), (1.0,)) == (root, 0.0)


def test_linear_interval_is_no_bound() -> None:
    value, slope = jvp(semenov, (1.0,), (1.0,))
    assert slope * 0.1 == pytest.approx(0.057965, abs=1e-6)
    samples = [semenov(x) for x in np.linspace(0.9, 1.1, 1001)]
    assert (min(samples), max(samples)) == (
        pytest.approx(1.24847, abs=1e-5),
        pytest.approx(1.36576, abs=1e-5),
    )
    assert min(samples) < value - slope * 0.1
    assert max(samples) < value + slope * 0.1


MP: Any = mpmath.mp
FUNCTIONS: dict[str, tuple[Real, Real, tuple[float, ...]]] = {
    **{
        name: (getattr(math, name), getattr(MP, name), (0.3,))
        for name in ("exp", "expm1", "log", "log1p", "sqrt", "cbrt", "erf", "erfc", "sin", "cos", "tan")
    },
    **{
        name: (getattr(math, name), getattr(MP, name), (0.3,))
        for name in ("asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "atanh", "degrees", "radians")
    },
    "acosh": (math.acosh, MP.acosh, (1.3,)),
    "exp2": (math.exp2, lambda x: MP.mpf(2) ** x, (0.3,)),
    "log2": (math.log2, lambda x: MP.log(x, 2), (0.3,)),
    "log10": (math.log10, MP.log10, (0.3,)),
    "log to a base": (math.log, MP.log, (0.3, 1.7)),
    "atan2": (math.atan2, MP.atan2, (-0.3, -0.8)),
    "pow": (math.pow, lambda x, y: MP.mpf(x) ** y, (1.3, -0.7)),
    "**": (operator.pow, lambda x, y: MP.mpf(x) ** y, (1.3, 2.2)),
    "hypot": (math.hypot, lambda x, y, z: MP.sqrt(x * x + y * y + z * z), (1.0, -2.0, 0.5)),
    "dist": (lambda x, y: math.dist((x, y), (y, 1.0)), lambda x, y: MP.hypot(x - y, y - 1), (0.3, 2.0)),
    "copysign": (math.copysign, lambda x, y: -abs(x), (0.3, -1.0)),
    "fmod": (math.fmod, lambda x, y: x + 3 * y, (-7.3, 2.1)),
    "remainder": (math.remainder, lambda x, y: x - 3 * y, (7.3, 2.1)),
    "%": (operator.mod, lambda x, y: x + 4 * y, (-7.3, 2.1)),
    "divmod": (lambda x, y: divmod(x, y)[1], lambda x, y: x - 3 * y, (7.3, 2.1)),
    "ldexp": (lambda x: math.ldexp(x, 3), lambda x: 8 * x, (0.3,)),
    "modf": (lambda x: math.modf(x)[0], lambda x: x - 2, (2.3,)),
    "fsum": (lambda x, y: math.fsum([x, y, x]), lambda x, y: 2 * x + y, (0.3, 0.4)),
    "prod": (lambda x, y: math.prod([x, y, x]), lambda x, y: x * x * y, (0.3, 0.4)),
    "sum": (lambda x, y: sum([x, y, x]), lambda x, y: 2 * x + y, (0.3, 0.4)),
    "abs": (abs, abs, (-0.3,)),
    "fabs": (math.fabs, abs, (-0.3,)),
    "-": (operator.neg, operator.neg, (0.3,)),
    "logaddexp": (np.logaddexp, lambda x, y: MP.log(MP.exp(x) + MP.exp(y)), (0.3, 0.9)),
    "square": (np.square, lambda x: x * x, (0.3,)),
    "reciprocal": (np.reciprocal, lambda x: 1 / x, (0.3,)),
    "arctan2": (np.arctan2, MP.atan2, (0.3, -0.8)),
    "maximum": (np.maximum, max, (0.3, 0.8)),
    "where": (lambda x, y: np.where(x > y, x, y * y), lambda x, y: y * y, (0.3, 0.8)),
    "clip": (lambda x: np.clip(x, -1, 1) * x, lambda x: x * x, (0.3,)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function(name: str) -> None:
    """Value with the bits of the plain one, partials as mpmath differentiates the same function."""
    plain, reference, point = FUNCTIONS[name]
    value, found = value_and_partials(lambda *x: plain(*x), *point)
    assert float(value).hex() == float(plain(*point)).hex()
    with mpmath.workdps(40):
        for k, partial in enumerate(found):
            order = tuple(int(n == k) for n in range(len(point)))
            expected = mpmath.diff(reference, *((point, order) if len(point) > 1 else point))
            assert partial == pytest.approx(float(expected), rel=4e-15, abs=1e-15)


def test_imported_names_helpers_closures_defaults_and_methods() -> None:
    """`math` is found however it is reached, and changes of a closure reach it."""
    count = 0

    def helper(x: float, sin: Callable[[float], float] = math.sin) -> float:
        nonlocal count
        count += 1
        return sin(x) + recursive(x, 3)

    def recursive(x: float, n: int) -> float:
        return imported_cos(x) * recursive(x, n - 1) if n else 1.0

    class Model:
        scale = 2.0

        def __call__(self, x: float) -> float:
            return self.scale * math.exp(x)

        def run(self, x: float) -> float:
            import math as m
            from math import exp

            return helper(x) + float(m.tanh(exp(x))) + self.scale + cached(x) + half(x)

    @functools.lru_cache
    def cached(x: float) -> float:
        return math.sqrt(x)

    half = functools.partial(lambda y, x: math.atan2(y, x), 0.5)
    model = Model()
    x = 0.7
    value, slope = jvp(model.run, (x,), (1.0,))
    assert count == 1
    assert value == model.run(x)
    inner = math.exp(x)
    expected = math.cos(x) - 3 * math.cos(x) ** 2 * math.sin(x) + (1 - math.tanh(inner) ** 2) * inner
    assert slope == pytest.approx(expected + 0.5 / math.sqrt(x) - 0.5 / (0.25 + x * x), rel=1e-14)
    assert jvp(model, (x,), (1.0,)) == (2 * inner, 2 * inner)


def branches(x: float, n: int) -> float:
    if not isinstance(x, float):
        raise TypeError(x)
    total = 0.0
    for k in range(n):
        total += x**k if k % 2 else -x / (k + 1)
    return total if math.floor(x) < 1 else total * int(x) + round(x)


def test_loops_branches_and_integers() -> None:
    value, slope = jvp(lambda x: branches(x, 5), (2.5,), (1.0,))
    assert value == branches(2.5, 5)
    assert slope == pytest.approx(2 * (1 + 3 * 2.5**2 - 1 - 1 / 3 - 1 / 5))
    _, partials = value_and_partials(branches, 2.5, 5)
    assert partials == (pytest.approx(slope), 0.0)


CONVENTIONS: dict[str, tuple[Real, tuple[float, ...], tuple[float, ...]]] = {
    "abs": (abs, (0.0,), (0.0,)),
    "floor": (lambda x: np.floor(x), (2.0,), (0.0,)),
    "sign": (lambda x: np.sign(x), (0.0,), (0.0,)),
    "ties of max": (max, (2.0, 2.0), (0.5, 0.5)),
    "ties of three": (lambda x, y: max(x, 1.0, y, 2.0), (2.0, 2.0), (1 / 3, 1 / 3)),
    "ties of minimum": (lambda x, y: np.minimum(x, y), (2.0, 2.0), (0.5, 0.5)),
    "sqrt": (math.sqrt, (0.0,), (math.inf,)),
    "a zero tangent": (lambda x: math.sqrt(0.0 * x), (3.0,), (0.0,)),
    "hypot": (math.hypot, (0.0, 0.0), (0.0, 0.0)),
    "zero squared": (lambda x: x**2, (0.0,), (0.0,)),
    "zero to the zero": (lambda x, y: x**y, (0.0, 0.0), (0.0, -math.inf)),
    "negative base": (lambda x: x**3, (-2.0,), (12.0,)),
}


@pytest.mark.parametrize("name", CONVENTIONS)
def test_convention(name: str) -> None:
    fn, point, expected = CONVENTIONS[name]
    assert value_and_partials(lambda *x: fn(*x), *point)[1] == pytest.approx(expected)


def test_conventions_are_those_of_compiled_programs() -> None:
    """One table of rules: at kinks and poles both give the same."""
    programs: dict[str, Real] = {
        "abs(x)": abs,
        "sqrt(x)": math.sqrt,
        "max(x, 0)": lambda x: max(x, 0.0),
        "x**0.5": lambda x: x**0.5,
        "log1p(-x)*x": lambda x: math.log1p(-x) * x,
    }
    for text, fn in programs.items():
        slope = tadc.grad(tadc.function(f"x: f64; f = {text}"))(x=0.0)
        assert jvp(lambda x, fn=fn: fn(x), (0.0,), (1.0,))[1] == slope


def test_arrays_and_structures() -> None:
    def fn(v: Any, s: float) -> Any:
        w = np.sin(v) * s
        return {"total": w.sum(), "all": w}, [s, 1.0]

    v = np.array([0.5, 1.5])
    found, partials = value_and_partials(fn, v, 3.0)
    np.testing.assert_array_equal(found[0]["all"], 3 * np.sin(v))
    by_v, by_s = partials[0]["all"]
    np.testing.assert_allclose(by_v, np.diag(3 * np.cos(v)), rtol=1e-15)
    np.testing.assert_allclose(by_s, np.sin(v), rtol=1e-15)
    np.testing.assert_allclose(partials[0]["total"][0], 3 * np.cos(v), rtol=1e-15)
    assert partials[1][0][1] == 1.0
    assert partials[1][1][1] == 0.0
    _, dots = jvp(fn, (v, 3.0), (np.array([1.0, 2.0]), 0.5))
    np.testing.assert_allclose(dots[0]["all"], by_v @ [1, 2] + 0.5 * by_s, rtol=1e-15)


def test_partials_are_those_of_jax() -> None:
    import jax
    import jax.numpy as jnp

    def fn(x: float, y: float, z: float) -> Any:
        total = 0.0
        for k in range(4):
            total = np.tanh(total * x + np.log1p(y * y)) - z / (k + 1) * np.exp(-x * total)
        return total

    def peer(x: float, y: float, z: float) -> Any:
        total: Any = 0.0
        for k in range(4):
            total = jnp.tanh(total * x + jnp.log1p(y * y)) - z / (k + 1) * jnp.exp(-x * total)
        return total

    point = (0.3, -1.2, 0.7)
    expected = jax.grad(peer, argnums=(0, 1, 2))(*point)
    np.testing.assert_allclose(value_and_partials(fn, *point)[1], np.array(expected), rtol=1e-12)


@pytest.mark.parametrize(
    "x", [1e-8, 0.3, 1.0, 1.4616321449683622, 2.0, 9.99, 10.0, 150.5, -0.5, -3.25, -20.1]
)
def test_gamma(x: float) -> None:
    """Its derivative is gamma times digamma, that of its logarithm digamma alone, by mpmath."""
    with mpmath.workdps(40):
        exact = float(mpmath.digamma(mpmath.mpf(x)))
        slope = float(mpmath.gamma(mpmath.mpf(x)) * mpmath.digamma(mpmath.mpf(x)))
    value, found = tadc.dual.jvp(math.lgamma, (x,), (1.0,))
    assert value == math.lgamma(x)
    np.testing.assert_allclose(found, exact, rtol=4e-15, atol=4e-15)
    value, found = tadc.dual.jvp(math.gamma, (x,), (1.0,))
    assert value == math.gamma(x)
    np.testing.assert_allclose(found, slope, rtol=1e-14, atol=4e-15 * abs(value))


def test_gamma_at_a_pole() -> None:
    """As `math` has it: an error for the function, and no digamma there."""
    digamma = float_function("digamma")
    assert digamma(0.0) == -math.inf
    assert math.isnan(digamma(-3.0))
    assert digamma(math.inf) == math.inf
    with pytest.raises(ValueError, match="math domain"):
        tadc.dual.jvp(math.gamma, (-1.0,), (1.0,))


@pytest.mark.parametrize(
    ("fn", "words"),
    [
        (lambda x: math.ulp(x), "derivative would be lost"),
        (lambda x: np.zeros(2).__setitem__(0, x), "derivative would be lost"),
        (lambda x: (x - 9.0) ** 0.5, "complex"),
        (lambda x: np.nextafter(x, 1.0), "no rule for `nextafter`"),
        (lambda x: np.add.reduce(x), "add.reduce"),
        (lambda x: {x: 1}, "unhashable"),
        (lambda x: range(x), "no integer"),
        (lambda x: x + "1", "unsupported operand"),
        (lambda x: x + Dual(1.0, (1.0, 2.0)), "cannot be mixed"),
    ],
)
def test_errors_are_clear(fn: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        jvp(fn, (1.5,), (1.0,))


def test_builtins_that_ask_their_numbers() -> None:
    assert jvp(abs, (-2.0,), (1.0,)) == (2.0, -1.0)
    assert jvp(operator.mul, (2.0, 3.0), (1.0, 10.0)) == (6.0, 23.0)


def test_wrong_calls() -> None:
    with pytest.raises(TypeError, match="not a function written in Python"):
        lift(len)
    with pytest.raises(ValueError, match="2 arguments have 1 tangents"):
        jvp(math.pow, (1.0, 2.0), (1.0,))
    with pytest.raises(ValueError, match="shape"):
        jvp(lambda x: x, (1.0,), (np.ones(2),))
    with pytest.raises(TypeError, match="no number"):
        jvp(lambda x: x, ("a",), (1.0,))
