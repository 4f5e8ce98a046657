"""Tighter bounds by cutting boxes of inputs: each piece is bounded by itself, and all together hold.

The piece that reaches furthest out decides the bounds, so it is the next to be cut, along the input that has
been cut least (R. Moore, Interval Analysis, 1966, section 6).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tadc.apps.uncertainty.uncertain_numbers import Array
from tadc.toolkit.reporting import ArgumentError

Bounded = Mapping[str, tuple[Any, Any]]
#: Bounds of all outputs over a box, from the lower and upper ends of the inputs, which are one vector.
Enclose = Callable[[Array, Array], Bounded]


@dataclass
class _Piece:
    """A box and the bounds over it, or why it has none."""

    low: Array
    high: Array
    bounds: Bounded = field(default_factory=dict[str, tuple[Any, Any]])
    error: ArgumentError | None = None


def subdivided(enclose: Enclose, low: Array, high: Array, pieces: int) -> Bounded:
    """Bounds of all outputs over a box, from at most so many boxes that make it up.

    Raises ArgumentError of `enclose` where a piece that is left has no bounds.
    """
    left = [_piece(enclose, low, high)]
    while len(left) < pieces:
        reaches = _reaches(left)
        worst = int(np.argmax(reaches))
        halves = _cut(left[worst], high - low) if reaches[worst] > 0 else []
        if not halves:
            break
        left[worst : worst + 1] = [_piece(enclose, *half) for half in halves]
    for piece in left:
        if piece.error is not None:
            raise piece.error
    return _union(left)


def _piece(enclose: Enclose, low: Array, high: Array) -> _Piece:
    try:
        return _Piece(low, high, enclose(low, high))
    except ArgumentError as error:
        return _Piece(low, high, error=error)


def _union(pieces: list[_Piece]) -> Bounded:
    """The least and the greatest of bounds."""
    ends = {name: [piece.bounds[name] for piece in pieces] for name in pieces[0].bounds}
    return {
        name: (np.min([low for low, _ in each], axis=0), np.max([high for _, high in each], axis=0))
        for name, each in ends.items()
    }


def _reaches(pieces: list[_Piece]) -> list[float]:
    """How wide the bounds over each piece are where they are outermost; 0 where others reach further."""
    if any(piece.error for piece in pieces):
        return [np.inf if piece.error else 0.0 for piece in pieces]
    union = _union(pieces)

    def reach(piece: _Piece) -> float:
        widths = [
            np.where((lower <= union[name][0]) | (upper >= union[name][1]), upper - lower, 0.0)
            for name, (lower, upper) in piece.bounds.items()
        ]
        return max(float(np.max(width, initial=0.0)) for width in widths)

    return [reach(piece) for piece in pieces]


def _cut(piece: _Piece, whole: Array) -> list[tuple[Array, Array]]:
    """The two halves along the input that is widest for its first width; none of a box without inside."""
    share = np.divide(piece.high - piece.low, whole, out=np.zeros(whole.shape), where=whole > 0)
    if not share.any():
        return []
    at = int(np.argmax(share))
    middle = (piece.low[at] + piece.high[at]) / 2
    if not piece.low[at] < middle < piece.high[at]:
        return []
    below, above = piece.high.copy(), piece.low.copy()
    below[at] = above[at] = middle
    return [(piece.low, below), (above, piece.high)]
