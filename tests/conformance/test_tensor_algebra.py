"""Examples of Urban and van der Smagt (arXiv 1711.01348) and of the test suite of their implementation."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from tests.reference.cases import Case, Catalogue, Tensor

CATALOGUE = Catalogue()
case = CATALOGUE.add


@case("paper 1a", "x: f64[3]\nf[i, j: 4] = x[i]**2", x=(3,))
def _(x: Array) -> Array:
    return jnp.stack([x**2] * 4, axis=1)


@case("paper 1b", "x: f64[3, 3]\nf[i] = x[i,i]**2", x=(3, 3))
def _(x: Array) -> Array:
    return jnp.diagonal(x) ** 2


@case("paper 1c", "x: f64[6]\nf[i: 3, j: 4] = exp(x[i+j])", x=(6,))
def _(x: Array) -> Array:
    i, j = np.indices((3, 4))
    return jnp.exp(x[i + j])


@case("paper 5a", "x: f64[3]\ny: f64[3, 4]\nf[i,j] = x[i] * y[i,j]", x=(3,), y=(3, 4))
def _(x: Array, y: Array) -> Array:
    return x[:, None] * y


@case("paper 5b", "x: f64[4, 4]\nf[i] = x[i,i]**3", x=(4, 4))
def _(x: Array) -> Array:
    return jnp.diagonal(x) ** 3


@case(
    "paper 5c",
    "x: f64[3, 5]\ny: f64[5, 4]\nf[i,j] = sum{k} (x[i,k]*y[k,j])",
    x=(3, 5),
    y=(5, 4),
)
def _(x: Array, y: Array) -> Array:
    return x @ y


@case("paper 5d", "size M = 4\nx: f64[12]\nf[i: 3, j: 4] = exp(x[M*i+j])", x=(12,))
def _(x: Array) -> Array:
    return jnp.exp(x).reshape(3, 4)


@case("paper 5d overlapping", "size M = 4\nx: f64[14]\nf[i: 3, j: 6] = exp(x[M*i+j])", x=(14,))
def _(x: Array) -> Array:
    i, j = np.indices((3, 6))
    return jnp.exp(x[4 * i + j])


@case("paper fig 3", "x: f64[11]\nf[i: 5, j: 4] = x[i - 2*j + 6]", x=(11,))
def _(x: Array) -> Array:
    i, j = np.indices((5, 4))
    return x[i - 2 * j + 6]


@case("paper fig 4", "x: f64[18]\nf[i: 6, j: 4, k: 4] = x[i - 2*j - 2*k + 12]", x=(18,))
def _(x: Array) -> Array:
    i, j, k = np.indices((6, 4, 4))
    return x[i - 2 * j - 2 * k + 12]


@case(
    "paper 6",
    """
    # The example of section 6 of the paper.
    a: f64[3, 5]
    b: f64[4, 5]
    c: f64[3, 3]
    d: f64[8]
    f[i, j] = exp(-sum{k}_0^4 ((a[i, k] + b[j, k])**2 * c[i, i] + d[i + k]**3))
    """,
    order=2,
    slow_order=3,
    a=(3, 5),
    b=(4, 5),
    c=(3, 3),
    d=(8,),
)
def _(a: Array, b: Array, c: Array, d: Array) -> Array:
    i, j, k = np.indices((3, 4, 5))
    return jnp.exp(-((a[i, k] + b[j, k]) ** 2 * c[i, i] + d[i + k] ** 3).sum(axis=2))


@case(
    "fig 2",
    "x1: f64\nx2: f64\nx3: f64\nf = sin(sin(x1*(x2+x3) + sinh(x2+x3)))",
    x1=(),
    x2=(),
    x3=(),
)
def _(x1: Array, x2: Array, x3: Array) -> Array:
    return jnp.sin(jnp.sin(x1 * (x2 + x3) + jnp.sinh(x2 + x3)))


@case(
    "ref 1",
    "x: f64[3, 4]\ny: f64[4, 4]\nz: f64[5]\nf[i,j,k] = x[i,j] + 2*(y[j,j]*z[k]**3)",
    x=(3, 4),
    y=(4, 4),
    z=(5,),
)
def _(x: Array, y: Array, z: Array) -> Array:
    i, j, k = np.indices((3, 4, 5))
    return x[i, j] + 2 * (y[j, j] * z[k] ** 3)


@case("ref 2", "x: f64[5, 4]\nf[i: 3, j, k: 5] = x[2*i,j]", x=(5, 4))
def _(x: Array) -> Array:
    i, j, _ = np.indices((3, 4, 5))
    return x[2 * i, j]


@case("ref 3", "x: f64[3, 10]\nf[i] = sum{s}_0^6 (x[i,s])", x=(3, 10))
def _(x: Array) -> Array:
    return x[:, :7].sum(axis=1)


@case("ref 4", "x: f64[10]\nf[i: 7] = x[i+2]", x=(10,))
def _(x: Array) -> Array:
    return x[2:9]


@case(
    "ref 5",
    "x: f64[3, 4]\ny: f64[4, 4]\nz: f64[5]\nf[i,j,k] = x[i,j]**2 + 2*(y[j,j]*z[k]**3)",
    x=(3, 4),
    y=(4, 4),
    z=(5,),
)
def _(x: Array, y: Array, z: Array) -> Array:
    i, j, k = np.indices((3, 4, 5))
    return x[i, j] ** 2 + 2 * (y[j, j] * z[k] ** 3)


@case(
    "ref 6",
    """
    Sigma: f64[3, 4, 4]
    mu: f64[3, 4]
    V: f64[2, 4]
    S[r,s,n] = sqrt(1/(1+2*Sigma[s,n,n]**2)) * exp(-(mu[s,n]-V[r,n])**2/(1+2*Sigma[s,n,n]))
    """,
    order=2,
    slow_order=3,
    Sigma=Tensor((3, 4, 4), low=0.0),
    mu=(3, 4),
    V=(2, 4),
)
def _(Sigma: Array, mu: Array, V: Array) -> dict[str, Array]:
    r, s, n = np.indices((2, 3, 4))
    variance = Sigma[s, n, n]
    width = jnp.sqrt(1 / (1 + 2 * variance**2))
    return {"S": width * jnp.exp(-((mu[s, n] - V[r, n]) ** 2) / (1 + 2 * variance))}


@case(
    "ref 7",
    """
    Sigma: f64[3, 4, 4]
    mu: f64[3, 4]
    V: f64[2, 4]
    S[r,s,t,n] = (sqrt(1/(1+4*Sigma[s,n,n]**2))
        * exp(-2*(mu[s,n]-(V[r,n]+V[t,n])/2)**2/(1+4*Sigma[s,n,n]) - (V[r,n]-V[t,n])**2/2))
    """,
    order=2,
    slow_order=3,
    Sigma=Tensor((3, 4, 4), low=0.0),
    mu=(3, 4),
    V=(2, 4),
)
def _(Sigma: Array, mu: Array, V: Array) -> dict[str, Array]:
    r, s, t, n = np.indices((2, 3, 2, 4))
    variance = Sigma[s, n, n]
    width = jnp.sqrt(1 / (1 + 4 * variance**2))
    middle = (mu[s, n] - (V[r, n] + V[t, n]) / 2) ** 2
    return {"S": width * jnp.exp(-2 * middle / (1 + 4 * variance) - (V[r, n] - V[t, n]) ** 2 / 2)}


@case(
    "ref 8",
    """
    x: f64[4, 3, 9]
    y: f64[2, 4]
    S[t,n] = y[t,n]**2 * sum{s}_0^2 (x[n,s,2*s]**2 + x[n,s,0]**2 - y[t,0])
    """,
    x=(4, 3, 9),
    y=(2, 4),
)
def _(x: Array, y: Array) -> dict[str, Array]:
    t, n, s = np.indices((2, 4, 3))
    body = x[n, s, 2 * s] ** 2 + x[n, s, 0] ** 2 - y[t, 0]
    return {"S": y**2 * body.sum(axis=2)}


@case("ref 9", "x: f64[50]\nf[s: 3, t: 10] = x[10*s+t]**2", x=(50,))
def _(x: Array) -> Array:
    return x[:30].reshape(3, 10) ** 2


@pytest.mark.parametrize("row", CATALOGUE.cases, ids=lambda row: row.name)
def test_tensor_algebra(row: Case) -> None:
    """Value and gradients at every order of the row."""
    row.check()
