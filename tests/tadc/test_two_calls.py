"""A value that keeps sums for its gradients: results and gradients of PyTorch and JAX, in f64."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tadc
from tadc.api.two_calls import in_two_calls
from tests.importing.test_functions import apart

torch = pytest.importorskip("torch")

TEXT = """
x: f64[N, 64]; w: f64[64, 64]; b: f64[64]
let h[i: N, j: 64] = sum{k} (x[i, k] * w[k, j]) + b[j]
let top[i: N] = max{j} (h[i, j])
y[i, j: 64] = exp(h[i, j] - top[i]) * top[i]
"""


def plain(x: Any, w: Any, b: Any) -> Any:
    h = x @ w + b
    top = h.max(1, keepdims=True)
    return jnp.exp(h - top) * top


def given(n: int) -> list[Any]:
    rng = np.random.default_rng(0)
    return [rng.normal(size=shape) for shape in ((n, 64), (64, 64), (64,))]


def test_sums_are_kept_and_not_computed_again() -> None:
    two = in_two_calls(tadc.function(TEXT), ["x", "b"])
    assert two is not None
    assert "h" in two.kept
    assert set(two.value.outputs) == {"y", *two.kept}
    assert set(two.kept) <= set(two.gradient.inputs)
    assert two.gradient.gradients == {"x": "dx", "b": "db"}
    assert "let h[" not in str(two.gradient)


ATTENTION = """
q: f64[N, D]; k: f64[M, D]; v: f64[M, D]
let s[i: N, j: M] = sum{d} (q[i, d] * k[j, d])
let p[i: N, j: M] = exp(s[i, j] - max{m} (s[i, m]))
o[i, d: D] = sum{j} (p[i, j] * v[j, d]) / sum{j} (p[i, j])
"""


def test_what_is_kept_is_no_larger_whatever_the_sizes_are() -> None:
    assert in_two_calls(tadc.function(ATTENTION), ["q", "k", "v"]) is None
    two = in_two_calls(tadc.function(ATTENTION.replace(" - max{m} (s[i, m])", "")), ["q", "k", "v"])
    assert two is not None
    kept = [a for a in two.gradient.program.arguments if a.name in two.kept]
    assert kept
    assert all("M" not in map(str, a.shape) for a in kept)


@pytest.mark.parametrize(
    ("text", "limit", "keeps"),
    [(TEXT, "64K", False), (TEXT.replace("N", "40"), "64K", True), (TEXT.replace("N", "400"), "64K", False)],
)
def test_a_limit_of_memory_holds_for_what_is_kept(text: str, limit: str, keeps: bool) -> None:
    f = tadc.function(text, memory_limit=limit)
    assert (in_two_calls(f, ["x", "w"]) is not None) == keeps


def test_two_calls_give_what_the_gradient_gives() -> None:
    f = tadc.function(TEXT)
    x, w, b = given(40)
    dy = np.cos(x)
    two = in_two_calls(f, ["x", "w", "b"])
    assert two is not None
    found = two.value(x=x, w=w, b=b)._asdict()
    kept = {name: found[name] for name in two.kept}
    ours = two.gradient(x=x, w=w, b=b, dy=dy, **kept)
    for one, other in zip(ours, tadc.vjp(f)(x=x, w=w, b=b, dy=dy), strict=True):
        assert apart(one, other) < 1e-13


@pytest.mark.parametrize(
    "text",
    [
        "x: f64[N]; y[i] = sin(x[i])",  # nothing to keep
        "x: f64[10]; w: f64[3]; y[i: 8] = exp(sum{k} (x[i + k] * w[k]))",  # little work
        # Distances of all pairs are larger than anything that the function has.
        "x: f64[5000, 3]; y[i] = sum{j} (exp(0 - sum{k} ((x[i, k] - x[j, k])**2)))",
    ],
)
def test_what_is_not_worth_it_stays_one_gradient(text: str) -> None:
    assert in_two_calls(tadc.function(text), ["x"]) is None


def test_limits_of_memory_hold() -> None:
    f = tadc.function(TEXT.replace("N", "4096"), memory_limit="1K")
    assert in_two_calls(f, ["x", "w"]) is None


@pytest.mark.sweep
def test_jax_derivatives_of_both_orders() -> None:
    f = tadc.function(TEXT).jax
    with jax.enable_x64(True):
        args = list(map(jnp.asarray, given(7)))

        def loss(g: Any) -> Any:
            return lambda *a: jnp.sum(jnp.sin(g(*a)))

        def along(g: Any) -> Any:
            return lambda *a: jnp.sum(jnp.cos(jax.grad(loss(g), 0)(*a)))

        many = jnp.stack([args[0], 2 * args[0]])
        for of in (
            lambda g: jax.jit(jax.grad(loss(g), (0, 1, 2)))(*args),
            lambda g: jax.grad(loss(g), 1)(*args),
            lambda g: jax.jvp(g, args, args)[1],
            lambda g: jax.grad(along(g), (0, 1))(*args),
            lambda g: jax.vmap(jax.grad(loss(g), 2), (0, None, None))(many, *args[1:]),
        ):
            for one, other in zip(jax.tree.leaves(of(f)), jax.tree.leaves(of(plain)), strict=True):
                assert apart(one, other) < 1e-12


def test_torch_gradients_of_both_orders_and_layouts() -> None:
    f = tadc.function(TEXT).torch

    def other(x: Any, w: Any, b: Any) -> Any:
        h = x @ w + b
        top = h.amax(1, keepdim=True)
        return torch.exp(h - top) * top

    x, w, b = (torch.tensor(a, requires_grad=True) for a in given(64))
    found: list[list[Any]] = []
    for g in (f, other):
        y = torch.sin(g(x.T, w, b)).sum()
        first = torch.autograd.grad(y, (x, w, b), retain_graph=True)
        some = torch.autograd.grad(y, w, create_graph=True)
        second = torch.autograd.grad(torch.cos(some[0]).sum(), (x, b))
        found.append([*first, *some, *second])
    for one, two in zip(*found, strict=True):
        assert apart(one.detach().numpy(), two.detach().numpy()) < 1e-12
    from tadc.torch.operators import operator_of

    assert "h" in operator_of(tadc.function(TEXT)).kept(("x", "w", "b"))
