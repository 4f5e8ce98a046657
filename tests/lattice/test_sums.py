"""Sums from few values against sums over all."""

from __future__ import annotations

from tadc.lattice.affine import Affine
from tadc.lattice.breakpoints import critical, zones
from tadc.lattice.sums import Amount, sum_of_pieces


class _Watched:
    """`max(0, x // 2 - 20)**2`, and how often it was asked for."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, x: int) -> Amount:
        self.asked += 1
        return (max(0, x // 2 - 20) ** 2, 1)


def test_few_values_tell_a_sum() -> None:
    value, plain = _Watched(), _Watched()
    expected = sum(plain(x)[0] for x in range(-300, 1001))
    assert sum_of_pieces(value, -300, 1000, [(38, 42)], 2, 2) == (expected, 1301)
    assert value.asked < 30


def test_a_missed_breakpoint_is_seen() -> None:
    """Where the last point is not on the polynomial, all points are asked for."""
    value, plain = _Watched(), _Watched()
    expected = sum(plain(x)[0] for x in range(201))
    assert sum_of_pieces(value, 0, 200, [], 2, 2) == (expected, 201)


def test_zones_overlap_and_leave_the_range() -> None:
    value, plain = _Watched(), _Watched()
    expected = sum(plain(x)[0] for x in range(501))
    found = [(490, 700), (-7, 3), (35, 45), (40, 50), (36, 36)]
    assert sum_of_pieces(value, 0, 500, found, 2, 2) == (expected, 501)


def test_crossings_of_bounds() -> None:
    """`sum{w}_(v - 3)^(min [9; 20 - v])` changes where v is about 12, where any two of its bounds meet."""
    v, w = Affine.var("v"), Affine.var("w")
    inner = critical([w - (v - 3), 9 - w, 20 - v - w]).summed("w")
    assert inner is not None
    assert (inner.period, inner.degree) == (1, 1)
    found = zones(inner.forms, "v", {})
    assert any(low <= 11 and high >= 12 for low, high in found)
    assert not any(low <= 3 <= high for low, high in found)


def test_a_rounding_repeats() -> None:
    v, w = Affine.var("v"), Affine.var("w")
    inner = critical([3 * w - v, (v + 5).floordiv(2) - w]).summed("w")
    assert inner is not None
    assert inner.period % 6 == 0
