"""Sums over pairs of points whose terms are vectors: their gradients share roots and divisions."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tadc

#: Of points x, u being squares of distances and `d` a difference in coordinate c: what pairs add up.
TERMS = {
    "spring": ("(1 - 0.5 / sqrt({u} + 0.01)) * {d}", lambda u, d, m: (1 - 0.5 / jnp.sqrt(u + 0.01)) * d),
    "gravity": ("m[j] * {d} / sqrt({u} + 0.01)**3", lambda u, d, m: m * d / jnp.sqrt(u + 0.01) ** 3),
    "quotients": (
        "m[j] / ({u} + 1) / ({u} + 1) * {d} / ({u} + 1)",
        lambda u, d, m: m * d / (u + 1) ** 3,
    ),
    "gaussian": ("exp(-{u}) * m[i] * {d}", lambda u, d, m: jnp.exp(-u) * m.T * d),
    "log": ("log({u} + 1) / ({u} + 2) * {d} * m[j]", lambda u, d, m: jnp.log(u + 1) / (u + 2) * d * m),
}
SIZES = [(1, 3), (2, 2), (7, 3), (40, 3), (33, 4)]


def program(name: str, dimensions: int) -> tadc.Function:
    u, d = "sum{k} ((x[j, k] - x[i, k])**2)", "(x[j, c] - x[i, c])"
    term = TERMS[name][0].format(u=u, d=d)
    return tadc.function(f"x: f64[N, {dimensions}]; m: f64[N]\nf[i: N, c] = sum{{j: N}} ({term})")


@pytest.mark.parametrize(("n", "dimensions"), SIZES)
@pytest.mark.parametrize("name", TERMS)
def test_gradients(name: str, n: int, dimensions: int) -> None:
    random = np.random.default_rng(n)
    x, m, df = random.random((n, dimensions)), random.random(n), random.random((n, dimensions))

    def value(x: jax.Array, m: jax.Array) -> jax.Array:
        d = x[None] - x[:, None]
        return TERMS[name][1]((d**2).sum(2, keepdims=True), d, m[None, :, None]).sum(1)

    if name == "gaussian":

        def value(x: jax.Array, m: jax.Array) -> jax.Array:
            d = x[None] - x[:, None]
            return (jnp.exp(-(d**2).sum(2, keepdims=True)) * m[:, None, None] * d).sum(1)

    expected, pull = jax.vjp(value, jnp.asarray(x), jnp.asarray(m))
    f = tadc.value_and_vjp(program(name, dimensions))
    for found, other in zip(f(x, m, df), (expected, *pull(jnp.asarray(df))), strict=True):
        np.testing.assert_allclose(found, other, rtol=1e-11, atol=1e-12 * max(1, n))


def test_one_root_and_one_division_for_a_pair() -> None:
    f = tadc.value_and_vjp(program("spring", 3).at({"N": 500}))
    nest = f.lower().as_text("scheduled-nest")
    assert len(re.findall("= sqrt", nest)) == 1
    assert len(re.findall(" / %", nest)) == 1


@pytest.mark.parametrize("type", ["f64", "f32"])
def test_quotients_of_what_is_0_or_tiny_or_infinite(type: str) -> None:
    f = tadc.function(f"x: {type}[N]; y: {type}[N]; s[i: N] = sum{{j: 1}} (x[i + j] / y[i] / y[i] / y[i])")
    dtype = np.float32 if type == "f32" else float
    tiny = dtype(1e-12 if type == "f32" else 1e-100)
    x = np.array([0, 1, tiny**3, tiny, 1, np.inf, 1, -1], dtype)
    y = np.array([0, 0, tiny, tiny, np.inf, np.inf, -tiny, np.nan], dtype)
    with np.errstate(all="ignore"):
        expected = x / y / y / y
    np.testing.assert_allclose(f(x, y), expected, rtol=1e-6 if type == "f32" else 1e-14)
