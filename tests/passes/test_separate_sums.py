"""Contractions that are added are tensors of their own; what is none of them stays where it is."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tadc
from tadc.compiler.all_stages import compile_until
from tadc.compiler.compile_options import Options
from tadc.compiler.stages import Compilation
from tadc.frontend.source import Source
from tadc.passes.rewrites.separate_sums import separate_contractions

GATES = """x: f64[B, K]; h: f64[B, M]; w: f64[4, N, K]; u: f64[4, N, M]; c: f64[N]
let g[q, b, i] = sum{k} (w[q, i, k]*x[b, k]) + (sum{k} (u[q, i, k]*h[b, k]) - c[i])
y[b, i] = sigmoid(g[0, b, i]) + sigmoid(g[1, b, i])*tanh(g[2, b, i]) + g[3, b, i]"""


def gates(x: jax.Array, h: jax.Array, w: jax.Array, u: jax.Array, c: jax.Array) -> jax.Array:
    g = jnp.einsum("qik,bk->qbi", w, x) + (jnp.einsum("qik,bk->qbi", u, h) - c)
    return jax.nn.sigmoid(g[0]) + jax.nn.sigmoid(g[1]) * jnp.tanh(g[2]) + g[3]


@pytest.mark.parametrize("known", [True, False])
def test_gates(known: bool) -> None:
    sizes = {"B": 5, "K": 33, "M": 20, "N": 17}
    random = np.random.default_rng(1)
    shapes = [(5, 33), (5, 20), (4, 17, 33), (4, 17, 20), (17,)]
    arrays = [random.normal(size=shape) for shape in shapes]
    expected, pull = jax.vjp(gates, *map(jnp.asarray, arrays))
    dy = random.normal(size=(5, 17))
    f = tadc.value_and_vjp(tadc.function(GATES, sizes=sizes if known else {}))
    for found, other in zip(f(*arrays, dy), (expected, *pull(jnp.asarray(dy))), strict=True):
        np.testing.assert_allclose(found, other, rtol=1e-11, atol=1e-12)


def tensors(text: str) -> int:
    """How many tensors a program computes after the pass."""
    state = Compilation(Options(), Source(text, "<test>"))
    compile_until(state, "typed")
    assert state.program is not None
    return len(separate_contractions(state.program).definitions)


def test_what_is_separate() -> None:
    arguments = "; ".join(f"{name}: f64[20, 20]" for name in "abcdef") + "\n"
    three = " + ".join(f"sum{{k}} ({x}[i, k]*{y}[k, j])" for x, y in ("ab", "cd", "ef"))
    assert tensors(f"{arguments}y[i, j] = {three}") == 3
    assert tensors(f"{arguments}y[i, j] = if {{i >= j}} then ({three}) else (0)") == 1
    long = "a: f64[20, 2000]; b: f64[2000, 20]\ny[i, j] = "
    assert tensors(f"{long}0.5*sum{{k}} (a[i, k]*b[k, j])") == 2
    assert tensors(f"{long}sum{{k}} (a[i, k]*b[k, j])") == 1
    assert tensors(f"{long}0.5*sum{{k: 1000}} (a[i, k]*b[k, j])") == 1
    assert tensors("a: f64[N, K]; b: f64[K, M]\ny[i, j] = 0.5*sum{k} (a[i, k]*b[k, j])") == 1
    vectors = "w: f64[20, 40]; a: f64[40]; b: f64[40]\ny[i] = sum{k} (w[i, k]*a[k]) + sum{k} (w[i, k]*b[k])"
    assert tensors(vectors) == 1
