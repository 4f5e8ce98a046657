"""Derivatives of higher order where a factor of a lower one is 0, by every mix of modes.

The reference is SymPy, exact: at these points JAX multiplies 0 and infinity in some of the modes itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
import sympy

import tadc
from tadc.api.derivatives import derivative_of

x, y = sympy.symbols("x y", real=True)
SYMBOLS = {"x": x, "y": y}

#: A formula, what it is, and the point: a residual, or a factor of its derivative, is 0 there.
CASES: list[tuple[str, sympy.Expr, dict[str, float]]] = [
    ("(sqrt(x) - 1)**2", (sympy.sqrt(x) - 1) ** 2, {"x": 1}),
    ("log(x)**2", sympy.log(x) ** 2, {"x": 1}),
    ("log2(4*x)**3", (sympy.log(4 * x) / sympy.log(2)) ** 3, {"x": 0.25}),
    ("(1/x - 0.5)**2", (1 / x - sympy.Rational(1, 2)) ** 2, {"x": 2}),
    ("(x**-1 - 0.5)**2", (1 / x - sympy.Rational(1, 2)) ** 2, {"x": 2}),
    ("(x**2 - 1)/x*(x - 1)", (x**2 - 1) / x * (x - 1), {"x": 1}),
    ("(x - 1)/x*(y - 2)/y", (x - 1) / x * (y - 2) / y, {"x": 1, "y": 2}),
    ("log(x)*log(y)", sympy.log(x) * sympy.log(y), {"x": 1, "y": 1}),
    ("(x/y - 1)**2", (x / y - 1) ** 2, {"x": 3, "y": 3}),
    ("asin(x**2)", sympy.asin(x**2), {"x": 0}),
    ("acos(x**2)", sympy.acos(x**2), {"x": 0}),
    ("atanh(x**2)", sympy.atanh(x**2), {"x": 0}),
    ("acosh(1 + y**2 + x)**2", sympy.acosh(1 + y**2 + x) ** 2, {"x": 1, "y": 0}),
    ("(cbrt(x) - 1)**2", (sympy.cbrt(x) - 1) ** 2, {"x": 1}),
    ("log1p(x)**2 * log10(y)", sympy.log(1 + x) ** 2 * sympy.log(y, 10), {"x": 0, "y": 1}),
    ("(x**1.5 - 1)**2", (x ** sympy.Rational(3, 2) - 1) ** 2, {"x": 1}),
    ("(x**y - 1)**2", (x**y - 1) ** 2, {"x": 1, "y": 2}),
    ("pow(x, y)", x**y, {"x": 2, "y": 0}),
    ("pow(x, y)*y", x**y * y, {"x": 3, "y": 0}),
    ("atan2(x, y)**2", sympy.atan(x / y) ** 2, {"x": 0, "y": 2}),
    ("sqrt(x**2 + y**2)*x", sympy.sqrt(x**2 + y**2) * x, {"x": 0, "y": 1}),
    ("safe(x, y)**2", (x * y) ** 2, {"x": 0, "y": 3}),
    ("exp(x) / (1 + x) * x", sympy.exp(x) / (1 + x) * x, {"x": 0}),
]
ONE = [case for case in CASES if len(case[2]) == 1]
MIXED = [("vjp", "vjp", "vjp"), ("vjp", "jvp", "vjp"), ("jvp", "vjp", "jvp"), ("jvp", "jvp", "jvp")]


def differentiated(
    f: tadc.Function, mode: str, name: str, given: dict[str, float]
) -> tuple[tadc.Function, dict[str, float]]:
    """The derivative of the one output by one input, and its inputs; seeds are 1."""
    if mode == "vjp":
        made = tadc.vjp(f, wrt=name)
        seeds = made.cotangents.values()
    else:
        made = derivative_of(f, "tangents", name, "auto", None)
        seeds = made.tangents.values()
    return made, given | dict.fromkeys(seeds, 1.0)


def check(
    case: tuple[str, sympy.Expr, dict[str, float]], order: int, mixes: Iterable[tuple[str, ...]]
) -> None:
    """All partial derivatives of an order, each by these sequences of modes."""
    text, formula, at = case
    declarations = "\n".join(f"{name}: f64" for name in at)
    f = tadc.function(f"{declarations}\nf = {text}")
    point = {SYMBOLS[name]: sympy.nsimplify(value) for name, value in at.items()}
    mixes = list(mixes)
    for names in combinations_with_replacement(at, order):
        expected = float(sympy.N(sympy.diff(formula, *map(SYMBOLS.get, names)).subs(point), 30))
        for modes in mixes:
            g, given = f, dict(at)
            for mode, name in zip(modes, names, strict=True):
                g, given = differentiated(g, mode, name, given)
            found = float(np.asarray(g(**given)))
            assert abs(found - expected) <= 1e-9 * (1 + abs(expected)), (names, modes, str(g))


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
@pytest.mark.parametrize("order", [1, 2])
def test_every_mix_of_modes(case: tuple[str, sympy.Expr, dict[str, float]], order: int) -> None:
    """First and second derivatives by every sequence of forward and reverse mode."""
    check(case, order, product(("vjp", "jvp"), repeat=order))


@pytest.mark.parametrize("case", ONE, ids=[case[0] for case in ONE])
def test_third_derivatives(case: tuple[str, sympy.Expr, dict[str, float]]) -> None:
    """By some sequences."""
    check(case, 3, MIXED)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_third_derivatives_by_every_mix(case: tuple[str, sympy.Expr, dict[str, float]]) -> None:
    """By all sequences."""
    check(case, 3, product(("vjp", "jvp"), repeat=3))


@pytest.mark.parametrize("text", ["(sqrt(x[i]) - 1)**2", "log(x[i])**2", "(1/x[i] - 1)**2"])
def test_residuals_of_a_fit(text: str) -> None:
    """The Hessian of a sum of squared residuals at the optimum, as a matrix and as products."""
    f = tadc.function(f"x: f64[3]\nf = sum{{i}} ({text})")
    at, slope = np.ones(3), {"(sqrt(x[i]) - 1)**2": 0.5, "log(x[i])**2": 1, "(1/x[i] - 1)**2": -1}[text]
    np.testing.assert_array_equal(tadc.grad(f)(x=at), np.zeros(3))
    np.testing.assert_allclose(tadc.hessian(f)(x=at), 2 * slope**2 * np.eye(3))
    np.testing.assert_allclose(tadc.hvp(f)(x=at, x_dot=np.arange(3.0)), 2 * slope**2 * np.arange(3.0))


def test_a_cotangent_that_cancels() -> None:
    """What flows into a difference of equal terms is 0, also where each is infinite."""
    f = tadc.function("a: f64[3]\nf[i] = cbrt(log1p(a[i] - a[i]))")
    with pytest.warns(tadc.CompileWarning):
        np.testing.assert_array_equal(tadc.vjp(f)(a=np.ones(3), df=np.ones(3)), np.zeros(3))
