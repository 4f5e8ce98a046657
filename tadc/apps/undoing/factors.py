"""Factored matrices of components: solutions, transposed solutions, determinants, by LAPACK."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tadc.toolkit.reporting import imported

if TYPE_CHECKING:
    from numpy.typing import NDArray

Array: TypeAlias = "NDArray[Any]"


class Factored(ABC):
    """A square matrix, ready to be solved with. `pivots` are numbers of which one is 0 if it is singular."""

    pivots: Array

    @abstractmethod
    def solve(self, right: Array) -> Array:
        """The x with A x = right, of one vector."""

    @abstractmethod
    def solve_transposed(self, right: Array) -> Array:
        """The x with A^T x = right."""

    @property
    def logabsdet(self) -> float:
        """log |det A|."""
        with np.errstate(divide="ignore"):
            return float(np.log(np.abs(self.pivots)).sum())


def lapack(names: tuple[str, ...], array: Array) -> Any:
    """Routines of LAPACK for the type of an array."""
    return _routines(names, array.dtype.char)


@cache
def _routines(names: tuple[str, ...], kind: str) -> Any:
    note = "diagonal, block-diagonal and permuting components do without"
    routines = imported("scipy.linalg.lapack", "a system of this class needs SciPy", "scipy", note)
    return routines.get_lapack_funcs(names, dtype=kind)


class DenseFactors(Factored):
    """LU with partial pivoting."""

    def __init__(self, matrix: Array) -> None:
        factor, self._solver = lapack(("getrf", "getrs"), matrix)
        self._lu, self._order, _ = factor(matrix)
        self.pivots = np.diagonal(self._lu)

    def solve(self, right: Array) -> Array:
        """As `Factored.solve`."""
        return self._solver(self._lu, self._order, right)[0]

    def solve_transposed(self, right: Array) -> Array:
        """As `Factored.solve_transposed`."""
        return self._solver(self._lu, self._order, right, trans=1)[0]


class DiagonalFactors(Factored):
    """Numbers to divide by."""

    def __init__(self, pivots: Array) -> None:
        self.pivots = pivots

    def solve(self, right: Array) -> Array:
        """As `Factored.solve`."""
        return right / self.pivots

    def solve_transposed(self, right: Array) -> Array:
        """As `Factored.solve_transposed`."""
        return right / self.pivots


class BlockFactors(Factored):
    """Small systems, one for each element: `matrices[element, row, column]`."""

    def __init__(self, matrices: Array) -> None:
        self._matrices = matrices
        self.pivots = np.linalg.det(matrices)

    def solve(self, right: Array) -> Array:
        """As `Factored.solve`, of the rows of one element after another."""
        return self._solved(self._matrices, right)

    def solve_transposed(self, right: Array) -> Array:
        """As `Factored.solve_transposed`."""
        return self._solved(np.swapaxes(self._matrices, 1, 2), right)

    def _solved(self, matrices: Array, right: Array) -> Array:
        return np.linalg.solve(matrices, right.reshape(*matrices.shape[:2], 1)).reshape(-1)

    @cached_property
    def _slogdet(self) -> float:
        return float(np.linalg.slogdet(self._matrices)[1].sum())

    @property
    def logabsdet(self) -> float:
        """As `Factored.logabsdet`."""
        return self._slogdet


class StackedFactors(Factored):
    """Matrices one after another along the diagonal, each with factors of its own."""

    def __init__(self, parts: list[Factored], size: int) -> None:
        self.parts, self._size = parts, size
        self.pivots = np.concatenate([part.pivots.ravel() for part in parts])

    def solve(self, right: Array) -> Array:
        """As `Factored.solve`."""
        vectors = right.reshape(len(self.parts), self._size)
        return np.concatenate([part.solve(v) for part, v in zip(self.parts, vectors, strict=True)])

    def solve_transposed(self, right: Array) -> Array:
        """As `Factored.solve_transposed`."""
        vectors = right.reshape(len(self.parts), self._size)
        return np.concatenate([part.solve_transposed(v) for part, v in zip(self.parts, vectors, strict=True)])

    @property
    def logabsdet(self) -> float:
        """As `Factored.logabsdet`."""
        return sum(part.logabsdet for part in self.parts)


class BandFactors(Factored):
    """LU with partial pivoting of a band; `band[lower + upper + q - p, p]` is element (q, p)."""

    def __init__(self, band: Array, lower: int, upper: int) -> None:
        factor, self._solver = lapack(("gbtrf", "gbtrs"), band)
        self._lower, self._upper = lower, upper
        self._lu, self._order, _ = factor(band, lower, upper, overwrite_ab=1)
        self.pivots = self._lu[lower + upper]

    def solve(self, right: Array) -> Array:
        """As `Factored.solve`."""
        return self._solver(self._lu, self._lower, self._upper, right, self._order)[0]

    def solve_transposed(self, right: Array) -> Array:
        """As `Factored.solve_transposed`."""
        return self._solver(self._lu, self._lower, self._upper, right, self._order, trans=1)[0]


class PermutedFactors(Factored):
    """A matrix by the factors of another, whose row and column k are its row and column `order[k]`."""

    def __init__(self, factors: Factored, order: Array) -> None:
        self._factors, self._order = factors, order
        self.pivots = self._put_back(factors.pivots)

    def solve(self, right: Array) -> Array:
        """As `Factored.solve`."""
        return self._put_back(self._factors.solve(right[self._order]))

    def solve_transposed(self, right: Array) -> Array:
        """As `Factored.solve_transposed`."""
        return self._put_back(self._factors.solve_transposed(right[self._order]))

    def _put_back(self, moved: Array) -> Array:
        found = np.empty_like(moved)
        found[self._order] = moved
        return found


class TridiagonalFactors(Factored):
    """LU with partial pivoting of three diagonals: what is below, on and above the main one."""

    def __init__(self, below: Array, diagonal: Array, above: Array) -> None:
        factor, self._solver = lapack(("gttrf", "gttrs"), diagonal)
        *self._factors, _ = factor(below, diagonal, above)
        self.pivots = self._factors[1]

    def solve(self, right: Array) -> Array:
        """As `Factored.solve`."""
        return self._solver(*self._factors, right)[0]

    def solve_transposed(self, right: Array) -> Array:
        """As `Factored.solve_transposed`."""
        return self._solver(*self._factors, right, trans="T")[0]


class TriangularFactors(Factored):
    """A triangular matrix as it is."""

    def __init__(self, matrix: Array, lower: bool) -> None:
        (self._solver,) = lapack(("trtrs",), matrix)
        self._matrix, self._lower = matrix, lower
        self.pivots = np.diagonal(matrix)

    def solve(self, right: Array) -> Array:
        """As `Factored.solve`."""
        return self._solver(self._matrix, right, lower=self._lower)[0]

    def solve_transposed(self, right: Array) -> Array:
        """As `Factored.solve_transposed`."""
        return self._solver(self._matrix, right, lower=self._lower, trans=1)[0]


@dataclass
class LowRankFactors(Factored):
    """`base + outer @ inner`, by Woodbury's identity; the pivots of base and capacitance matrix."""

    base: Factored
    outer: Array
    inner: Array

    def __post_init__(self) -> None:
        columns = [self.base.solve(np.ascontiguousarray(column)) for column in self.outer.T]
        self._spread = np.stack(columns, axis=1)
        self._small = DenseFactors(
            np.eye(len(self.inner), dtype=self.outer.dtype) + self.inner @ self._spread
        )
        self.pivots = np.concatenate([self.base.pivots.ravel(), self._small.pivots])

    def solve(self, right: Array) -> Array:
        """As `Factored.solve`."""
        found = self.base.solve(right)
        return found - self._spread @ self._small.solve(self.inner @ found)

    def solve_transposed(self, right: Array) -> Array:
        """As `Factored.solve_transposed`."""
        small = self._small.solve_transposed(self._spread.T @ right)
        return self.base.solve_transposed(right - self.inner.T @ small)

    @property
    def logabsdet(self) -> float:
        """As `Factored.logabsdet`."""
        return self.base.logabsdet + self._small.logabsdet
