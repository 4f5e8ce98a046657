"""Recurrences (`scan`) against loops and `jax.lax.scan`, with all derivatives up to order 2."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import pytest
from jax import Array

from tests.reference.cases import Case, Catalogue, Tensor

CATALOGUE = Catalogue()
case = CATALOGUE.add


@case(
    "explicit Euler of x' = -50 x",
    "x: f64\ndt: f64\nscan{t} f[t: 9] = if {t = 0} then (x) else (f[t - 1] + dt*(-50*f[t - 1]))",
    x=(),
    dt=Tensor((), low=0.01, high=0.02),
    order=2,
)
def _(x: Array, dt: Array) -> Array:
    return x * (1 - 50 * dt) ** jnp.arange(9)


@case(
    "Euler steps of a linear system",
    """
    x: f64[3]
    W: f64[3, 3]
    scan{t} f[t: 5, i: 3] = if {t = 0} then (x[i]) else (f[t - 1, i] + 0.1*sum{k} (W[i, k]*f[t - 1, k]))
    """,
    x=(3,),
    W=(3, 3),
    order=2,
)
def _(x: Array, W: Array) -> Array:
    rows = [x]
    for _ in range(4):
        rows.append(rows[-1] + 0.1 * W @ rows[-1])
    return jnp.stack(rows)


@case(
    "a recurrent network",
    """
    x: f64[4, 2]
    W: f64[3, 3]
    U: f64[3, 2]
    scan{t} f[t, i] = tanh(sum{k} (U[i, k]*x[t, k])
        + (if {t = 0} then (0) else (sum{k} (W[i, k]*f[t - 1, k]))))
    """,
    x=(4, 2),
    W=(3, 3),
    U=(3, 2),
    order=2,
)
def _(x: Array, W: Array, U: Array) -> Array:
    def step(state: Array, row: Array) -> tuple[Array, Array]:
        state = jnp.tanh(U @ row + W @ state)
        return state, state

    return jax.lax.scan(step, jnp.zeros(3), x)[1]


LSTM = """
    x: f64[3, 4, 9]
    u: f64[4, 9, 9]
    scan{2*t + k} f[t: 3, k: 2, i: 9] = if {k = 0} then (
        sigmoid(x[t, 1, i] + if {t >= 1} then (sum{j} (u[1, i, j]*f[t - 1, 1, j])) else (0))
            * (if {t >= 1} then (f[t - 1, 0, i]) else (0))
        + sigmoid(x[t, 0, i] + if {t >= 1} then (sum{j} (u[0, i, j]*f[t - 1, 1, j])) else (0))
            * tanh(x[t, 2, i] + if {t >= 1} then (sum{j} (u[2, i, j]*f[t - 1, 1, j])) else (0))) else (
        sigmoid(x[t, 3, i] + if {t >= 1} then (sum{j} (u[3, i, j]*f[t - 1, 1, j])) else (0))*tanh(f[t, 0, i]))
    """


@case("a cell of a long short-term memory", LSTM, x=(3, 4, 9), u=(4, 9, 9), order=2)
def _(x: Array, u: Array) -> Array:
    def step(state: Array, row: Array) -> tuple[Array, Array]:
        a = row + u @ state[1]
        keep, add, out = (jax.nn.sigmoid(a[n]) for n in (1, 0, 3))
        cell = keep * state[0] + add * jnp.tanh(a[2])
        state = jnp.stack([cell, out * jnp.tanh(cell)])
        return state, state

    return jax.lax.scan(step, jnp.zeros((2, 9)), x)[1]


NORMED = """
    x: f64[4, 9]
    u: f64[9, 9]
    let scan{-t} h[t: 4, i: 9] = if {t = 3} then (x[3, i]) else (
        (x[t, i] + sum{j} (u[i, j]*h[t + 1, j])) / sqrt(1 + sum{j} (h[t + 1, j]**2)))
    f[t: 4] = logsumexp{i: 9} (h[t, i])
    g[i: 9] = h[0, i]
    """


@case("states that are divided by their length", NORMED, x=(4, 9), u=(9, 9), order=2)
def _(x: Array, u: Array) -> dict[str, Array]:
    rows = [x[3]]
    for t in (2, 1, 0):
        rows.insert(0, (x[t] + u @ rows[0]) / jnp.sqrt(1 + (rows[0] ** 2).sum()))
    return {"f": jax.nn.logsumexp(jnp.stack(rows), axis=1), "g": rows[0]}


@case(
    "leapfrog on a ring, positions and velocities as components",
    """
    q: f64[5]
    p: f64[5]
    k: f64
    scan{t} f[t: 4, c: 2, i: 5] = if {t = 0} then (if {c = 0} then (q[i]) else (p[i])) else (
        if {c = 0} then (f[t - 1, 0, i] + 0.1*(f[t - 1, 1, i]
            + 0.1*k*(f[t - 1, 0, (i + 1) % 5] - 2*f[t - 1, 0, i] + f[t - 1, 0, (i + 4) % 5])))
        else (f[t - 1, 1, i]
            + 0.1*k*(f[t - 1, 0, (i + 1) % 5] - 2*f[t - 1, 0, i] + f[t - 1, 0, (i + 4) % 5])))
    """,
    q=(5,),
    p=(5,),
    k=(),
    order=2,
)
def _(q: Array, p: Array, k: Array) -> Array:
    found = [jnp.stack([q, p])]
    for _ in range(3):
        q, p = found[-1]
        p = p + 0.1 * k * (jnp.roll(q, -1) - 2 * q + jnp.roll(q, 1))
        found.append(jnp.stack([q + 0.1 * p, p]))
    return jnp.stack(found)


@case(
    "a component that reads another of the same step",
    """
    q: f64[3]
    p: f64[3]
    scan{2*t + c} f[t: 4, c: 2, i: 3] = if {t = 0} then (if {c = 0} then (p[i]) else (q[i])) else (
        if {c = 0} then (f[t - 1, 0, i] - 0.1*sin(f[t - 1, 1, i]))
        else (f[t - 1, 1, i] + 0.1*f[t, 0, i]))
    """,
    q=(3,),
    p=(3,),
    order=2,
)
def _(q: Array, p: Array) -> Array:
    found = [jnp.stack([p, q])]
    for _ in range(3):
        p, q = found[-1]
        p = p - 0.1 * jnp.sin(q)
        found.append(jnp.stack([p, q + 0.1 * p]))
    return jnp.stack(found)


@case(
    "a triangular chain of sines",
    """
    x: f64[6]
    scan{i} f[i] = (if {i = 0} then (0) else (sin(f[i - 1]))) + x[i]*(1 + .1*x[i]**2)
    """,
    x=(6,),
    order=2,
)
def _(x: Array) -> Array:
    def step(y: Array, e: Array) -> tuple[Array, Array]:
        y = jnp.sin(y) + e * (1 + 0.1 * e**2)
        return y, y

    return jax.lax.scan(step, jnp.float64(0), x)[1]


@case(
    "Euler steps of van der Pol's equation",
    """
    x: f64[2]
    mu: f64
    scan{t} f[t: 7, c: 2] = if {t = 0} then (x[c]) else (f[t - 1, c] + 0.1*(if {c = 0} then (f[t - 1, 1])
        else (mu*(1 - f[t - 1, 0]**2)*f[t - 1, 1] - f[t - 1, 0])))
    """,
    x=(2,),
    mu=(),
    order=2,
)
def _(x: Array, mu: Array) -> Array:
    found = [x]
    for _ in range(6):
        a, b = found[-1]
        found.append(jnp.stack([a + 0.1 * b, b + 0.1 * (mu * (1 - a**2) * b - a)]))
    return jnp.stack(found)


@case(
    "an exponential moving average of rows",
    """
    x: f64[3, 7]
    a: f64
    scan{t} f[b, t: 7] = if {t = 0} then (x[b, 0]) else (a*x[b, t] + (1 - a)*f[b, t - 1])
    """,
    x=(3, 7),
    a=(),
    order=2,
)
def _(x: Array, a: Array) -> Array:
    def step(y: Array, e: Array) -> tuple[Array, Array]:
        y = a * e + (1 - a) * y
        return y, y

    rest = jax.lax.scan(step, x[:, 0], x[:, 1:].T)[1].T
    return jnp.concatenate([x[:, :1], rest], axis=1)


@case(
    "cumulative sums from both ends",
    """
    x: f64[8]
    scan{i} f[i] = x[i]**2 + (if {i >= 1} then (f[i - 1]) else (0))
    scan{-i} g[i] = x[i]*f[i] + (if {i < 7} then (g[i + 1]) else (0))
    """,
    x=(8,),
    order=2,
)
def _(x: Array) -> dict[str, Array]:
    f = jnp.cumsum(x**2)
    return {"f": f, "g": jnp.cumsum((x * f)[::-1])[::-1]}


@case(
    "a Volterra sum",
    """
    x: f64[6]
    w: f64[6]
    scan{t} f[t] = x[t] + sum{k}_0^(t - 1) (w[t - k]*f[k])
    """,
    x=(6,),
    w=(6,),
    order=2,
)
def _(x: Array, w: Array) -> Array:
    found: list[Array] = []
    for t in range(6):
        found.append(x[t] + sum((w[t - k] * found[k] for k in range(t)), jnp.float64(0)))
    return jnp.stack(found)


@case(
    "a triangular solve",
    """
    L: f64[5, 5]
    b: f64[5, 2]
    scan{i} f[i, r] = (b[i, r] - sum{k}_0^(i - 1) (L[i, k]*f[k, r])) / L[i, i]
    """,
    L=Tensor((5, 5), low=1.0, high=2.0),
    b=(5, 2),
    order=2,
)
def _(L: Array, b: Array) -> Array:
    return jax.scipy.linalg.solve_triangular(L, b, lower=True)


@case(
    "a backward solve",
    """
    U: f64[5, 5]
    b: f64[5]
    scan{-i} f[i] = (b[i] - sum{k}_(i + 1)^4 (U[i, k]*f[k])) / U[i, i]
    """,
    U=Tensor((5, 5), low=1.0, high=2.0),
    b=(5,),
    order=2,
)
def _(U: Array, b: Array) -> Array:
    return jax.scipy.linalg.solve_triangular(U, b, lower=False)


@case(
    "a soft edit distance",
    """
    x: f64[4]
    y: f64[5]
    let c[i, j] = (x[i] - y[j])**2
    scan{i + j} f[i: 5, j: 6] = if {i = 0 and j = 0} then (0) else (
        if {i = 0} then (f[0, j - 1] + 1) else (if {j = 0} then (f[i - 1, 0] + 1) else (
            -log(exp(-f[i - 1, j] - 1) + exp(-f[i, j - 1] - 1) + exp(-f[i - 1, j - 1] - c[i - 1, j - 1])))))
    """,
    x=(4,),
    y=(5,),
    order=2,
)
def _(x: Array, y: Array) -> Array:
    c = (x[:, None] - y) ** 2
    d: dict[tuple[int, int], Array] = {(0, 0): jnp.float64(0)}
    for i, j in itertools.product(range(5), range(6)):
        if (i, j) == (0, 0):
            continue
        if i == 0 or j == 0:
            d[i, j] = jnp.float64(i + j)
        else:
            ways = [-d[i - 1, j] - 1, -d[i, j - 1] - 1, -d[i - 1, j - 1] - c[i - 1, j - 1]]
            d[i, j] = -jax.scipy.special.logsumexp(jnp.stack(ways))
    return jnp.stack([jnp.stack([d[i, j] for j in range(6)]) for i in range(5)])


@case(
    "elements that no nest of loops over the indices visits in order",
    """
    x: f64[6, 6]
    scan{i + j} f[i, j] = x[i, j] + (if {i >= 2 and j >= 2 and i <= 4 and j <= 4}
        then (0.5*f[i + 1, j - 2] + x[i, j]*f[i - 2, j + 1]) else (0))
    """,
    x=(6, 6),
    order=2,
)
def _(x: Array) -> Array:
    d: dict[tuple[int, int], Array] = {}
    for i, j in sorted(itertools.product(range(6), range(6)), key=sum):
        d[i, j] = x[i, j]
        if 2 <= i <= 4 and 2 <= j <= 4:
            d[i, j] = x[i, j] + 0.5 * d[i + 1, j - 2] + x[i, j] * d[i - 2, j + 1]
    return jnp.stack([jnp.stack([d[i, j] for j in range(6)]) for i in range(6)])


@case(
    "reads two steps back",
    """
    x: f64[9]
    scan{i} f[i] = x[i] + (if {i >= 2} then (f[i - 2]*x[i - 1] - 0.5*f[i - 1]) else (0))
    """,
    x=(9,),
    order=2,
)
def _(x: Array) -> Array:
    found = [x[0], x[1]]
    for i in range(2, 9):
        found.append(x[i] + found[i - 2] * x[i - 1] - 0.5 * found[i - 1])
    return jnp.stack(found)


@case(
    "reads by halves",
    "x: f64[9]\nscan{i} f[i] = x[i] + (if {i >= 1} then (f[i // 2]*x[i % 3]) else (0))",
    x=(9,),
    order=2,
)
def _(x: Array) -> Array:
    found = [x[0]]
    for i in range(1, 9):
        if i // 2 < i:
            found.append(x[i] + found[i // 2] * x[i % 3])
    return jnp.stack(found)


@case(
    "a recurrence between other definitions",
    """
    x: f64[6]
    a: f64[6]
    let u[i] = exp(0.3*x[i])
    let scan{i} h[i] = if {i = 0} then (u[0]) else (tanh(h[i - 1]) + u[i]*a[i])
    f = sum{i} (h[i]**2)
    g[i: 3] = h[2*i + 1] * u[i]
    """,
    x=(6,),
    a=(6,),
    order=2,
)
def _(x: Array, a: Array) -> dict[str, Array]:
    u = jnp.exp(0.3 * x)
    h = [u[0]]
    for i in range(1, 6):
        h.append(jnp.tanh(h[-1]) + u[i] * a[i])
    return {"f": sum((v**2 for v in h), jnp.float64(0)), "g": jnp.stack(h[1::2]) * u[:3]}


@case(
    "a recurrence over a recurrence",
    """
    x: f64[5]
    let scan{i} h[i] = x[i] + (if {i >= 1} then (0.5*h[i - 1]**2) else (0))
    scan{-i} f[i] = h[i] + (if {i <= 3} then (f[i + 1]*h[i + 1]) else (0))
    """,
    x=(5,),
    order=2,
)
def _(x: Array) -> Array:
    h = [x[0]]
    for i in range(1, 5):
        h.append(x[i] + 0.5 * h[-1] ** 2)
    f = [h[4]]
    for i in range(3, -1, -1):
        f.insert(0, h[i] + f[0] * h[i + 1])
    return jnp.stack(f)


@case(
    "the largest so far",
    "x: f64[7]\nscan{i} f[i] = if {i = 0} then (x[0]) else (max(f[i - 1], x[i]))",
    x=(7,),
    order=2,
)
def _(x: Array) -> Array:
    return jnp.stack([x[: i + 1].max() for i in range(7)])


@case(
    "elements of type f32",
    "x: f32[6]\nscan{i} f[i] = x[i] + (if {i >= 1} then (0.5*sin(f[i - 1])) else (0))",
    x=Tensor((6,), "float32"),
    order=2,
    tolerance=1e-5,
)
def _(x: Array) -> Array:
    found = [x[0]]
    for i in range(1, 6):
        found.append(x[i] + 0.5 * jnp.sin(found[-1]))
    return jnp.stack(found)


@pytest.mark.parametrize("chosen", CATALOGUE.cases, ids=lambda c: c.name)
def test_case(chosen: Case) -> None:
    """Values and gradients, printed and read again."""
    chosen.check()
