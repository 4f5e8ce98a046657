"""A node that has half of the edges costs no more than as many nodes: no loop over a fibre stands in another
over the same one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tadc
from tadc.analysis.statistics import compiled_form
from tests.reference.counted_steps import Arrays, count

pytestmark = pytest.mark.filterwarnings("ignore::tadc.CompileWarning")

GRAPH = "s: index[E] in N; d: index[E] in N; x: f64[N]\n"
PROGRAMS = {
    "max": "y[n: N] = max{e: d[e] = n} (x[s[e]])",
    "min": "y[n: N] = min{e: d[e] = n} (sin(x[s[e]])) * x[n]",
    "prod": "y[n: N] = prod{e: d[e] = n} (x[s[e]])",
    "logsumexp": "y[n: N] = logsumexp{e: d[e] = n} (x[s[e]])",
    "mean": "y[n: N] = sum{e: d[e] = n} (x[s[e]]**2) / (1 + sum{e: d[e] = n} (1))",
    "softmax": "y[n: N] = sum{e: d[e] = n} (exp(x[s[e]] - logsumexp{g: d[g] = n} (x[s[g]])) * x[s[e]])",
    "edges": "y[e] = exp(x[s[e]] - logsumexp{g: d[g] = d[e]} (x[s[g]]))",
    "pairs of nodes": "y[n: N//2] = max{e: d[e]//2 = n} (x[s[e]]) * x[n]",
    "degrees": "y[e] = x[s[e]]**2 / sum{g: d[g] = d[e]} (1)",
}
NODES, EDGES, MOST = 40, 320, 16
PASSED = [(name, order) for name in PROGRAMS for order in range(3) if (name, order) != ("max", 2)]
PASSED += [("prod", 3)]


def graph(nodes: int, edges: int, seed: int = 0) -> Arrays:
    """Half of all edges lead to one node."""
    random = np.random.default_rng(seed)
    d = np.where(np.arange(edges) % 2, 0, random.integers(0, nodes, edges))
    d[: 2 * nodes : 2] = np.arange(nodes)
    return {"s": random.integers(0, nodes, edges), "d": d}


def derived(text: str, order: int) -> tadc.Function:
    """A gradient of a gradient."""
    return reduce(lambda f, _: tadc.vjp(f, wrt="x"), range(order), tadc.function(text))


@pytest.mark.parametrize(("name", "order"), PASSED)
def test_steps_at_a_hub(name: str, order: int) -> None:
    """Each edge takes a few steps, though the squares of the degrees are 80 times as many as the edges."""
    f = derived(GRAPH + PROGRAMS[name], order).at({"N": NODES, "E": EDGES})
    form = compiled_form(f.program, "value")
    assert EDGES / 2 <= count(form, graph(NODES, EDGES), EDGES) <= MOST * EDGES


def references(name: str, s: Any, d: Any, nodes: int) -> Any:
    """The programs in JAX."""
    import jax
    import jax.numpy as jnp

    here = jnp.asarray(d)[None] == jnp.arange(nodes)[:, None]

    pairs = jnp.asarray(d)[None] // 2 == jnp.arange(nodes)[:, None]

    def over(kind: Any, values: Any, nothing: float) -> Any:
        return kind(jnp.where(here, values, nothing), axis=1)

    def lse(x: Any) -> Any:
        return jax.nn.logsumexp(jnp.where(here, x[s], -jnp.inf), axis=1)

    def total(values: Any) -> Any:
        return over(jnp.sum, values, 0.0)

    return {
        "max": lambda x: over(jnp.max, x[s], -jnp.inf),
        "min": lambda x: over(jnp.min, jnp.sin(x[s]), jnp.inf) * x,
        "prod": lambda x: over(jnp.prod, x[s], 1.0),
        "logsumexp": lse,
        "mean": lambda x: total(x[s] ** 2) / (1 + total(jnp.ones(len(d)))),
        "softmax": lambda x: total(jnp.exp(x[s] - lse(x)[d]) * x[s]),
        "edges": lambda x: jnp.exp(x[s] - lse(x)[d]),
        "pairs of nodes": lambda x: (
            jnp.max(jnp.where(pairs, x[s], -jnp.inf), axis=1)[: nodes // 2] * x[: nodes // 2]
        ),
        "degrees": lambda x: x[s] ** 2 / total(jnp.ones(len(d)))[d],
    }[name]


def points(name: str, random: np.random.Generator) -> Sequence[NDArray[Any]]:
    """Where to compare: also with elements that tie, and with factors that are 0."""
    few = random.choice([0.0, 0.0, 0.5, 1.0, 2.0], 6)
    return [random.normal(size=6), few] if name in ("max", "min", "prod") else [random.normal(size=6)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives_at_a_hub(name: str) -> None:
    """Values, gradients, and gradients of gradients, against JAX."""
    import jax
    import jax.numpy as jnp

    random = np.random.default_rng(3)
    indices = graph(6, 17)
    of = references(name, indices["s"], indices["d"], 6)
    f = tadc.function(GRAPH + PROGRAMS[name])
    g = tadc.vjp(f)
    h = tadc.vjp(g, wrt="x")
    for x in points(name, random):
        y = f(**indices, x=x)
        np.testing.assert_allclose(y, of(x), rtol=1e-9)
        dy, v = random.normal(size=np.shape(y)), random.normal(size=6)

        def gradient(x: Any, dy: Any = dy) -> Any:
            return jax.grad(lambda x: jnp.vdot(dy, of(x)))(x)

        np.testing.assert_allclose(g(**indices, x=x, dy=dy), gradient(x), rtol=1e-9, atol=1e-12)
        second = jax.grad(lambda x, v=v: jnp.vdot(v, gradient(x)))(x)
        np.testing.assert_allclose(h(**indices, x=x, dy=dy, ddx=v), second, rtol=1e-9, atol=1e-12)
