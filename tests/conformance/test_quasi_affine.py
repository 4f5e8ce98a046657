"""Floor division and remainder in indices, conditions and bounds, and derivatives of strided reads."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from tests.reference.cases import Case, Catalogue

CATALOGUE = Catalogue()
case = CATALOGUE.add


# -- indices ----------------------------------------------------------------------------------


@case("upsampling", "x: f64[4]\nf[i: 8] = x[i // 2]**3", order=3, x=(4,))
def _(x: Array) -> Array:
    return jnp.repeat(x, 2) ** 3


@case(
    "upsampling into an offset",
    "x: f64[4]\ny: f64[9]\nf[i: 7] = x[(i + 1) // 2]**2 * y[i + 2]",
    order=3,
    x=(4,),
    y=(9,),
)
def _(x: Array, y: Array) -> Array:
    return jnp.repeat(x, 2)[1:] ** 2 * y[2:]


@case("upsampling in two dimensions", "x: f64[3, 2]\nf[i: 6, j: 6] = x[i // 2, j // 3]**3", order=3, x=(3, 2))
def _(x: Array) -> Array:
    return jnp.repeat(jnp.repeat(x, 2, axis=0), 3, axis=1) ** 3


@case(
    "linear interpolation",
    "x: f64[5]\nf[i: 8] = (1 - (i % 2) / 2) * x[i // 2]**2 + (i % 2) / 2 * x[i // 2 + 1]**2",
    order=3,
    x=(5,),
)
def _(x: Array) -> Array:
    i = jnp.arange(8)
    part = (i % 2) / 2
    return (1 - part) * x[i // 2] ** 2 + part * x[i // 2 + 1] ** 2


@case("tiling", "x: f64[3]\nf[i: 8] = x[i % 3]**3", order=3, x=(3,))
def _(x: Array) -> Array:
    return x[np.arange(8) % 3] ** 3


@case("tiling times a vector", "x: f64[3]\ny: f64[10]\nf[i] = x[i % 3]**2 * y[i]", order=3, x=(3,), y=(10,))
def _(x: Array, y: Array) -> Array:
    return x[np.arange(10) % 3] ** 2 * y


@case("rotation", "x: f64[7]\nf[i: 7] = x[(i + 3) % 7]**3 * x[i]", order=3, x=(7,))
def _(x: Array) -> Array:
    return jnp.roll(x, -3) ** 3 * x


@case(
    "circular convolution",
    "x: f64[6]\nw: f64[6]\nf[i: 6] = sum{k} (w[k]**2 * x[(i - k) % 6])",
    order=3,
    x=(6,),
    w=(6,),
)
def _(x: Array, w: Array) -> Array:
    i, k = np.indices((6, 6))
    return (w[k] ** 2 * x[(i - k) % 6]).sum(axis=1)


@case(
    "pixel shuffle",
    "x: f64[4, 2, 3]\nf[i: 4, j: 6] = x[2*(i % 2) + j % 2, i // 2, j // 2]**3",
    order=3,
    x=(4, 2, 3),
)
def _(x: Array) -> Array:
    return x.reshape(2, 2, 2, 3).transpose(2, 0, 3, 1).reshape(4, 6) ** 3


@case(
    "pixel unshuffle",
    "x: f64[4, 6]\nf[c: 4, i: 2, j: 3] = x[2*i + c // 2, 2*j + c % 2]**3",
    order=3,
    x=(4, 6),
)
def _(x: Array) -> Array:
    return x.reshape(2, 2, 3, 2).transpose(1, 3, 0, 2).reshape(4, 2, 3) ** 3


@case(
    "reshape",
    "x: f64[12]\nf[i: 3, j: 4] = x[4*i + j]**2\ng[p: 12] = x[p] * f[p // 4, p % 4]",
    order=3,
    x=(12,),
)
def _(x: Array) -> dict[str, Array]:
    f = x.reshape(3, 4) ** 2
    return {"f": f, "g": x * f.reshape(12)}


@case("flattened read", "x: f64[2, 3, 4]\nf[p: 24] = x[p // 12, p // 4 % 3, p % 4]**3", order=3, x=(2, 3, 4))
def _(x: Array) -> Array:
    return x.reshape(24) ** 3


@case("skewed floor", "x: f64[5, 2]\nf[i: 5, j: 4] = x[(i + j) // 2, i % 2]**3", order=3, x=(5, 2))
def _(x: Array) -> Array:
    i, j = np.indices((5, 4))
    return x[(i + j) // 2, i % 2] ** 3


@case("floor of a stride", "x: f64[9]\nf[i: 6] = x[3*i // 2]**3", order=3, x=(9,))
def _(x: Array) -> Array:
    return x[3 * np.arange(6) // 2] ** 3


@case("floor of a floor", "x: f64[4]\nf[i: 9] = x[(i // 2 + i) // 4]**3", order=3, x=(4,))
def _(x: Array) -> Array:
    i = np.arange(9)
    return x[(i // 2 + i) // 4] ** 3


@case("backwards", "x: f64[4]\nf[i: 8] = x[(7 - i) // 2]**2 * x[(-i) % 4]", order=3, x=(4,))
def _(x: Array) -> Array:
    i = np.arange(8)
    return x[(7 - i) // 2] ** 2 * x[-i % 4]


@case(
    "floors of sum indices",
    "x: f64[4]\ny: f64[3]\nf[i: 3] = sum{k}_0^5 (x[(i + k) // 2]**2 * y[k % 3])",
    order=3,
    x=(4,),
    y=(3,),
)
def _(x: Array, y: Array) -> Array:
    i, k = np.indices((3, 6))
    return (x[(i + k) // 2] ** 2 * y[k % 3]).sum(axis=1)


# -- strides ----------------------------------------------------------------------------------


@case("pooling", "x: f64[8]\nf[i: 4] = (sum{k}_0^1 (x[2*i + k]) / 2)**3", order=3, x=(8,))
def _(x: Array) -> Array:
    return x.reshape(4, 2).mean(axis=1) ** 3


@case("overlapping pooling", "x: f64[9]\nf[i: 4] = sum{k}_0^2 (x[2*i + k]**3)", order=3, x=(9,))
def _(x: Array) -> Array:
    i, k = np.indices((4, 3))
    return (x[2 * i + k] ** 3).sum(axis=1)


@case(
    "pooling in two dimensions",
    "x: f64[2, 4, 6]\nf[c, i: 2, j: 3] = exp(sum{u: 2, v: 2} (x[c, 2*i + u, 2*j + v]) / 4)",
    order=3,
    x=(2, 4, 6),
)
def _(x: Array) -> Array:
    return jnp.exp(x.reshape(2, 2, 2, 3, 2).mean(axis=(2, 4)))


@case(
    "strided convolution",
    "x: f64[13]\nw: f64[4]\nf[i: 4] = sum{k} (w[k] * x[3*i + k])**2",
    order=3,
    x=(13,),
    w=(4,),
)
def _(x: Array, w: Array) -> Array:
    i, k = np.indices((4, 4))
    return (w * x[3 * i + k]).sum(axis=1) ** 2


@case(
    "stride and dilation without a common factor",
    "x: f64[14]\nw: f64[3]\nf[i: 4] = sum{k} (w[k] * x[3*i + 2*k])**2",
    order=3,
    x=(14,),
    w=(3,),
)
def _(x: Array, w: Array) -> Array:
    i, k = np.indices((4, 3))
    return (w * x[3 * i + 2 * k]).sum(axis=1) ** 2


@case(
    "strided convolution in two dimensions",
    "x: f64[7, 9]\nw: f64[3, 3]\nf[i: 3, j: 4] = sum{u, v} (w[u, v] * x[2*i + u, 2*j + v])**2",
    order=3,
    x=(7, 9),
    w=(3, 3),
)
def _(x: Array, w: Array) -> Array:
    i, j, u, v = np.indices((3, 4, 3, 3))
    return (w[u, v] * x[2 * i + u, 2 * j + v]).sum(axis=(2, 3)) ** 2


@case(
    "strides and dilations in two dimensions",
    "x: f64[11, 12]\nw: f64[3, 2]\nf[i: 3, j: 3] = sum{u, v} (w[u, v] * x[2*i + 3*u, 3*j + 2*v]**2)",
    x=(11, 12),
    w=(3, 2),
)
def _(x: Array, w: Array) -> Array:
    i, j, u, v = np.indices((3, 3, 3, 2))
    return (w[u, v] * x[2 * i + 3 * u, 3 * j + 2 * v] ** 2).sum(axis=(2, 3))


@case(
    "transposed convolution",
    """
    x: f64[4]
    w: f64[3]
    f[n: 9] = sum{k} (
        if {(n - k) % 2 = 0 and 0 <= n - k and n - k <= 6} then (w[k] * x[(n - k) // 2]**2) else (0))
    """,
    order=3,
    x=(4,),
    w=(3,),
)
def _(x: Array, w: Array) -> Array:
    return jnp.convolve(jnp.zeros(7).at[::2].set(x**2), w)


@case(
    "polyphase filter",
    """
    x: f64[5]
    h: f64[3, 2]
    f[n: 15] = sum{k} (if {n // 3 >= k} then (h[n % 3, k] * x[n // 3 - k]**2) else (0))
    """,
    order=3,
    x=(5,),
    h=(3, 2),
)
def _(x: Array, h: Array) -> Array:
    branches = jax.vmap(lambda taps: jnp.convolve(x**2, taps)[:5])(h)
    return branches.T.reshape(15)


@case(
    "decimating filter bank",
    "x: f64[12]\nh: f64[2, 4]\nf[n: 5, b: 2] = sum{k} (h[b, k] * x[2*n + k])**2\ng[n: 10] = f[n // 2, n % 2]",
    x=(12,),
    h=(2, 4),
)
def _(x: Array, h: Array) -> dict[str, Array]:
    n, k = np.indices((5, 4))
    f = jnp.einsum("bk,nk->nb", h, x[2 * n + k]) ** 2
    return {"f": f, "g": f.reshape(10)}


@case(
    "haar step", "x: f64[8]\nf[i: 8] = x[2*(i % 4)] + (1 - 2*(i // 4)) * x[2*(i % 4) + 1]**2", order=3, x=(8,)
)
def _(x: Array) -> Array:
    even, odd = x[::2], x[1::2] ** 2
    return jnp.concatenate([even + odd, even - odd])


# -- conditions and bounds ---------------------------------------------------------------------


@case("even elements", "x: f64[7]\nf[i] = if {i % 2 = 0} then (x[i]**3) else (x[i]**2)", order=3, x=(7,))
def _(x: Array) -> Array:
    return jnp.where(np.arange(7) % 2 == 0, x**3, x**2)


@case(
    "remainder and quotient",
    "x: f64[8]\n"
    "f[i: 8, j: 8] = if {i % 2 = 0 and j // 3 < 2} then (x[i]**2 * x[j]) else (x[i // 2] * x[j // 2])",
    order=3,
    x=(8,),
)
def _(x: Array) -> Array:
    i, j = np.indices((8, 8))
    return jnp.where((i % 2 == 0) & (j // 3 < 2), x[i] ** 2 * x[j], x[i // 2] * x[j // 2])


@case(
    "remainder of a sum of indices",
    "x: f64[5]\nf[i: 5, j: 5] = if {(i + 2*j) % 3 = 1} then (x[i] * x[j]**2) else (0)",
    order=3,
    x=(5,),
)
def _(x: Array) -> Array:
    i, j = np.indices((5, 5))
    return jnp.where((i + 2 * j) % 3 == 1, x[i] * x[j] ** 2, 0)


@case(
    "not a multiple",
    "x: f64[9]\nf[i] = if {i % 3 != 0} then (x[i - 1]**2 * x[i]) else (x[i // 3])",
    order=3,
    x=(9,),
)
def _(x: Array) -> Array:
    i = np.arange(9)
    return jnp.where(i % 3 != 0, x[i - 1] ** 2 * x, x[i // 3])


@case(
    "remainder below a bound",
    "x: f64[9]\nf[i] = if {i % 4 <= 1} then (x[i]**3) else (x[i - 2])",
    order=3,
    x=(9,),
)
def _(x: Array) -> Array:
    i = np.arange(9)
    return jnp.where(i % 4 <= 1, x**3, x[i - 2])


@case(
    "condition in a strided sum",
    "x: f64[9]\nf[i: 4] = sum{k}_0^2 (if {(i + k) % 2 = 0} then (x[2*i + k]**2) else (x[k] * x[i]))",
    order=3,
    x=(9,),
)
def _(x: Array) -> Array:
    i, k = np.indices((4, 3))
    return jnp.where((i + k) % 2 == 0, x[2 * i + k] ** 2, x[k] * x[i]).sum(axis=1)


@case(
    "same block",
    "a: f64[6, 6]\nv: f64[6]\nf[i] = sum{j} (if {i // 2 = j // 2} then (a[i, j] * v[j]**2) else (0))",
    order=3,
    a=(6, 6),
    v=(6,),
)
def _(a: Array, v: Array) -> Array:
    i, j = np.indices((6, 6))
    return jnp.where(i // 2 == j // 2, a, 0) @ v**2


@case(
    "bounds with floors",
    "x: f64[7]\nf[i: 7] = sum{k}_(i // 2)^(min [6; (3*i + 1) // 2]) (x[k]**2 * x[i])",
    order=3,
    x=(7,),
)
def _(x: Array) -> Array:
    i, k = np.indices((7, 7))
    return jnp.where((k >= i // 2) & (k <= (3 * i + 1) // 2), x[k] ** 2 * x[i], 0).sum(axis=1)


@case(
    "butterfly",
    "x: f64[8]\nf[i: 8] = if {i // 2 % 2 = 0} then (x[i] + x[i + 2]**2) else (x[i - 2] * x[i])",
    order=3,
    x=(8,),
)
def _(x: Array) -> Array:
    i = np.arange(8)
    return jnp.where(i // 2 % 2 == 0, x + x[np.minimum(i + 2, 7)] ** 2, x[i - 2] * x)


@pytest.mark.parametrize("row", CATALOGUE.cases, ids=lambda row: row.name)
def test_quasi_affine(row: Case) -> None:
    """Value and gradients at every order of the row."""
    row.check()
