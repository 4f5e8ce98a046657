"""Reductions that are computed for all elements, though a guard needs them for some."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import tadc

CAUSAL = """q: f64[40, 24]; k: f64[40, 24]
s[i: 40, j: 40] = if {j <= i} then (exp(sum{d} (q[i, d]*k[j, d]) / 8)) else (0)"""


def _is_packed(text: str) -> bool:
    return "stage" in tadc.function(text).lower().schedule


def test_a_triangle_is_computed_as_a_square() -> None:
    assert _is_packed(CAUSAL)
    random = np.random.default_rng(0)
    q, k = random.standard_normal((40, 24)), random.standard_normal((40, 24))
    expected = np.tril(np.exp(q @ k.T / 8))
    np.testing.assert_allclose(tadc.function(CAUSAL)(q, k), expected, rtol=1e-13, atol=0)


def test_what_is_not_needed_does_not_show() -> None:
    """Infinities and NaNs that no element of the triangle reads are in products that nobody takes."""
    q, k = np.ones((40, 24)), np.ones((40, 24))
    q[0, 3], k[39, 5] = np.inf, np.nan
    s = tadc.function(CAUSAL)(q, k)
    assert s[0, 0] == np.inf
    assert (s[0, 1:] == 0).all()
    assert np.isfinite(s[1:, :39]).all()
    assert np.isnan(s[39, 39])


@pytest.mark.parametrize(
    ("condition", "why"), [("i = j", "few elements need the sum"), ("j <= i - 30", "few elements need it")]
)
def test_a_guard_that_seldom_holds_stays(condition: str, why: str) -> None:
    assert not _is_packed(CAUSAL.replace("j <= i", condition)), why


def test_a_read_that_the_guard_keeps_in_range_stays() -> None:
    text = """q: f64[40, 24]; k: f64[30, 24]
s[i: 40, j: 40] = if {j <= 29} then (sum{d} (q[i, d]*k[j, d])) else (0)"""
    random = np.random.default_rng(0)
    q, k = random.standard_normal((40, 24)), random.standard_normal((30, 24))
    expected = np.zeros((40, 40))
    expected[:, :30] = q @ k.T
    np.testing.assert_allclose(tadc.function(text)(q, k), expected, rtol=1e-13, atol=1e-14)


def test_ranges_that_are_seldom_empty_guard_no_sum() -> None:
    """Of one that is empty the sum does not show, even where it would be no number."""
    text = """ptr: index[N + 1] in E + 1 increasing; u: f64[E, K]; w: f64[K, 16]
let t[n: N, k] = sum{e}_(ptr[n])^(ptr[n + 1] - 1) (u[e, k])
y[n: N, c] = if {ptr[n + 1] > ptr[n]} then (sum{k} (t[n, k]*w[k, c])) else (0)"""
    function = tadc.function(text, sizes={"N": 24, "E": 50, "K": 24})
    random = np.random.default_rng(0)
    ptr = np.array([0, 0, *np.sort(random.integers(0, 50, 22)), 50])
    u, w = random.standard_normal((50, 24)), random.standard_normal((24, 16))
    w[3, 5] = np.inf
    rows = np.array([u[first:last].sum(0) for first, last in pairwise(ptr)])
    found, is_empty = function(ptr, u, w), ptr[1:] == ptr[:-1]
    assert is_empty[0]
    assert not found[is_empty].any()
    others = np.arange(16) != 5
    np.testing.assert_allclose(found[:, others], rows @ w[:, others], rtol=1e-12, atol=1e-12)
    nest = function.lower().as_text("nest").split("nest y(")[1]
    assert nest.index("sum k") < nest.index("if ")
