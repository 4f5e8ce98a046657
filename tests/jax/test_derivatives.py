"""Values and derivatives in JAX, against the same functions written in JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

import tadc

pytestmark = pytest.mark.as_shipped

TEXT = "a: f64[N, K]; d: f64[N + K - 1]; f[i] = exp(-sum{k} (a[i, k] * d[i + k]**2))"
SHAPES = ((3, 4), (6,))
BOTH = (0, 1)
Args = list[jax.Array]


def plain(a: Any, d: Any) -> Any:
    n, k = a.shape
    return jnp.exp(-(a * d[jnp.arange(n)[:, None] + jnp.arange(k)] ** 2).sum(1))


F = tadc.function(TEXT)
mul = tadc.function("a: f64[N]; d: f64[K]; f[i, k] = a[i] * d[k]").jax


@pytest.fixture
def args() -> Args:
    random = np.random.default_rng(0)
    return [jnp.asarray(random.normal(size=shape) * 0.5) for shape in SHAPES]


def total(h: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *a: jnp.sum(jnp.sin(h(*a)))


def stacked(args: Args, axis: int = 1) -> Args:
    return [jnp.stack([args[0] * k for k in (0.1, 0.5, 1.0)], axis=axis), *args[1:]]


def only(n: int, h: Callable[..., Any], args: Args) -> Callable[[Any], Any]:
    """Of a function of all: that of one alone."""
    return lambda value: h(*args[:n], value, *args[n + 1 :])


def thrice(h: Any, args: Args) -> Any:
    once = jax.grad(only(1, total(h), args))
    twice = jax.grad(lambda d: jnp.sum(once(d) ** 2))
    return jax.grad(lambda d: jnp.sum(twice(d) ** 2))(args[1])


TRANSFORMATIONS: dict[str, Callable[[Any, Args], Any]] = {
    "jit": lambda h, a: jax.jit(lambda a, d: h(d=d, a=a))(*a),
    "grad": lambda h, a: jax.grad(total(h), BOTH)(*a),
    "jit of grad": lambda h, a: jax.jit(jax.value_and_grad(total(h), BOTH))(*a),
    "jvp by one": lambda h, a: jax.jvp(only(1, h, a), (a[1],), (a[1],)),
    "linearize": lambda h, a: jax.linearize(h, *a)[1](*a),
    "one gradient": lambda h, a: jax.grad(total(h), 1)(*a),
    "hessian": lambda h, a: jax.hessian(total(h), 1)(*a),
    "mixed hessian": lambda h, a: jax.jacrev(jax.jacfwd(total(h), 0), 1)(*a),
    "jacfwd": lambda h, a: jax.jacfwd(h, BOTH)(*a),
    "jacrev": lambda h, a: jax.jacrev(h, BOTH)(*a),
    "reverse over reverse": lambda h, a: jax.jacrev(jax.jacrev(total(h), 1), 1)(*a),
    "grad of grad of grad": thrice,
    "vmap": lambda h, a: jax.vmap(h, (1, None))(*stacked(a)),
    "vmap to another axis": lambda h, a: jax.vmap(h, (2, None), 1)(*stacked(a, 2)),
    "vmap of vmap": lambda h, a: jax.vmap(jax.vmap(h, (1, None)), (None, 0))(
        stacked(a)[0], jnp.stack([a[1], -2 * a[1]])
    ),
    "checkpoint": lambda h, a: jax.grad(jax.checkpoint(total(h)), BOTH)(*a),
    "vmap of grad": lambda h, a: jax.vmap(jax.grad(total(h), BOTH), (1, None))(*stacked(a)),
    "grad of vmap": lambda h, a: jax.grad(total(jax.vmap(h, (1, None))), BOTH)(*stacked(a)),
    "linear_transpose": lambda h, a: jax.linear_transpose(
        jax.vmap(lambda t: jax.jvp(only(0, h, a), (a[0],), (t,))[1]), jnp.ones((2, 3, 4))
    )(jnp.ones((2, 3))),
    "double transpose": lambda h, a: jax.grad(
        lambda ct: jnp.sum(jax.vjp(only(1, h, a), a[1])[1](ct)[0] ** 2)
    )(jnp.ones(3)),
}


@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_transformation(name: str, args: Args) -> None:
    made = TRANSFORMATIONS[name]
    found, expected = jax.tree.leaves(made(F.jax, args)), jax.tree.leaves(made(plain, args))
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


def test_what_is_not_linear_has_no_transpose(args: Args) -> None:
    a, d = args
    linear = jax.linear_transpose(lambda a: mul(a, d), a[:, 0])
    np.testing.assert_allclose(linear(jnp.ones((3, 6)))[0], jnp.broadcast_to(d.sum(), (3,)))
    for h, given in ((F.jax, args), (lambda d: F.jax(a, d), [d]), (mul, [a[:, 0], d])):
        with pytest.raises(tadc.UsageError, match="no transpose: it is not linear in"):
            jax.linear_transpose(h, *given)(h(*given))


def test_a_chain_of_functions_in_a_loop() -> None:
    step = tadc.function("x: f64[N]; w: f64[N]; y[i: N] = sin(w[i]*x[N - 1 - i]) + 0.1*x[i]").jax

    def rewritten(x: Any, w: Any) -> Any:
        return jnp.sin(w * x[::-1]) + 0.1 * x

    def run(h: Any) -> Callable[[Any], Any]:
        def last(w: Any) -> Any:
            x = jax.lax.scan(lambda x, t: (h(x, t * w), x[0]), w, jnp.arange(4.0))[0]
            x = jax.lax.fori_loop(0, 3, lambda _, x: h(x, w), x)
            return jax.lax.cond(x[0] < 100, lambda: h(x, x).sum(), lambda: 0.0)

        return last

    w = jnp.array([0.3, 0.5, 1.2])
    for transform in (jax.jit, jax.grad):
        np.testing.assert_allclose(transform(run(step))(w), transform(run(rewritten))(w), rtol=1e-12)


def test_by_the_checker_of_jax(args: Args) -> None:
    check_grads(F.jax, args, order=2)
    check_grads(jax.vmap(F.jax, (1, None)), stacked(args), order=2)


def test_a_vmap_is_one_call_and_nothing_is_computed_that_nobody_asks_for() -> None:
    linear = tadc.function("w: f64[M, K]; x: f64[K]; b: f64[M]; y[i] = sum{k} (w[i, k]*x[k]) + b[i]").jax
    w, x, b = jnp.ones((2, 3)), jnp.ones(3), jnp.ones(2)
    text = str(jax.make_jaxpr(jax.vmap(linear, (None, 0, None)))(w, jnp.ones((5, 3)), b))
    assert text.count("tadc[") == 1
    assert "scan" not in text
    by_b = jax.make_jaxpr(lambda w: jax.vjp(lambda b: linear(w, x, b), b)[1](b))(w)
    derivative = by_b.eqns[-1]
    # The gradient by b is made of the cotangent alone: neither w nor x are kept for it.
    assert len(derivative.invars) == len(derivative.outvars) == 1
    by_w = jax.make_jaxpr(lambda w: jax.vjp(lambda w: linear(w, x, b), w)[1](b))(w).eqns[-1]
    assert [v.aval.shape for v in by_w.invars] == [(3,), (2,)]
    assert [v.aval.shape for v in by_w.outvars] == [(2, 3)]


def test_a_result_that_is_not_used_has_no_cotangent() -> None:
    both = tadc.function("x: f64[N]; y[i] = x[i]**2; s = sum{i} (exp(x[i]))").jax
    gradient = jax.make_jaxpr(jax.grad(lambda x: both(x).y.sum()))(jnp.ones(3))
    assert "exp" not in str(
        [e.params["derived"].function for e in gradient.eqns if "derived" in e.params][-1]
    )
    np.testing.assert_allclose(jax.grad(lambda x: both(x).y.sum())(jnp.arange(3.0)), [0, 2, 4])


@pytest.mark.parametrize("order", [1, pytest.param(2, marks=pytest.mark.sweep)])
def test_f32(order: int) -> None:
    f = tadc.function("x: f32[N]; w: f32[K]; y[i: N - K + 1] = sum{k} (tanh(w[k]) * x[i + k]**2)").jax
    x, w = jnp.linspace(0, 1, 7, dtype=jnp.float32), jnp.array([0.5, -1, 2], jnp.float32)
    assert f(x, w).dtype == jnp.float32
    check_grads(f, (x, w), order, atol=2e-2, rtol=2e-2)


RECURRENCES: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "jacrev": jax.jacrev,
    "hessian": lambda h: jax.hessian(lambda x: h(x).sum()),
    "vmap": lambda h: lambda x: jax.vmap(h)(jnp.stack([x, 2 * x])),
}


@pytest.mark.parametrize("name", RECURRENCES)
def test_a_recurrence(name: str) -> None:
    f = tadc.function("x: f64[N]; scan{t} h[t: N] = if {t = 0} then (x[0]) else (tanh(h[t - 1]) + x[t])")

    def written(x: Any) -> Any:
        step = lambda h, x: (jnp.tanh(h) + x, jnp.tanh(h) + x)  # noqa: E731
        return jnp.concatenate([x[:1], jax.lax.scan(step, x[0], x[1:])[1]])

    x, of = jnp.linspace(-1, 1, 9), RECURRENCES[name]
    np.testing.assert_allclose(of(f.jax)(x), of(written)(x), rtol=1e-10, atol=1e-12)
