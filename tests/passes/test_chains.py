"""Maps in chains, which run over a few rows at a time: which maps, and what they compute."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax

import tadc
from bench.sparse import SPARSE
from tadc.lattice.affine import Affine
from tadc.passes.maps import chains
from tadc.passes.nest.nest_reader import read_nest
from tadc.passes.nest.nest_text import nest_text
from tadc.passes.nest.windowed import shifted
from tadc.passes.rewrites.stored_values import Look
from tadc.passes.schedule import plans

ROWS = """x: f64[N, M]
let e[i: N, j: M] = exp(x[i, j])
let s[i: N] = sum{j} (e[i, j])
let columns[j: M] = sum{i} (e[i, j])
f[i, j] = e[i, j] / s[i]
g[i] = log(s[i]) * i
h[j] = columns[j]
"""


@pytest.fixture(autouse=True)
def look_at_small_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tensors of tests are small."""
    monkeypatch.setattr(chains, "LEAST_BYTES", 1)


def chained(text: str, **sizes: int) -> str:
    """The loops of a program."""
    return tadc.function(text, sizes=sizes).lower().as_text("loops")


def test_large_tensors_in_between(monkeypatch: pytest.MonkeyPatch) -> None:
    """What fills more than a cache is read again while it is near; the sums of columns are not of one row."""
    monkeypatch.undo()
    assert "@tad_f.0.rows" not in chained(ROWS, N=64, M=64)
    text = chained(ROWS, N=512, M=512)
    assert text.count(".rows.split") == 2
    body = text[text.index("func.func private @tad_f.0.rows(") :]
    body = body[: body.index("return")]
    assert body.count("call @tad_f.") >= 2


def test_sizes_given_late() -> None:
    """Where sizes are not known, neither is what is large."""
    assert ".rows" not in chained(ROWS)


def test_products_of_matrices() -> None:
    """What packs a matrix, which many rows are to use, runs over all rows."""
    text = """a: f32[N, N]; b: f32[N, N]; c: f32[N, N]
let p[i: N, j: N] = sum{k} (a[i, k] * b[k, j])
f[i, j] = sum{k} (p[i, k] * c[j, k])
"""
    assert ".rows" not in chained(text, N=768)


@pytest.mark.parametrize("rows", [1, 5, 7, 12, 37, 38, 100])
@pytest.mark.parametrize("threads", [1, 2])
def test_any_number_of_rows(rows: int, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that do not divide their number, one at a time, and more than there are."""
    n, m = 38, 41
    monkeypatch.setattr(chains, "_rows", lambda chain, ranges: min(rows, n))
    x = np.random.default_rng(rows).uniform(-1, 1, (n, m))
    before = tadc.get_num_threads()
    tadc.set_num_threads(threads)
    try:
        found = tadc.function(ROWS, sizes={"N": n, "M": m})(x)
    finally:
        tadc.set_num_threads(before)
    f, g, h = found
    np.testing.assert_allclose(f, softmax(x, axis=1), rtol=1e-13)
    np.testing.assert_allclose(g, np.log(np.exp(x).sum(1)) * np.arange(n), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(h, np.exp(x).sum(0), rtol=1e-13)


def test_what_is_read_from_other_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tensor that is read at another row is whole before that."""
    monkeypatch.setattr(chains, "_rows", lambda chain, ranges: 3)
    text = """x: f64[20, 30]
let e[i: 20, j: 30] = exp(x[i, j])
let s[i: 20] = sum{j} (e[i, j])
let t[i: 20] = sum{j} (e[i, j] * s[19 - i])
f[i] = s[i] * t[i] + t[(i + 1) % 20]
"""
    x = np.random.default_rng(1).uniform(-1, 1, (20, 30))
    s = np.exp(x).sum(1)
    t = s * s[::-1]
    np.testing.assert_allclose(tadc.function(text)(x), s * t + np.roll(t, -1), rtol=1e-13)


def test_what_is_read_besides_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A map that reads a large tensor for every row is in no chain: few rows would read it as often."""
    monkeypatch.undo()
    monkeypatch.setattr(plans, "_suffers", lambda *_: False)
    text = """x: f32[256, 128]
w: f32[K, 128, 128]
let a[n: 256, o: K, j: 128] = sum{i} (x[n, i] * w[o, i, j])
f[n, o] = sum{j} (a[n, o, j])
g[n, o] = sum{j} (a[n, o, j]**2)
"""
    large = chained(text, K=64)
    assert large.count("@tad_f.0.split(") == 2
    assert "@tad_f.0.rows" in chained(text, K=8)


THIN = """x: f64[N, N]
let e[i: N, j: N] = exp(x[i, j] - x[j, j])
let s[i: N] = sum{j} (e[i, j])
let d[j: N] = sum{i} (s[i] * e[i, j])
f[i, j] = (if {SET} then (d[j] + x[j, i]) else (0)) + e[i, j] / s[i]
g[j] = 2 * d[j]
"""


@pytest.mark.parametrize("rows", [1, 5, 12, 37, 38])
@pytest.mark.parametrize("equation", ["i = j", "i + j = 30", "i = 2*j + 3 and i < 20"])
def test_thin_sets(rows: int, equation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A map that waits for a sum over all rows on a thin set alone, behind a chain with parts of the sum."""
    n = 38
    monkeypatch.setattr(chains, "_rows", lambda chain, ranges: rows)
    monkeypatch.setattr(chains, "LARGER", 0)
    function = tadc.function(THIN.replace("SET", equation), sizes={"N": n})
    x = np.random.default_rng(rows).uniform(-1, 1, (n, n))
    f, g = in_threads(function, x)
    i, j = np.indices((n, n))
    on = {"i = j": i == j, "i + j = 30": i + j == 30}.get(equation, (i == 2 * j + 3) & (i < 20))
    e = np.exp(x - np.diagonal(x))
    s = e.sum(1)
    np.testing.assert_allclose(f, np.where(on, s @ e + x.T, 0) + e / s[:, None], rtol=1e-13)
    np.testing.assert_allclose(g, 2 * s @ e, rtol=1e-13)


@pytest.mark.parametrize("rows", [1, 5, 38])
def test_scalar_sums_over_rows(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sum over all rows that has no index is cut into parts too."""
    monkeypatch.setattr(chains, "_rows", lambda chain, ranges: rows)
    monkeypatch.setattr(chains, "LARGER", 0)
    text = """x: f64[38, 41]
let e[i: 38, j: 41] = exp(x[i, j])
let s[i: 38] = sum{j} (e[i, j])
f[i, j] = e[i, j] / s[i]
t = sum{i} (log(s[i]))
"""
    assert f"%t_0: memref<{-(-38 // rows)}xf64>" in chained(text)
    x = np.random.default_rng(rows).uniform(-1, 1, (38, 41))
    f, t = in_threads(tadc.function(text), x)
    np.testing.assert_allclose(f, softmax(x, axis=1), rtol=1e-13)
    np.testing.assert_allclose(t, np.log(np.exp(x).sum(1)).sum(), rtol=1e-13)


def in_threads(function: tadc.Function, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """The values of a function, which are the same bits on one thread and on two."""
    before = tadc.get_num_threads()
    found: list[tuple[np.ndarray, ...]] = []
    try:
        for threads in (1, 2):
            tadc.set_num_threads(threads)
            found.append(function(*arrays))
    finally:
        tadc.set_num_threads(before)
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
    return found[0]


def test_lines_are_asked_for_where_rows_are_near() -> None:
    text = """
        nest s(e: f32[64, 8], out s: f32[64]) {
            ranges begin
            for i = begin to begin + 8 {
                %0 = sum j where 0 <= j <= 7 {
                    prefetch e[i + 6, j] every 16
                    %1 = e[i, j]
                    give %1
                }
                s[i] = %0
            }
        }
    """
    made = nest_text(shifted(read_nest(text), {"e": 0}, "shift", Affine.var("begin")))
    assert "prefetch e[i - shift + 6, j] every 16" in made
    assert "%1 = e[i - shift, j]" in made


def test_what_index_arrays_say_that_a_row_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is near when another map reads it for the same rows."""
    text = "words: index[B, K] in V; w: f64[B, K]; t: f64[V, C]; y[b, c] = sum{k} (w[b, k]*t[words[b, k], c])"
    made, sizes = tadc.vjp(tadc.function(text), wrt="w"), {"B": 2000, "K": 5, "V": 9000, "C": 16}
    monkeypatch.setattr(chains, "LEAST_BYTES", 1 << 16)
    both = tadc.value_and_vjp(tadc.function(text), wrt="w")
    assert ".rows" in both.lower(sizes=sizes).as_text("loops")
    assert ".rows" not in made.lower(sizes=sizes).as_text("loops")
    random = np.random.default_rng(0)
    words, w = random.integers(0, 9000, (2000, 5)), random.standard_normal((2000, 5))
    t, dy = random.standard_normal((9000, 16)), random.standard_normal((2000, 16))
    y, dw = tadc.compile(both, sizes=sizes)(words, w, t, dy)
    np.testing.assert_allclose(y, np.einsum("bk,bkc->bc", w, t[words]), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(dw, np.einsum("bc,bkc->bk", dy, t[words]), rtol=1e-12, atol=1e-12)


def test_what_index_arrays_say_that_sums_over_rows_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two sums that run with a map read elements that the map does not."""
    monkeypatch.undo()
    monkeypatch.setattr(Look, "gathered", lambda *_: [])
    (workload,) = (workload for workload in SPARSE if workload.name == "edge-convolution")
    assert ".rows" in workload.derivative("f32", workload.sizes).lower().as_text("loops")


def test_an_index_array_of_one_element_says_nothing_of_rows() -> None:
    text = "s: index in M; y: f64[M, K]; x: f64[N, K]; f[i, k] = y[s, k]*x[i, k]; g[k] = sum{i} (x[i, k])"
    x, y = np.ones((700, 200)), np.arange(400.0).reshape(2, 200)
    f, g = tadc.compile(tadc.function(text), sizes={"N": 700, "K": 200, "M": 2})(1, y, x)
    np.testing.assert_array_equal(f[3], y[1])
    assert (g == 700).all()
