"""Tighter bounds by cutting boxes of inputs: each piece is bounded by itself, and all together hold.

The piece that reaches furthest out decides the bounds, so it is the next to be cut, along the input that has
been cut least (R. Moore, Interval Analysis, 1966, section 6).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from tadc.apps.uncertainty.uncertain_numbers import Array
from tadc.toolkit.reporting import ArgumentError

#: Bounds of all outputs over a box, from the lower and upper ends of the inputs.
Enclose = Callable[[Mapping[str, Array], Mapping[str, Array]], Mapping[str, tuple[Array, Array]]]


@dataclass
class _Piece:
    """A box and the bounds over it, or why it has none."""

    low: dict[str, Array]
    high: dict[str, Array]
    bounds: Mapping[str, tuple[Array, Array]]
    error: ArgumentError | None = None


def subdivided(
    enclose: Enclose, low: Mapping[str, Array], high: Mapping[str, Array], pieces: int
) -> dict[str, tuple[Array, Array]]:
    """Bounds of all outputs over a box, from at most so many boxes that make it up.

    Raises ArgumentError of `enclose` where a piece that is left has no bounds.
    """
    whole = {name: np.asarray(high[name] - low[name]) for name in low}
    left = [_piece(enclose, dict(low), dict(high))]
    while len(left) < pieces:
        reaches = _reaches(left)
        worst = int(np.argmax(reaches))
        halves = _cut(left[worst], whole) if reaches[worst] > 0 else None
        if halves is None:
            break
        left[worst : worst + 1] = [_piece(enclose, *half) for half in halves]
    for piece in left:
        if piece.error is not None:
            raise piece.error
    return _union(left)


def _piece(enclose: Enclose, low: dict[str, Array], high: dict[str, Array]) -> _Piece:
    try:
        return _Piece(
            low, high, {n: (np.asarray(a), np.asarray(b)) for n, (a, b) in enclose(low, high).items()}
        )
    except ArgumentError as error:
        return _Piece(low, high, {}, error)


def _union(pieces: list[_Piece]) -> dict[str, tuple[Array, Array]]:
    known = [piece.bounds for piece in pieces if piece.error is None]
    return {
        name: (
            np.min([bounds[name][0] for bounds in known], axis=0),
            np.max([bounds[name][1] for bounds in known], axis=0),
        )
        for name in known[0]
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


def _cut(piece: _Piece, whole: Mapping[str, Array]) -> list[tuple[dict[str, Array], dict[str, Array]]] | None:
    """The two halves along the input that is widest for its first width; None of a box without inside."""
    best: tuple[float, str, tuple[int, ...]] | None = None
    for name, width in whole.items():
        share = np.divide(
            piece.high[name] - piece.low[name], width, out=np.zeros(np.shape(width)), where=width > 0
        )
        if share.size:
            at = tuple(int(i) for i in np.unravel_index(int(np.argmax(share)), share.shape))
            best = max(best or (0.0, "", ()), (float(share[at]), name, at))
    if best is None or not best[0]:
        return None
    _, name, at = best
    middle = (piece.low[name][at] + piece.high[name][at]) / 2
    if not piece.low[name][at] < middle < piece.high[name][at]:
        return None
    below, above = piece.high[name].copy(), piece.low[name].copy()
    below[at] = above[at] = middle
    return [(piece.low, {**piece.high, name: below}), ({**piece.low, name: above}, piece.high)]
