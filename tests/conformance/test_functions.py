"""Every scalar function: NumPy's values, JAX's derivatives."""

from __future__ import annotations

from collections.abc import Callable
from math import erf, erfc, inf, nan
from typing import TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

import tadc
from tests.reference.autodiff import Tensors
from tests.reference.checking import check

Scalar: TypeAlias = Callable[..., Array]


def _pinv(x: np.ndarray) -> np.ndarray:
    return np.where(x == 0, 0, 1 / np.where(x == 0, 1, x))


#: Name, NumPy's function, JAX's function, and the interval on which derivatives are compared.
FUNCTIONS: list[tuple[str, Callable[..., np.ndarray], Scalar, float, float]] = [
    ("exp", np.exp, jnp.exp, -2, 2),
    ("exp2", np.exp2, jnp.exp2, -2, 2),
    ("expm1", np.expm1, jnp.expm1, -2, 2),
    ("log", np.log, jnp.log, 0.1, 3),
    ("log2", np.log2, jnp.log2, 0.1, 3),
    ("log10", np.log10, jnp.log10, 0.1, 3),
    ("log1p", np.log1p, jnp.log1p, -0.9, 3),
    ("sqrt", np.sqrt, jnp.sqrt, 0.1, 3),
    ("cbrt", np.cbrt, jnp.cbrt, 0.1, 3),
    ("sin", np.sin, jnp.sin, -4, 4),
    ("cos", np.cos, jnp.cos, -4, 4),
    ("tan", np.tan, jnp.tan, -1.4, 1.4),
    ("asin", np.arcsin, jnp.arcsin, -0.9, 0.9),
    ("acos", np.arccos, jnp.arccos, -0.9, 0.9),
    ("atan", np.arctan, jnp.arctan, -4, 4),
    ("sinh", np.sinh, jnp.sinh, -3, 3),
    ("cosh", np.cosh, jnp.cosh, -3, 3),
    ("tanh", np.tanh, jnp.tanh, -3, 3),
    ("asinh", np.arcsinh, jnp.arcsinh, -4, 4),
    ("acosh", np.arccosh, jnp.arccosh, 1.1, 4),
    ("atanh", np.arctanh, jnp.arctanh, -0.9, 0.9),
    ("erf", np.vectorize(erf), jax.scipy.special.erf, -3, 3),
    ("erfc", np.vectorize(erfc), jax.scipy.special.erfc, -3, 9),
    ("abs", np.abs, jnp.abs, -3, 3),
    ("sign", np.sign, jnp.sign, -3, 3),
    ("floor", np.floor, jnp.floor, -3, 3),
    ("ceil", np.ceil, jnp.ceil, -3, 3),
    ("sigmoid", lambda x: 1 / (1 + np.exp(-x)), jax.nn.sigmoid, -6, 6),
    ("relu", lambda x: np.maximum(x, 0), lambda x: jnp.maximum(x, 0), -3, 3),
    ("pinv", _pinv, lambda x: jnp.where(x == 0, 0, 1 / jnp.where(x == 0, 1, x)), 0.1, 3),
]

BINARY: list[tuple[str, Callable[..., np.ndarray], Scalar, float]] = [
    ("atan2", np.arctan2, jnp.arctan2, -3),
    ("pow", np.power, jnp.power, 0.1),
    ("max", np.maximum, jnp.maximum, -3),
    ("min", np.minimum, jnp.minimum, -3),
]

#: Where functions of NumPy have values of their own.
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1e-300, -1e-300, 1e-9, 20.0, -20.0, 700.5, 1e300, inf, -inf, nan]


@pytest.mark.parametrize(
    ("name", "values", "derivatives", "low", "high"), FUNCTIONS, ids=[row[0] for row in FUNCTIONS]
)
def test_unary(
    name: str, values: Callable[..., np.ndarray], derivatives: Scalar, low: float, high: float
) -> None:
    """Values on special points and on an interval, derivatives on the interval up to order 2."""
    f = tadc.function(f"x: f64[{len(SPECIAL)}]\nf[i] = {name}(x[i])")
    x = np.array(SPECIAL)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(f(x=x), values(x), rtol=1e-14, atol=0, err_msg=name)
    x = np.random.default_rng(1).uniform(low, high, len(SPECIAL))

    def reference(given: Tensors) -> dict[str, Array]:
        return {"f": derivatives(given["x"])}

    check(str(f), reference, {"x": x}, order=2, reprinted=0)


@pytest.mark.parametrize(("name", "values", "derivatives", "low"), BINARY, ids=[row[0] for row in BINARY])
def test_binary(name: str, values: Callable[..., np.ndarray], derivatives: Scalar, low: float) -> None:
    """The same for functions of two values."""
    n = len(SPECIAL)
    f = tadc.function(f"x: f64[{n}]\ny: f64[{n}]\nf[i, j] = {name}(x[i], y[j])")
    x = np.array(SPECIAL)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(f(x=x, y=x), values(x[:, None], x), rtol=1e-13, atol=0, err_msg=name)
    rng = np.random.default_rng(1)
    arrays = {name: rng.uniform(low, 3, n) for name in "xy"}

    def reference(given: Tensors) -> dict[str, Array]:
        return {"f": derivatives(given["x"][:, None], given["y"])}

    check(str(f), reference, arrays, order=2, reprinted=0)


def test_remainder() -> None:
    """`%` is floored, as in NumPy."""
    f = tadc.function("x: f64[8]\ny: f64[4]\nf[i, j] = x[i] % y[j]")
    x, y = np.array([5.5, -5.5, 0.0, 3.0, -3.0, 1e-3, 7.0, -0.25]), np.array([2.0, -2.0, 3.0, 0.25])
    np.testing.assert_allclose(f(x=x, y=y), np.mod(x[:, None], y), rtol=1e-14)


@pytest.mark.parametrize(
    ("name", "values", "derivatives", "low", "high"), FUNCTIONS, ids=[row[0] for row in FUNCTIONS]
)
def test_f32(
    name: str, values: Callable[..., np.ndarray], derivatives: Scalar, low: float, high: float
) -> None:
    """Values and gradients in single precision."""
    g = tadc.value_and_vjp(tadc.function(f"x: f32[64]\nf[i] = {name}(x[i])"))
    x = np.random.default_rng(1).uniform(low, high, 64).astype(np.float32)
    found = g(x=x, df=np.ones_like(x))
    slopes = jax.jit(jax.vmap(jax.grad(derivatives)))(x.astype(np.float64))
    assert found.f.dtype == found.dx.dtype == np.float32
    np.testing.assert_allclose(found.f, values(x.astype(np.float64)), rtol=2e-6, atol=2e-6)
    np.testing.assert_allclose(found.dx, slopes, rtol=1e-5, atol=1e-5)
