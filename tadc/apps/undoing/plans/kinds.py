"""The classes of matrices of components: how each is solved, and what that costs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

#: Systems of at most this size are solved by formulas, in the kernel.
SMALL = 3
#: A band of more than this share of the matrix is none.
BAND = 3

#: By formulas of the language: Cramer's rule, a gather, a recurrence along the last dimension, one element
#: after another; with pivots: by NumPy, all blocks at once, or by LAPACK.
Method = Literal["formula", "permutation", "recurrence", "triangles", "blocks", "lapack"]


@dataclass(frozen=True)
class MatrixClass:
    """Blocks along the diagonal, `count` of `size` rows: row q of one has columns `q - lower` to `q + upper`.

    Rows are the new elements, columns the dying ones, in row-major order; the first `batch` dimensions say
    which block; within one those of several tensors take turns if `interleaved`. If `cyclic`, columns are
    counted on past the end from the beginning. A permutation has one element in each row and column.
    """

    method: Method
    size: int
    lower: int
    upper: int
    batch: int = 0
    count: int = 1
    interleaved: bool = False
    cyclic: bool = False

    @property
    def base(self) -> MatrixClass:
        """The class in whose order vectors are: its own."""
        return self

    @property
    def is_closed(self) -> bool:
        """Whether formulas solve it."""
        return self.method not in ("blocks", "lapack")

    @property
    def is_band(self) -> bool:
        """Whether few diagonals are occupied."""
        return self.method == "recurrence" or (self.lower + self.upper + 1) * BAND <= self.size

    @property
    def is_one_sided(self) -> bool:
        """Whether nothing is left, or right, of the diagonal."""
        return not self.lower or not self.upper

    @property
    def width(self) -> int:
        """How many columns in turn share no row with the next so many."""
        return self.lower + self.upper + 1 if self.is_band or self.cyclic else self.size

    @property
    def name(self) -> str:
        """The class, as people call it."""
        if self.method == "permutation":
            return "permutation"
        if self.size == 1:
            return "diagonal"
        is_in_blocks = self.count > 1 and self.method != "recurrence"
        found = [f"block-diagonal, {self.count} of {self.size}x{self.size}"] if is_in_blocks else []
        if self.cyclic:
            return f"cyclic banded, {self.lower} below and {self.upper} above"
        if self.is_one_sided:
            found.append(f"{'upper' if self.upper else 'lower'} triangular")
        if self.is_band:
            sides = [f"{self.lower} below"] * (self.lower > 0) + [f"{self.upper} above"] * (self.upper > 0)
            found.append(f"banded, {' and '.join(sides)}")
        return ", ".join(found) or "dense"

    @property
    def cost(self) -> int:
        """Multiplications and divisions of a solve."""
        rows, width = self.count * self.size, self.lower + self.upper + 1
        if self.size == 1 or self.method == "permutation":
            return rows
        if self.cyclic:
            half = 2 * max(self.lower, self.upper)
            return rows * (2 * half + 1) * (half + 2)
        if self.is_band:
            return rows * width * (1 if self.is_one_sided else self.lower + 2)
        return self.count * (self.size * (self.size + 1) // 2 if self.is_one_sided else lu_cost(self.size))


@dataclass(frozen=True)
class LowRank:
    """A matrix of class `base` and a product of low rank: what passes through the values `through`.

    (M. Woodbury, Inverting modified matrices, 1950.)
    """

    base: MatrixClass
    through: tuple[str, ...]
    rank: int
    is_closed = False

    @property
    def name(self) -> str:
        """The class, as people call it."""
        return f"{self.base.name} plus rank {self.rank}"

    @property
    def cost(self) -> int:
        """Multiplications and divisions of a solve."""
        size = self.base.count * self.base.size
        return self.base.cost * (self.rank + 1) + size * self.rank * (self.rank + 1) + lu_cost(self.rank)


@dataclass(frozen=True)
class Steps:
    """A recurrence over whole states, undone step by step: `count` steps, `each` of them of these classes.

    `cost` multiplications and divisions solve it. Formulas do if it `is_closed`. `programs` makes them.
    """

    base: MatrixClass
    count: int
    each: tuple[str, ...]
    cost: int
    is_closed: bool
    programs: object = field(compare=False, repr=False)

    @property
    def name(self) -> str:
        """The class, as people call it."""
        return f"{self.count} steps, each {' and '.join(self.each) or 'a copy'}"


Class = MatrixClass | LowRank | Steps


def dense(size: int) -> MatrixClass:
    """Any element may be occupied."""
    return MatrixClass("lapack", size, size - 1, size - 1)


def full_blocks(method: Method, batch: int, count: int, size: int) -> MatrixClass:
    """Blocks of which any element may be occupied."""
    return MatrixClass(method, size, size - 1, size - 1, batch, count)


def permutation(size: int) -> MatrixClass:
    """Each new element depends on one that dies, each time another."""
    return MatrixClass("permutation", size, 0, 0)


def lu_cost(size: int) -> int:
    """Multiplications and divisions of Gaussian elimination with one right-hand side."""
    return (size**3 - size) // 3 + size**2
