"""Reads along copies of a tile: the same elements as NumPy finds, at all edges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tadc

PROGRAMS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "transposed": ("y[i, j] = x[j, i]", lambda x: x.T),
    "symmetric": ("y[i, j] = x[i, j] + x[j, i]", lambda x: x + x.T),
    "shifted": ("y[i: N - 3, j: N - 3] = x[j + 2, i + 3]", lambda x: x[2:-1, 3:].T),
    "every other row": ("y[i: N, j: N // 2] = x[2*j + 1, i]", lambda x: x[1 : len(x) // 2 * 2 : 2].T),
    "twice": ("y[i, j: N] = x[j // 2, i]", lambda x: x[np.arange(len(x)) // 2].T),
    "the other way": ("y[i: N, j: N] = x[j, N - 1 - i]", lambda x: x[:, ::-1].T),
    "in a guard": (
        "y[i: N, j: N] = if {i <= j} then (x[j, i]) else (x[i, j])",
        lambda x: np.tril(x).T + np.tril(x, -1),
    ),
    "in a sum": ("y[i, j] = sum{k: 3} (x[j, i] * x[k, i])", lambda x: (x * x[:3].sum(0)).T),
}


@pytest.mark.parametrize("size", [16, 33, 250])
@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_elements(name: str, kind: str, size: int) -> None:
    body, reference = PROGRAMS[name]
    x = np.arange(size * size, dtype={"f32": "f4", "f64": "f8"}[kind]).reshape(size, size) % 251
    for shape in ("N, N", f"{size}, {size}"):
        head = body if shape == "N, N" else body.replace("N", str(size))
        found = tadc.function(f"x: {kind}[{shape}]\n{head}")(x)
        np.testing.assert_array_equal(found, reference(x))
