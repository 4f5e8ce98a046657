"""Soft dynamic time warping in a band of any width, in ways to write it: right, and of bounded code.

Every cell reads three neighbours, each under conditions, so a derivative has many terms with many conditions.
"""

from __future__ import annotations

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tadc

HEAD = "x: f64[N]; y: f64[M]; size W; g: f64\nlet scan{i + j} r[i: N, j: M] ="
BAND, LAST = "i - j <= W and j - i <= W", "\nf = r[N - 1, M - 1]"
EXP = "exp(-r[{}]/g)"
LEFT, UP, BOTH = (EXP.format(at) for at in ("i, j - 1", "i - 1, j", "i - 1, j - 1"))
LEAST = "min(r[i - 1, j], min(r[i, j - 1], r[i - 1, j - 1]))"
SHIFTED = f"exp(({LEAST} - r[{{}}])/g)"

SPELLINGS = {
    "guards": f"""{HEAD} if {{{BAND}}} then ((x[i] - y[j])**2 + if {{i = 0 and j = 0}} then (0) else (-g*log(
    if {{i >= 1 and i - 1 - j <= W and j - i + 1 <= W}} then ({UP}) else (0)
    + if {{j >= 1 and i - j + 1 <= W and j - 1 - i <= W}} then ({LEFT}) else (0)
    + if {{i >= 1 and j >= 1}} then ({BOTH}) else (0)))) else (0){LAST}""",
    "a domain": f"""{HEAD} if {{i = 0 and j = 0}} then ((x[0] - y[0])**2) else (if {{{BAND}}} then (
    (x[i] - y[j])**2 - g*logsumexp{{a: 2, b: 2: a + b >= 1 and i >= a and j >= b and i - a - j + b <= W
    and j - b - i + a <= W}} (-r[i - a, j - b]/g)) else (0)){LAST}""",
    "divisions": f"""{HEAD} if {{{BAND}}} then ((x[i] - y[j])**2 + if {{i = 0 and j = 0}} then (0) else (
    -g*logsumexp{{p: 3: i - 1 + p//2 >= 0 and j - (p + 1) % 2 >= 0 and i - 1 + p//2 - j + (p + 1) % 2 <= W
    and j - (p + 1) % 2 - i + 1 - p//2 <= W}} (-r[i - 1 + p//2, j - (p + 1) % 2]/g))) else (0){LAST}""",
    "choices": f"""{HEAD} if {{{BAND}}} then ((x[i] - y[j])**2 + if {{i = 0 and j = 0}} then (0) else (
    if {{i = 0}} then (r[0, j - 1]) else (if {{j = 0}} then (r[i - 1, 0]) else (
    if {{i - j = W}} then (-g*log({UP} + {BOTH})) else (if {{j - i = W}} then (-g*log({LEFT} + {BOTH})) else (
    -g*log({UP} + {LEFT} + {BOTH}))))))) else (1000){LAST}""",
    "far outside": f"""{HEAD} if {{i = 0 and j = 0}} then ((x[0] - y[0])**2) else (if {{{BAND}}} then (
    (x[i] - y[j])**2 - g*log(exp(-(if {{i >= 1}} then (r[i - 1, j]) else (1e3))/g)
    + exp(-(if {{j >= 1}} then (r[i, j - 1]) else (1e3))/g)
    + exp(-(if {{i >= 1 and j >= 1}} then (r[i - 1, j - 1]) else (1e3))/g))) else (1e3)){LAST}""",
    "shifted": f"""{HEAD} if {{{BAND}}} then ((x[i] - y[j])**2 + if {{i = 0 and j = 0}} then (0) else (
    if {{i = 0}} then (r[0, j - 1]) else (if {{j = 0}} then (r[i - 1, 0]) else ({LEAST} - g*log(
    {SHIFTED.format("i - 1, j")} + {SHIFTED.format("i, j - 1")} + {SHIFTED.format("i - 1, j - 1")}
    ))))) else (1e3){LAST}""",
    "a range": f"""x: f64[N]; y: f64[M]; size W; g: f64
    let scan{{2*i + s}} r[i: N, s: 2*W + 1] = if {{i + s >= W and i + s - W <= M - 1}} then (
    (x[i] - y[i + s - W])**2 + if {{i = 0 and s = W}} then (0) else (-g*log(
    if {{i >= 1 and s + 1 <= 2*W}} then ({EXP.format("i - 1, s + 1")}) else (0)
    + if {{s >= 1 and i + s - 1 >= W}} then ({EXP.format("i, s - 1")}) else (0)
    + if {{i >= 1 and i + s - 1 >= W}} then ({EXP.format("i - 1, s")}) else (0)))) else (0)
    f = sum{{s: 2*W + 1: N - 1 + s - W = M - 1}} (r[N - 1, s])""",
}  # fmt: skip
"""Outside of the band nothing is read, or what is as good as infinite; the minimum has the cotangent 0."""


def warped(x: jax.Array, y: jax.Array, g: jax.Array, width: int) -> jax.Array:
    """Cell by cell."""
    cells: dict[tuple[int, int], jax.Array] = {}
    for i, j in np.ndindex(len(x), len(y)):
        near = [cells[at] for at in ((i - 1, j), (i, j - 1), (i - 1, j - 1)) if at in cells]
        if abs(i - j) <= width:
            least = -g * jax.scipy.special.logsumexp(-jnp.stack(near) / g) if near else 0.0
            cells[i, j] = (x[i] - y[j]) ** 2 + least
    return cells[len(x) - 1, len(y) - 1]


def inputs(*sizes: int) -> list[np.ndarray]:
    """Two series and a temperature."""
    random = np.random.default_rng(0)
    return [*(random.normal(size=n) for n in sizes), np.array(0.9)]


@cache
def slopes(*sizes: int) -> list[np.ndarray]:
    """Of what is warped in a band of width 3, by all inputs."""
    return list(map(np.asarray, jax.grad(warped, (0, 1, 2))(*map(jnp.asarray, inputs(*sizes)), 3)))


@pytest.mark.parametrize("name", SPELLINGS)
def test_gradients(name: str) -> None:
    x, y, g = inputs(11, 9)
    f = tadc.vjp(tadc.function(SPELLINGS[name]))
    for found, other in zip(f(x=x, y=y, g=g, W=3, df=1.3), slopes(11, 9), strict=True):
        np.testing.assert_allclose(found, 1.3 * other, rtol=1e-10, atol=1e-10)


@cache
def slopes_of_slopes() -> tuple[dict[str, np.ndarray], list[np.ndarray]]:
    """The inputs of a gradient's cotangents, by name, and these."""
    values = [jnp.asarray(v) for v in (*inputs(5, 6), 1.3)]

    def gradient(x: jax.Array, y: jax.Array, g: jax.Array, df: jax.Array) -> list[jax.Array]:
        return [df * d for d in jax.grad(warped, (0, 1, 2))(x, y, g, 2)]

    random = np.random.default_rng(1)
    cotangents = [jnp.asarray(random.normal(size=v.shape)) for v in values[:3]]
    _, pull = jax.vjp(gradient, *values)
    names = "x y g df ddx ddy ddg".split()
    named: dict[str, np.ndarray] = dict(zip(names, map(np.asarray, (*values, *cotangents)), strict=True))
    return named, list(map(np.asarray, pull(cotangents)))


@pytest.mark.parametrize("name", SPELLINGS)
def test_gradients_of_gradients(name: str) -> None:
    named, expected = slopes_of_slopes()
    f = tadc.vjp(tadc.vjp(tadc.function(SPELLINGS[name])))
    for found, other in zip(f(**named, W=2), expected, strict=True):
        np.testing.assert_allclose(found, other, rtol=1e-9, atol=1e-9)


LINES = {1: 2_600, 2: 6_600}
"""The most lines of loops, by the order of the derivative. They were up to 5,000 and 24,000 when long bodies
stood once for each part of a loop, and several times in each."""

MORE = {"a domain": 1.3, "divisions": 1.06}

TEXT = {1: 70, 2: 360}
"""The most lines of the derivative: up to 1,000 when each neighbour of a cell had a divisor of its own."""


@pytest.mark.parametrize("name", SPELLINGS)
@pytest.mark.parametrize("order", LINES)
def test_code_is_bounded(name: str, order: int) -> None:
    f = tadc.function(SPELLINGS[name])
    for _ in range(order):
        f = tadc.vjp(f)
    assert f.lower().as_text("loops").count("\n") <= LINES[order] * MORE.get(name, 1)
    assert str(f).count("\n") <= TEXT[order]


@pytest.mark.parametrize("name", SPELLINGS)
def test_jacobians(name: str) -> None:
    x, y, g = inputs(7, 6)
    found = tadc.jacobian(tadc.function(SPELLINGS[name]), "x")(x=x, y=y, g=g, W=3)
    np.testing.assert_allclose(found, slopes(7, 6)[0], rtol=1e-10, atol=1e-10)


SOFT = """s: f64[N, M]
let scan{i + j} r[i: N, j: M] = if {i = 0} then (s[0, j]) else (if {j = 0} then (s[i, 0]) else (
    s[i, j] - log(if {i >= 2} then (exp(-r[i - 1, j])) else (0) + exp(-r[i, j - 1]))
    * log(1 + exp(r[i - 1, j - 1])
    + exp(r[i - 1, j]))))
f = sum{i, j} (r[i, j])"""


def test_a_step_that_needs_several_values() -> None:
    """A tensor for each, which a second derivative finds again."""
    f = tadc.vjp(tadc.function(SOFT))
    assert [d.name for d in f.program.definitions if d.name.startswith("r_")] == ["r_2", "r_2_1"]
    again = tadc.vjp(f)
    assert [d.name for d in again.program.definitions if d.name.startswith("r_")] == ["r_2", "r_2_1"]
    s, h = np.random.default_rng(0).normal(size=(2, 5, 4))

    def total(s: jax.Array) -> jax.Array:
        r = {}
        for i, j in np.ndindex(5, 4):
            r[i, j] = s[i, j]
            if i and j:
                near = (jnp.exp(-r[i - 1, j]) if i >= 2 else 0) + jnp.exp(-r[i, j - 1])
                r[i, j] -= jnp.log(near) * jnp.log(1 + jnp.exp(r[i - 1, j - 1]) + jnp.exp(r[i - 1, j]))
        return sum(r.values(), jnp.zeros(()))

    np.testing.assert_allclose(f(s=s, df=1.0), jax.grad(total)(s), rtol=1e-10, atol=1e-12)
    expected = jax.jvp(jax.grad(total), (jnp.asarray(s),), (jnp.asarray(h),))[1]
    found = dict(zip((d.name for d in again.program.outputs), again(s=s, df=1.0, dds=h), strict=True))
    np.testing.assert_allclose(found["ds_1"], expected, rtol=1e-9, atol=1e-11)
