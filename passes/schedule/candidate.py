"""A way to compute the elements of a map in tiles, in terms of the names of its indices."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from tadc.passes.nest.squares import FEWEST, TOGETHER
from tadc.passes.schedule.accesses import Loop, Read


@dataclass(frozen=True)
class Candidate:
    """`lane` is the index of the lanes, that of the reduction `fold` if there is one, which takes `parts`
    vectors at once; `blocks` are numbers of copies along indices, of vectors along that of the lanes."""

    width: int
    lane: str
    fold: Loop | None
    blocks: Mapping[str, int]
    parts: int = 1
    leaps: Mapping[str, int] = field(default_factory=dict[str, int])
    """How many steps of some innermost binders are taken at once."""

    def stride(self, read: Read) -> int | None:
        """What a lane adds to the address of a read."""
        return read.strides.get(self.lane, 0)

    def squares(self, read: Read, name: str) -> bool:
        """Whether the lanes of a read are far apart, and its elements side by side along an index."""
        stride = self.stride(read)
        return (
            self.fold is None and read.strides.get(name) == 1 and (stride is None or abs(stride) > TOGETHER)
        )

    def held(self, loop: Loop) -> int:
        """How many vectors of a few steps of a reduction are read in the first of them (`squares.py`)."""
        trips = loop.trips[-1] if loop.binders and self.fold is None and self.width >= TOGETHER else 0
        if not FEWEST <= trips <= TOGETHER:
            return 0
        return trips * sum(self.copies(r.names) for r in loop.reads if self.squares(r, loop.binders[-1]))

    @property
    def elements(self) -> int:
        """The elements of the map in a tile."""
        return math.prod(self.blocks.values()) * (1 if self.fold else self.width)

    def copies(self, names: frozenset[str]) -> int:
        """How many copies of a value a tile has, by what it depends on."""
        count = self.parts if self.fold and self.lane in names else 1
        for name, block in self.blocks.items():
            if name in names:
                count *= block
        return count

    def results(self, loop: Loop) -> int:
        """How many copies of a result a reduction has."""
        return self.copies(loop.result | (frozenset([self.lane]) if loop is self.fold else frozenset[str]()))
