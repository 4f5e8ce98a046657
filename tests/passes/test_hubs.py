"""A node that has half of the edges costs no more than as many nodes: no loop over a fibre stands in another
over the same one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tadc
from tadc.analysis.statistics import compiled_form
from tadc.frontend.extents import shape_at
from tadc.frontend.program import Program
from tadc.frontend.terms import Guard, Reduce, Term
from tadc.lattice.affine import Affine, Floor, Lookup

Arrays = dict[str, NDArray[Any]]

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
#: Rows as in CSR, of which one has half of the elements.
ROWS = "ptr: index[N + 1] in E + 1 increasing; v: f64[E]; y[n: N] = prod{e}_(ptr[n])^(ptr[n + 1] - 1) (v[e])"
PASSED = [(name, order) for name in PROGRAMS for order in range(3) if (name, order) != ("max", 2)]


@dataclass
class Steps:
    """How many steps the reductions of a program take, element by element, where index arrays are known."""

    arrays: Arrays
    steps: int = 0
    memo: dict[int, Term] = field(default_factory=dict[int, Term])

    def form(self, form: Affine, at: Mapping[str, int]) -> int:
        """The value of an index form."""
        return form.constant + sum(k * self.atom(atom, at) for atom, k in form.terms)

    def atom(self, atom: str | Floor | Lookup, at: Mapping[str, int]) -> int:
        if isinstance(atom, str):
            return at[atom]
        if isinstance(atom, Floor):
            return self.form(atom.numerator, at) // atom.denominator
        return int(self.arrays[atom.array][tuple(self.form(form, at) for form in atom.at)])

    def count(self, term: Term, at: dict[str, int]) -> None:
        """Count the steps of a term at a point."""
        if isinstance(term, Guard):
            holds = all(
                (self.form(r.form, at) == 0) if r.equality else self.form(r.form, at) >= 0
                for r in term.conditions
            )
            return self.count(term.then if holds else term.otherwise, at)
        if not isinstance(term, Reduce):
            for below in term.below:
                self.count(below, at)
            return None
        (name,) = term.binders
        sides = [(row.form.coefficient(name), row.form) for row in term.domain]
        assert {k for k, _ in sides} == {1, -1}
        bounds = [(k, -k * self.form(form, {**at, name: 0})) for k, form in sides]
        low, high = max(b for k, b in bounds if k == 1), min(b for k, b in bounds if k == -1)
        for value in range(low, high + 1):
            self.steps += 1
            self.count(term.body, {**at, name: value})
        return None


def count(form: Program, arrays: Arrays) -> int:
    """The steps of all reductions of a program, whose tensors have no more elements than there are edges."""
    walk = Steps(inspected(form, arrays))
    for definition in form.definitions:
        shape = shape_at(definition.shape, {})
        assert np.prod(shape) <= EDGES
        for place in np.ndindex(*shape):
            walk.count(definition.body, dict(zip(definition.indices, map(int, place), strict=True)))
    return walk.steps


def inspected(program: Program, arrays: Arrays) -> Arrays:
    """With the index arrays that the inspector makes."""
    found = dict(arrays)
    for argument in program.arguments:
        if (made := argument.inspected) is None or argument.name in arrays:
            continue
        values = found[made.of[-1]]
        if made.kind == "ptr":
            size = shape_at(argument.shape, {})[0]
            found[argument.name] = np.searchsorted(np.sort(values), np.arange(size))
        else:
            order = np.argsort(values, kind="stable")
            found[argument.name] = order if made.kind == "perm" else found[made.of[0]][order]
    return found


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
    assert EDGES / 2 <= count(form, graph(NODES, EDGES)) <= MOST * EDGES


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


@pytest.mark.sweep
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


@pytest.mark.parametrize("order", range(2))
def test_steps_of_a_long_row(order: int) -> None:
    """Products of a row without one element are of what is before and what is behind."""
    f = tadc.function(ROWS)
    for _ in range(order):
        f = tadc.vjp(f, wrt="v")
    form = compiled_form(f.at({"N": NODES, "E": EDGES}).program, "value")
    ends = np.linspace(EDGES / 2, EDGES, NODES).astype(int)
    ptr = np.concatenate([[0], ends])
    owner = np.searchsorted(ptr, np.arange(EDGES), side="right") - 1
    assert count(form, {"ptr": ptr, "ptr.owner": owner}) <= MOST * EDGES
