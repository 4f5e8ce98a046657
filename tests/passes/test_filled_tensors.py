"""Tensors that are 0 but on thin sets are filled, then stored on these: they are what they were."""

from __future__ import annotations

import random
from collections.abc import Callable

import jax
import numpy as np
import pytest

import tadc
from tadc.passes.maps import filled_tensors

Form = Callable[[jax.Array], jax.Array]

JACOBIANS: dict[str, tuple[str, Form]] = {
    "one": ("x: f64[70]; y[i] = sin(x[i])", jax.numpy.sin),
    "a stencil": (
        "x: f64[90]\ny[i: 88] = sin(x[i])*x[i + 1] - 2*x[i + 2]**3",
        lambda x: jax.numpy.sin(x[:-2]) * x[1:-1] - 2 * x[2:] ** 3,
    ),
    "sizes that are not known": ("x: f64[N]\ny[i: N - 1] = x[i]*x[i + 1]", lambda x: x[:-1] * x[1:]),
    "a stride": ("x: f64[140]\ny[i: 70] = exp(x[2*i + 1])*x[i]", lambda x: jax.numpy.exp(x[1::2]) * x[:70]),
    "backwards": ("x: f64[70]\ny[i] = x[i]**2*x[69 - i]", lambda x: x**2 * x[::-1]),
    "a picture": (
        "x: f64[9, 11]\ny[i: 8, j: 10] = x[i, j]*x[i + 1, j] + x[i, j + 1]**2",
        lambda x: x[:-1, :-1] * x[1:, :-1] + x[:-1, 1:] ** 2,
    ),
    "a border": (
        "x: f64[70]\ny[i] = if {i > 0} then (x[i]*x[i - 1]) else (x[0]**2)",
        lambda x: jax.numpy.concatenate([x[:1] ** 2, x[1:] * x[:-1]]),
    ),
}

HESSIANS: dict[str, tuple[str, Form]] = {
    "borders apart": (
        "x: f64[80]\ns = sum{i: 78} (sin(x[i])*x[i + 1] - 2*x[i + 2]**3)",
        lambda x: (jax.numpy.sin(x[:-2]) * x[1:-1] - 2 * x[2:] ** 3).sum(),
    ),
    "a valley": (
        "x: f64[80]\ns = sum{i: 79} (100*(x[i + 1] - x[i]**2)**2 + (1 - x[i])**2)",
        lambda x: (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum(),
    ),
    "a second difference": (
        "x: f64[80]\ns = sum{i: 78} ((x[i] - 2*x[i + 1] + x[i + 2])**4)",
        lambda x: ((x[:-2] - 2 * x[1:-1] + x[2:]) ** 4).sum(),
    ),
}


def check(text: str, form: Form, derive: str) -> str:
    """A Jacobian or Hessian against that of JAX; its schedule."""
    f = tadc.function(text)
    shape = [70 if not isinstance(n, int) else n for n in f.program.arguments[0].shape]
    x = np.random.default_rng(0).uniform(0.5, 1.5, shape)
    made = getattr(tadc, derive)(f, wrt=["x"])
    with jax.enable_x64(True):
        wanted = np.asarray((jax.hessian if derive == "hessian" else jax.jacobian)(form)(x))
    np.testing.assert_allclose(made(x), wanted, rtol=1e-12, atol=1e-12)
    return made.lower().schedule


@pytest.mark.parametrize(("text", "form"), JACOBIANS.values(), ids=JACOBIANS)
def test_jacobians(text: str, form: Form) -> None:
    assert "points" in check(text, form, "jacobian")


@pytest.mark.parametrize(("text", "form"), HESSIANS.values(), ids=HESSIANS)
def test_hessians(text: str, form: Form) -> None:
    """Sets meet: on the diagonal what several terms give is added."""
    assert "points" in check(text, form, "hessian")


def test_where_several_hold_the_first_has_its_way() -> None:
    text = "x: f64[90]\ny[i: 70, j: 90] = if {i = j} then (x[i]) else (if {j = 2*i} then (-x[j]) else (0))"
    f = tadc.function(text)
    assert f.lower().schedule.count("points") == 2
    x = np.random.default_rng(0).uniform(0.5, 1.5, 90)
    wanted = np.zeros((70, 90))
    at = np.arange(45)
    wanted[at, 2 * at] = -x[2 * at]
    wanted[np.arange(70), np.arange(70)] = x[:70]
    np.testing.assert_array_equal(f(x), wanted)


def test_what_is_not_filled() -> None:
    """What is not 0 elsewhere; sets that are not thin; few elements."""
    for size, body in (
        (90, "if {i = j} then (x[i]) else (1)"),
        (90, "if {i <= j} then (x[i]) else (0)"),
        (90, "if {(i + j) % 2 = 0} then (x[i]) else (0)"),
        (9, "if {i = j} then (x[i]) else (0)"),
    ):
        f = tadc.function(f"x: f64[{size}]\ny[i, j: {size}] = {body}")
        assert "points" not in f.lower().schedule
    halves = "x: f64[90, 90]\ny[c: 2, i, j] = if {c = 0} then (x[i, j]) else (0)"
    assert "points" not in tadc.function(halves).lower().schedule


def test_a_tensor_in_between() -> None:
    """It has one memory in all steps, and sums read the last of them."""
    text = """x: f64[80]; v: f64[80]
let d[i, j: 80] = if {i = j} then (exp(x[i])) else (if {i = j + 1} then (x[j]) else (0))
y[i] = sum{j} (d[i, j]*v[j])
z[j] = sum{i} (d[i, j]**2)"""
    x, v = np.random.default_rng(0).uniform(0.5, 1.5, (2, 80))
    d = np.diag(np.exp(x)) + np.diag(x[:-1], -1)
    y, z = tadc.function(text)(x, v)
    np.testing.assert_allclose(y, d @ v, rtol=1e-13)
    np.testing.assert_allclose(z, (d**2).sum(0), rtol=1e-13)


def test_a_tensor_in_between_of_others() -> None:
    """Zeros do not share memory with what is read when the first set is stored."""
    text = """x: f64[90]
let d[i: 90, j: 90] = if {i = j} then (exp(x[i])) else (if {j = i + 7} then (sin(x[j])) else (0))
y[i] = sum{j} (d[i, j]*x[j])"""
    x = np.random.default_rng(0).uniform(-1, 1, 90)
    d = np.diag(np.exp(x)) + np.diag(np.sin(x[7:]), 7)
    np.testing.assert_allclose(tadc.function(text)(x), d @ x, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("seed", range(12))
def test_random_bands(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums of products at some distances, differentiated twice."""
    monkeypatch.setattr(filled_tensors, "LEAST", 1)
    choice = random.Random(seed)
    offsets = [choice.randint(0, 4) for _ in range(choice.randint(2, 5))]
    powers = [choice.randint(1, 3) for _ in offsets]
    count, step = choice.randint(5, 9), choice.randint(1, 2)
    size = step * (count - 1) + max(offsets) + 1 + choice.randint(0, 2)
    places = [f"{step}*i + {o}" for o in offsets]
    term = "*".join(f"x[{at}]**{p}" for at, p in zip(places, powers, strict=True))
    term += f" + sin(x[{places[0]}]*x[{places[-1]}])"

    def form(x: jax.Array) -> jax.Array:
        parts = [x[o : o + step * (count - 1) + 1 : step] for o in offsets]
        product = jax.numpy.stack([part**p for part, p in zip(parts, powers, strict=True)]).prod(0)
        return (product + jax.numpy.sin(parts[0] * parts[-1])).sum()

    check(f"x: f64[{size}]\ns = sum{{i: {count}}} ({term})", form, "hessian")
