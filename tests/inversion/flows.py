"""Recurrences whose flow map is undone step by step, each as text and as the same function in JAX."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tests.inversion.programs import Case

jax.config.update("jax_enable_x64", True)


@dataclass(frozen=True)
class Flow:
    """A case, what the class of its steps is called, and the size of its parameters."""

    case: Case
    kind: str
    scale: float = 0.5


def repeated(step: Callable[..., Any], count: int) -> Callable[..., Any]:
    """So many steps of a state and the parameters of each."""

    def function(state: Any, w: Any) -> Any:
        for t in range(1, count):
            state = step(state, w[t])
        return (state,)

    return function


def elementwise() -> Flow:
    """Each number by itself, with a batch index in front of the time."""
    text = """
    x: f64[3, 4]; w: f64[6, 4]
    let scan{t} u[b: 3, t: 6, i: 4] = if {t = 0} then (x[b, i]) else (
        u[b, t - 1, i] + .3*sin(w[t, i]*u[b, t - 1, i]))
    y[b: 3, i: 4] = u[b, 5, i]"""
    return Flow(Case(text, ("x",), repeated(lambda u, w: u + 0.3 * jnp.sin(w * u), 6)), "diagonal")


def coupling() -> Flow:
    """Affine coupling layers that swap the halves of a state."""
    text = """
    x: f64[2, 4]; w: f64[5, 2, 4, 4]
    let scan{t} u[t: 5, c: 2, i: 4] = if {t = 0} then (x[c, i]) else (
        if {c = 0} then (u[t - 1, 1, i]) else (
            u[t - 1, 0, i]*exp(tanh(sum{j} (w[t, 0, i, j]*u[t - 1, 1, j])))
            + sum{j} (w[t, 1, i, j]*u[t - 1, 1, j])))
    y[c: 2, i: 4] = u[4, c, i]"""

    def step(u: Any, w: Any) -> Any:
        return jnp.stack([u[1], u[0] * jnp.exp(jnp.tanh(w[0] @ u[1])) + w[1] @ u[1]])

    return Flow(Case(text, ("x",), repeated(step, 5)), "diagonal")


def leapfrog(*, in_full: bool) -> Flow:
    """A ring of oscillators; the new velocity is read, or written out in the new place."""
    force = "(2*u[t - 1, 1, i] - u[t - 1, 1, (i + 1) % 5] - u[t - 1, 1, (i + 4) % 5])"
    velocity = f"u[t - 1, 0, i] - .1*w[t, i]*{force}"
    order, new = ("t", f"({velocity})") if in_full else ("2*t + c", "u[t, 0, i]")
    text = f"""
    q0: f64[5]; p0: f64[5]; w: f64[6, 5]
    let scan{{{order}}} u[t: 6, c: 2, i: 5] = if {{t = 0}} then (
        if {{c = 0}} then (p0[i]) else (q0[i])) else (
        if {{c = 0}} then ({velocity}) else (u[t - 1, 1, i] + .1*{new}))
    q[i: 5] = u[5, 1, i]; p[i: 5] = 3*u[5, 0, i]"""

    def function(q: Any, p: Any, w: Any) -> Any:
        for t in range(1, 6):
            p = p - 0.1 * w[t] * (2 * q - jnp.roll(q, -1) - jnp.roll(q, 1))
            q = q + 0.1 * p
        return q, 3 * p

    return Flow(Case(text, ("q0", "p0"), function), "diagonal")


def second_order() -> Flow:
    """Stoermer's method, downwards, with the last two states out and the time as the last index."""
    text = """
    a: f64[4]; b: f64[4]; w: f64[7]
    let scan{-t} u[i: 4, t: 7] = if {t = 6} then (a[i]) else (if {t = 5} then (b[i]) else (
        2*u[i, t + 1] - u[i, t + 2] - .2*w[t]*sin(u[i, t + 1])))
    y[i: 4] = u[i, 0]; z[i: 4] = u[i, 1]"""

    def function(a: Any, b: Any, w: Any) -> Any:
        for t in range(4, -1, -1):
            a, b = b, 2 * b - a - 0.2 * w[t] * jnp.sin(b)
        return b, a

    return Flow(Case(text, ("a", "b"), function), "diagonal")


def rotation() -> Flow:
    """Planes that are turned by angles which depend on the time and the place."""
    text = """
    x: f64[2, 4]; w: f64[5, 4]
    let scan{t} u[t: 5, c: 2, i: 4] = if {t = 0} then (x[c, i]) else (if {c = 0}
        then (cos(w[t, i])*u[t - 1, 0, i] - sin(w[t, i])*u[t - 1, 1, i])
        else (sin(w[t, i])*u[t - 1, 0, i] + cos(w[t, i])*u[t - 1, 1, i] + .1*u[t - 1, 1, i]**3))
    y[c: 2, i: 4] = u[4, c, i]"""

    def step(u: Any, w: Any) -> Any:
        c, s = jnp.cos(w), jnp.sin(w)
        return jnp.stack([c * u[0] - s * u[1], s * u[0] + c * u[1] + 0.1 * u[1] ** 3])

    return Flow(Case(text, ("x",), repeated(step, 5)), "block-diagonal, 16 of 2x2")


def triangular(*, lower: bool) -> Flow:
    """A sum over all elements before (behind) each, masked."""
    text = f"""
    x: f64[6]; w: f64[5, 6, 6]
    let scan{{t}} u[t: 5, i: 6] = if {{t = 0}} then (x[i]) else (
        2*u[t - 1, i] + tanh(sum{{j}} (
            if {{j {"<=" if lower else ">="} i}} then (w[t, i, j]*u[t - 1, j]) else (0))))
    y[i: 6] = u[4, i]"""
    mask = jnp.tril if lower else jnp.triu
    side = "lower" if lower else "upper"
    return Flow(
        Case(text, ("x",), repeated(lambda u, w: 2 * u + jnp.tanh(mask(w) @ u), 5)),
        f"block-diagonal, 4 of 6x6, {side} triangular",
    )


def bidiagonal() -> Flow:
    """Upwind advection, explicit, and then implicit: an element of the new state reads the one before it."""
    text = """
    x: f64[6]; w: f64[4, 6]
    let scan{6*t + i} u[t: 4, i: 6] = if {t = 0} then (x[i]) else (
        u[t - 1, i] + (if {i >= 1} then (.3*w[t, i]*u[t, i - 1]) else (0))
        + (if {i >= 2} then (.2*sin(u[t - 1, i - 2])) else (0)))
    y[i: 6] = u[3, i]"""

    def step(u: Any, w: Any) -> Any:
        made: list[Any] = []
        for i in range(6):
            value = u[i] + (0.3 * w[i] * made[i - 1] if i >= 1 else 0)
            made.append(value + (0.2 * jnp.sin(u[i - 2]) if i >= 2 else 0))
        return jnp.stack(made)

    return Flow(Case(text, ("x",), repeated(step, 4)), "lower triangular, banded, 2 below")


def shifted() -> Flow:
    """Elements that move on around a ring, with a gain."""
    text = """
    x: f64[5]; w: f64[4, 5]
    let scan{t} u[t: 4, i: 5] = if {t = 0} then (x[i]) else (exp(w[t, i])*u[t - 1, (i + 2) % 5])
    y[i: 5] = u[3, i]"""
    step = lambda u, w: jnp.exp(w) * jnp.roll(u, -2)  # noqa: E731
    return Flow(Case(text, ("x",), repeated(step, 4)), "permutation")


FLOWS = {
    "elementwise": elementwise(),
    "coupling": coupling(),
    "leapfrog": leapfrog(in_full=False),
    "leapfrog in full": leapfrog(in_full=True),
    "second order": second_order(),
    "rotation": rotation(),
    "lower triangular": triangular(lower=True),
    "upper triangular": triangular(lower=False),
    "bidiagonal": bidiagonal(),
    "shifted": shifted(),
}


def inputs(flow: Flow, shapes: list[tuple[int, ...]], seed: int = 0) -> list[Any]:
    """Random inputs of these shapes."""
    random = np.random.default_rng(seed)
    return [flow.scale * random.standard_normal(shape) for shape in shapes]
