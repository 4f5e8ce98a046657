"""Programs to invert, each as text and as the same function in JAX."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)


@dataclass(frozen=True)
class Case:
    """A program, its inputs to differentiate by, and the outputs from all inputs in order."""

    text: str
    wrt: tuple[str, ...]
    function: Callable[..., Sequence[Any]]


def leapfrog(n: int, steps: int, h: float = 0.05) -> Case:
    """A ring of n oscillators with a cubic force."""
    lines = [f"q0: f64[{n}]", f"p0: f64[{n}]"]
    for k in range(steps):
        around = f"2*q{k}[i] - q{k}[(i + 1) % {n}] - q{k}[(i + {n - 1}) % {n}] + q{k}[i]**3"
        lines += [
            f"let p{k + 1}[i] = p{k}[i] - {h}*({around})",
            f"let q{k + 1}[i] = q{k}[i] + {h}*p{k + 1}[i]",
        ]
    lines += [f"q[i] = q{steps}[i]", f"p[i] = p{steps}[i]"]

    def function(q: Any, p: Any) -> Sequence[Any]:
        for _ in range(steps):
            p = p - h * (2 * q - jnp.roll(q, -1) - jnp.roll(q, 1) + q**3)
            q = q + h * p
        return q, p

    return Case("\n".join(lines), ("q0", "p0"), function)


def coupling(m: int, layers: int) -> Case:
    """A normalising flow of affine coupling layers: two halves of m numbers."""
    lines = [f"a0: f64[{m}]", f"b0: f64[{m}]"]
    lines += [f"W{k}: f64[{m}, {m}]; V{k}: f64[{m}, {m}]" for k in range(layers)]
    a, b = "a0", "b0"
    for k in range(layers):
        source, target = (a, b) if k % 2 == 0 else (b, a)
        lines += [
            f"let s{k}[i: {m}] = tanh(sum{{k}} (W{k}[i, k]*{source}[k]))",
            f"let t{k}[i: {m}] = sum{{k}} (V{k}[i, k]*{source}[k])",
            f"let y{k}[i] = {target}[i]*exp(s{k}[i]) + t{k}[i]",
        ]
        a, b = (a, f"y{k}") if k % 2 == 0 else (f"y{k}", b)
    lines += [f"x[i] = {a}[i]", f"z[i] = {b}[i]"]

    def function(a: Any, b: Any, *weights: Any) -> Sequence[Any]:
        for k in range(layers):
            source, target = (a, b) if k % 2 == 0 else (b, a)
            made = target * jnp.exp(jnp.tanh(weights[2 * k] @ source)) + weights[2 * k + 1] @ source
            a, b = (a, made) if k % 2 == 0 else (made, b)
        return a, b

    return Case("\n".join(lines), ("a0", "b0"), function)


def van_der_pol(steps: int, shape: str = "", h: float = 0.01) -> Case:
    """Explicit Euler steps; of many oscillators at once with a shape such as `[5]`."""
    at = "[i]" if shape else ""
    lines = [f"x0: f64{shape}", f"y0: f64{shape}"]
    for k in range(steps):
        lines += [
            f"let g{k}{at} = (1 - x{k}{at}**2)*y{k}{at} - x{k}{at}",
            f"let x{k + 1}{at} = x{k}{at} + {h}*y{k}{at}",
            f"let y{k + 1}{at} = y{k}{at} + {h}*g{k}{at}",
        ]
    lines += [f"x{at} = x{steps}{at}", f"y{at} = y{steps}{at}"]

    def function(x: Any, y: Any) -> Sequence[Any]:
        for _ in range(steps):
            x, y = x + h * y, y + h * ((1 - x**2) * y - x)
        return x, y

    return Case("\n".join(lines), ("x0", "y0"), function)


def recurrence(n: int) -> Case:
    """`y_i = sin(y_{i-1}) + x_i (1 + .1 x_i^2)`, a scalar a step."""
    lines = [f"x{i}: f64" for i in range(n)]
    lines += ["y0 = x0*(1 + .1*x0**2)"]
    lines += [f"let r{i} = sin(r{i - 1}) + x{i}*(1 + .1*x{i}**2)" for i in range(1, n)]
    lines[n] = "let r0 = x0*(1 + .1*x0**2)"
    lines += [f"y{i} = r{i}" for i in range(n)]

    def function(*x: Any) -> Sequence[Any]:
        found: list[Any] = []
        for each in x:
            found.append((jnp.sin(found[-1]) if found else 0) + each * (1 + 0.1 * each**2))
        return found

    return Case("\n".join(lines), tuple(f"x{i}" for i in range(n)), function)
