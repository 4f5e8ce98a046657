"""Tensors that are computed for groups and residues of an index, against sums in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import tadc
from tadc.passes.rewrites import split_indices

GROUPED = """x: f64[4, 12, 9]; w: f64[12, 4, 5]
y[n, o: 12, i: 5] = sum{c: 4, k: 5} (x[n, 4*(o // 4) + c, i + k]*w[o, c, k])"""


@pytest.fixture(autouse=True)
def _all_are_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split_indices, "HEAVY", 0)
    monkeypatch.setattr(split_indices, "WORTH", 1)
    monkeypatch.setattr(split_indices, "LANES", 1)
    monkeypatch.setenv("TADC_CACHE", "0")


def _plan(f: tadc.Function) -> str:
    return f.lower().schedule


def test_groups() -> None:
    f = tadc.function(GROUPED)
    g = tadc.value_and_vjp(f)
    assert "map y_0" in _plan(g)
    assert "map dx_0" in _plan(g)
    random = np.random.default_rng(0)
    x, w = random.standard_normal((4, 12, 9)), random.standard_normal((12, 4, 5))
    dy = random.standard_normal((4, 12, 5))
    y, dx, dw = np.zeros_like(dy), np.zeros_like(x), np.zeros_like(w)
    for o, c, k in np.ndindex(12, 4, 5):
        source = 4 * (o // 4) + c
        y[:, o] += x[:, source, k : k + 5] * w[o, c, k]
        dx[:, source, k : k + 5] += dy[:, o] * w[o, c, k]
        dw[o, c, k] = (dy[:, o] * x[:, source, k : k + 5]).sum()
    for found, expected in zip(g(x, w, dy), (y, dx, dw), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("stride", [2, 3, 4])
@pytest.mark.parametrize("taps", [2, 3, 5])
@pytest.mark.parametrize("more", [0, 1])
def test_residues(stride: int, taps: int, more: int) -> None:
    """The gradient of a convolution with a stride, of an image of any remainder."""
    size = stride * 6 + taps + more
    count = (size - taps) // stride + 1
    f = tadc.function(f"""x: f64[3, {size}]; w: f64[8, 3, {taps}]
y[o, i: {count}] = sum{{c, k}} (x[c, {stride}*i + k]*w[o, c, k])""")
    g = tadc.vjp(f, "x")
    if taps > stride:
        # With fewer taps no index of a sum is left.
        assert "map dx_0" in _plan(g)
    random = np.random.default_rng(stride)
    w, dy = random.standard_normal((8, 3, taps)), random.standard_normal((8, count))
    expected = np.zeros((3, size))
    for o, c, k in np.ndindex(8, 3, taps):
        expected[c, k : k + stride * (count - 1) + 1 : stride] += dy[o] * w[o, c, k]
    given = {"x": np.zeros((3, size)), "w": w, "dy": dy}
    found = g(*(given[name] for name in g.inputs))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("stride", "taps", "last"), [(2, 3, "dx_1_1"), (3, 5, "dx_2_2"), (5, 6, "dx_4")])
def test_images(stride: int, taps: int, last: str) -> None:
    """Two indices by residue: a tensor for each, or each of the last, and one interleaved of them."""
    rows, columns = 3 * stride + taps, 5 * stride + taps
    f = tadc.function(f"""x: f64[3, {rows}, {columns}]; w: f64[4, 3, {taps}, {taps}]
y[o, i: 4, j: 6] = sum{{c, u, v}} (x[c, {stride}*i + u, {stride}*j + v]*w[o, c, u, v])""")
    g = tadc.vjp(f, "x")
    assert f"map {last}\n" in _plan(g)
    random = np.random.default_rng(1)
    w, dy = random.standard_normal((4, 3, taps, taps)), random.standard_normal((4, 4, 6))
    expected = np.zeros((3, rows, columns))
    for o, c, u, v in np.ndindex(4, 3, taps, taps):
        rows_of, columns_of = (slice(k, k + (n - 1) * stride + 1, stride) for k, n in ((u, 4), (v, 6)))
        expected[c, rows_of, columns_of] += dy[o] * w[o, c, u, v]
    given = {"x": np.zeros(expected.shape), "w": w, "dy": dy}
    np.testing.assert_allclose(g(*(given[name] for name in g.inputs)), expected, rtol=1e-12, atol=1e-12)


def test_few_elements_have_no_residues(monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors go along the image of a transposed convolution, not along its taps."""
    monkeypatch.undo()
    monkeypatch.setattr(split_indices, "WORTH", 1)
    f = tadc.function("""x: f64[16, 20]; w: f64[16, 3, 4]
y[o, i: 40] = sum{c, p} (if {(i + 1 - p) % 2 = 0 and i + 1 >= p and i + 1 - p < 40}
    then (x[c, (i + 1 - p) // 2]*w[c, o, p]) else (0))""")
    g = tadc.value_and_vjp(f)
    assert "map y_0" in _plan(g)
    assert "map dw_0" not in _plan(g)
    random = np.random.default_rng(2)
    x, w, dy = (random.standard_normal(shape) for shape in ((16, 20), (16, 3, 4), (3, 40)))
    y, dx, dw = np.zeros_like(dy), np.zeros_like(x), np.zeros_like(w)
    for i, p in np.ndindex(40, 4):
        at, rest = divmod(i + 1 - p, 2)
        if rest == 0 and 0 <= at < 20:
            y[:, i] += x[:, at] @ w[:, :, p]
            dx[:, at] += w[:, :, p] @ dy[:, i]
            dw[:, :, p] += np.outer(x[:, at], dy[:, i])
    for found, expected in zip(g(x, w, dy), (y, dx, dw), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_sizes_that_are_not_known_are_left() -> None:
    f = tadc.function("x: f64[N]; w: f64[5]\ny[i: (N - 3) // 2] = sum{k} (x[2*i + k]*w[k])")
    plan = _plan(tadc.vjp(f, "x"))
    assert "dx_0" not in plan


def test_memory_limits_hold() -> None:
    """What is computed for groups takes as much memory as the tensor: 1920 bytes here."""
    program = tadc.function(GROUPED).program
    assert len(split_indices.split_divided_indices(program, 1920).definitions) == 2
    assert split_indices.split_divided_indices(program, 1919) is program
