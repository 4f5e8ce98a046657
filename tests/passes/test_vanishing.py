"""Cotangents that are 0 whatever the arguments are: found where they are, and kept where they are not."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tadc
from bench.random_programs import random_program
from tadc.compiler.all_stages import compile_until
from tadc.compiler.compile_options import Options
from tadc.compiler.stages import Compilation
from tadc.frontend.extents import shape_at
from tadc.frontend.printer import print_program
from tadc.frontend.program import Program
from tadc.frontend.source import Source
from tadc.frontend.terms import Term
from tadc.passes.terms.expansion import Expander

SOFTMAX = """x: f64[N, K]
let m[i] = max{k} (x[i, k])
let e[i, k] = exp(x[i, k] - m[i])
"""


def softmax(x: jax.Array) -> jax.Array:
    e = jnp.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def normal(x: jax.Array, extra: float = 0, count: int = 7) -> jax.Array:
    m = x.sum(1, keepdims=True) / count
    v = ((x - m) ** 2).sum(1, keepdims=True) / 7
    return (x - m) / jnp.sqrt(v + 1e-5) + extra * v


def causal(x: jax.Array) -> jax.Array:
    seen = jnp.tril(jnp.ones(x.shape))
    m = jnp.where(seen == 1, x, -jnp.inf).max(1, keepdims=True)
    e = jnp.exp(x - m) * seen
    return e / e.sum(1, keepdims=True)


#: Programs, the same in JAX, whether the loops of the gradient are fewer, and the shape of x.
Case = tuple[str, Callable[[jax.Array], jax.Array], bool, tuple[int, int]]
NORMAL = """x: f64[N, K]
let m[i] = sum{{k}} (x[i, k]) / {count}
let v[i] = sum{{k}} ((x[i, k] - m[i])**2) / K
y[i, k] = (x[i, k] - m[i]) / sqrt(v[i] + 1e-5)"""
CASES: dict[str, Case] = {
    "softmax": (SOFTMAX + "y[i, k] = e[i, k] / sum{j} (e[i, j])", softmax, True, (5, 7)),
    "its logarithm": (
        SOFTMAX + "y[i, k] = x[i, k] - m[i] - log(sum{j} (e[i, j]))",
        lambda x: jax.nn.log_softmax(x, axis=1),
        False,  # a `logsumexp`, of which no maximum has a derivative
        (5, 7),
    ),
    "logsumexp": (
        SOFTMAX + "y[i] = log(sum{k} (e[i, k])) + m[i]",
        lambda x: jax.nn.logsumexp(x, axis=1),
        False,  # a `logsumexp`, of which no maximum has a derivative
        (5, 7),
    ),
    "softmax of what came before": (
        """x: f64[N, N]
let m[i: N] = max{k}_0^i (x[i, k])
let z[i: N] = sum{k}_0^i (exp(x[i, k] - m[i]))
y[i, k: N] = if {k <= i} then (exp(x[i, k] - m[i]) / z[i]) else (0)""",
        causal,
        True,
        (6, 6),
    ),
    "normalised": (NORMAL.format(count="K"), normal, True, (5, 7)),
    "more in the divisor": (
        SOFTMAX + "y[i, k] = e[i, k] / (sum{j} (e[i, j]) + 1)",
        lambda x: (
            jnp.exp(x - x.max(1, keepdims=True))
            / (1 + jnp.exp(x - x.max(1, keepdims=True)).sum(1, keepdims=True))
        ),
        False,
        (5, 7),
    ),
    "one element is left out": (
        SOFTMAX + "y[i, k] = e[i, k] / sum{j}_1^(K - 1) (e[i, j])",
        lambda x: jnp.exp(x) / jnp.exp(x[:, 1:]).sum(1, keepdims=True),
        False,
        (5, 7),
    ),
    "another row": (
        SOFTMAX + "y[i, k] = e[i, k] / sum{j} (e[(i + 1) % N, j])",
        lambda x: (
            jnp.exp(x - x.max(1, keepdims=True))
            / jnp.roll(jnp.exp(x - x.max(1, keepdims=True)).sum(1, keepdims=True), -1, 0)
        ),
        False,
        (5, 7),
    ),
    "another mean": (NORMAL.format(count="(K + 1)"), lambda x: normal(x, count=8), False, (5, 7)),
    "the variance too": (
        NORMAL.format(count="K") + " + 0.3*v[i]",
        lambda x: normal(x, extra=0.3),
        True,
        (5, 7),
    ),
}


def gradients(name: str, sizes: bool) -> tadc.Function:
    text, _, _, (rows, columns) = CASES[name]
    given = {"N": rows, "K": columns} if sizes else {}
    return tadc.value_and_vjp(tadc.function(text, sizes={k: v for k, v in given.items() if k in text}))


@pytest.mark.parametrize("sizes", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_gradient(name: str, sizes: bool) -> None:
    _, value, _, shape = CASES[name]
    random = np.random.default_rng(len(name))
    x = random.normal(size=shape)
    expected, pull = jax.vjp(value, jnp.asarray(x))
    dy = random.normal(size=expected.shape)
    for found, other in zip(gradients(name, sizes)(x, dy), (expected, *pull(jnp.asarray(dy))), strict=True):
        np.testing.assert_allclose(found, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_fewer_operations(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = gradients(name, True).lower().as_text("hoist").count("\n")
    monkeypatch.setattr("tadc.passes.term_catalogue.without_vanishing", lambda program: program)
    before = gradients(name, True).lower().as_text("hoist").count("\n")
    assert (found < before) == CASES[name][2]


def test_a_minimum_that_steps_subtract() -> None:
    """Its cotangent, a difference of fractions under conditions, is in no derivative that is printed."""
    f = tadc.function("""x: f64[N]
    let scan{i} r[i: N] = x[i] + if {i >= 2} then (min(r[i - 1], r[i - 2]) - log(
    exp(min(r[i - 1], r[i - 2]) - r[i - 1]) + exp(min(r[i - 1], r[i - 2]) - r[i - 2]))) else (0)
    f = r[N - 1]""")
    x = np.random.default_rng(0).normal(size=7)

    def value(x: jax.Array) -> jax.Array:
        r = [x[0], x[1]]
        for step in x[2:]:
            r.append(step - jnp.logaddexp(-r[-1], -r[-2]))
        return r[-1]

    assert "select" not in str(tadc.grad(f))
    np.testing.assert_allclose(tadc.grad(f)(x), jax.grad(value)(jnp.asarray(x)), rtol=1e-12, atol=1e-12)
    found = tadc.jacobian(tadc.grad(f), "x")(x)
    np.testing.assert_allclose(found, jax.hessian(value)(jnp.asarray(x)), rtol=1e-9, atol=1e-12)


def test_values_are_rounded_as_written() -> None:
    """What is left of rounding corrects a variance."""
    text = "x: f64[K]; let m = sum{k} (x[k]) / K; f = sum{k} (x[k] - m)"
    assert tadc.function(text)(np.array([0.1, 0.2, 0.4])) != 0


def typed(text: str) -> Program:
    state = Compilation(Options(), Source(text, "<test>"))
    compile_until(state, "typed")
    assert state.program is not None
    return state.program


def rebuilt(expander: Expander, term: Term) -> Term:
    """The sum of the products of an expansion."""
    algebra = expander.algebra
    found = algebra.zero
    for powers, scale in expander.of(term).items():
        factors = [algebra.power(expander.atoms[atom], n) for atom, n in powers]
        product = reduce(algebra.mul, factors, algebra.const(float(scale)))
        found = algebra.add(found, product)
    return found


@pytest.mark.parametrize("seed", range(60))
def test_expansions_have_the_same_value(seed: int) -> None:
    text = random_program(seed)
    program = typed(text)
    expander = Expander(program)
    bodies = [rebuilt(expander, d.body) for d in program.definitions]
    for definition in program.definitions:
        alone = Expander(program)
        for each in (alone, expander):
            each.enter(definition)
        assert rebuilt(alone, definition.body) is rebuilt(expander, definition.body)
    expanded = tadc.function(print_program(program.with_bodies(bodies)))
    plain = tadc.function(text)
    random = np.random.default_rng(seed)
    arrays = {a.name: random.normal(size=shape_at(a.shape, {})) for a in program.arguments}
    np.testing.assert_allclose(expanded(**arrays), plain(**arrays), rtol=1e-9, atol=1e-9)


#: Programs of m and w, a size, the derivative: divisors in sums over no point, counts below 0.
EMPTY = {
    "a size": ("m: f64; w: f64[N]\ny = m**2 + sum{k: N} ((w[k] - m**2) / N)", 0, 4.0),
    "a sum": ("m: f64; w: f64[N]\ny = sum{k: N} (m*w[k] / sum{j: N} (w[j])) - m", 0, -1.0),
    "a sum up to an index": (
        """m: f64; w: f64[N]
let z[i: N] = sum{k}_0^(i - 1) (w[k])
y = sum{i: N} (sum{k}_0^(i - 1) (m*w[k] / z[i]) - m)""",
        5,
        -1.0,
    ),
    "counts": ("m: f64; w: f64[N]\ny = sum{j}_(-3)^2 (sum{k}_0^(j - 1) (m) - j*m)", 2, 6.0),
}


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("name", EMPTY)
def test_sums_over_no_point(name: str, known: bool) -> None:
    text, count, expected = EMPTY[name]
    f = tadc.function(text, sizes={"N": count} if known else {})
    w = np.arange(1.0, count + 1)
    _, tangent = tadc.jvp(f, wrt="m")(m=2.0, w=w, m_dot=1.0)
    np.testing.assert_allclose(tangent, expected, rtol=1e-12)
    np.testing.assert_allclose(tadc.vjp(f, wrt="m")(m=2.0, w=w, dy=1.0), expected, rtol=1e-12)
