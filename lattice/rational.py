"""Exact linear algebra over the rationals, for what integers alone do not decide."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from tadc.lattice.smith import Matrix

Rows = list[list[Fraction]]


def product(left: Sequence[Sequence[int]], right: Sequence[Sequence[int]]) -> Matrix:
    """The product of two matrices of integers."""
    columns = list(zip(*right, strict=True))
    return [[sum(x * y for x, y in zip(row, column, strict=True)) for column in columns] for row in left]


def determinant(matrix: Sequence[Sequence[int]]) -> int:
    """The determinant of a square matrix of integers, by elimination without fractions (Bareiss 1968)."""
    rows = [list(row) for row in matrix]
    sign, previous = 1, 1
    for t in range(len(rows)):
        pivot = next((i for i in range(t, len(rows)) if rows[i][t]), None)
        if pivot is None:
            return 0
        if pivot != t:
            rows[t], rows[pivot] = rows[pivot], rows[t]
            sign = -sign
        for i in range(t + 1, len(rows)):
            rows[i] = [
                (x * rows[t][t] - rows[i][t] * y) // previous for x, y in zip(rows[i], rows[t], strict=True)
            ]
        previous = rows[t][t]
    return sign * previous


def inverse(matrix: Sequence[Sequence[int]]) -> Matrix:
    """The inverse of a unimodular matrix; raises ValueError for any other."""
    size = len(matrix)
    joined = [[*map(Fraction, row), *(Fraction(i == j) for j in range(size))] for i, row in enumerate(matrix)]
    if len(_reduce(joined, size)) < size or any(x.denominator > 1 for row in joined for x in row[size:]):
        raise ValueError("the matrix is not unimodular")
    return [[int(x) for x in row[size:]] for row in joined]


def combination(vectors: Sequence[Sequence[Fraction]], target: Sequence[Fraction]) -> list[Fraction] | None:
    """Factors with which the vectors add up to the target; None where there are none."""
    rows = [[*column, t] for *column, t in zip(*vectors, target, strict=True)]
    pivots = _reduce(rows, len(vectors))
    if any(row[-1] for row in rows[len(pivots) :]):
        return None
    factors = [Fraction(0)] * len(vectors)
    for row, pivot in zip(rows, pivots, strict=False):
        factors[pivot] = row[-1]
    return factors


def _reduce(rows: Rows, width: int) -> list[int]:
    """Gauss-Jordan elimination in place on the first `width` columns; the pivot column of each row."""
    pivots: list[int] = []
    for column in range(width):
        done = len(pivots)
        found = next((i for i in range(done, len(rows)) if rows[i][column]), None)
        if found is None:
            continue
        rows[done], rows[found] = rows[found], rows[done]
        rows[done] = [x / rows[done][column] for x in rows[done]]
        for i, row in enumerate(rows):
            if i != done and row[column]:
                rows[i] = [x - row[column] * y for x, y in zip(row, rows[done], strict=True)]
        pivots.append(column)
    return pivots
