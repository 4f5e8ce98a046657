"""Powers with indices in their exponents, which are products where these are small, against NumPy and JAX."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tadc

PROGRAMS = [
    ("y[i] = sum{k: 12} (c[k]*x[i]**k)", lambda k, x, c: (c[:12] * x[:, None] ** k[:12]).sum(1)),
    ("y[i] = sum{k: 40} (c[k]*x[i]**k)", lambda k, x, c: (c * x[:, None] ** k).sum(1)),
    ("y[i, k: 32] = c[k]*x[i]**(31 - k)", lambda k, x, c: c[:32] * x[:, None] ** (31 - k[:32])),
    ("y[k: 9] = sum{i} (x[i]**(k - 1))", lambda k, x, c: (x[:, None] ** (k[:9] - 1)).sum(0)),
    (
        "y[i] = sum{k: 3, l: 4} (c[k + l]*x[i]**(k + 2*l))",
        lambda k, x, c: sum(c[a + b] * x ** (a + 2 * b) for a in range(3) for b in range(4)),
    ),
]


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_values_and_gradients(number: int) -> None:
    """Exponents in sums, of rows, of -1, of several indices, and up to 39."""
    text, reference = PROGRAMS[number]
    f = tadc.function(f"x: f64[21]\nc: f64[40]\n{text}")
    random = np.random.default_rng(number)
    x, c, k = random.uniform(-1.5, 1.5, 21), random.uniform(-1, 1, 40), np.arange(40.0)
    arguments = {"x": x, "c": c}

    def wanted(x: jax.Array, c: jax.Array) -> jax.Array:
        return jnp.asarray(reference(k, x, c))

    inputs = {name: arguments[name] for name in f.inputs}
    y, pulled = jax.vjp(wanted, x, c)
    np.testing.assert_allclose(f(**inputs), y, rtol=1e-13, atol=1e-13)
    w = random.uniform(-1, 1, y.shape)
    dx, dc = pulled(w)
    found = tadc.vjp(f, ["x"])(**inputs, dy=w)
    np.testing.assert_allclose(found, dx, rtol=1e-12, atol=1e-12)
    if "c" in inputs:
        np.testing.assert_allclose(tadc.vjp(f, ["c"])(**inputs, dy=w), dc, rtol=1e-12, atol=1e-12)


def test_zeros_and_infinities() -> None:
    """As of literals: x**0 is 1 whatever x is, and x**(k - 1) is 1/x for k = 0."""
    f = tadc.function("x: f64[5]\ny[i, k: 5] = x[i]**k\nz[i, k: 4] = x[i]**(k - 1)")
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan])
    y, z = f(x=x)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(y, x[:, None] ** np.arange(5.0))
        np.testing.assert_array_equal(z, x[:, None] ** (np.arange(4.0) - 1))


def test_error_of_the_greatest_exponent() -> None:
    """A product of 31 factors errs by less than 31 units in the last place."""
    f = tadc.function("x: f32[N]\ny[i, k: 32] = x[i]**k")
    x = np.random.default_rng(0).uniform(0.5, 2, 2000).astype(np.float32)
    exact = x.astype(np.float64)[:, None] ** np.arange(32)
    units = np.abs(f(x=x) - exact) / np.spacing(exact.astype(np.float32))
    assert units.max() < 31
