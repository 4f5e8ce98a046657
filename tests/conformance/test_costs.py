"""Adjoints are accumulated once per value."""

from __future__ import annotations

import time

import numpy as np
import pytest

import tadc

#: x**(2**30) and its derivatives are exact at these points.
POINTS = np.array([1.0, -1.0, 0.0])


def squarings(count: int) -> str:
    """`count` squarings in a row, each written as a product."""
    lines = ["x: f64[3]", "let v0[i] = x[i]"]
    lines += [f"let v{n + 1}[i] = v{n}[i] * v{n}[i]" for n in range(count)]
    return "\n".join([*lines, f"f[i] = v{count}[i]"])


def test_thirty_squarings() -> None:
    """Value and derivatives are right, and come in the time of a small program."""
    start = time.perf_counter()
    f = tadc.function(squarings(30))
    np.testing.assert_array_equal(f(x=POINTS), [1, 1, 0])
    g = tadc.vjp(f, wrt="x")
    power = 2.0**30
    ones = np.ones(3)
    np.testing.assert_array_equal(g(x=POINTS, df=ones), [power, -power, 0])
    h = tadc.vjp(g, wrt="x")
    cotangent = h.cotangents[g.outputs[0]]
    found = h(**{"x": POINTS, "df": ones, cotangent: ones})
    np.testing.assert_allclose(found, [power * (power - 1), power * (power - 1), 0], rtol=1e-12)
    assert time.perf_counter() - start < 20


@pytest.mark.parametrize("order", [1, 2])
def test_the_derivative_of_squarings_is_linear(order: int) -> None:
    """Twice the squarings give a derivative about twice as long."""
    lengths: list[int] = []
    for count in (8, 16):
        f = tadc.function(squarings(count))
        for _ in range(order):
            f = tadc.vjp(f, wrt="x")
        lengths.append(len(str(f)))
    assert lengths[1] < 2.5 * lengths[0]


def test_squares_of_squares() -> None:
    """One expression: its text grows, its derivative stays small."""
    expression = "x[i]"
    for _ in range(30):
        expression = f"({expression})**2"
    f = tadc.function(f"x: f64[3]\nf[i] = {expression}")
    g = tadc.value_and_vjp(f)
    found = g(x=POINTS, df=np.ones(3))
    np.testing.assert_array_equal(found.f, [1, 1, 0])
    np.testing.assert_array_equal(found.dx, [2.0**30, -(2.0**30), 0])
    assert len(str(g)) < 30 * len(str(f))


def test_a_product_of_many_factors() -> None:
    """Every factor's cotangent is right."""
    n = 12
    expression = " * ".join(f"x[{k}]" for k in range(n))
    g = tadc.vjp(tadc.function(f"x: f64[{n}]\nf = {expression}"))
    x = np.random.default_rng(0).uniform(0.5, 1.5, n)
    np.testing.assert_allclose(g(x=x, df=np.array(2.0)), 2 * x.prod() / x, rtol=1e-12)
