"""Tensors in chunks, and which of these have the places of a box."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate, product
from math import prod
from typing import Any

import numpy as np

from tadc.apps.blocks.block_places import Box, Places, moved, within

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

    def pieces(self, box: Box) -> Iterator[tuple[Key, Box | None]]:
        """The keys of chunks in which a box is, and their places; None for all of a chunk."""
        for parts in product(*(list(self._along(d, places)) for d, places in enumerate(box))):
            chunk = tuple(n for n, _, _ in parts)
            is_whole = all(is_all for _, _, is_all in parts)
            yield (self.name, *chunk), None if is_whole else tuple(places for _, places, _ in parts)

    def lengths_of(self, box: Box) -> tuple[tuple[int, ...], ...]:
        """Of each dimension the lengths of the pieces."""
        return tuple(tuple(len(s) for _, s, _ in self._along(d, places)) for d, places in enumerate(box))

    def bytes_of(self, key: Key) -> int:
        """What a chunk takes in memory."""
        chunk = [lengths[int(n)] for lengths, n in zip(self.lengths, key[1:], strict=True)]
        return prod(chunk) * self.dtype.itemsize

    def _along(self, dimension: int, places: Places) -> Iterator[tuple[int, Places, bool]]:
        """The chunks along a dimension that have some of the places, which of theirs, and whether all."""
        starts, lengths = self.starts[dimension], self.lengths[dimension]
        n = max(0, bisect_right(starts, places[0]) - 1) if places else len(starts)
        while n < len(starts) and starts[n] <= places[-1]:
            own = within(places, starts[n], starts[n] + lengths[n])
            if own:
                yield n, moved(own, -starts[n]), len(own) == lengths[n]
            n += 1
