"""Sums of quasi-polynomials over ranges of integers, from few of their values, exactly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import comb

Amount = tuple[int, ...]
"""Integers that are summed up side by side."""

Value = Callable[[int], Amount]


def plus(x: Amount, y: Amount) -> Amount:
    """The sum."""
    return tuple([a + b for a, b in zip(x, y, strict=True)])


def times(x: Amount, factor: int) -> Amount:
    """A multiple."""
    return tuple([a * factor for a in x])


def sum_of_pieces(
    value: Value, low: int, high: int, zones: Sequence[tuple[int, int]], period: int, degree: int
) -> Amount:
    """`value(low) + … + value(high)`, for a range that is not empty.

    Between the zones the value is a polynomial of at most this degree on each class of residues modulo the
    period, and is taken at as many points as that needs and one more; where this one is not on the
    polynomial, and in the zones, at every point.
    """
    total: Amount | None = None
    at = low
    for first, last in (*sorted(zones), (high + 1, high + 1)):
        first, last = min(max(first, at), high + 1), min(last, high)
        if at < first:
            found = _piece(value, at, first - 1, period, degree)
            total = found if total is None else plus(total, found)
            at = first
        if at <= last:
            found = _each(value, range(at, last + 1))
            total = found if total is None else plus(total, found)
            at = last + 1
    assert total is not None
    return total


def _each(value: Value, points: range) -> Amount:
    total = value(points[0])
    for point in points[1:]:
        total = plus(total, value(point))
    return total


def _piece(value: Value, low: int, high: int, period: int, degree: int) -> Amount:
    """The sum where there is one polynomial for each class."""
    if high - low + 1 <= period * (degree + 2):
        return _each(value, range(low, high + 1))
    parts = [_class(value, range(first, high + 1, period), degree) for first in range(low, low + period)]
    total = parts[0]
    for part in parts[1:]:
        total = plus(total, part)
    return total


def _class(value: Value, points: range, degree: int) -> Amount:
    """The sum over one class, by Newton's forward differences: `sum_t p(t) = sum_k D^k p(0) C(n, k + 1)`."""
    n = len(points)
    if n <= degree + 2:
        return _each(value, points)
    rows = [value(point) for point in points[: degree + 1]]
    differences: list[Amount] = []
    while rows:
        differences.append(rows[0])
        rows = [plus(y, times(x, -1)) for x, y in pairwise(rows)]
    ends = [times(d, comb(n - 1, k)) for k, d in enumerate(differences)]
    last = ends[0]
    for end in ends[1:]:
        last = plus(last, end)
    if last != value(points[-1]):
        return _each(value, points)
    total = times(differences[0], n)
    for k, difference in enumerate(differences[1:], 1):
        total = plus(total, times(difference, comb(n, k + 1)))
    return total
