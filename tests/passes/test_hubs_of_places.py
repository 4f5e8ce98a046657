"""Rows as in CSR of which one has half of all entries, and corners half of which are one node: no order of
derivatives walks all pairs of these."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tadc
from tadc.analysis.statistics import compiled_form
from tests.reference.counted_steps import Arrays, count

pytestmark = pytest.mark.filterwarnings("ignore::tadc.CompileWarning")

NODES, PLACES, MOST = 12, 100, 24
SETS = {
    "rows": ("{e}_(ptr[n])^(ptr[n + 1] - 1)", "{g}_(ptr[n])^(ptr[n + 1] - 1)", "x[e]", "x[g]"),
    "columns": ("{e}_(ptr[n])^(ptr[n + 1] - 1)", "{g}_(ptr[n])^(ptr[n + 1] - 1)", "z[s[e]]", "z[s[g]]"),
    "corners": ("{e, k: t[e, k] = n}", "{g, l: t[g, l] = n}", "x[e]", "x[g]"),
    "nodes of corners": (
        "{e, k: t[e, k] = n}",
        "{g, l: t[g, l] = n}",
        "z[t[e, (k + 1) % 3]]",
        "z[t[g, (l + 1) % 3]]",
    ),
}
KINDS = {
    "prod": "prod{here} ({value})",
    "prod of sines": "prod{here} (sin({value}))",
    "max": "max{here} ({value})",
    "logsumexp": "logsumexp{here} ({value})",
    "softmax": "sum{here} (exp({value} - logsumexp{there} ({other})) * {value})",
}
ARRAYS = {
    "rows": "ptr: index[N + 1] in E + 1 increasing; x: f64[E];",
    "columns": "ptr: index[N + 1] in E + 1 increasing; s: index[E] in N; z: f64[N];",
    "corners": "t: index[E, 3] in N; x: f64[E];",
    "nodes of corners": "t: index[E, 3] in N; z: f64[N];",
}
CASES = [(name, kind) for name in SETS for kind in KINDS]
#: Those that are always tested.
FEW = {
    ("rows", "prod", 3),
    ("corners", "prod", 1),
    ("columns", "logsumexp", 2),
    ("nodes of corners", "prod", 2),
}


def program(name: str, kind: str) -> tuple[tadc.Function, str]:
    """The program, and the argument whose elements are reduced."""
    here, there, value, other = SETS[name]
    body = KINDS[kind].format(here=here, there=there, value=value, other=other)
    return tadc.function(f"{ARRAYS[name]} y: f64[N]; f[n: N] = {body} * y[n]"), value[0]


def arrays(name: str, places: int, nodes: int, seed: int = 0) -> Arrays:
    """Half of all places are of one node."""
    random = np.random.default_rng(seed)
    ends = np.sort([*random.integers(places // 2, places, nodes - 2), places // 2, places])
    t = random.integers(0, nodes, (places, 3))
    t[::2, 1], t[0] = 0, 1
    every: Arrays = {"ptr": np.array([0, *ends]), "s": random.integers(0, nodes, places), "t": t}
    return {each: array for each, array in every.items() if f"{each}: index" in ARRAYS[name]}


@pytest.mark.parametrize(
    ("name", "kind", "order"),
    [
        pytest.param(*case, order, marks=[] if (*case, order) in FEW else [pytest.mark.sweep])
        for case in CASES
        for order in range(4)
        if case[1] != "max" or order < 2
    ],
)
def test_steps(name: str, kind: str, order: int) -> None:
    f, wrt = program(name, kind)
    f = reduce(lambda f, _: tadc.vjp(f, wrt=wrt), range(order), f)
    form = compiled_form(f.at({"N": NODES, "E": PLACES}).program, "value")
    most = PLACES * (3 if "t" in arrays(name, 4, 3) else 1)
    assert count(form, arrays(name, PLACES, NODES), most) <= MOST * most


def reference(name: str, kind: str, of: Arrays, nodes: int) -> Any:
    """The program in JAX."""
    import jax
    import jax.numpy as jnp

    if "t" in of:
        member = of["t"].ravel()[None] == np.arange(nodes)[:, None]
        at = np.arange(of["t"].size) // 3 if name == "corners" else np.roll(of["t"], -1, 1).ravel()
    else:
        e = np.arange(of["ptr"][-1])[None]
        member = (of["ptr"][:-1, None] <= e) & (e < of["ptr"][1:, None])
        at = of.get("s", e[0])

    def over(reduced: Any, values: Any, nothing: float) -> Any:
        return reduced(jnp.where(member, values, nothing), axis=1)

    def lse(x: Any) -> Any:
        return over(jax.nn.logsumexp, x[at], -jnp.inf)

    def softmax(x: Any) -> Any:
        # Not the logarithm of nothing, of which JAX has no derivative.
        weights = jnp.where(member, jnp.exp(x[at])[None], 0)
        total = jnp.where(member.any(1), weights.sum(1), 1)
        return (weights * x[at][None]).sum(1) / total

    return {
        "prod": lambda x: over(jnp.prod, x[at], 1.0),
        "prod of sines": lambda x: over(jnp.prod, jnp.sin(x[at]), 1.0),
        "max": lambda x: over(jnp.max, x[at], -jnp.inf),
        "logsumexp": lse,
        "softmax": softmax,
    }[kind]


def test_a_gradient_where_corners_are_zero() -> None:
    """A corner that is 0 has the product of all others for its gradient."""
    f, _ = program("corners", "prod")
    t, x = np.array([[0, 0, 1], [1, 0, 2], [1, 1, 0]]), np.array([0.0, 2.0, 3.0])
    corners = [(e, k) for e in range(3) for k in range(3)]
    want = np.zeros(3)
    for e, k in corners:
        want[e] += np.prod([x[g] for g, m in corners if t[g, m] == t[e, k] and (g, m) != (e, k)])
    assert tadc.vjp(f, wrt="x")(t=t, x=x, y=np.ones(3), df=np.ones(3)).tolist() == want.tolist()


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_derivatives(name: str, kind: str) -> None:
    """Values and gradients of orders 1 to 3, against JAX; of products also where factors are 0."""
    import jax
    import jax.numpy as jnp

    random, nodes, places = np.random.default_rng(3), 4, 7
    indices = arrays(name, places, nodes, seed=1)
    of = reference(name, kind, indices, nodes)
    f, wrt = program(name, kind)
    size = places if wrt == "x" else nodes
    y, dy, *directions = (random.normal(size=n) for n in (nodes, nodes, size, size))
    points = [random.normal(size=size)] + [random.choice([0.0, 0.5, 2.0], size)] * (kind == "prod")

    def value(x: Any) -> Any:
        return jnp.vdot(dy * y, of(x))

    for x in points:
        want, g, arguments = value, f, {**indices, wrt: x, "y": y}
        np.testing.assert_allclose(call(f, arguments), of(x) * y, rtol=1e-9)
        for order in range(3):
            g, want = tadc.vjp(g, wrt=wrt), jax.grad(want)
            (name_of_cotangent,) = g.cotangents.values()
            arguments[name_of_cotangent] = dy if not order else directions[order - 1]
            np.testing.assert_allclose(call(g, arguments), want(x), rtol=1e-9, atol=1e-11)
            if order < 2:
                want = along(want, directions[order])


def along(gradient: Any, direction: NDArray[Any]) -> Any:
    """What a gradient is along a direction."""
    import jax.numpy as jnp

    return lambda x: jnp.vdot(direction, gradient(x))


def call(f: tadc.Function, arguments: Arrays) -> NDArray[Any]:
    """The one output of a function of some of these arguments."""
    return np.asarray(f(**{name: arguments[name] for name in f.inputs}))
