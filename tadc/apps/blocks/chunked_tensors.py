"""Tensors in chunks, and which of these have the places of a box."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate, product
from math import prod
from typing import Any

import numpy as np

from tadc.apps.blocks.block_plan import Box, Places, part_of
from tadc.apps.blocks.block_tasks import Part, count

#: The name of a task: that of an array or a layer, and numbers.
Key = tuple[Any, ...]


@dataclass(frozen=True)
class Chunks:
    """A tensor whose chunks have the key of its name and where they stand."""

    name: str
    lengths: tuple[tuple[int, ...], ...]
    dtype: np.dtype[Any]
    starts: tuple[tuple[int, ...], ...] = field(init=False)

    def __post_init__(self) -> None:
        starts = tuple(tuple(accumulate(lengths, initial=0))[:-1] for lengths in self.lengths)
        object.__setattr__(self, "starts", starts)

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the tensor."""
        return tuple(map(sum, self.lengths))

    def pieces(self, box: Box) -> Iterator[tuple[Key, tuple[Part, ...] | None]]:
        """The keys of chunks in which a box is, and their places; None for all of a chunk."""
        for parts in product(*(list(self._along(d, places)) for d, places in enumerate(box))):
            chunk = tuple(n for n, _, _ in parts)
            is_whole = all(is_all for _, _, is_all in parts)
            yield (self.name, *chunk), None if is_whole else tuple(places for _, places, _ in parts)

    def lengths_of(self, box: Box) -> tuple[tuple[int, ...], ...]:
        """Of each dimension the lengths of the pieces."""
        return tuple(tuple(count(s) for _, s, _ in self._along(d, places)) for d, places in enumerate(box))

    def bytes_of(self, key: Key) -> int:
        """What a chunk takes in memory."""
        chunk = [lengths[int(n)] for lengths, n in zip(self.lengths, key[1:], strict=True)]
        return prod(chunk) * self.dtype.itemsize

    def _along(self, dimension: int, places: Places) -> Iterator[tuple[int, Part, bool]]:
        """The chunks along a dimension that have some of the places, which of theirs, and whether all."""
        starts, lengths = self.starts[dimension], self.lengths[dimension]
        n = max(0, bisect_right(starts, places[0]) - 1) if places else len(starts)
        while n < len(starts) and starts[n] <= places[-1]:
            own = part_of(places, starts[n], starts[n] + lengths[n])
            if own:
                yield n, part_at(own, starts[n]), len(own) == lengths[n]
            n += 1


def part_at(places: Places, start: int) -> Part:
    """Places as NumPy takes them, in an array that begins at a start."""
    if isinstance(places, range):
        return slice(places.start - start, places.stop - start)
    return places.array - start
