"""Reductions over one index or two, of bounds that move or not, with what they are in NumPy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import logsumexp

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
        "a: f64[N, K]; b: f64[K, M]; y[i, j] = logsumexp{k} (a[i, k] * b[k, j])",
        "k", [(19, 23), (23, 13)], lambda a, b: logsumexp(a[:, :, None] * b[None], axis=1),
    ),
}  # fmt: skip
