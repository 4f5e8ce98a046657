"""Sizes beyond one vector register and its tail, and beyond one page."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from tests.reference.cases import Case, Catalogue, Tensor

CATALOGUE = Catalogue()


@CATALOGUE.add(
    "element by element",
    "x: f64[1003]\ny: f64[1003]\nf[i] = exp(sin(x[i])) * y[i] + sqrt(1 + x[i]**2) / (2 + y[i])",
    x=(1003,),
    y=(1003,),
)
def _(x: Array, y: Array) -> Array:
    return jnp.exp(jnp.sin(x)) * y + jnp.sqrt(1 + x**2) / (2 + y)


@CATALOGUE.add(
    "element by element, f32",
    "x: f32[1003]\nf[i] = tanh(x[i]) * log(2 + x[i]) + 0.1*x[i]**3",
    tolerance=1e-4,
    x=Tensor((1003,), "float32"),
)
def _(x: Array) -> Array:
    return jnp.tanh(x) * jnp.log(2 + x) + 0.1 * x**3


@CATALOGUE.add("reversal", "x: f64[101]\nf[i: 101] = x[100 - i]**2 * x[i]", x=(101,))
def _(x: Array) -> Array:
    return x[::-1] ** 2 * x


@CATALOGUE.add(
    "matrix product",
    "x: f64[37, 41]\ny: f64[41, 29]\nf[i, j] = sum{k} (x[i, k] * y[k, j])",
    x=(37, 41),
    y=(41, 29),
)
def _(x: Array, y: Array) -> Array:
    return x @ y


@CATALOGUE.add(
    "strided dilated convolution",
    "x: f64[3, 230]\nw: f64[4, 3, 7]\nf[o, p: 106] = tanh(sum{c, t} (w[o, c, t] * x[c, 2*p + 3*t]))",
    x=(3, 230),
    w=(4, 3, 7),
)
def _(x: Array, w: Array) -> Array:
    p, t = np.indices((106, 7))
    return jnp.tanh(jnp.einsum("oct,cpt->op", w, x[:, 2 * p + 3 * t]))


@CATALOGUE.add(
    "triangular",
    "a: f64[45, 45]\nv: f64[45]\nf[i] = sin(sum{k}_0^(i) (a[i, k] * v[k])) * v[i]",
    a=(45, 45),
    v=(45,),
)
def _(a: Array, v: Array) -> Array:
    return jnp.sin(jnp.tril(a) @ v) * v


@CATALOGUE.add(
    "stencil with zeros outside",
    """
    u: f64[23, 35]
    let s[i: 23, j: 35] = sum{p: 3, q: 3} (
        if {i + p >= 1 and i + p <= 23 and j + q >= 1 and j + q <= 35}
        then (u[i + p - 1, j + q - 1]) else (0))
    f[i, j] = s[i, j]**2 - u[i, j]
    """,
    u=(23, 35),
)
def _(u: Array) -> Array:
    padded = jnp.pad(u, 1)
    s = jnp.zeros((23, 35))
    for p, q in np.ndindex(3, 3):
        s = s + padded[p : p + 23, q : q + 35]
    return s**2 - u


@pytest.mark.parametrize("row", CATALOGUE.cases, ids=lambda row: row.name)
def test_large_sizes(row: Case) -> None:
    """Value and gradients at every order of the row."""
    row.check()
