"""Whole programs: names, definitions, outputs, sizes 0 and 1, what is never read, element types."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from tests.reference.cases import Case, Catalogue, Tensor

CATALOGUE = Catalogue()
case = CATALOGUE.add


# -- names ----------------------------------------------------------------------------------


@case(
    "an argument named df",
    "x: f64[4]\ndf: f64[4]\nf[i] = x[i] * df[i]**2",
    x=(4,),
    df=(4,),
)
def _(x: Array, df: Array) -> Array:
    return x * df**2


@case(
    "names of gradients and indices taken",
    """
    df: f64[3]
    dx: f64[3]
    df_1: f64[3]
    x: f64[3, 3]
    f[x_0, z0] = df[x_0] * dx[z0] * df_1[x_0] * x[z0, x_0]**2
    """,
    df=(3,),
    dx=(3,),
    df_1=(3,),
    x=(3, 3),
)
def _(df: Array, dx: Array, df_1: Array, x: Array) -> Array:
    return (df * df_1)[:, None] * dx * x.T**2


@case(
    "tensors named like indices of derivatives",
    "x_0: f64[4]\nz0: f64[8]\nx: f64[8]\nf[i: 4, j: 3] = x_0[i] * z0[i + 2*j]**2 * x[2*i]",
    x_0=(4,),
    z0=(8,),
    x=(8,),
)
def _(x_0: Array, z0: Array, x: Array) -> Array:
    i, j = np.indices((4, 3))
    return x_0[i] * z0[i + 2 * j] ** 2 * x[2 * i]


# -- definitions and outputs ----------------------------------------------------------------


@case(
    "let chain",
    """
    x: f64[5]
    let u[i: 4] = x[i] * x[i + 1]
    let v[i: 3] = sin(u[i]) + u[i + 1]**2
    let w = sum{i} (v[i])
    f[i] = v[i] * w + x[2*i]
    """,
    x=(5,),
)
def _(x: Array) -> Array:
    u = x[:-1] * x[1:]
    v = jnp.sin(u[:-1]) + u[1:] ** 2
    return v * v.sum() + x[::2]


@case(
    "several outputs, one read by the next",
    """
    x: f64[3, 4]
    y: f64[4]
    f[i] = sum{j} (x[i, j] * y[j])
    g[i, j] = f[i]**2 * x[i, j]
    h = sum{i, j} (g[i, j]**2)
    """,
    x=(3, 4),
    y=(4,),
)
def _(x: Array, y: Array) -> dict[str, Array]:
    f = x @ y
    g = f[:, None] ** 2 * x
    return {"f": f, "g": g, "h": (g**2).sum()}


@case(
    "declared outputs",
    """
    x: f64[4]
    g: f64[3, 4]
    f: f64
    f = sum{i} (x[i]**3)
    g[i, j] = x[j]**2 * i; let u[i: 4] = x[i]
    h[k: 2] = u[2*k + 1] * f
    """,
    x=(4,),
)
def _(x: Array) -> dict[str, Array]:
    f = (x**3).sum()
    return {"f": f, "g": jnp.arange(3)[:, None] * x**2, "h": x[1::2] * f}


@case(
    "an intermediate read at many places",
    """
    x: f64[6]
    let h[i] = exp(sin(x[i]))
    f[i: 3, j: 2] = h[2*i] * h[i + j] + h[5 - i]**2
    """,
    x=(6,),
)
def _(x: Array) -> Array:
    h = jnp.exp(jnp.sin(x))
    i, j = np.indices((3, 2))
    return h[2 * i] * h[i + j] + h[5 - i] ** 2


@case(
    "an intermediate never read",
    "x: f64[3]\nlet h[i] = x[i]**2\ng[i] = sin(x[i])\nf[i] = x[i]**3",
    x=(3,),
)
def _(x: Array) -> dict[str, Array]:
    return {"g": jnp.sin(x), "f": x**3}


@case("scalar output", "x: f64[4]\nu: f64[2]\nf = sum{k} (x[k]**3)", x=(4,), u=(2,))
def _(x: Array, u: Array) -> Array:
    return (x**3).sum()


@case("an argument never read", "x: f64[3]\nw: f64[2, 2]\ns: f64\nf[i] = x[i]**3", x=(3,), w=(2, 2), s=())
def _(x: Array, w: Array, s: Array) -> Array:
    return x**3


@case("nothing read", "x: f64[3]\nf[i: 4] = 2*i + 1", x=(3,))
def _(x: Array) -> Array:
    return jnp.asarray(2.0 * np.arange(4) + 1)


@case(
    "an argument read only under sign",
    "x: f64[4]\ny: f64[4]\nf[i] = sign(x[i]) * y[i]**3",
    x=(4,),
    y=(4,),
)
def _(x: Array, y: Array) -> Array:
    return jnp.sign(x) * y**3


@case("output is an argument", "x: f64[3, 2]\nf[i, j] = x[i, j]", x=(3, 2))
def _(x: Array) -> Array:
    return x


# -- sizes 0 and 1 --------------------------------------------------------------------------


@case("size 0 output", "x: f64[4]\ny: f64[0]\nf[i: 0, j: 3] = x[i + j]**3", x=(4,), y=(0,))
def _(x: Array, y: Array) -> Array:
    return jnp.zeros((0, 3))


@case(
    "size 0 sum",
    "x: f64[4]\ny: f64[0]\nf[i: 3] = sum{k} (y[k]**2) + x[i]**3 + sum{k}_2^1 (x[k])",
    x=(4,),
    y=(0,),
)
def _(x: Array, y: Array) -> Array:
    return x[:3] ** 3


@case("sizes 0 and 3", "x: f64[0, 3]\nf[j] = sum{i} (x[i, j]**2)\ng[i, j] = x[i, j]**2", x=(0, 3))
def _(x: Array) -> dict[str, Array]:
    return {"f": jnp.zeros(3), "g": x**2}


@case("size 1", "x: f64[1, 3]\nf[i, j] = x[i, j]**3", x=(1, 3))
def _(x: Array) -> Array:
    return x**3


@case(
    "sizes 1 everywhere",
    "x: f64[1, 1]\ny: f64[1]\nf[i: 1] = sum{k: 1} (x[i, k]**2 * y[i + k])",
    x=(1, 1),
    y=(1,),
)
def _(x: Array, y: Array) -> Array:
    return x[0] ** 2 * y


# -- values ---------------------------------------------------------------------------------


@case(
    "remainder of values",
    "x: f64[6]\ny: f64[6]\nf[i] = (x[i] % 0.3)**2 + (3*x[i] % y[i]) * x[i] + (-x[i]) % 0.7",
    x=(6,),
    y=Tensor((6,), low=0.5),
)
def _(x: Array, y: Array) -> Array:
    return (
        (x - 0.3 * jnp.floor(x / 0.3)) ** 2
        + (3 * x - y * jnp.floor(3 * x / y)) * x
        + (-x - 0.7 * jnp.floor(-x / 0.7))
    )


@case("remainder by a negative value", "x: f64[6]\nf[i] = (x[i] % -0.3) * x[i]", x=(6,))
def _(x: Array) -> Array:
    return (x + 0.3 * jnp.floor(x / -0.3)) * x


@case(
    "precedence",
    "x: f64[5]\nf[i] = -x[i]**2 + 2**-x[i] - exp x[i]**2 / 2 * 3 + 2**x[i]**2 - sin cos x[i] - 7 % 4",
    x=(5,),
)
def _(x: Array) -> Array:
    return -(x**2) + 2 ** (-x) - jnp.exp(x) ** 2 / 2 * 3 + 2 ** (x**2) - jnp.sin(jnp.cos(x)) - 3


@case(
    "select by value",
    """
    x: f64[5]
    y: f64[5]
    f[i, j] = select(x[i] < y[j], x[i]**2 * y[j], sin(x[i])) + select(x[i] >= 0, 1, y[j])
    """,
    x=(5,),
    y=(5,),
)
def _(x: Array, y: Array) -> Array:
    x, y = x[:, None], y[None, :]
    return jnp.where(x < y, x**2 * y, jnp.sin(x)) + jnp.where(x >= 0, 1, y)


# -- element types --------------------------------------------------------------------------


@case(
    "f32",
    "x: f32[3, 5]\ny: f32[5, 4]\nf[i, j: 4] = exp(sum{k} (x[i, k]*y[k, j])) + 2*x[i, j]**3 / (i + 1)",
    tolerance=1e-4,
    x=Tensor((3, 5), "float32"),
    y=Tensor((5, 4), "float32"),
)
def _(x: Array, y: Array) -> Array:
    i = np.arange(3, dtype=np.float32)[:, None]
    return jnp.exp(x @ y) + 2 * x[:, :4] ** 3 / (i + 1)


@case(
    "f32 with f64",
    "a: f32[4]\nb: f64[4]\nf[i] = a[i]**2 * b[i]\ng[i] = a[i]**3\nh = sum{i} (sin(a[i]*b[i]) + a[i])",
    tolerance=1e-4,
    a=Tensor((4,), "float32"),
    b=(4,),
)
def _(a: Array, b: Array) -> dict[str, Array]:
    wide = a.astype("float64")
    return {"f": a**2 * b, "g": a**3, "h": (jnp.sin(wide * b) + wide).sum()}


@case(
    "an intermediate of a stated type",
    """
    x: f32[4]
    y: f64[4]
    let h[i]: f64 = x[i]**3
    let g[i]: f32 = h[i] * y[i]
    let s: f32 = sum{i} (y[i])
    f[i] = h[i] * g[i] + s * x[i]
    """,
    tolerance=1e-4,
    x=Tensor((4,), "float32"),
    y=(4,),
)
def _(x: Array, y: Array) -> Array:
    h = (x**3).astype("float64")
    return h * (h * y).astype("float32") + y.sum().astype("float32") * x


@case(
    "f32 strided",
    "x: f32[9]\nlet h[i: 4] = sigmoid(x[2*i + 1])\nf[i: 3] = h[i] * h[i + 1] + x[i]",
    tolerance=1e-4,
    x=Tensor((9,), "float32"),
)
def _(x: Array) -> Array:
    h = 1 / (1 + jnp.exp(-x[1::2]))
    return h[:3] * h[1:] + x[:3]


@pytest.mark.parametrize("row", CATALOGUE.cases, ids=lambda row: row.name)
def test_programs(row: Case) -> None:
    """Value and gradients at every order of the row."""
    row.check()
