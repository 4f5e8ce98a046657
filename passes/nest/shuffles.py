"""Elements of vectors in other orders, in registers."""

from __future__ import annotations

from collections.abc import Sequence

from tadc.dialect.mlir import ir
from tadc.passes.maps.lower_body import BodyLowering
from tadc.passes.nest.caches import element_bytes
from tadc.passes.nest.joins import Made, Point

PIECE = 16
"""Bytes of a vector in which elements change places at least cost."""


def shuffled(low: BodyLowering, x: ir.Value, y: ir.Value, order: Sequence[int], point: Point) -> ir.Value:
    """Elements of two vectors, one after the other, by their numbers."""
    type = ir.VectorType.get([len(order)], x.type.element_type)
    mask = {"mask": ir.DenseI64ArrayAttr.get([*order])}
    return low.create("vector.shuffle", [type], [x, y], point, mask).results[0]


def transposed(low: BodyLowering, vectors: Sequence[ir.Value], point: Point) -> Made:
    """Of as many vectors as they have elements, the first elements, the second elements, …

    Squares in pieces of 16 bytes first, then the pieces: a processor moves elements within pieces, and whole
    pieces, from two vectors to a third without a table of where they go, which a vector would have to hold.
    """
    width = len(vectors)
    piece = min(width, PIECE // element_bytes(vectors[0].type))
    groups = [_columns(low, vectors[n : n + piece], piece, 1, point) for n in range(0, width, piece)]
    made = [_pieces(low, column, piece, point) for column in zip(*groups, strict=True)]
    return [column[n] for n in range(width // piece) for column in made]


def columns(low: BodyLowering, rows: Sequence[ir.Value], point: Point) -> Made:
    """Of short vectors, more of them than they have elements, the first elements, the second elements, …"""
    short = rows[0].type.shape[0]
    apart: Made = []
    for first in range(short):
        parts = list(rows[first::short])
        while len(parts) > 1:
            order = range(2 * parts[0].type.shape[0])
            pairs = zip(parts[::2], parts[1::2], strict=True)
            parts = [shuffled(low, x, y, order, point) for x, y in pairs]
        apart += parts
    return _columns(low, apart, short, 1, point)


def _columns(low: BodyLowering, rows: Sequence[ir.Value], piece: int, size: int, point: Point) -> Made:
    """Rows whose elements stand in runs of some size, transposed within each piece."""
    if len(rows) == 1:
        return list(rows)
    width = rows[0].type.shape[0]
    made: Made = []
    for half in (0, piece // 2):
        starts = [n for first in range(half, width, piece) for n in range(first, first + piece // 2, size)]
        order = [vector + start + n for start in starts for vector in (0, width) for n in range(size)]
        pairs = zip(rows[::2], rows[1::2], strict=True)
        interleaved = [shuffled(low, x, y, order, point) for x, y in pairs]
        made += _columns(low, interleaved, piece, 2 * size, point)
    return made


def _pieces(low: BodyLowering, vectors: Sequence[ir.Value], piece: int, point: Point) -> Made:
    """Of as many vectors as they have pieces, the first pieces, the second pieces, …"""
    width = vectors[0].type.shape[0]
    orders = [
        [start + n for start in range(first, 2 * width, 2 * piece) for n in range(piece)]
        for first in (0, piece)
    ]
    for _ in range(len(vectors).bit_length() - 1):
        pairs = list(zip(vectors[::2], vectors[1::2], strict=True))
        vectors = [shuffled(low, x, y, order, point) for order in orders for x, y in pairs]
    return list(vectors)
