"""Programs as they stand in papers: filters, models of sequences, finite elements, residuals of equations."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from tests.reference.cases import Case, Catalogue, Tensor

CATALOGUE = Catalogue()
case = CATALOGUE.add

POSITIVE = (0.3, 1.3)


def positive(*shape: int) -> Tensor:
    return Tensor(shape, "float64", *POSITIVE)


@case(
    "Kalman filter of one number, mean and variance",
    """
    F: f64
    Q: f64
    R: f64
    z: f64[T]
    first: f64[2]
    scan{t} f[t: T + 1, c: 2] = if {t = 0} then (first[c]) else (
        if {c = 0} then (
            F*f[t-1, 0] + (F**2*f[t-1, 1] + Q)*(z[t-1] - F*f[t-1, 0])/(F**2*f[t-1, 1] + Q + R))
        else ((F**2*f[t-1, 1] + Q)*R/(F**2*f[t-1, 1] + Q + R)))
    """,
    order=1,
    slow_order=2,
    F=positive(),
    Q=positive(),
    R=positive(),
    z=(4,),
    first=positive(2),
)
def _(F: Array, Q: Array, R: Array, z: Array, first: Array) -> Array:
    states = [first]
    for seen in z:
        mean, variance = F * states[-1][0], F**2 * states[-1][1] + Q
        gain = variance / (variance + R)
        states.append(jnp.stack([mean + gain * (seen - mean), (1 - gain) * variance]))
    return jnp.stack(states)


@case(
    "hidden Markov model, likelihood",
    """
    A: f64[S, S]
    E: f64[T, S]
    p: f64[S]
    let scan{t} a[t: T, s: S] = if {t = 0} then (p[s] + E[0, s]) else (
        E[t, s] + logsumexp{r} (a[t-1, r] + A[r, s]))
    f = logsumexp{s} (a[T - 1, s])
    """,
    order=1,
    slow_order=2,
    A=(3, 3),
    E=(4, 3),
    p=(3,),
)
def _(A: Array, E: Array, p: Array) -> Array:
    a = p + E[0]
    for t in range(1, 4):
        a = E[t] + jax.nn.logsumexp(a[:, None] + A, 0)
    return jax.nn.logsumexp(a)


@case(
    "bilinear elements, matrix-free",
    """
    u: f64[N, M]
    k: f64[N - 1, M - 1]
    e: f64[2, 2, 2, 2]
    f[i: N, j: M] = sum{a: 2, b: 2, c: 2, d: 2} (
        if {i >= a and i - a + 1 < N and j >= b and j - b + 1 < M} then (
            k[i - a, j - b]*e[a, b, c, d]*u[i - a + c, j - b + d]**2) else (0))
    """,
    order=1,
    slow_order=2,
    u=(4, 3),
    k=(3, 2),
    e=(2, 2, 2, 2),
)
def _(u: Array, k: Array, e: Array) -> Array:
    f = jnp.zeros((4, 3))
    for a, b, c, d in np.ndindex(2, 2, 2, 2):
        f = f.at[a : a + 3, b : b + 2].add(k * e[a, b, c, d] * u[c : c + 3, d : d + 2] ** 2)
    return f


@case(
    "transposed convolution, stride 2",
    """
    x: f64[C, H, W]
    w: f64[C, O, 3, 3]
    f[o, p: 2*H + 1, q: 2*W + 1] = sum{c, i, j, k: 3, l: 3} (
        if {2*i + k = p and 2*j + l = q} then (x[c, i, j]*w[c, o, k, l]**2) else (0))
    """,
    order=1,
    slow_order=2,
    x=(2, 2, 3),
    w=(2, 2, 3, 3),
)
def _(x: Array, w: Array) -> Array:
    f = jnp.zeros((2, 5, 7))
    for k, m in np.ndindex(3, 3):
        f = f.at[:, k : k + 3 : 2, m : m + 5 : 2].add(jnp.einsum("chw,co->ohw", x, w[:, :, k, m] ** 2))
    return f


@case(
    "residual of Burgers' equation of a network",
    """
    x: f64[N]
    t: f64[N]
    W: f64[H]
    V: f64[H]
    a: f64[H]
    nu: f64
    let h[n, k] = tanh(W[k]*x[n] + V[k]*t[n])
    let g[n, k] = 1 - h[n, k]**2
    let ux[n] = sum{k} (a[k]*W[k]*g[n, k])
    let uxx[n] = -2*sum{k} (a[k]*W[k]**2*h[n, k]*g[n, k])
    f[n] = sum{k} (a[k]*V[k]*g[n, k]) + sum{k} (a[k]*h[n, k])*ux[n] - nu*uxx[n]
    """,
    order=1,
    slow_order=2,
    x=(3,),
    t=(3,),
    W=(4,),
    V=(4,),
    a=(4,),
    nu=(),
)
def _(x: Array, t: Array, W: Array, V: Array, a: Array, nu: Array) -> Array:
    def u(x: Array, t: Array) -> Array:
        return a @ jnp.tanh(W * x + V * t)

    def residual(x: Array, t: Array) -> Array:
        slope = jax.grad(u)
        return jax.grad(u, 1)(x, t) + u(x, t) * slope(x, t) - nu * jax.grad(slope)(x, t)

    return jax.vmap(residual)(x, t)


@case(
    "alignment of two sequences, smooth",
    """
    S: f64[N, M]
    g: f64
    scan{i + j} f[i: N, j: M] = S[i, j] + log(1
        + if {i >= 1 and j >= 1} then (exp(f[i-1, j-1])) else (0)
        + if {i >= 1} then (exp(f[i-1, j] - g)) else (0)
        + if {j >= 1} then (exp(f[i, j-1] - g)) else (0))
    """,
    order=1,
    slow_order=2,
    S=(3, 4),
    g=(),
)
def _(S: Array, g: Array) -> Array:
    f: dict[tuple[int, int], Array] = {}
    for i, j in np.ndindex(3, 4):
        before = [f[i - 1, j - 1]] if i and j else []
        before += [f[i - 1, j] - g] if i else []
        before += [f[i, j - 1] - g] if j else []
        f[i, j] = S[i, j] + jnp.log(1 + sum(map(jnp.exp, before)))
    return jnp.stack([f[place] for place in np.ndindex(3, 4)]).reshape(3, 4)


@pytest.mark.parametrize("row", CATALOGUE.cases, ids=lambda row: row.name)
def test_science(row: Case) -> None:
    """Value and gradients at every order of the row."""
    row.check()
