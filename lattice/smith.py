"""The Smith normal form S = U A V of an integer matrix, and what follows from it.

The textbook algorithm (Algorithm 1 of Urban and van der Smagt 2017) lets entries explode.
Here the smallest entry becomes the pivot again after every sweep and quotients are
rounded to nearest, which keeps entries small.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property

from tadc.lattice.late_dataclasses import dataclass

Matrix = list[list[int]]


@dataclass(frozen=True)
class SmithForm:
    """`diagonal = left @ matrix @ right` with `left` and `right` unimodular.

    `diagonal` is zero off its diagonal; its first `rank` diagonal entries are positive,
    each divides the next, and the others are zero.
    """

    matrix: Matrix
    diagonal: Matrix
    left: Matrix
    right: Matrix
    rank: int

    @property
    def factors(self) -> list[int]:
        """The invariant factors: the non-zero diagonal entries."""
        return [self.diagonal[i][i] for i in range(self.rank)]

    @property
    def kernel(self) -> Matrix:
        """A basis of {x integer : A x = 0}, one vector a row."""
        return [[row[j] for row in self.right] for j in range(self.rank, len(self.right))]

    @cached_property
    def pseudo_inverse(self) -> list[list[Fraction]]:
        """A rational I with A I A = A: V S+ U, where S+ inverts the invariant factors."""
        return [
            [
                sum((Fraction(row[k] * self.left[k][j], s) for k, s in enumerate(self.factors)), Fraction(0))
                for j in range(len(self.left))
            ]
            for row in self.right
        ]


def smith(matrix: Sequence[Sequence[int]]) -> SmithForm:
    """Compute the Smith normal form of a matrix given by its rows."""
    rows, columns = len(matrix), len(matrix[0]) if matrix else 0
    work = _Work([list(row) for row in matrix], _identity(rows), _identity(columns))
    rank = 0
    while rank < min(rows, columns) and work.diagonalise(rank):
        rank += 1
    right = [list(column) for column in zip(*work.right, strict=True)]
    return SmithForm([list(row) for row in matrix], work.diagonal, work.left, right, rank)


def _identity(size: int) -> Matrix:
    return [[int(i == j) for j in range(size)] for i in range(size)]


def nearest(numerator: int, denominator: int) -> int:
    """The quotient rounded to the nearest integer, for a denominator that is not zero."""
    quotient, remainder = divmod(numerator, denominator)
    return quotient + 1 if 2 * abs(remainder) > abs(denominator) else quotient


class _Work:
    """The matrix being diagonalised; `right` holds V by columns."""

    def __init__(self, diagonal: Matrix, left: Matrix, right: Matrix) -> None:
        self.diagonal = diagonal
        self.left = left
        self.right = right

    def diagonalise(self, t: int) -> bool:
        """Clear row and column `t` but for an entry that divides all that is left; False if nothing is."""
        while self._choose_pivot(t):
            self._sweep(t)
            s = self.diagonal
            pivot = s[t][t]
            if any(row[t] for row in s[t + 1 :]) or any(s[t][t + 1 :]):
                continue
            undivided = next((i for i in range(t + 1, len(s)) if any(x % pivot for x in s[i][t + 1 :])), None)
            if undivided is not None:
                self._add_row(t, undivided, 1)
                continue
            if pivot < 0:
                s[t][t] = -pivot
                self.left[t] = [-x for x in self.left[t]]
            return True
        return False

    def _choose_pivot(self, t: int) -> bool:
        """Move the smallest entry, of the lightest row and column, to the place (t, t)."""
        s = self.diagonal
        row_weight = [sum(map(abs, row)) for row in s]
        column_weight = [sum(map(abs, column)) for column in zip(*s[t:], strict=True)]
        best: tuple[int, int, int, int] | None = None
        for i in range(t, len(s)):
            for j in range(t, len(s[i])):
                if s[i][j] and (best is None or abs(s[i][j]) <= best[0]):
                    candidate = (abs(s[i][j]), row_weight[i] + column_weight[j], i, j)
                    best = candidate if best is None else min(best, candidate)
        if best is None:
            return False
        _, _, i, j = best
        s[t], s[i] = s[i], s[t]
        self.left[t], self.left[i] = self.left[i], self.left[t]
        for row in s:
            row[t], row[j] = row[j], row[t]
        self.right[t], self.right[j] = self.right[j], self.right[t]
        return True

    def _sweep(self, t: int) -> None:
        s = self.diagonal
        pivot = s[t][t]
        for i in range(t + 1, len(s)):
            self._add_row(i, t, -nearest(s[i][t], pivot))
        for j in range(t + 1, len(s[t])):
            factor = nearest(s[t][j], pivot)
            if factor:
                for row in s:
                    row[j] -= factor * row[t]
                self.right[j] = [x - factor * y for x, y in zip(self.right[j], self.right[t], strict=True)]

    def _add_row(self, i: int, j: int, factor: int) -> None:
        if factor:
            for rows in (self.diagonal, self.left):
                rows[i] = [x + factor * y for x, y in zip(rows[i], rows[j], strict=True)]
