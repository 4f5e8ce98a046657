"""How the threads that share a reduction are laid along its indices."""

from __future__ import annotations

from collections.abc import Sequence


def lanes_along(trips: Sequence[int], threads: int) -> tuple[int, ...]:
    """Threads along each index of a reduction, powers of two: the fewest steps, then most along the last."""
    best: tuple[int, tuple[int, ...]] | None = None
    for lanes in _powers(len(trips), threads):
        steps = 1
        for count, lane in zip(trips, lanes, strict=True):
            steps *= -(-max(count, 1) // lane)
        if best is None or steps < best[0] or (steps == best[0] and lanes[::-1] > best[1][::-1]):
            best = steps, lanes
    assert best is not None
    return best[1]


def _powers(count: int, product: int) -> list[tuple[int, ...]]:
    """All ways to write a power of two as a product of powers of two."""
    if count == 1:
        return [(product,)]
    found: list[tuple[int, ...]] = []
    first = 1
    while first <= product:
        found += [(first, *rest) for rest in _powers(count - 1, product // first)]
        first *= 2
    return found
