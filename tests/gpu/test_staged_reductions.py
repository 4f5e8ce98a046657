"""Reads of reductions that the threads of a block copy first, by random steps: right at any size and tile."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import logsumexp

import tadc

Reference = Callable[..., np.ndarray]


def _padded(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    wide = np.pad(x, ((0, 0), (2, 2)))
    return np.stack([[wide[c, i : i + 5] @ w[c] for i in range(x.shape[1])] for c in range(len(x))])


#: A program with indices i and j, the indices of its reduction, the shapes of what it reads, and its values.
PROGRAMS: dict[str, tuple[str, str, list[tuple[int, ...]], Reference]] = {
    "product": (
        "a: f64[N, K]; b: f64[K, M]; y[i, j] = sum{k} (a[i, k] * b[k, j])",
        "k", [(19, 23), (23, 13)], lambda a, b: a @ b,
    ),
    "two indices": (
        "a: f64[N, K, L]; b: f64[K, L, M]; y[i, j] = sum{k, l} (a[i, k, l] * b[k, l, j])",
        "kl", [(9, 5, 6), (5, 6, 11)], lambda a, b: np.einsum("ikl,klj->ij", a, b),
    ),
    "to the diagonal": (
        "a: f64[N, K]; b: f64[K, M]; y[i, j] = sum{k: k <= i} (a[i, k] * b[k, j])",
        "k", [(19, 19), (19, 13)], lambda a, b: np.tril(a) @ b,
    ),
    "from the diagonal": (
        "a: f64[N, K]; b: f64[K, M]; y[i, j] = sum{k: k >= i} (a[i, k] * b[k, j])",
        "k", [(19, 19), (19, 13)], lambda a, b: np.triu(a) @ b,
    ),
    "ends that move": (
        "x: f64[N, M]; w: f64[N, 5]; y[i: N, j: M] = "
        "sum{k}_(max [0; j - 2])^(min [M - 1; j + 2]) (x[i, k] * w[i, k - j + 2])",
        "k", [(7, 17), (7, 5)], _padded,
    ),
    "greatest": (
        "a: f64[N, K]; b: f64[K, M]; y[i, j] = max{k} (a[i, k] - b[k, j])",
        "k", [(19, 23), (23, 13)], lambda a, b: (a[:, :, None] - b[None]).max(axis=1),
    ),
    "logarithm": (
        "a: f64[N, K]; b: f64[K, M]; y[i, j] = logsumexp{k} (a[i, k] - b[k, j])",
        "k", [(19, 23), (23, 13)], lambda a, b: logsumexp(a[:, :, None] - b[None], axis=1),
    ),
}  # fmt: skip


def _steps(indices: str, reads: int, rng: random.Random) -> str:
    """Blocks of threads with copies, and steps of the reduction in blocks."""
    lines = ["split i 8 guard -> i0, i1", f"split i1 {rng.choice([1, 2])} -> i2, i3"]
    copies, rows = int(lines[-1].split()[2]), 8
    lines += [
        "split j 8 guard -> j0, j1",
        "reorder i0, j0, i2, j1, i3",
        "block i0, j0",
        "thread i2, j1",
        "jam i3",
    ]
    outer, inner = list[str](), list[str]()
    for index in indices:
        steps = rng.choice([1, 2, 4, 6])
        outer.append(index if steps == 1 else f"{index}0")
        if steps > 1:
            inner.append(f"{index}1")
            lines.append(f"split {index} {steps} clip -> {index}0, {index}1")
    if inner:
        lines.append(f"reorder {', '.join([*outer, *inner])}")
        lines += rng.choice([[], [f"unroll {inner[-1]}"], [f"unroll {inner[-1]} by 2"]])
    chosen = rng.sample(range(reads), rng.randint(1, reads))
    lines += [f"stage %{number} inside {outer[-1]} by threads" for number in chosen]
    return "\n    ".join(["map y", *lines, f"in_blocks {rows // copies * 8}"])


@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_threads_copy_is_what_they_read(name: str, seed: int) -> None:
    text, indices, shapes, reference = PROGRAMS[name]
    steps = _steps(indices, len(shapes), random.Random(f"{name} {seed}"))
    numbers = np.random.default_rng(seed)
    arrays = [numbers.uniform(-1, 1, shape) for shape in shapes]
    found = tadc.compile(tadc.function(text), target="emulated:sm_90", schedule=steps)(*arrays)
    np.testing.assert_allclose(found, reference(*arrays), rtol=1e-12, atol=1e-12, err_msg=steps)
