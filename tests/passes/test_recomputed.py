"""Large tensors in between are formulas where they are read, with the values and gradients of JAX."""

from __future__ import annotations

import re
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tadc

POINTS = "x: f64[N, 3]; m: f64[N]\nlet u[i: N, j: N] = sum{c} ((x[j, c] - x[i, c])**2) + 0.01\n"


def squares(x: jax.Array) -> jax.Array:
    return ((x[None] - x[:, None]) ** 2).sum(2) + 0.01


def forces(x: jax.Array, m: jax.Array) -> jax.Array:
    return (m[None, :, None] * (x[None] - x[:, None]) / jnp.sqrt(squares(x))[:, :, None] ** 3).sum(1)


def densities(x: jax.Array, m: jax.Array) -> jax.Array:
    kernel = jax.nn.relu(1 - squares(x)) ** 3
    return kernel @ m


def compact(x: jax.Array, m: jax.Array) -> jax.Array:
    return jnp.maximum(0, 1 - jnp.sqrt(squares(x)) / 0.7) ** 3 @ m


def below(x: jax.Array, m: jax.Array) -> jax.Array:
    pairs = jnp.tril(m[:, None] * m[None] / squares(x), -1)
    return pairs.sum()


def shifted(x: jax.Array, m: jax.Array) -> jax.Array:
    u = jnp.sqrt(squares(x))
    return (u[1:] * u[:-1] * m).sum(1)


#: Programs of points and the same in JAX: forces, smoothed densities, pairs once, reads with other indices.
CASES: dict[str, tuple[str, Callable[[jax.Array, jax.Array], jax.Array]]] = {
    "forces": (
        "let r[i: N, j: N] = sqrt(u[i, j])\nf[i: N, c] = sum{j: N} (m[j]*(x[j, c] - x[i, c]) / r[i, j]**3)",
        forces,
    ),
    "densities": ("let w[i: N, j: N] = relu(1 - u[i, j])**3\nf[i: N] = sum{j} (w[i, j]*m[j])", densities),
    "densities of compact support": (
        "let q[i: N, j: N] = sqrt(u[i, j]) / 0.7\nlet w[i: N, j: N] = max(0, 1 - q[i, j])**3\n"
        "f[i] = sum{j} (m[j]*w[i, j])",
        compact,
    ),
    "densities within a guard": (
        "let q[i: N, j: N] = sqrt(u[i, j]) / 0.7\n"
        "let w[i: N, j: N] = select(q[i, j] < 1, (1 - q[i, j])**3, 0)\nf[i] = sum{j} (m[j]*w[i, j])",
        compact,
    ),
    "each pair once": ("f = sum{i: N} (sum{j}_0^(i - 1) (m[i]*m[j] / u[i, j]))", below),
    "rows of others": (
        "let r[i: N, j: N] = sqrt(u[i, j])\nf[i: N - 1] = sum{j: N} (r[i + 1, j]*r[i, j]*m[j])",
        shifted,
    ),
}


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_pairs(name: str, known: bool) -> None:
    text, value = CASES[name]
    count = 800 if known else 9
    random = np.random.default_rng(count)
    x, m = random.normal(size=(count, 3)), random.random(count)
    expected, pull = jax.vjp(value, jnp.asarray(x), jnp.asarray(m))
    df = random.normal(size=expected.shape)
    g = tadc.value_and_vjp(tadc.function(POINTS + text, sizes={"N": count} if known else {}))
    kept = re.search(r"tad.map \(.*tensor<(800x800|\?x\?)x", g.lower().as_text("hoist"))
    assert not kept or name == "rows of others"
    for found, other in zip(g(x, m, df), (expected, *pull(jnp.asarray(df))), strict=True):
        np.testing.assert_allclose(found, other, rtol=1e-9, atol=1e-9 * np.abs(other).max())


def stored(text: str) -> list[str]:
    """The large tensors that a program and its gradients keep."""
    g = tadc.value_and_vjp(tadc.function(text))
    return re.findall(r"%(\w+) = tad.map \(.*tensor<800x800x", g.lower().as_text("hoist"))


def test_what_stays() -> None:
    """What a loop reads again and again, and what is compared."""
    product = "q: f64[800, 64]; k: f64[800, 64]; v: f64[800, 64]\n"
    attention = product + "let s[i, j] = exp(sum{d} (q[i, d]*k[j, d]))\nf[i, d] = sum{j} (s[i, j]*v[j, d])"
    assert stored(attention)
    largest = "x: f64[800]\nlet u[i, j] = sin(x[i])*cos(3*x[j])\nf[i] = max{j} (u[i, j])"
    assert "u" in stored(largest)


def test_ties_are_those_of_the_value() -> None:
    text = "x: f64[800]\nlet u[i, j] = sin(x[i])*cos(3*x[j])\nf[i] = max{j} (u[i, j])"
    x = np.linspace(-1, 1, 800)
    g = tadc.vjp(tadc.function(text))

    def value(x: jax.Array) -> jax.Array:
        return (jnp.sin(x)[:, None] * jnp.cos(3 * x)[None]).max(1)

    df = np.cos(np.arange(800.0))
    _, pull = jax.vjp(value, jnp.asarray(x))
    np.testing.assert_allclose(g(x, df), pull(jnp.asarray(df))[0], rtol=1e-9, atol=1e-9)


IMAGE = "x: f64[66, 66]; w: f64[3, 3]\n"
LAYER = "x: f64[60, 40]; w: f64[50, 40]; v: f64[50]\n"

#: Formulas, and the same with names for what is in them.
NAMED = {
    "a convolution": (
        IMAGE + "f[i: 64, j: 64] = sum{p, q} (w[p, q]*x[i + p, j + q])",
        IMAGE + "let s[p: 3, i: 64, j: 64] = sum{q} (w[p, q]*x[i + p, j + q])\n"
        "f[i: 64, j: 64] = sum{p} (s[p, i, j])",
    ),
    "a layer": (
        LAYER + "f[i: 60] = sum{k} (v[k]*tanh(sum{d} (w[k, d]*x[i, d])))",
        LAYER + "let z[i: 60, k: 50] = sum{d} (w[k, d]*x[i, d])\nlet h[i: 60, k: 50] = tanh(z[i, k])\n"
        "f[i: 60] = sum{k} (v[k]*h[i, k])",
    ),
}


@pytest.mark.parametrize("name", NAMED)
def test_a_name_changes_nothing(name: str) -> None:
    found = [tadc.statistics(tadc.function(text)) for text in NAMED[name]]
    for works in ([s.value.work for s in found], [s.gradients.work for s in found]):
        assert max(w.weighted for w in works) <= 1.02 * min(w.weighted for w in works)
