"""Points without a derivative: the conventions of the language, as numbers."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest

import tadc


def gradient(expression: str, x: list[float], df: list[float], **others: list[float]) -> np.ndarray:
    """`dx` of `f[i] = expression` at these elements."""
    names = ["x", *others]
    text = "\n".join(f"{name}: f64[{len(x)}]" for name in names) + f"\nf[i] = {expression}"
    derivative = tadc.vjp(tadc.function(text), wrt="x")
    arrays = {name: np.array(values) for name, values in {"x": x, "df": df, **others}.items()}
    found = np.asarray(derivative(**arrays))
    again = np.asarray(tadc.function(str(derivative))(**arrays))
    np.testing.assert_array_equal(found, again, f"printed and read back:\n{derivative}")
    return found


@pytest.mark.parametrize(
    ("expression", "x", "expected"),
    [
        ("abs(x[i])", [-2, 0, 3], [-1, 0, 1]),
        ("sign(x[i])", [-2, 0, 3], [0, 0, 0]),
        ("floor(x[i])", [-2, 0.5, 3], [0, 0, 0]),
        ("ceil(x[i])", [-2, 0.5, 3], [0, 0, 0]),
        ("relu(x[i])", [-2, 0, 3], [0, 0, 1]),
        ("max(x[i], 1)", [0, 1, 2], [0, 0.5, 1]),
        ("max(1, x[i])", [0, 1, 2], [0, 0.5, 1]),
        ("min(x[i], 1)", [0, 1, 2], [1, 0.5, 0]),
        ("min(1, x[i])", [0, 1, 2], [1, 0.5, 0]),
        ("max(x[i], x[i])", [0, 1, 2], [1, 1, 1]),
        ("max(x[i], -x[i])", [-1, 0, 2], [-1, 0, 1]),
        ("max(3*x[i], -x[i])", [-1, 0, 2], [-1, 1, 3]),
        ("sqrt(x[i])", [0, 1, 4], [inf, 0.5, 0.25]),
        ("x[i]**2", [-2, 0, 3], [-4, 0, 6]),
        ("x[i]**3", [-2, 0, 3], [12, 0, 27]),
        ("x[i]**1", [-2, 0, 3], [1, 1, 1]),
        ("x[i]**0", [-2, 0, 3], [0, 0, 0]),
        ("x[i]**-1", [-2, 1, 4], [-0.25, -1, -1 / 16]),
        ("x[i]**-2", [-2, 1, 4], [0.25, -2, -1 / 32]),
        ("x[i] % 2", [-1, 1, 3], [1, 1, 1]),
        ("5 % x[i]", [-2, 3, 4], [3, -1, -1]),
        ("select(x[i] = 1, x[i]**2, x[i])", [0, 1, 2], [1, 2, 1]),
        ("select(x[i] != 1, x[i]**2, x[i])", [0, 1, 2], [0, 1, 4]),
        ("select(x[i] < 1, x[i]**2, x[i])", [0, 1, 2], [0, 1, 1]),
        ("select(x[i] <= 1, x[i]**2, x[i])", [0, 1, 2], [0, 2, 1]),
        ("select(x[i] > 1, x[i]**2, x[i])", [0, 1, 2], [1, 1, 4]),
        ("select(x[i] >= 1, x[i]**2, x[i])", [0, 1, 2], [1, 2, 4]),
    ],
)
def test_derivative(expression: str, x: list[float], expected: list[float]) -> None:
    """The derivative at this point, whatever the cotangent."""
    np.testing.assert_allclose(gradient(expression, x, [1, 1, 1]), expected, rtol=1e-15)
    np.testing.assert_allclose(gradient(expression, x, [2, 2, 2]), 2 * np.array(expected), rtol=1e-15)


@pytest.mark.parametrize(
    ("expression", "x"),
    [
        ("sqrt(x[i])", [0.0, 0.0]),
        ("sqrt(abs(x[i]))", [0.0, 0.0]),
        ("cbrt(x[i])", [0.0, 0.0]),
        ("log(x[i])", [0.0, 0.0]),
        ("log2(x[i])", [0.0, 0.0]),
        ("log10(x[i])", [0.0, 0.0]),
        ("log1p(x[i])", [-1.0, -1.0]),
        ("asin(x[i])", [1.0, -1.0]),
        ("acos(x[i])", [1.0, -1.0]),
        ("acosh(x[i])", [1.0, 1.0]),
        ("atanh(x[i])", [1.0, -1.0]),
        ("x[i]**0.5", [0.0, 0.0]),
        ("x[i]**-1", [0.0, 0.0]),
        ("1 / x[i]", [0.0, 0.0]),
    ],
)
def test_a_zero_cotangent_times_an_infinite_partial_is_zero(expression: str, x: list[float]) -> None:
    """Where the derivative is infinite, a zero cotangent gives zero and not NaN."""
    np.testing.assert_array_equal(gradient(expression, x, [0.0, 0.0]), [0.0, 0.0])


@pytest.mark.parametrize("expression", ["sqrt(x[i])", "cbrt(x[i])", "log(x[i])", "x[i]**0.5"])
def test_an_infinite_partial(expression: str) -> None:
    """Any other cotangent keeps the infinity and its sign."""
    np.testing.assert_array_equal(gradient(expression, [0.0, 0.0], [1.0, -2.0]), [inf, -inf])


@pytest.mark.parametrize(
    ("expression", "x", "expected"),
    [
        ("select(x[i] > 0, log(x[i]), 2*x[i])", [-1.0, 0.0, 2.0], [2, 2, 0.5]),
        ("select(x[i] != 0, sin(x[i]) / x[i], 1)", [0.0, 0.0, 0.0], [0, 0, 0]),
        ("select(x[i] >= 0, sqrt(x[i]), 3*x[i])", [-1.0, 4.0, -2.0], [3, 0.25, 3]),
        ("select(x[i] > 0, sqrt(x[i]), 0)", [-1.0, 0.0, 4.0], [0, 0, 0.25]),
        ("select(x[i] < 0, x[i], 1 / x[i])", [-1.0, 0.5, -3.0], [1, -4, 1]),
        ("select(y[i] > 0, x[i] * y[i], 0)", [1.0, 2.0, 3.0], [5.0, 0, 0]),
        ("select(y[i] > 1, y[i], sin(x[i]))", [nan, 0.0, 0.0], [0, 1, 1]),
        ("select(y[i] > 1, y[i], x[i]**2)", [inf, 1.0, 2.0], [0, 2, 4]),
        ("select(y[i] > 1, y[i], sinh(x[i]) * y[i - i])", [inf, 0.0, 0.0], [0, 5, 5]),
    ],
)
def test_the_branch_not_taken_contributes_nothing(
    expression: str, x: list[float], expected: list[float]
) -> None:
    """Neither when it is NaN nor when it is infinite; `y` is 5, NaN, -inf."""
    found = gradient(expression, x, [1, 1, 1], y=[5.0, nan, -inf])
    np.testing.assert_allclose(found, expected, rtol=1e-15)


def test_select_takes_the_value_of_its_branch() -> None:
    """Comparisons with NaN are false but for `!=`."""
    f = tadc.function(
        """
        x: f64[3]
        f[i] = select(x[i] < 1, 1, 2)
        g[i] = select(x[i] != 1, 1, 2)
        h[i] = select(x[i] > 0, log(x[i]), 0)
        """
    )
    found = f(x=np.array([nan, 1.0, -1.0]))
    np.testing.assert_array_equal(found.f, [2, 2, 1])
    np.testing.assert_array_equal(found.g, [1, 2, 1])
    np.testing.assert_array_equal(found.h, [0, 0, 0])


def test_a_guard_does_not_evaluate_the_branch_not_taken() -> None:
    """An element that no taken branch reads may be NaN."""
    f = tadc.function("x: f64[4]\nf[i: 4] = if {i >= 1} then (x[i - 1] * x[i]) else (1)")
    arrays = {"x": np.array([2.0, 3.0, 5.0, 7.0])}
    np.testing.assert_array_equal(f(**arrays), [1, 6, 15, 35])
    df = np.array([nan, 1.0, 1.0, 1.0])
    np.testing.assert_array_equal(tadc.vjp(f)(**arrays, df=df), [3, 7, 10, 5])


def test_second_derivatives() -> None:
    """The derivative of the convention is its own derivative: powers are exact at 0, kinks are flat."""
    f = tadc.function("x: f64[4]\nf = sum{i} (x[i]**2 + x[i]**3 + abs(x[i]) + relu(x[i]) + max(x[i], 0))")
    first = tadc.vjp(f, wrt="x")
    second = tadc.vjp(first, wrt="x")
    seed = second.cotangents[first.outputs[0]]
    x, one = np.array([0.0, -1.0, 0.0, 2.0]), np.array(1.0)
    found = second(**{"x": x, "df": one, seed: np.ones(4)})
    np.testing.assert_allclose(found, [2, -4, 2, 14], rtol=1e-15)


@pytest.mark.parametrize("name", ["f32", "f64"])
def test_gradients_have_the_type_of_their_argument(name: str) -> None:
    """A literal or an infinite partial widens nothing."""
    dtype = {"f32": np.float32, "f64": np.float64}[name]
    g = tadc.vjp(tadc.function(f"x: {name}[2]\nf[i] = sqrt(x[i]) + 0.1*x[i]"))
    found = g(x=np.zeros(2, dtype), df=np.array([0, 1], dtype))
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, [0, inf])
