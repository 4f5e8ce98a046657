"""Choices by an equality, in sums that a tile computes in vectors: `sum{j} (if {i != j} then … else (0))`."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tadc

ENERGY = """x: f64[N, 3]; q: f64[N]
e[i: N] = sum{j: N} (if {i != j} then (q[i]*q[j] / sqrt(sum{d} ((x[i, d] - x[j, d])**2))) else (0))"""

#: A choice in a sum over j, of i below 37 and j below 53; the same in NumPy, where `c` is the condition.
CHOICES = {
    "if {i = j} then (0) else (T)": lambda i, j, t: np.where(i == j, 0, t),
    "if {i = j} then (T) else (0)": lambda i, j, t: np.where(i == j, t, 0),
    "if {i = j} then (1 + T**2) else (T)": lambda i, j, t: np.where(i == j, 1 + t**2, t),
    "if {j = 52 - i} then (2) else (T)": lambda i, j, t: np.where(j == 52 - i, 2, t),
    "if {2*i = j} then (0) else (T)": lambda i, j, t: np.where(2 * i == j, 0, t),
    "if {i = 3*j} then (0) else (T)": lambda i, j, t: np.where(i == 3 * j, 0, t),
    "if {j = 17} then (0) else (T)": lambda i, j, t: np.where(j == 17, 0, t),
    "if {j = i // 4} then (0) else (T)": lambda i, j, t: np.where(j == i // 4, 0, t),
    "if {j = i + 100} then (0) else (T)": lambda i, j, t: np.where(j == i + 100, 0, t),
    "if {i = j and i >= 9} then (0) else (T)": lambda i, j, t: np.where((i == j) & (i >= 9), 0, t),
    "if {i = j} then (0) else (if {i = j + 1} then (3) else (T))": lambda i, j, t: np.where(
        i == j, 0, np.where(i == j + 1, 3, t)
    ),
}


@pytest.mark.parametrize("type", ["f64", "f32"])
@pytest.mark.parametrize("written", CHOICES)
def test_sums_with_an_equality(written: str, type: str) -> None:
    term = written.replace("T", "(exp(x[i]*y[j]))")
    f = tadc.function(f"x: {type}[37]; y: {type}[53]; s[i] = sum{{j}} ({term})")
    random = np.random.default_rng(0)
    x, y = (random.random(n).astype(np.float32 if type == "f32" else float) for n in (37, 53))
    i, j = np.arange(37)[:, None], np.arange(53)[None]
    t = np.exp(x[:, None].astype(float) * y)
    expected = CHOICES[written](i, j, t).sum(1)
    np.testing.assert_allclose(f(x, y), expected, rtol=1e-5 if type == "f32" else 1e-12)
    schedule = f.lower().schedule
    if "split j" not in schedule:
        # The order of additions is that of a kernel that computes one element at a time.
        plain = re.sub(r"(?m)^    .*\n", "", schedule)
        np.testing.assert_array_equal(tadc.compile(f, schedule=plain)(x, y), f(x, y))


def test_most_of_a_loop_has_no_masks_and_shares_what_copies_share() -> None:
    f = tadc.vjp(tadc.function(ENERGY, sizes={"N": 2000}), "x")
    loops = f.lower().as_text("loops")
    parts = loops.split("scf.for %")
    # Short vectors of coordinates have a mask that is the same at all times.
    masked = re.compile(r"maskedload %\w+\[.*?\], %(?!cst)")
    whole = [part for part in parts if "math.sqrt" in part and not masked.search(part)]
    assert len(whole) >= 2
    # Three copies, one for each coordinate, have one root; the division by it too.
    for part in whole:
        vectors = part.count("math.sqrt")
        assert part.count("arith.divf") <= 5 * vectors


def test_parts_where_a_choice_cannot_hold_have_no_code() -> None:
    """No row is before the first, and the first row itself, which is rare, is worth one loop."""
    text = "x: f64[N, M]; f = sum{i, j} (if {i = 0 and j = 0} then (0) else (log(x[i, j])))"
    f = tadc.function(text)
    assert f.lower().as_text("loops").count("math.log") <= 16  # with four copies of vectors
    x = np.random.default_rng(0).random((5, 19)) + 0.5
    np.testing.assert_allclose(f(x), np.log(x).sum() - np.log(x[0, 0]), rtol=1e-13)


def test_elements_that_are_read_under_conditions_cost_no_jump() -> None:
    text = """x: f64[N, M]; f = sum{i, j} (log((if {i >= 1 and j >= 1} then (x[i - 1, j - 1]) else (0))
        + if {j >= 1} then (x[i, j - 1]) else (0) + x[i, j]))"""
    f = tadc.function(text)
    assert f.lower().as_text("loops").count("scf.if") <= 2  # where there is a row, and where a column
    x = np.random.default_rng(0).random((5, 19)) + 0.5
    near = x.copy()
    near[:, 1:] += x[:, :-1]
    near[1:, 1:] += x[:-1, :-1]
    np.testing.assert_allclose(f(x), np.log(near).sum(), rtol=1e-13)


@pytest.mark.parametrize("n", [1, 5, 23])
def test_rows_of_a_tile_that_begin_and_end_apart(n: int) -> None:
    f = tadc.vjp(
        tadc.function("m: f64[N]; d: f64[N, N]; e = sum{i} (sum{j}_0^(i - 1) (m[i]*m[j]/d[i, j]))"), "m"
    )
    random = np.random.default_rng(0)
    m, d = random.random(n), random.random((n, n)) + 0.5
    below = np.tril(1 / d, -1)
    np.testing.assert_allclose(f(m, d, 1.0), (below + below.T) @ m, rtol=1e-12)


def test_energies_and_forces_of_charges() -> None:
    f = tadc.value_and_vjp(tadc.function(ENERGY))
    random = np.random.default_rng(1)
    for n in (1, 2, 7, 40):
        x, q, de = random.random((n, 3)), random.random(n), random.random(n)
        apart = x[:, None] - x[None]
        r = np.sqrt((apart**2).sum(2)) + np.eye(n)
        off = 1 - np.eye(n)
        both = (de[:, None] + de[None]) * off
        e, dx, dq = f(x, q, de)
        np.testing.assert_allclose(e, (off * q[:, None] * q / r).sum(1), rtol=1e-10)
        np.testing.assert_allclose(dq, (both * q / r).sum(1), rtol=1e-10, atol=1e-12)
        pull = both * q[:, None] * q / r**3
        np.testing.assert_allclose(dx, -(pull[:, :, None] * apart).sum(1), rtol=1e-9, atol=1e-9)
