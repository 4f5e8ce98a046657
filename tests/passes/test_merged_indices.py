"""Windows of windows: rows are tensors over where they are, in each spelling, and ties share rows first."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import tadc

#: A row, and what reads it.
TEXTS = (
    "{x}\nf[i: {n}, j: {n}] = {k}{{p: {w}}} ({k}{{q: {w}}} (x[{s}*i + p, {s}*j + q]))",
    "{x}\nlet r[a: {m}, j: {n}] = {k}{{q: {w}}} (x[a, {s}*j + q])\n"
    "f[i: {n}, j: {n}] = {k}{{p: {w}}} (r[{s}*i + p, j])",
)


def _slopes(kind: str, values: np.ndarray) -> tuple[float, np.ndarray]:
    """A reduction of a vector, and its slopes; elements that tie share."""
    if kind == "logsumexp":
        total = np.logaddexp.reduce(values)
        return total, np.exp(values - total)
    total = values.max() if kind == "max" else values.min()
    return total, (values == total) / np.sum(values == total)


def _reference(kind: str, x: np.ndarray, n: int, w: int, s: int) -> tuple[np.ndarray, np.ndarray]:
    """The pools of windows, and the gradient of their sum: rows first, then the elements of each."""
    pools, gradient = np.zeros((n, n)), np.zeros_like(x)
    for i, j in product(range(n), repeat=2):
        rows = [_slopes(kind, x[s * i + p, s * j : s * j + w]) for p in range(w)]
        pools[i, j], of_rows = _slopes(kind, np.array([value for value, _ in rows]))
        for p in range(w):
            gradient[s * i + p, s * j : s * j + w] += of_rows[p] * rows[p][1]
    return pools, gradient


@pytest.mark.parametrize("kind", ["max", "min", "logsumexp"])
@pytest.mark.parametrize(("w", "s"), [(2, 2), (3, 2), (3, 1), (5, 2), (2, 3)])
def test_pools(kind: str, w: int, s: int) -> None:
    n = 4
    m = s * (n - 1) + w
    x = np.random.default_rng(w).integers(0, 4, (m, m)).astype(float)
    pools, gradient = _reference(kind, x, n, w, s)
    sizes = {"n": n, "m": m, "k": kind, "w": w, "s": s, "x": f"x: f64[{m}, {m}]"}
    functions = [tadc.function(text.format(**sizes)) for text in TEXTS]
    for f in functions:
        value, dx = tadc.value_and_vjp(f, "x")(x, np.ones((n, n)))
        np.testing.assert_allclose(value, pools, rtol=1e-14)
        np.testing.assert_allclose(dx, gradient, rtol=1e-13, atol=1e-15)
    work = [tadc.statistics(f).gradients.work.weighted for f in functions]
    assert max(work) <= 1.1 * min(work) or w < s


def test_nothing_is_evaluated_that_was_not() -> None:
    # The last row is in no window, and would be NaN times 0.
    f = tadc.function("x: f64[5, 4]\nf[i: 2, j: 2] = logsumexp{p: 2} (logsumexp{q: 2} (x[2*i + p, 2*j + q]))")
    x = np.ones((5, 4))
    x[4] = np.nan
    dx = tadc.vjp(f, "x")(x, np.ones((2, 2)))
    np.testing.assert_allclose(dx, np.r_[np.full((4, 4), 0.25), np.zeros((1, 4))])


def test_a_window_counts_its_ties_once() -> None:
    """Overlapping windows of one maximum: what each shares is a tensor over windows, not over elements."""
    text = "x: f64[40, 40]\nf[i: 38, j: 38] = max{p: 3, q: 3} (x[i + p, j + q])"
    found = tadc.statistics(tadc.function(text))
    assert found.gradients.work.weighted <= 6 * found.value.work.weighted
