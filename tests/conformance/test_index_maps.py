"""Maps whose derivatives need exact integer algebra: strides, overlaps, guards, bounds of indices."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from tests.reference.cases import Case, Catalogue

CATALOGUE = Catalogue()
case = CATALOGUE.add


@case("stride 2", "x: f64[9]\nf[i: 4] = x[2*i]**3", x=(9,))
def _(x: Array) -> Array:
    return x[0:8:2] ** 3


@case("stride 2, repeated", "x: f64[6]\nf[i: 3, j: 5] = x[2*i]", x=(6,))
def _(x: Array) -> Array:
    return jnp.stack([x[0:6:2]] * 5, axis=1)


@case("x[2*i+4*j]", "x: f64[20]\nf[i: 4, j: 3] = x[2*i+4*j]**3", x=(20,))
def _(x: Array) -> Array:
    i, j = np.indices((4, 3))
    return x[2 * i + 4 * j] ** 3


@case("x[i+j, i-j+2]", "x: f64[6, 7]\nf[i: 4, j: 3] = x[i+j, i-j+2]**3", x=(6, 7))
def _(x: Array) -> Array:
    i, j = np.indices((4, 3))
    return x[i + j, i - j + 2] ** 3


@case(
    "x[2*i+4*j, 6*i-2*j+4]",
    "x: f64[16, 24]\nf[i: 4, j: 3] = x[2*i+4*j, 6*i-2*j+4]**3",
    x=(16, 24),
)
def _(x: Array) -> Array:
    i, j = np.indices((4, 3))
    return x[2 * i + 4 * j, 6 * i - 2 * j + 4] ** 3


@case("x[6*i+10*j+15*k]", "x: f64[80]\nf[i: 3, j: 4, k: 3] = x[6*i+10*j+15*k]**3", x=(80,))
def _(x: Array) -> Array:
    i, j, k = np.indices((3, 4, 3))
    return x[6 * i + 10 * j + 15 * k] ** 3


@case("dependent rows", "x: f64[9, 17]\nf[i: 3, j: 4] = x[i + 2*j, 2*i + 4*j]**2", x=(9, 17))
def _(x: Array) -> Array:
    i, j = np.indices((3, 4))
    return x[i + 2 * j, 2 * i + 4 * j] ** 2


@case("several reads of one argument", "x: f64[9]\nf[i: 4, j: 4] = x[2*i] * x[i+j]**2 * x[8 - 2*j]", x=(9,))
def _(x: Array) -> Array:
    i, j = np.indices((4, 4))
    return x[2 * i] * x[i + j] ** 2 * x[8 - 2 * j]


@case("range", "x: f64[10]\nf[i: 7] = x[i+2]**3", x=(10,))
def _(x: Array) -> Array:
    return x[2:9] ** 3


@case("reversal", "x: f64[6]\nf[i: 6] = x[5-i]**3", x=(6,))
def _(x: Array) -> Array:
    return x[::-1] ** 3


@case("reversal, fixed size", "size N = 6\nx: f64[N]\nf[i: N] = x[N-1-i] * x[i]**2", x=(6,))
def _(x: Array) -> Array:
    return x[::-1] * x**2


@case("constant indices", "x: f64[6, 3]\nf[i: 4] = x[2, 1]**3 * x[i, 0]", x=(6, 3))
def _(x: Array) -> Array:
    return x[2, 1] ** 3 * x[:4, 0]


@case("transpose", "x: f64[3, 4]\ny: f64[4, 3]\nf[i, j] = x[j, i]**2 * y[i, j]", x=(3, 4), y=(4, 3))
def _(x: Array, y: Array) -> Array:
    return x.T**2 * y


@case("index values", "x: f64[4]\nf[i] = (2*i - 3) * x[i]**3 + i", x=(4,))
def _(x: Array) -> Array:
    i = jnp.arange(4)
    return (2 * i - 3) * x**3 + i


@case("index values in functions", "x: f64[3]\nf[i, j: 4] = sin(x[i] + i) / (1 + j)**2", x=(3,))
def _(x: Array) -> Array:
    i, j = np.indices((3, 4))
    return jnp.sin(x[i] + i) / (1 + j) ** 2


@case("size as a number", "size N = 5\nx: f64[N]\nf = sum{i} (x[i]**2) / N", x=(5,))
def _(x: Array) -> Array:
    return (x**2).mean()


# -- guards ---------------------------------------------------------------------------------


@case(
    "guards must not leak",
    "x: f64[5]\ny: f64[4]\nf[i: 6] = if {i - 2 >= 0} then (x[i-1]*y[i-2]) else (0)",
    x=(5,),
    y=(4,),
)
def _(x: Array, y: Array) -> Array:
    return jnp.concatenate([jnp.zeros(2), x[1:5] * y])


@case(
    "zero padding",
    """
    x: f64[6]
    k: f64[3]
    f[i: 6] = sum{t} (if {0 <= i + t - 1 and i + t - 1 <= 5} then (x[i + t - 1]) else (0) * k[t])
    """,
    x=(6,),
    k=(3,),
)
def _(x: Array, k: Array) -> Array:
    padded = jnp.concatenate([jnp.zeros(1), x, jnp.zeros(1)])
    i, t = np.indices((6, 3))
    return (padded[i + t] * k[t]).sum(axis=1)


@case(
    "guard on several indices",
    "x: f64[5, 4]\nf[i: 5, j: 4] = if {i + j - 2 >= 0 and i = 2*j} then (x[i, j]**3) else (x[j, 1]**2)",
    x=(5, 4),
)
def _(x: Array) -> Array:
    i, j = np.indices((5, 4))
    taken = (i + j - 2 >= 0) & (i == 2 * j)
    return jnp.where(taken, x**3, x[j, 1] ** 2)


@case(
    "else of an equality",
    "x: f64[7]\ny: f64[4]\nf[i: 5, j: 3] = if {i = j} then (x[i + j]**3) else (x[i] * y[j]**2)",
    x=(7,),
    y=(4,),
)
def _(x: Array, y: Array) -> Array:
    i, j = np.indices((5, 3))
    return jnp.where(i == j, x[np.minimum(i + j, 6)] ** 3, x[i] * y[j] ** 2)


@case(
    "read valid in the else branch only",
    "x: f64[5]\nf[i: 5] = if {i = 0} then (1) else (x[i - 1]**3)",
    x=(5,),
)
def _(x: Array) -> Array:
    return jnp.concatenate([jnp.ones(1), x[:4] ** 3])


@case(
    "unequal",
    "x: f64[5]\nf[i: 5, j: 5] = if {i != j and i + 1 != j} then (x[i] * x[j]**2) else (x[i]**2)",
    x=(5,),
)
def _(x: Array) -> Array:
    i, j = np.indices((5, 5))
    return jnp.where((i != j) & (i + 1 != j), x[i] * x[j] ** 2, x[i] ** 2)


@case(
    "strict relations",
    """
    x: f64[6]
    f[i: 6, j: 4] = if {i < j} then (x[i]**2) else (
        if {2*i > 3*j} then (x[i - j]**3) else (x[j]))
    """,
    x=(6,),
)
def _(x: Array) -> Array:
    i, j = np.indices((6, 4))
    return jnp.where(i < j, x[i] ** 2, jnp.where(2 * i > 3 * j, x[np.maximum(i - j, 0)] ** 3, x[j]))


@case(
    "nested else",
    """
    x: f64[9]
    f[i: 5, j: 4] = if {i = j} then (x[i]**3) else (
        if {i + j = 4 and i >= 2} then (x[i + j]**2) else (x[i]*x[j]))
    """,
    x=(9,),
)
def _(x: Array) -> Array:
    i, j = np.indices((5, 4))
    inner = jnp.where((i + j == 4) & (i >= 2), x[i + j] ** 2, x[i] * x[j])
    return jnp.where(i == j, x[i] ** 3, inner)


@case(
    "guard inside a sum",
    "x: f64[6, 6]\nf[i: 6] = sum{k} (if {k >= i and k != i + 2} then (x[i, k]**2) else (sin(x[k, 0])))",
    x=(6, 6),
)
def _(x: Array) -> Array:
    i, k = np.indices((6, 6))
    return jnp.where((k >= i) & (k != i + 2), x**2, jnp.sin(x[k, 0])).sum(axis=1)


@case(
    "sum under a guard",
    "x: f64[6]\nf[i: 5] = if {i - 2 >= 0} then (exp(sum{k}_0^3 (x[i - 2 + k]**3))) else (x[i])",
    x=(6,),
)
def _(x: Array) -> Array:
    i, k = np.indices((3, 4))
    return jnp.concatenate([x[:2], jnp.exp((x[i + k] ** 3).sum(axis=1))])


@case(
    "banded matrix",
    "a: f64[6, 6]\nv: f64[6]\nf[i] = sum{j} (if {i - j <= 1 and j - i <= 2} then (a[i, j]*v[j]) else (0))",
    a=(6, 6),
    v=(6,),
)
def _(a: Array, v: Array) -> Array:
    i, j = np.indices((6, 6))
    return jnp.where((i - j <= 1) & (j - i <= 2), a, 0) @ v


# -- sums -----------------------------------------------------------------------------------


@case(
    "shadowed index",
    "x: f64[5, 4]\nf[i: 3] = sum{k}_0^3 (x[i, k]**3 * sum{k}_0^3 (x[k, k]**2)) * sum{k}_0^3 (x[k, k])",
    x=(5, 4),
)
def _(x: Array) -> Array:
    trace = x[:4, :4]
    return (x[:3] ** 3).sum(axis=1) * (jnp.diagonal(trace) ** 2).sum() * jnp.diagonal(trace).sum()


@case(
    "shadowed output index",
    "x: f64[4, 4]\nf[i] = x[i, 0] * sum{i} (x[i, i]**2) * x[0, i]",
    x=(4, 4),
)
def _(x: Array) -> Array:
    return x[:, 0] * (jnp.diagonal(x) ** 2).sum() * x[0]


@case(
    "reused index",
    "x: f64[3, 5]\nf[i: 3] = sum{k} (x[i, k]**2) * sum{k}_0^1 (x[k, i]) + sum{k}_1^2 (x[k, k + 2]**2)",
    x=(3, 5),
)
def _(x: Array) -> Array:
    return (x**2).sum(axis=1) * x[:2, :3].sum(axis=0) + x[1, 3] ** 2 + x[2, 4] ** 2


@case(
    "square of a sum",
    "x: f64[4]\nf[i: 3] = sum{k}_0^3 (x[k]*x[i])**2",
    x=(4,),
)
def _(x: Array) -> Array:
    return (x.sum() * x[:3]) ** 2


@case("triangular", "x: f64[5, 5]\nf[i] = sum{k}_0^(i) (x[i, k]**3)", x=(5, 5))
def _(x: Array) -> Array:
    return (jnp.tril(x) ** 3).sum(axis=1)


@case("triangular from below", "x: f64[5, 5]\nf[i] = sum{k}_(i + 1)^4 (x[i, k]**3)", x=(5, 5))
def _(x: Array) -> Array:
    return (jnp.triu(x, 1) ** 3).sum(axis=1)


@case(
    "bounds of outer sum indices",
    "x: f64[9]\nf[i: 4] = sum{k}_0^(i) (sum{l}_(k)^(min [i; k + 2]) (x[i + k - l + 2]**3))",
    x=(9,),
)
def _(x: Array) -> Array:
    i, k, m = np.indices((4, 4, 4))
    within = (k <= i) & (m >= k) & (m <= np.minimum(i, k + 2))
    return jnp.where(within, x[np.clip(i + k - m + 2, 0, 8)] ** 3, 0).sum(axis=(1, 2))


@case(
    "max and min bounds",
    "x: f64[4, 6]\nf[i: 5, j: 4] = sum{k}_(max [0; i - j; j - 2])^(min [5; i + 1]) (x[j, k]**2 * (k + 1))",
    x=(4, 6),
)
def _(x: Array) -> Array:
    i, j, k = np.indices((5, 4, 6))
    within = (k >= np.maximum(i - j, j - 2)) & (k <= i + 1)
    return jnp.where(within, x[j, k] ** 2 * (k + 1), 0).sum(axis=2)


@case("negative bounds", "x: f64[6]\nf[i: 2] = sum{k}_-2^2 (x[i + k + 2]**2 * k)", x=(6,))
def _(x: Array) -> Array:
    i, k = np.indices((2, 5))
    return (x[i + k] ** 2 * (k - 2)).sum(axis=1)


@case(
    "several indices at once",
    "x: f64[3, 4]\ny: f64[6]\nf[n: 2] = sum{i, j} (x[i, j]**2 * y[i + j] * sum{p: 2, q: 3} (y[p + q + n]))",
    order=2,
    slow_order=3,
    x=(3, 4),
    y=(6,),
)
def _(x: Array, y: Array) -> Array:
    i, j = np.indices((3, 4))
    n, p, q = np.indices((2, 2, 3))
    return (x**2 * y[i + j]).sum() * y[p + q + n].sum(axis=(1, 2))


@case("sum of a constant", "x: f64[3]\nf[i] = sum{k}_1^(i) (2) * x[i]**2 + sum{k: 5} (k*x[i])", x=(3,))
def _(x: Array) -> Array:
    return 2 * jnp.arange(3) * x**2 + 10 * x


@case(
    "autocorrelation",
    "x: f64[7]\nf[l: 4] = sum{i}_0^(6 - l) (x[i] * x[i + l])",
    x=(7,),
)
def _(x: Array) -> Array:
    return jnp.stack([(x[: 7 - lag] * x[lag:]).sum() for lag in range(4)])


@case(
    "bounds that move with the output and a sum",
    "y: f64[16]; z: f64[17, 9]\n"
    "f[i: 6, l] = sum{j}_(i + 1)^(i + 2) (sum{k}_(i + 1)^(j + 2) (y[k] * z[k + j, l]))",
    order=2,
    slow_order=3,
    y=(16,),
    z=(17, 9),
)
def _(y: Array, z: Array) -> Array:
    def element(i: int) -> Array:
        return sum(y[k] * z[k + j] for j in (i + 1, i + 2) for k in range(i + 1, j + 3))  # type: ignore[return-value]

    return jnp.stack([element(i) for i in range(6)])


@case(
    "dilated strided convolution",
    "x: f64[2, 11]\nw: f64[3, 2, 3]\nf[o, p: 4] = sum{c, t} (w[o, c, t] * x[c, 2*p + 2*t])",
    x=(2, 11),
    w=(3, 2, 3),
)
def _(x: Array, w: Array) -> Array:
    p, t = np.indices((4, 3))
    return jnp.einsum("oct,cpt->op", w, x[:, 2 * p + 2 * t])


@pytest.mark.parametrize("row", CATALOGUE.cases, ids=lambda row: row.name)
def test_index_maps(row: Case) -> None:
    """Value and gradients at every order of the row."""
    row.check()
