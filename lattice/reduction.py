"""Short bases of integer lattices: LLL, and the reduction of a vector against a basis."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from tadc.lattice.smith import nearest

Vector = list[int]


def dot(a: Sequence[int], b: Sequence[int]) -> int:
    """The scalar product."""
    return sum(x * y for x, y in zip(a, b, strict=True))


def lll(rows: Sequence[Sequence[int]]) -> list[Vector]:
    """A basis of the same lattice that is LLL-reduced with delta = 3/4.

    All in integers (Cohen, A Course in Computational Algebraic Number Theory,
    Algorithm 2.6.7). The rows must be linearly independent, else ValueError.
    """
    state = _Reduction([list(row) for row in rows])
    k, size = 1, len(state.basis)
    while k < size:
        state.shorten(k, k - 1)
        if state.must_swap(k):
            state.swap(k)
            k = max(1, k - 1)
            continue
        for j in range(k - 2, -1, -1):
            state.shorten(k, j)
        k += 1
    return state.basis


class _Reduction:
    """The basis with its Gram-Schmidt data in integers.

    With b*_i the orthogonalised rows, `det[i]` is the product of |b*_j|^2 for j < i and
    `proj[i][j] = det[j + 1] * mu_ij`.
    """

    def __init__(self, basis: list[Vector]) -> None:
        self.basis = basis
        size = len(basis)
        self.det = [1] * (size + 1)
        self.proj = [[0] * size for _ in range(size)]
        for i in range(size):
            for j in range(i + 1):
                value = dot(basis[i], basis[j])
                for k in range(j):
                    value = (self.det[k + 1] * value - self.proj[i][k] * self.proj[j][k]) // self.det[k]
                if j < i:
                    self.proj[i][j] = value
                else:
                    self.det[i + 1] = value
            if not self.det[i + 1]:
                raise ValueError("the rows are linearly dependent")

    def shorten(self, k: int, j: int) -> None:
        """Subtract from row k the multiple of row j that makes |mu_kj| at most 1/2."""
        factor = nearest(self.proj[k][j], self.det[j + 1])
        if not factor:
            return
        self.basis[k] = [x - factor * y for x, y in zip(self.basis[k], self.basis[j], strict=True)]
        self.proj[k][j] -= factor * self.det[j + 1]
        for i in range(j):
            self.proj[k][i] -= factor * self.proj[j][i]

    def must_swap(self, k: int) -> bool:
        """Whether Lovasz' condition fails between rows k - 1 and k."""
        mixed = self.proj[k][k - 1]
        return 4 * (self.det[k + 1] * self.det[k - 1] + mixed * mixed) < 3 * self.det[k] * self.det[k]

    def swap(self, k: int) -> None:
        """Exchange rows k - 1 and k."""
        basis, proj, det = self.basis, self.proj, self.det
        basis[k], basis[k - 1] = basis[k - 1], basis[k]
        for j in range(k - 1):
            proj[k][j], proj[k - 1][j] = proj[k - 1][j], proj[k][j]
        mixed = proj[k][k - 1]
        new = (det[k - 1] * det[k + 1] + mixed * mixed) // det[k]
        for row in proj[k + 1 :]:
            below = row[k]
            row[k] = (det[k + 1] * row[k - 1] - mixed * below) // det[k]
            row[k - 1] = (new * below + mixed * row[k]) // det[k + 1]
        det[k] = new


def nearest_plane(vector: Sequence[int], basis: Sequence[Sequence[int]]) -> Vector:
    """A short vector that differs from `vector` by a point of the basis' lattice (Babai 1986)."""
    orthogonal: list[list[Fraction]] = []
    for row in basis:
        rest = [Fraction(x) for x in row]
        for q in orthogonal:
            rest = _without(rest, q, _ratio(row, q))
        orthogonal.append(rest)
    short = list(vector)
    for row, q in zip(reversed(basis), reversed(orthogonal), strict=True):
        ratio = _ratio(short, q)
        factor = nearest(ratio.numerator, ratio.denominator)
        if factor:
            short = [x - factor * y for x, y in zip(short, row, strict=True)]
    return short


def _ratio(vector: Sequence[int], q: Sequence[Fraction]) -> Fraction:
    along = sum((x * y for x, y in zip(vector, q, strict=True)), Fraction(0))
    return along / sum((y * y for y in q), Fraction(0))


def _without(vector: Sequence[Fraction], q: Sequence[Fraction], factor: Fraction) -> list[Fraction]:
    return [x - factor * y for x, y in zip(vector, q, strict=True)]
