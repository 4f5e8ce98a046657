"""Sums over fibres in blocks of elements, and maps over entries along with sums over rows: what they give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tadc
from tadc.passes.rewrites import scattered_sums

PRODUCT = """ptr: index[N + 1] in E + 1 increasing
col: index[E] in M
v: f32[E]
x: f32[M]
y[i: N] = sum{e}_(ptr[i])^(ptr[i + 1] - 1) (v[e]*x[col[e]])"""


def _arrays(n: int, m: int, e: int) -> dict[str, Any]:
    """Rows of which some are empty, and entries before the first and after the last one."""
    random = np.random.default_rng(n)
    ptr = np.sort(random.integers(e // 8, e - e // 8, n + 1)).astype(np.int32)
    col = random.integers(0, m, e).astype(np.int32)
    v, x, dy = (random.uniform(-1, 1, size).astype(np.float32) for size in (e, m, n))
    return {"ptr": ptr, "col": col, "v": v, "x": x, "dy": dy}


def _expected(arrays: dict[str, Any]) -> list[Any]:
    ptr, col, (v, x, dy) = arrays["ptr"], arrays["col"], (arrays[n].astype(float) for n in ("v", "x", "dy"))
    y, dv, dx = np.zeros(len(dy)), np.zeros(len(v)), np.zeros(len(x))
    for i in range(len(dy)):
        own = slice(ptr[i], ptr[i + 1])
        y[i], dv[own] = v[own] @ x[col[own]], dy[i] * x[col[own]]
        np.add.at(dx, col[own], dy[i] * v[own])
    return [y, dv, dx]


def _gradients() -> Any:
    return tadc.value_and_vjp(tadc.function(PRODUCT), wrt=["v", "x"])


MORE = [pytest.param(*sizes, marks=pytest.mark.sweep) for sizes in ((30, 9, 50), (2000, 700, 900))]


@pytest.mark.parametrize(("n", "m", "e"), [(300, 500, 4000), *MORE])
def test_values_are_the_same_in_blocks(n: int, m: int, e: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bits too, whatever the blocks are, and where each fibre is added up by itself."""
    monkeypatch.setenv("TADC_CACHE", "0")
    sizes, arrays, found = {"N": n, "M": m, "E": e}, _arrays(n, m, e), list[list[Any]]()
    for least, blocks in ((1 << 40, 1), (1, 1), (1, 7)):
        monkeypatch.setattr(scattered_sums, "LEAST_ELEMENTS", least)
        monkeypatch.setattr(scattered_sums, "LEAST_BLOCKS", blocks)
        monkeypatch.setattr(scattered_sums, "MULTIPLE", 1)
        monkeypatch.setattr(scattered_sums._ScatteredSum, "bytes", lambda *_: 1 << 40)  # pyright: ignore[reportPrivateUsage]
        found.append([np.asarray(result) for result in tadc.compile(_gradients(), sizes=sizes)(**arrays)])
    assert "scatter" in _gradients().lower(sizes=sizes).schedule
    for expected, result in zip(_expected(arrays), found[0], strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)
    for other in found[1:]:
        assert all(map(np.array_equal, found[0], other))


def test_large_programs_are_in_blocks_and_the_same_by_two_threads() -> None:
    sizes, arrays = {"N": 9_000, "M": 5_000, "E": 600_000}, _arrays(9_000, 5_000, 600_000)
    gradients = _gradients()
    schedule = gradients.lower(sizes=sizes).schedule
    assert ": y, dv" in schedule
    assert "scatter" in schedule
    before, found = tadc.get_num_threads(), list[list[Any]]()
    compiled = tadc.compile(gradients, sizes=sizes)
    try:
        for threads in (1, 2):
            tadc.set_num_threads(threads)
            found.append([np.asarray(result) for result in compiled(**arrays)])
    finally:
        tadc.set_num_threads(before)
    assert all(map(np.array_equal, *found))
    for expected, result in zip(_expected(arrays), found[0], strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-3, atol=1e-3)


def test_a_schedule_says_what_runs_along() -> None:
    """It reads back; without the step both maps have loops of their own, and give the same bits."""
    sizes, arrays = {"N": 40, "M": 30, "E": 300}, _arrays(40, 30, 300)
    gradients = _gradients()
    along = gradients.lower(sizes=sizes).schedule
    assert ": y, dv" in along
    first, *others = (
        [np.asarray(result) for result in tadc.compile(gradients, sizes=sizes, schedule=text)(**arrays)]
        for text in (along, "function y\nmap y\n    threads i 64\n")
    )
    assert all(map(np.array_equal, first, others[0]))
    with pytest.raises(tadc.CompileError, match="`dx` is not computed at the points of the sum"):
        tadc.compile(gradients, sizes=sizes, schedule=along.replace(": y, dv", ": y, dx"))
    with pytest.raises(tadc.CompileError, match="at the points of another one's sum"):
        tadc.compile(gradients, sizes=sizes, schedule=f"{along}map dv\n    threads e 8\n")


def test_a_map_is_computed_at_the_points_of_a_sum_over_a_box() -> None:
    """A pass over a table gives the sum of each row, and another table; sizes need not be known."""
    f = tadc.function("x: f64[N, 7]; w: f64[7]; y[i] = sum{k} (x[i, k]*w[k]); z[i, k] = x[i, k] + sin(w[k])")
    random = np.random.default_rng(0)
    x, w = random.normal(size=(13, 7)), random.normal(size=7)
    found = tadc.compile(f, schedule="function y at k 1: y, z map y split i 4 rest -> i0, i1")(x, w)
    np.testing.assert_allclose(found.y, x @ w, rtol=1e-12)
    np.testing.assert_allclose(found.z, x + np.sin(w), rtol=1e-12)


def test_what_was_made_in_the_order_of_fibres_stays_there() -> None:
    """A gradient reads a tensor whose elements stand in that order, at no element of an index array."""
    m, e = 30_000, 600_000
    text = "d: index[E] in M; w: f64[E]; u: f64[E]; z: f64[M]\n"
    text += "y[n: M] = logsumexp{e: d[e] = n} (w[e]*sin(u[e])*z[d[e]])"
    random = np.random.default_rng(0)
    d = random.integers(0, m, e)
    w, u, z, dy = (random.normal(size=size) for size in (e, e, m, m))
    found = tadc.compile(tadc.vjp(tadc.function(text)), sizes={"M": m, "E": e})(d=d, w=w, u=u, z=z, dy=dy)
    terms = w * np.sin(u) * z[d]
    shares = np.exp(terms) / np.bincount(d, np.exp(terms), m)[d]
    np.testing.assert_allclose(found.dz, np.bincount(d, dy[d] * shares * w * np.sin(u), m), atol=1e-12)


def test_fibres_of_corners_are_added_up_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TADC_CACHE", "0")
    for name, value in {"LEAST_ELEMENTS": 1, "LEAST_BLOCKS": 3, "MULTIPLE": 1}.items():
        monkeypatch.setattr(scattered_sums, name, value)
    monkeypatch.setattr(scattered_sums._ScatteredSum, "bytes", lambda *_: 1 << 40)  # pyright: ignore[reportPrivateUsage]
    text = "t: index[F, 3] in N; v: f64[F]; z: f64[N]\n"
    text += "m[n: N] = sum{f, k: t[f, k] = n} (v[f]*sin(z[t[f, 0]]*z[t[f, 2]]))"
    random, expected = np.random.default_rng(0), np.zeros(6)
    t, v, z = random.integers(0, 6, (21, 3)), random.normal(size=21), random.normal(size=6)
    np.add.at(expected, t.ravel(), np.repeat(v * np.sin(z[t[:, 0]] * z[t[:, 2]]), 3))
    found = tadc.compile(tadc.function(text), sizes={"F": 21, "N": 6})(t=t, v=v, z=z)
    np.testing.assert_allclose(found, expected)
