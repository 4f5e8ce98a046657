"""How the threads that share a reduction are laid along its indices."""

from __future__ import annotations

import math
from collections.abc import Sequence


def lanes_along(trips: Sequence[int], threads: int) -> tuple[int, ...]:
    """Threads along each index of a reduction, powers of two: the fewest steps, then most along the last."""

    def steps(lanes: tuple[int, ...]) -> tuple[int, list[int]]:
        counts = (-(-max(count, 1) // lane) for count, lane in zip(trips, lanes, strict=True))
        return math.prod(counts), [-lane for lane in reversed(lanes)]

    return min(_powers(len(trips), threads), key=steps)


def _powers(count: int, product: int) -> list[tuple[int, ...]]:
    """All ways to write a power of two as a product of powers of two."""
    if count == 1:
        return [(product,)]
    firsts = (1 << n for n in range(product.bit_length()))
    return [(first, *rest) for first in firsts for rest in _powers(count - 1, product // first)]
