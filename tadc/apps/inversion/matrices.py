"""Matrices of components from their coloured columns, factored."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from tadc.apps.inversion.factors import (
    Array,
    Factored,
    of_band,
    of_blocks,
    of_dense,
    of_diagonal,
    of_parts,
    of_three_diagonals,
    of_triangle,
    permuted,
)
from tadc.apps.undoing.plans.forms import ComponentForm
from tadc.apps.undoing.plans.kinds import MatrixClass
from tadc.toolkit.running import numpy_type


def joined(kind: MatrixClass, arrays: Sequence[Array], lanes: int = 1) -> Array:
    """The numbers of several tensors as the vector that a class solves for, of each lane: `[lane, row]`."""
    parts = [array.reshape(lanes, kind.count, -1) for array in arrays]
    if len(parts) == 1:
        return parts[0].reshape(lanes, -1)
    found = np.stack(parts, axis=3) if kind.interleaved else np.concatenate(parts, axis=2)
    return found.reshape(lanes, -1)


def parted(form: ComponentForm, kind: MatrixClass, names: Sequence[str], vector: Array) -> dict[str, Array]:
    """The tensors of which a vector is made."""
    found: dict[str, Array] = {}
    rows, start = vector.reshape(kind.count, -1), 0
    for position, name in enumerate(names):
        shape = form.shapes[name]
        end = start + prod(shape) // kind.count
        part = rows[:, position :: len(names)] if kind.interleaved else rows[:, start:end]
        start = end
        found[name] = np.ascontiguousarray(part, numpy_type(form.types[name])).reshape(shape)
    return found


def assembled(kind: MatrixClass, columns: Array) -> Factored:
    """The factors of a matrix from its coloured columns."""
    if kind.size == 1:
        return of_diagonal(columns[0])
    if kind.method != "lapack":
        blocks = columns.reshape(kind.size, kind.count, -1).transpose(1, 2, 0)
        return of_blocks(np.ascontiguousarray(blocks))
    if kind.cyclic:
        return _of_ring(kind, columns)
    if kind.is_band:
        return of_parts(blocks_of(kind, columns))
    whole = whole_matrix(kind, columns)
    return of_triangle(whole, not kind.upper) if kind.is_one_sided else of_dense(whole)


def whole_matrix(kind: MatrixClass, columns: Array) -> Array:
    """The whole matrix; LAPACK wants it by columns, as the lanes are."""
    if kind.count == 1 and not kind.is_band:
        return np.ascontiguousarray(columns).T
    rows = np.arange(kind.count * kind.size)
    whole = np.zeros((len(rows),) * 2, columns.dtype, order="F")
    for offset in range(-kind.lower, kind.upper + 1):
        at = rows % kind.size + offset
        there = rows[(at >= 0) & (at < kind.size)]
        whole[there, there + offset] = columns[(there % kind.size + offset) % len(columns), there]
    return whole


def of_diagonals(kind: MatrixClass, diagonals: Sequence[Array]) -> Factored:
    """The factors of a band from its diagonals, the lowest first, each with an element for each row."""
    size, lower, upper = kind.size, kind.lower, kind.upper
    if lower == upper == 1:
        below, pivots, above = diagonals
        return of_three_diagonals(below[1:], pivots, above[:-1])
    band = np.zeros((2 * lower + upper + 1, size), diagonals[0].dtype, order="F")
    for offset, diagonal in zip(range(-lower, upper + 1), diagonals, strict=True):
        first, last = max(0, -offset), size - max(0, offset)
        band[lower + upper - offset, first + offset : last + offset] = diagonal[first:last]
    return of_band(band, lower, upper)


def blocks_of(kind: MatrixClass, columns: Array) -> list[Factored]:
    """The factors of each block, from coloured columns `[lane, row of all blocks]`."""
    size, lower, upper = kind.size, kind.lower, kind.upper
    lanes = columns.reshape(len(columns), -1, size)
    if not kind.is_band:
        return [of_dense(np.ascontiguousarray(lanes[:, n]).T) for n in range(lanes.shape[1])]
    bands = np.zeros((lanes.shape[1], size, 2 * lower + upper + 1), columns.dtype)
    for offset in range(-lower, upper + 1):
        rows = np.arange(max(0, -offset), size - max(0, offset))
        at = rows + offset
        bands[:, at, lower + upper - offset] = lanes[at % len(lanes), :, rows].T
    return [of_band(band.T, lower, upper) for band in bands]


def _of_ring(kind: MatrixClass, columns: Array) -> Factored:
    """The factors of a band that goes on past the end.

    It is a band twice as wide where rows and columns from both ends take turns: first and last, second and
    last but one, and so on. No corner is left out, so no part must have an inverse of its own.
    """
    size, width, reach = kind.size, kind.width, 2 * max(kind.lower, kind.upper)
    rows = np.arange(size)
    place = np.where(2 * rows < size, 2 * rows, 2 * (size - rows) - 1)
    # Columns that do not fill a round have colours of their own.
    cut = size - size % width
    band = np.zeros((3 * reach + 1, size), columns.dtype, order="F")
    for offset in range(-kind.lower, kind.upper + 1):
        at = (rows + offset) % size
        lane = np.where(at < cut, at % width, at - cut + width)
        band[2 * reach + place[rows] - place[at], place[at]] = columns[lane, rows]
    return permuted(of_band(band, reach, reach), np.argsort(place))
