"""Random compositions of array operations against NumPy."""

# Operations are drawn, so a type checker knows nothing of what they make.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tadc

#: Of an array and a seed, by which both sides draw the same axes.
STEPS: list[Callable[[Any, random.Random], Any]] = [
    lambda a, d: np.tanh(a) * 1.5,
    lambda a, d: a.T,
    lambda a, d: a[1:] - a[:-1],
    lambda a, d: a[::-1],
    lambda a, d: a[..., ::2],
    lambda a, d: a[..., None] + 0.5,
    lambda a, d: a - a.mean(axis=d.randrange(a.ndim), keepdims=True),
    lambda a, d: a.sum(axis=d.randrange(a.ndim)),
    lambda a, d: a.max(axis=d.randrange(a.ndim), keepdims=True) + 0.1 * a,
    lambda a, d: np.moveaxis(a, 0, -1),
    lambda a, d: a.reshape(-1),
    lambda a, d: a.reshape(a.shape[0], -1) if a.ndim > 1 else a.reshape(1, -1),
    lambda a, d: np.concatenate([a, 2 * a], axis=d.randrange(a.ndim)),
    lambda a, d: np.stack([a, -a], axis=d.randrange(a.ndim)),
    lambda a, d: np.roll(a, d.randint(-1, 2), axis=d.randrange(a.ndim)),
    lambda a, d: np.pad(a, 1),
    lambda a, d: np.cumsum(a, axis=d.randrange(a.ndim)),
    lambda a, d: np.where(a > 0.1, a, a * a),
    lambda a, d: np.repeat(a, 2, axis=d.randrange(a.ndim)),
    lambda a, d: np.flip(a, d.randrange(a.ndim)) * a,
    lambda a, d: np.tensordot(a, a, axes=([0], [0])) * 0.1 if a.ndim < 3 else a,
    lambda a, d: np.clip(a, -1, 0.8),
]


def composed(a: Any, seed: int) -> Any:
    """What some drawn steps make of an array."""
    draw = random.Random(seed)
    for _ in range(draw.randint(2, 6)):
        if not a.ndim:
            return a
        step = draw.choice(STEPS)
        own = random.Random(draw.random())
        if a.ndim < 4 or step in (STEPS[0], STEPS[7], STEPS[10]):
            a = step(a, own)
    return a


def _check(seed: int) -> None:
    array = np.random.default_rng(seed).normal(size=(4, 3, 2)[: 1 + seed % 3])
    x = tadc.argument("x", "f64", array.shape)
    expected = composed(array, seed)
    with warnings.catch_warnings(action="ignore", category=tadc.CompileWarning):
        f = tadc.define("f", [], composed(x, seed))
        found = f(array)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-11, err_msg=f"seed {seed}\n{f}")


@pytest.mark.parametrize("seed", range(48))
def test_random_compositions(seed: int) -> None:
    _check(seed)
