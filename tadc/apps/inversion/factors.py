"""Factored matrices of components: solutions, transposed solutions, determinants, by NumPy and LAPACK."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tadc.toolkit.reporting import imported

if TYPE_CHECKING:
    from numpy.typing import NDArray

Array: TypeAlias = "NDArray[Any]"


class Factored:
    """A square matrix A, ready to be solved with. `pivots` are numbers of which one is 0 if it is singular.

    `solve` takes a vector b, and whether A is transposed, to the x with A x = b; `logabsdet` is log |det A|,
    of the pivots where it is not given.
    """

    def __init__(
        self,
        pivots: Array,
        solve: Callable[[Array, bool], Array],
        logabsdet: Callable[[], float] | None = None,
    ) -> None:
        self.pivots, self.solve = pivots, solve
        self.logabsdet = logabsdet or (lambda: log_abs(pivots))


def log_abs(pivots: Array) -> float:
    """The sum of logarithms of magnitudes, -inf where one is 0."""
    with np.errstate(divide="ignore"):
        return float(np.log(np.abs(pivots)).sum())


@cache
def _routines(names: tuple[str, ...], kind: str) -> Any:
    note = "diagonal, block-diagonal and permuting components do without"
    routines = imported("scipy.linalg.lapack", "a system of this class needs SciPy", "scipy", note)
    return routines.get_lapack_funcs(names, dtype=kind)


def of_dense(matrix: Array) -> Factored:
    """LU with partial pivoting."""
    factor, solver = _routines(("getrf", "getrs"), matrix.dtype.char)
    lu, order, _ = factor(matrix)
    return Factored(np.diagonal(lu), lambda b, across: solver(lu, order, b, trans=int(across))[0])


def of_diagonal(pivots: Array) -> Factored:
    """Numbers to divide by."""
    return Factored(pivots, lambda b, _: b / pivots)


def of_blocks(matrices: Array) -> Factored:
    """Small systems, one for each element, whose rows follow each other: `matrices[element, row, column]`."""

    def solve(b: Array, across: bool) -> Array:
        chosen = np.swapaxes(matrices, 1, 2) if across else matrices
        return np.linalg.solve(chosen, b.reshape(*matrices.shape[:2], 1)).reshape(-1)

    return Factored(np.linalg.det(matrices), solve, lambda: float(np.linalg.slogdet(matrices)[1].sum()))


def of_parts(parts: Sequence[Factored]) -> Factored:
    """Matrices of one size one after another along the diagonal."""
    if len(parts) == 1:
        return parts[0]

    def solve(b: Array, across: bool) -> Array:
        return np.concatenate(
            [p.solve(v, across) for p, v in zip(parts, b.reshape(len(parts), -1), strict=True)]
        )

    pivots = np.concatenate([part.pivots.ravel() for part in parts])
    return Factored(pivots, solve, lambda: sum(part.logabsdet() for part in parts))


def of_band(band: Array, lower: int, upper: int) -> Factored:
    """LU with partial pivoting of a band; `band[lower + upper + q - p, p]` is element (q, p)."""
    factor, solver = _routines(("gbtrf", "gbtrs"), band.dtype.char)
    lu, order, _ = factor(band, lower, upper, overwrite_ab=1)
    return Factored(
        lu[lower + upper], lambda b, across: solver(lu, lower, upper, b, order, trans=int(across))[0]
    )


def permuted(factors: Factored, order: Array) -> Factored:
    """A matrix by the factors of another, whose row and column k are its row and column `order[k]`."""

    def put_back(moved: Array) -> Array:
        found = np.empty_like(moved)
        found[order] = moved
        return found

    return Factored(put_back(factors.pivots), lambda b, across: put_back(factors.solve(b[order], across)))


def of_three_diagonals(below: Array, diagonal: Array, above: Array) -> Factored:
    """LU with partial pivoting of what is below, on and above the diagonal."""
    factor, solver = _routines(("gttrf", "gttrs"), diagonal.dtype.char)
    *factors, _ = factor(below, diagonal, above)
    return Factored(factors[1], lambda b, across: solver(*factors, b, trans="T" if across else "N")[0])


def of_triangle(matrix: Array, lower: bool) -> Factored:
    """A triangular matrix as it is."""
    (solver,) = _routines(("trtrs",), matrix.dtype.char)
    return Factored(
        np.diagonal(matrix), lambda b, across: solver(matrix, b, lower=lower, trans=int(across))[0]
    )


def of_low_rank(base: Factored, outer: Array, inner: Array) -> Factored:
    """`base + outer @ inner`, by Woodbury's identity; the pivots of base and capacitance matrix."""
    spread = np.stack([base.solve(np.ascontiguousarray(column), False) for column in outer.T], axis=1)
    small = of_dense(np.eye(len(inner), dtype=outer.dtype) + inner @ spread)

    def solve(b: Array, across: bool) -> Array:
        if across:
            return base.solve(b - inner.T @ small.solve(spread.T @ b, True), True)
        found = base.solve(b, False)
        return found - spread @ small.solve(inner @ found, False)

    pivots = np.concatenate([base.pivots.ravel(), small.pivots])
    return Factored(pivots, solve, lambda: base.logabsdet() + small.logabsdet())
