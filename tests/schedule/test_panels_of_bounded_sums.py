"""Sums whose bounds move with indices of the map are packed as others are, where all elements of a tile share
the bounds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tadc
from tadc.cli import main
from tadc.frontend.extents import shape_at

PADDED = """x: f32[4, 16, 24, 24]; w: f32[32, 16, 3, 3]
y[n, o, i: 24, j: 24] = sum{c} (sum{p}_(max [0; 1 - i])^(min [2; 24 - i]) (
    sum{q}_(max [0; 1 - j])^(min [2; 24 - j]) (x[n, c, i + p - 1, j + q - 1]*w[o, c, p, q])))"""

FULL = """w: f32[32, 16, 3, 3]; d: f32[4, 16, 24, 24]
x[n, o, u: 26, v: 26] = sum{c} (sum{p}_(max [0; u - 23])^(min [2; u]) (
    sum{q}_(max [0; v - 23])^(min [2; v]) (d[n, c, u - p, v - q]*w[o, c, p, q])))"""


def _convolved(x: np.ndarray, w: np.ndarray, before: int, flipped: bool) -> np.ndarray:
    """The sums over windows of an image with zeros around it; it starts so many elements earlier."""
    size = x.shape[2] - 2 + 2 * before
    around = np.pad(x.astype(float), ((0, 0), (0, 0), (before, before), (before, before)))
    taps = w.astype(float)[:, :, ::-1, ::-1] if flipped else w.astype(float)
    found = np.zeros((len(x), len(w), size, size))
    for p, q in np.ndindex(3, 3):
        found += np.einsum("ncij,oc->noij", around[:, :, p : p + size, q : q + size], taps[:, :, p, q])
    return found


@pytest.mark.parametrize("text", [PADDED, FULL])
def test_bounded_sums_are_packed_and_right(text: str) -> None:
    f = tadc.function(text)
    assert "stage" in f.lower().schedule
    random = np.random.default_rng(1)
    shapes = [shape_at(a.shape, {}) for a in f.program.arguments]
    given = [random.standard_normal(shape).astype("f4") for shape in shapes]
    x, w = given if text is PADDED else given[::-1]
    expected = _convolved(x, w, 1 if text is PADDED else 2, text is FULL)
    np.testing.assert_allclose(f(*given), expected, rtol=1e-4, atol=1e-3)


def test_weights_that_are_not_finite_stay_inside() -> None:
    """No zeros stand around the image: an infinite weight makes no NaN where its tap is outside."""
    f = tadc.function(PADDED)
    x, w = np.ones((4, 16, 24, 24), "f4"), np.ones((32, 16, 3, 3), "f4")
    w[:, :, 0, 0] = np.inf
    y = f(x, w)
    assert np.isfinite(y[:, :, 0, :]).all()
    assert np.isfinite(y[:, :, :, 0]).all()
    assert (y[:, :, 1:, 1:] == np.inf).all()


def test_a_step_says_what_its_bounds_depend_on() -> None:
    """A buffer outside of the loops that move the bounds is over bounds that are the same for all."""
    by_hand = """
map y
    split o 8 -> o0, o1
    split j 3 -> j0, j1
    reorder o0, n, i, j0, j1, o1
    jam j1
    lane o1
    stage %0 inside o0 over c, p, q, o1 by gather
"""
    f = tadc.function(PADDED)
    x, w = np.ones((4, 16, 24, 24), "f4"), np.ones((32, 16, 3, 3), "f4")
    assert (tadc.compile(f, schedule=by_hand)(x, w) == f(x, w)).all()
    triangle = tadc.function("x: f32[40, 16]; y[o: 16, i: 40] = sum{k}_0^i (x[k, o])")
    steps = "map y split o 8 -> o0, o1 reorder o0, i, o1 lane o1 stage %0 inside o0 over k, o1"
    with pytest.raises(tadc.CompileError, match="the bounds of `k` depend on loops inside"):
        tadc.compile(triangle, schedule=steps)


def test_no_more_is_copied_than_sums_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A buffer for `x - 4 <= z <= x` has no elements of y from before it, and none from behind it."""
    text = (
        "y: f32[16, 100]; w: f32[9]\n"
        "f[n: 16, x: 54] = sum{z}_(max [0; x - 4])^(min [49; x]) (y[n, 2*z] * w[x - z])"
    )
    steps = "split n 16 -> n0, n1 reorder n0, x, n1 lane n1 stage %1 inside x over z, n1 by gather"
    schedule = tmp_path / "f.sched"
    schedule.write_text(f"map f {steps}")
    assert main(["-e", text, "--schedule", str(schedule), "--emit", "loops"]) == 0
    loops = capsys.readouterr().out
    assert loops.count("affine.max affine_map<(d0) -> (0, d0 - 4)>") == 2
    assert loops.count("affine.min affine_map<(d0) -> (50, d0 + 1)>") == 2
    random = np.random.default_rng(3)
    y, w = random.standard_normal((16, 100)), random.standard_normal(9)
    expected = [[sum(row[2 * z] * w[x - z] for z in range(max(0, x - 4), min(49, x) + 1))
                 for x in range(54)] for row in y]  # fmt: skip
    found = tadc.compile(tadc.function(text), schedule=f"map f {steps}")(y.astype("f4"), w.astype("f4"))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "cuts", ["cut %3 i 5 -> i0", "cut %3 n 1 -> n0 cut %3 i 5 -> i0", "cut %3 n 1 -> n0"]
)
def test_blocks_of_a_sum_whose_bounds_move(cuts: str) -> None:
    """They are over all that an element has a term of; a block has the terms that are each one's own."""
    f = tadc.function("""x: f64[3, 24]; d: f64[3, 24]
w[p: 5] = sum{n} (sum{i}_(max [0; 2 - p])^(min [23; 25 - p]) (x[n, i + p - 2]*d[n, i]))""")
    random = np.random.default_rng(2)
    x, d = random.standard_normal((2, 3, 24))
    around = np.pad(x, ((0, 0), (2, 2)))
    expected = [np.sum(around[:, p : p + 24] * d) for p in range(5)]
    np.testing.assert_allclose(tadc.compile(f, schedule=f"map w {cuts}")(x, d), expected, rtol=1e-13)


def test_what_a_residue_reads_is_not_packed_around_its_loop() -> None:
    """The rows of `h` differ between residues of n by 3, whose loop is inside of what fills panels."""
    f = tadc.function(
        "x: f64[B, 5]; h: f64[B, 3, 2]\n"
        "f[b, n: 15] = sum{k} (if {n // 3 >= k} then (h[b, n % 3, k] * x[b, n // 3 - k]) else (0))"
    )
    random = np.random.default_rng(1)
    x, h = random.standard_normal((37, 5)), random.standard_normal((37, 3, 2))
    branches = [[np.convolve(row, taps)[:5] for taps in own] for row, own in zip(x, h, strict=True)]
    np.testing.assert_allclose(f(x, h), np.array(branches).transpose(0, 2, 1).reshape(37, 15), rtol=1e-12)


def test_a_panel_outside_of_a_loop_that_does_not_move_its_read() -> None:
    """Of columns in turns of three the read of a gradient has `x_3 // 3`, which is the same in each turn."""
    f = tadc.function(
        "x: f64[8, 24, 48, 55]; w: f64[40, 24, 3, 1]\n"
        "f[b, o: 40, i: 16, j: 19] = sum{c: 24, p: 3, q: 1} (w[o, c, p, q]*x[b, c, 3*i + p, 3*j + q])"
    )
    w, x, g = (
        np.random.default_rng(n).standard_normal(shape)
        for n, shape in enumerate([(40, 24, 3, 1), (8, 24, 48, 55), (8, 40, 16, 19)])
    )
    wanted = np.zeros_like(x)
    for p in range(3):
        wanted[:, :, p::3, ::3] = np.einsum("oc, boij -> bcij", w[:, :, p, 0], g)
    found = tadc.compile(tadc.vjp(f, wrt=["x"]))(x=x, w=w, df=g)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12)
