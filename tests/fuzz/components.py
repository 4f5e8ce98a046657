"""Random recurrences of several components that read each other at earlier steps, against a loop in NumPy."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import tadc
from tests.fuzz.compare import Skipped

Array = Any
STEPS = 7
#: Functions of one value, in the language and in NumPy.
FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "sin({0})": np.sin,
    "tanh({0})": np.tanh,
    "0.5*{0}": lambda v: 0.5 * v,
    "{0}*{0}/(1 + {0}*{0})": lambda v: v * v / (1 + v * v),
}


@dataclass(frozen=True)
class Read:
    """A function of a component some steps back; before the first step it is what starts it."""

    function: str
    component: int
    back: int


@dataclass(frozen=True)
class Components:
    """`h[t, c]` is the sum of what component c reads, and `x[t]` times a factor."""

    reads: tuple[tuple[Read, ...], ...]
    factors: tuple[float, ...]

    def __str__(self) -> str:
        count = len(self.reads)
        body = "0"
        for c, (reads, factor) in enumerate(zip(self.reads, self.factors, strict=True)):
            terms = [f"{factor}*x[t]", *map(_text, reads)]
            body = f"if {{c = {c}}} then ({' + '.join(terms)}) else (\n  {body})"
        return f"x: f64[{STEPS}]\nscan{{t}} h[t: {STEPS}, c: {count}] = {body}"

    def value(self, x: Array) -> Array:
        """All elements, step by step."""
        h = np.zeros((STEPS, len(self.reads)), x.dtype)
        for t in range(STEPS):
            for c, (reads, factor) in enumerate(zip(self.reads, self.factors, strict=True)):
                h[t, c] = factor * x[t]
                for r in reads:
                    if t >= r.back:
                        h[t, c] += FUNCTIONS[r.function](h[t - r.back, r.component])
        return h

    def gradient(self, x: Array, cotangent: Array) -> Array:
        """By `x`, of complex steps: exact but for rounding."""
        steps = (self.value(x + 1e-30j * row) for row in np.eye(STEPS))
        return np.array([np.sum(cotangent * h.imag) / 1e-30 for h in steps])


def generate(seed: int) -> Components:
    """From 2 to 12 components, each with up to three reads."""
    choose = random.Random(seed)
    count = choose.randint(2, 12)

    def read() -> Read:
        return Read(choose.choice(list(FUNCTIONS)), choose.randrange(count), choose.randint(1, 3))

    reads = tuple(tuple(read() for _ in range(choose.randint(0, 3))) for _ in range(count))
    return Components(reads, tuple(round(choose.uniform(-1, 1), 2) for _ in range(count)))


def failure(seed: int, order: int) -> str | None:
    """What is wrong with the value and the derivatives of a program; None if nothing is."""
    if order > 1:
        raise Skipped  # complex steps are exact at the first order only
    program, draw = generate(seed), np.random.default_rng(seed)
    x, cotangent = draw.uniform(-1, 1, STEPS), draw.uniform(-1, 1, (STEPS, len(program.reads)))
    tangent = draw.uniform(-1, 1, STEPS)
    try:
        f = tadc.function(str(program))
        np.testing.assert_allclose(f(x), program.value(x), rtol=1e-11, atol=1e-12)
        expected = program.gradient(x, cotangent)
        np.testing.assert_allclose(tadc.vjp(f)(x, cotangent), expected, rtol=1e-9, atol=1e-11)
        found = np.sum(cotangent * tadc.jvp(f)(x, tangent)[1])
        np.testing.assert_allclose(found, expected @ tangent, rtol=1e-9, atol=1e-11)
    # Whatever the compiler raises is what is looked for.
    except Exception as error:
        return f"seed {seed}\n{type(error).__name__}: {error}\n\n{program}"
    return None


def _text(read: Read) -> str:
    own = read.function.format(f"h[t - {read.back}, {read.component}]")
    return f"(if {{t >= {read.back}}} then ({own}) else (0))"
