"""Random components of several tensors by blocks and triangles, well conditioned, as text and as matrices.

The Jacobian of outputs by inputs is `D P + C`: D has the derivatives of functions of one element, P moves
elements, and C is made of blocks, each linear with a structure of its own. A row of C adds up to less than
half of what is in D, so every program here has an inverse, of a condition number below some 30.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = Any

#: Functions of one element and their derivatives, all at least 1 on [-1, 1].
FUNCTIONS: list[tuple[str, Callable[[Array], Array]]] = [
    ("2*{0} + sin({0})", lambda x: 2 + np.cos(x)),
    ("3*exp({0})", lambda x: 3 * np.exp(x)),
    ("{0}**3 + 1.5*{0}", lambda x: 3 * x**2 + 1.5),
    ("-2*{0}", lambda x: -2 + 0 * x),
]

#: Which element that is of, of n.
MOVES: list[tuple[str, Callable[[int], Array]]] = [
    ("i", np.arange),
    ("i", np.arange),
    ("i", np.arange),
    ("{n} - 1 - i", lambda n: n - 1 - np.arange(n)),
    ("(i + 1) % {n}", lambda n: (np.arange(n) + 1) % n),
]

#: Blocks of N by N, of elements of which the sum in a row is at most 1.
BLOCKS: dict[str, tuple[str, Callable[[int], Array]]] = {
    "below": ("sum{{q}}_0^(i - 1) ({0}[q])/{n}", lambda n: np.tri(n, n, -1) / n),
    "up to the diagonal": ("sum{{q}}_0^i ({0}[q])/{n}", lambda n: np.tri(n) / n),
    "above": ("sum{{q}}_(i + 1)^({n} - 1) ({0}[q])/{n}", lambda n: np.tri(n, n, -1).T / n),
    "all": ("sum{{q: {n}}} ({0}[q])/{n}", lambda n: np.ones((n, n)) / n),
    "the diagonal": ("{0}[i]", np.eye),
    "the one before": ("(if {{i > 0}} then ({0}[i - 1]) else (0))", lambda n: np.eye(n, k=-1)),
    "the one after": ("(if {{i < {n} - 1}} then ({0}[i + 1]) else (0))", lambda n: np.eye(n, k=1)),
    "around a ring": ("{0}[(i + 1) % {n}]", lambda n: np.roll(np.eye(n), 1, axis=1)),
    "reversed": ("{0}[{n} - 1 - i]", lambda n: np.eye(n)[::-1]),
    "every second": ("sum{{q: {n} + 1}} (if {{2*q <= i}} then ({0}[2*q]) else (0))/{n}", lambda n: _even(n)),
    "a corner": ("(if {{i = 0}} then ({0}[{n} - 1]) else (0))", lambda n: _one(n, 0, n - 1)),
}


def _even(n: int) -> Array:
    return np.tri(n) * (np.arange(n) % 2 == 0) / n


def _one(n: int, row: int, column: int) -> Array:
    found = np.zeros((n, n))
    found[row, column] = 1
    return found


@dataclass(frozen=True)
class Component:
    """A program, arguments for it, and the Jacobian there."""

    text: str
    arguments: list[Array]
    jacobian: Array


def random_component(seed: int) -> Component:
    """Up to three tensors of one size, or their elements in one; outputs in an order of their own."""
    choose = random.Random(seed)
    count, n = choose.choice([1, 2, 2, 2, 3]), choose.choice([2, 3, 5, 6, 9, 14])
    # Some components have few kinds of blocks: triangles and bands are seldom made by chance.
    kinds = choose.sample(list(BLOCKS), choose.choice([1, 1, 2, 3]))
    order = choose.sample(range(count), count)
    x = np.random.default_rng(seed).uniform(-1, 1, (count, n))
    whole = np.zeros((count, n, count, n))
    lines: list[str] = []
    for row, own in enumerate(order):
        text, slope = choose.choice(FUNCTIONS)
        move, moved = choose.choice(MOVES)
        at = moved(n)
        parts = [text.format(f"x{own}[{move.format(n=n)}]")]
        whole[row, np.arange(n), own, at] += slope(x[own, at])
        for column in range(count):
            if choose.random() < 0.3:
                continue
            block, matrix = BLOCKS[choose.choice(kinds)]
            factor = round(choose.uniform(-0.45, 0.45) / count, 3)
            parts.append(f"{factor}*{block.format(f'x{column}', n=n)}")
            whole[row, :, column, :] += factor * matrix(n)
        lines.append(f"y{row}[i: {n}] = {' + '.join(parts)}".replace("+ -", "- "))
    jacobian = whole.reshape(count * n, count * n)
    if choose.random() < 0.25:
        joined = [re.sub(r"x(\d)\[", lambda found: f"x[{int(found[1]) * n} + ", line) for line in lines]
        return Component("\n".join([f"x: f64[{count * n}]", *joined]), [x.reshape(-1)], jacobian)
    return Component("\n".join([*(f"x{k}: f64[{n}]" for k in range(count)), *lines]), list(x), jacobian)
