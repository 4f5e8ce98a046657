"""Values of entries in the order of an index array's fibres: which, and what they give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tadc
from tadc.passes.rewrites import entries_in_order

MESSAGES = """src: index[E] in N
dst: index[E] in N
w: f64[E]
x: f64[N, C]
m[n: N, c] = sum{e: dst[e] = n} (w[e]*x[src[e], c])"""

ATTENTION = """src: index[E] in N
dst: index[E] in N
w: f64[E]
x: f64[N, C]
let l[e] = w[e]*sum{c} (x[src[e], c]*x[dst[e], c])
let z[n: N] = logsumexp{e: dst[e] = n} (l[e])
m[n: N, c] = sum{e: dst[e] = n} (exp(l[e] - z[n])*x[src[e], c])"""

SIZES = {"N": 11, "E": 60, "C": 8}


def _call(text: str) -> tuple[list[Any], str]:
    random, (n, e, c) = np.random.default_rng(0), (SIZES[name] for name in "NEC")
    made = tadc.value_and_vjp(tadc.function(text), wrt=["w", "x"])
    found = tadc.compile(made, sizes=SIZES)(
        src=random.integers(0, n, e), dst=random.integers(0, n - 2, e), w=random.normal(size=e),
        x=random.normal(size=(n, c)), dm=random.normal(size=(n, c)),
    )  # fmt: skip
    return [np.asarray(result) for result in found], made.lower(sizes=SIZES).as_text("loops")


@pytest.mark.parametrize("text", [MESSAGES, ATTENTION])
def test_values_are_those_of_any_order(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TADC_CACHE", "0")
    expected, before = _call(text)
    monkeypatch.setattr(entries_in_order, "NEAR", 0)
    monkeypatch.setattr(entries_in_order, "ROWS", 0)
    found, loops = _call(text)
    assert ".perm.perm" in loops
    assert ".perm.perm" not in before
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_long_rows_that_are_far_are_read_in_order() -> None:
    """Of a tensor that stays in a cache the rows are read as they come, and so are short ones."""
    derivative = tadc.vjp(tadc.function(MESSAGES))
    for sizes, is_ordered in (((50_000, 32), True), ((500, 32), False), ((50_000, 8), False)):
        n, c = sizes
        text = derivative.lower(sizes={"N": n, "E": 500_000, "C": c}).as_text("hoist")
        assert ("perm.perm" in text) == is_ordered


def test_what_reads_in_that_order_reads_the_tensor_in_order() -> None:
    """The order of `dst` is taken: a sum over its fibres reads what the softmax has for each edge."""
    text = "src: index[E] in N; dst: index[E] in N; s: f64[N]; t: f64[N]; x: f64[N, 16]\n"
    text += "let l[e] = s[src[e]] + t[dst[e]]\n"
    text += "let z[n: N] = logsumexp{e: dst[e] = n} (l[e])\n"
    text += "y[n: N, c] = sum{e: dst[e] = n} (exp(l[e] - z[n])*x[src[e], c])"
    nests = tadc.vjp(tadc.function(text)).lower(sizes={"N": 20_000, "E": 300_000}).as_text("nest")
    assert "dy_0_0[dst.perm.perm[e]]" in nests
    assert "dy_0[dst.perm[" not in nests
