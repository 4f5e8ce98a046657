"""Functions of JAX of which programs compute a part: values, gradients and batches against JAX, in f64."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import tadc
from tests.importing.test_functions import CLOSE, apart

rng = np.random.default_rng(5)


@pytest.fixture(autouse=True)
def in_doubles() -> Any:
    with jax.enable_x64(True):
        yield


def a(*shape: int) -> Any:
    """Normal numbers."""
    return rng.normal(size=shape)


def network(x: Any, w: Any, key: Any) -> Any:
    """A Fourier transform, a sort, random numbers and a linear system between layers."""
    h = jnp.fft.fft(jnp.tanh(x @ w), axis=0).real
    s = jax.nn.softmax(h) + jnp.sort(h, axis=0) * 2
    s = jnp.where(jax.random.bernoulli(key, 0.5, s.shape), s / 0.5, 0)
    return jnp.linalg.solve(w.T @ w + jnp.eye(w.shape[1]), s.T).sum(0)


def repeated(x: Any) -> Any:
    """A loop whose steps stay in JAX in part."""

    def step(c: Any, t: Any) -> Any:
        h = jnp.fft.fft(jnp.tanh(c * t) + c * 0.5).real
        return jnp.sin(h) * 2, (h * h + 1).sum()

    return lax.scan(step, jnp.ones(x.shape[1]), x)


def choosing(x: Any) -> Any:
    """A choice by values."""
    return lax.cond(x.sum() > 0, lambda x: jnp.sort(jnp.sin(x) * 2 + x), lambda x: jnp.tanh(x) * x, x)


def again(x: Any) -> Any:
    """A sort that is computed again for the gradient."""
    return jax.checkpoint(lambda x: jnp.sort(jnp.sin(x) * 2))(x)


def stopped(x: Any) -> Any:
    """A slope that is not taken."""
    return (lax.stop_gradient(jnp.sin(x) * 3) * x + 1).sum()


@jax.custom_vjp
def _rounded(x: Any) -> Any:
    return jnp.round(x) * 1.0


_rounded.defvjp(lambda x: (_rounded(x), None), lambda _, g: (g,))


def straight_through(x: Any) -> Any:
    """A derivative that is written by hand."""
    return _rounded(jnp.sin(x) * 3) * x + 1


def places(x: Any, at: Any) -> Any:
    """Negative places count from the end."""
    return (jnp.sin(x) * 2)[at] * 3 + 1


def dropped(x: Any, at: Any) -> Any:
    """Places that are out of range are left out."""
    return jax.ops.segment_sum(jnp.sin(x) * 2, at, 3) * 3 + 1


def several(x: Any) -> Any:
    """Conditions and integers as results, and what is no more than read."""
    y = jnp.sin(x) * 2
    return {"positive": y > 0, "count": (y > 0).sum(), "kept": jnp.where(y > 0, y, 0), "x": x.T}


def complex_numbers(x: Any) -> Any:
    """Complex numbers between others."""
    return jnp.abs(jnp.exp(1j * x) * x) + jnp.sin(x) * 2


_WEIGHTS = a(3, 3)


def with_constants(x: Any) -> Any:
    """Constant arrays of numbers and of places."""
    return jnp.sort(jnp.tanh(x @ _WEIGHTS)[np.array([2, 0, 1])] * 2, axis=0)


CASES: dict[str, tuple[Any, tuple[Any, ...], int]] = {
    "network": (network, (a(5, 4), a(4, 3), jax.random.PRNGKey(0)), 2),
    "loop": (repeated, (a(4, 3),), 1),
    "choice": (choosing, (a(5),), 1),
    "checkpoint": (again, (a(5),), 1),
    "stopped": (stopped, (a(4),), 1),
    "straight through": (straight_through, (a(4),), 1),
    "places": (places, (a(4, 3), jnp.array([0, -1, 2])), 1),
    "dropped": (dropped, (a(4, 2), jnp.array([0, 5, -1, 1])), 1),
    "several": (several, (a(4, 3),), 1),
    "complex": (complex_numbers, (a(4),), 1),
    "constants": (with_constants, (a(4, 3),), 1),
}
EACH_TIME = ("stopped",)


def _loss(f: Any) -> Any:
    def loss(*args: Any) -> Any:
        floats = [r for r in jax.tree.leaves(f(*args)) if jnp.issubdtype(r.dtype, jnp.floating)]
        return sum(jnp.sum(jnp.sin(r)) for r in floats)

    return loss


def check(name: str) -> Any:
    f, given, floats = CASES[name]
    made = tadc.from_jax(f, *given, partial=True)
    assert jax.tree.structure(made(*given)) == jax.tree.structure(f(*given))
    first = tuple(range(floats))
    many = jnp.stack([given[0], 2 * given[0]])
    axes = 0, *[None] * (len(given) - 1)
    for one, other in (
        (f(*given), jax.jit(made)(*given)),
        (jax.grad(_loss(f), first)(*given), jax.grad(_loss(made), first)(*given)),
        (jax.vmap(f, axes)(many, *given[1:]), jax.vmap(made, axes)(many, *given[1:])),
    ):
        for wanted, found in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
            assert found.dtype == wanted.dtype
            assert apart(found, wanted) < CLOSE
    return made


@pytest.mark.parametrize("name", EACH_TIME)
def test_parts(name: str) -> None:
    made = check(name)
    assert made.functions


@pytest.mark.parametrize("name", [name for name in CASES if name not in EACH_TIME])
def test_all_parts(name: str) -> None:
    made = check(name)
    assert made.functions


def test_what_is_left_is_told() -> None:
    def sorts(x: Any) -> Any:
        wave = jnp.sin(x) * 2
        ordered = jnp.sort(wave)
        return ordered * x + 1

    f = tadc.from_jax(sorts, np.ones(3), partial=True)
    line = sorts.__code__.co_firstlineno + 2
    assert [(left.name, left.reason, left.place.number) for left in f.left if left.place] == [
        ("sort", "sorting", line)
    ]
    assert repr(f).startswith("<tadc.PartialFunction sorts: 2 programs; left to JAX: sorting (")
    assert f"test_parts_of_jax.py:{line}" in repr(f)
    first, second = f.functions
    assert first.outputs == ("wave",)
    assert set(second.inputs) == {"ordered", "x"}


def test_arguments_of_other_shapes_are_traced_anew() -> None:
    f = tadc.from_jax(lambda x: jnp.sort(jnp.sin(x) * 2), np.ones(3), partial=True)
    x = a(2, 5)
    assert apart(f(x), jnp.sort(jnp.sin(x) * 2)) < CLOSE


def test_effects_stay_in_their_order(capfd: pytest.CaptureFixture[str]) -> None:
    def prints(x: Any) -> Any:
        y = jnp.sin(x) * 2
        jax.debug.print("first {}", jnp.sort(jnp.cos(y) * y)[0], ordered=True)
        jax.debug.print("second", ordered=True)
        return y + 1

    f = tadc.from_jax(prints, np.ones(3), partial=True)
    f(np.ones(3)).block_until_ready()
    jax.effects_barrier()
    assert [line.split()[0] for line in capfd.readouterr().out.splitlines()] == ["first", "second"]
    assert {left.reason for left in f.left} == {"side effects", "sorting"}


def test_choices_by_values_are_refused_at_their_line() -> None:
    def chooses(x: Any) -> Any:
        return x if x.sum() > 0 else -x

    with pytest.raises(tadc.UsageError, match=r"(?s)TAD0513.*cannot trace.*test_parts_of_jax\.py:\d+"):
        tadc.from_jax(chooses, np.ones(3), partial=True)


@pytest.mark.parametrize("name", ["stopped", "straight through"])
def test_derivatives_by_hand_are_not_lost(name: str) -> None:
    f, given, _ = CASES[name]
    with pytest.raises(
        tadc.UsageError, match=r"(?s)TAD0513.*by hand.*test_parts_of_jax\.py:\d+.*partial=True"
    ):
        tadc.from_jax(f, *given)
