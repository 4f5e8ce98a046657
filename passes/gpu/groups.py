"""How the threads that share a reduction are laid along its indices, and the steps that say so."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from tadc.passes.maps.blocks import BlockNames
from tadc.passes.maps.map import Block, Fold
from tadc.passes.nest.steps import Bind, Split, Step


def lanes_along(trips: Sequence[int], threads: int) -> tuple[int, ...]:
    """Threads along each index of a reduction, powers of two: the fewest steps, then most along the last."""

    def steps(lanes: tuple[int, ...]) -> tuple[int, list[int]]:
        counts = (-(-max(count, 1) // lane) for count, lane in zip(trips, lanes, strict=True))
        return math.prod(counts), [-lane for lane in reversed(lanes)]

    return min(_powers(len(trips), threads), key=steps)


def sharing(block: Block, lanes: Mapping[str, Sequence[int]], warp: int, names: BlockNames) -> Iterator[Step]:
    """The steps by which threads share reductions of a block, so many along each index."""
    for let in block.all_lets():
        inner = list[str]()
        if isinstance(let.value, Fold) and let.names[0] in lanes:
            for index, count in zip(let.value.indices, lanes[let.names[0]], strict=True):
                if count > 1:
                    yield (split := Split(index, count, "clip", names.part(index), names.part(index)))
                    inner.append(split.inner)
            yield Bind("thread", tuple(inner), warp=warp)


def _powers(count: int, product: int) -> list[tuple[int, ...]]:
    """All ways to write a power of two as a product of powers of two."""
    if count == 1:
        return [(product,)]
    firsts = (1 << n for n in range(product.bit_length()))
    return [(first, *rest) for first in firsts for rest in _powers(count - 1, product // first)]
