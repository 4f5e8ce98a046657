"""Matrices of components from their coloured columns, factored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np

from tadc.apps.undoing.factors import (
    Array,
    BandFactors,
    BlockFactors,
    DenseFactors,
    DiagonalFactors,
    Factored,
    PermutedFactors,
    StackedFactors,
    TriangularFactors,
    TridiagonalFactors,
)
from tadc.apps.undoing.forms import Form
from tadc.apps.undoing.kinds import (
    Banded,
    Bands,
    Blocks,
    Class,
    Permutation,
    Recurrent,
    Triangles,
    Triangular,
    is_interleaved,
)
from tadc.toolkit.running import numpy_type

Arrays: TypeAlias = Mapping[str, Array]


def type_of(form: Form, name: str) -> Any:
    """NumPy's type of a tensor."""
    return numpy_type(form.types[name])


def joined(form: Form, kind: Class, names: Sequence[str], arrays: Arrays) -> Array:
    """The numbers of several tensors as the vector that a class solves for; of blocks one after another."""
    if isinstance(kind, Blocks):
        parts = [arrays[name].reshape(kind.count, -1) for name in names]
        return (parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)).reshape(-1)
    parts = [arrays[name].reshape(-1) for name in names]
    if len(parts) == 1:
        return parts[0]
    return np.stack(parts, axis=1).reshape(-1) if is_interleaved(kind) else np.concatenate(parts)


def parted(form: Form, kind: Class, names: Sequence[str], vector: Array) -> dict[str, Array]:
    """The tensors of which a vector of `joined` is made."""
    found: dict[str, Array] = {}
    start = 0
    for position, name in enumerate(names):
        shape = form.shapes[name]
        if isinstance(kind, Blocks):
            size = prod(shape) // kind.count
            part = vector.reshape(kind.count, -1)[:, start : start + size]
        elif is_interleaved(kind):
            size, part = 0, vector[position :: len(names)]
        else:
            size = prod(shape)
            part = vector[start : start + size]
        start += size
        found[name] = np.ascontiguousarray(part, type_of(form, name)).reshape(shape)
    return found


def stacked(form: Form, kind: Class, found: Arrays) -> Array:
    """Of each lane the vector of what is new, in the order of the class: `[lane, row]`."""
    lanes = len(found[form.new[0]])
    if isinstance(kind, Blocks):
        blocks = [found[name].reshape(lanes, kind.count, -1) for name in form.new]
        return np.concatenate(blocks, axis=2).reshape(lanes, -1)
    parts = [found[name].reshape(lanes, -1) for name in form.new]
    if len(parts) == 1:
        return parts[0]
    if is_interleaved(kind):
        return np.stack(parts, axis=2).reshape(lanes, -1)
    return np.concatenate(parts, axis=1)


def assembled(form: Form, kind: Class, found: Arrays) -> Factored:
    """The factors of a matrix from its coloured columns."""
    if isinstance(kind, Blocks):
        columns = stacked(form, kind, found)
        if kind.size == 1:
            return DiagonalFactors(columns[0])
        return BlockFactors(
            np.ascontiguousarray(columns.reshape(kind.size, kind.count, -1).transpose(1, 2, 0))
        )
    if isinstance(kind, Bands):
        return StackedFactors(factors_of_bands(kind, stacked(form, kind, found)), kind.size)
    if isinstance(kind, Banded):
        return _band(kind, stacked(form, kind, found))
    if isinstance(kind, Permutation | Recurrent | Triangles):
        return DiagonalFactors(stacked(form, kind, found)[0])
    if isinstance(kind, Triangular):
        return TriangularFactors(whole_matrix(form, kind, found), kind.lower)
    return DenseFactors(whole_matrix(form, kind, found))


def whole_matrix(form: Form, kind: Class, found: Arrays) -> Array:
    """The whole matrix; LAPACK wants it by columns, as the lanes are."""
    columns = stacked(form, kind, found)
    if isinstance(kind, Banded):
        whole = np.zeros((kind.size, kind.size), columns.dtype, order="F")
        for offset in range(-kind.lower, kind.upper + 1):
            rows = np.arange(max(0, -offset), kind.size - max(0, offset))
            whole[rows, rows + offset] = columns[(rows + offset) % len(columns), rows]
        return whole
    if isinstance(kind, Blocks):
        whole = np.zeros((kind.size * kind.count,) * 2, columns.dtype, order="F")
        for lane, column in enumerate(columns):
            places = np.arange(kind.count) * kind.size
            block = column.reshape(kind.count, kind.size)
            for row in range(kind.size):
                whole[places + row, places + lane] = block[:, row]
        return whole
    return np.ascontiguousarray(columns).T


def of_diagonals(kind: Banded, diagonals: Sequence[Array]) -> Factored:
    """The factors of a band from its diagonals, the lowest first, each with an element for each row."""
    size, lower, upper = kind.size, kind.lower, kind.upper
    if lower == upper == 1:
        below, pivots, above = diagonals
        return TridiagonalFactors(below[1:], pivots, above[:-1])
    band = np.zeros((2 * lower + upper + 1, size), diagonals[0].dtype, order="F")
    for offset, diagonal in zip(range(-lower, upper + 1), diagonals, strict=True):
        first, last = max(0, -offset), size - max(0, offset)
        band[lower + upper - offset, first + offset : last + offset] = diagonal[first:last]
    return BandFactors(band, lower, upper)


def factors_of_bands(kind: Bands, columns: Array) -> list[Factored]:
    """The factors of each block, from coloured columns `[lane, row of all blocks]`."""
    size, lower, upper = kind.size, kind.lower, kind.upper
    lanes = columns.reshape(len(columns), kind.count, size)
    bands = np.zeros((kind.count, size, 2 * lower + upper + 1), columns.dtype)
    for offset in range(-lower, upper + 1):
        rows = np.arange(max(0, -offset), size - max(0, offset))
        at = rows + offset
        bands[:, at, lower + upper - offset] = lanes[at % len(lanes), :, rows].T
    return [BandFactors(band.T, lower, upper) for band in bands]


def _band(kind: Banded, columns: Array) -> Factored:
    """The factors of a band from coloured columns.

    One that goes on past the end is a band twice as wide where rows and columns from both ends take turns:
    first and last, second and last but one, and so on. No corner is left out, so no part must have an inverse
    of its own.
    """
    size, lower, upper = kind.size, kind.lower, kind.upper
    place = np.arange(size)
    if kind.cyclic:
        lower = upper = 2 * max(lower, upper)
        place = np.where(2 * place < size, 2 * place, 2 * (size - place) - 1)
    band = np.zeros((2 * lower + upper + 1, size), columns.dtype, order="F")
    for offset in range(-kind.lower, kind.upper + 1):
        rows = np.arange(size) if kind.cyclic else np.arange(max(0, -offset), size - max(0, offset))
        at = (rows + offset) % size
        band[lower + upper + place[rows] - place[at], place[at]] = columns[_lane(kind, at), rows]
    factors = BandFactors(band, lower, upper)
    return PermutedFactors(factors, np.argsort(place)) if kind.cyclic else factors


def _lane(kind: Banded, columns: Array) -> Array:
    """The colours of columns, as `programs.colours` gives them."""
    width = kind.lower + kind.upper + 1
    if not kind.cyclic:
        return columns % width
    cut = kind.size - kind.size % width
    return np.where(columns < cut, columns % width, columns - cut + width)
