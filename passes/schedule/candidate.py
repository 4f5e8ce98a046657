"""A way to compute the elements of a map in tiles, in terms of the names of its indices."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import takewhile

from tadc.lattice.late_dataclasses import dataclass, field, replace
from tadc.passes.nest.squares import FEWEST, TOGETHER
from tadc.passes.schedule.accesses import ElementRead, Loop

COUNTS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14)
"""Numbers of copies along an index: all that are few, and of more those with many divisors."""

POWERS = (1, 2, 4, 8)
"""Those of vectors, of parts and of steps at once, of which halves are taken together."""


@dataclass(frozen=True)
class Leap:
    """How many steps the innermost loop of a reduction takes at once. Steps one after the other join `parts`
    results by turns."""

    steps: int
    parts: int = 1


@dataclass(frozen=True)
class RowPanels:
    """Reads that are packed for the rows of tiles, which are copies along the index `name`.

    `names` are the indices whose loops are around all, `chunk` the most rows between two packings, `cost`
    that of packing, for a tile, `share` what it is of the whole cost.
    """

    name: str
    reads: tuple[ElementRead, ...]
    names: frozenset[str]
    chunk: int
    cost: float
    share: float = 0.0


@dataclass(frozen=True)
class Panels:
    """Reads of one reduction that are packed.

    `names` are the indices whose loops are around the packing. The loops over the first `outer` binders
    of the reduction are too, and of the next one `block` values are taken between two packings (None for
    all). `cost` is that of packing, for a tile; `share` what it is of the whole cost.
    """

    loop: Loop
    lane: str
    reads: tuple[ElementRead, ...]
    names: frozenset[str]
    outer: int
    block: int | None
    cost: float
    share: float = 0.0
    rows: RowPanels | None = None

    @property
    def around(self) -> frozenset[str]:
        """The indices whose loops are around the packing for rows."""
        return self.rows.names if self.rows else frozenset()

    @property
    def copied(self) -> frozenset[str]:
        """The names of all reads that are packed."""
        return frozenset(read.name for read in (*self.reads, *(self.rows.reads if self.rows else ())))

    @property
    def cuts(self) -> Mapping[str, int]:
        """The steps of a block, by the indices of the reduction whose loops are around tiles."""
        if self.block is None:
            return {}
        return dict.fromkeys(self.loop.binders[: self.outer], 1) | {self.loop.binders[self.outer]: self.block}

    @property
    def times(self) -> int:
        """How often a tile is taken up."""
        trips = dict(zip(self.loop.binders, self.loop.trips, strict=True))
        return math.prod(-(-trips[name] // steps) for name, steps in self.cuts.items())

    def batches(self, order: Sequence[str]) -> int:
        """How many of the outer indices are those of all that the reduction reads: a batch of products."""
        shared = frozenset(order).intersection(*(read.names for read in self.loop.reads))
        return len([*takewhile(shared.__contains__, order)])


@dataclass
class Candidate:
    """`lane` is the index of the lanes, that of the reduction `fold` if there is one, which takes `parts`
    vectors at once; `blocks` are numbers of copies along indices, of vectors along that of the lanes; `leaps`
    are by the index of a reduction.

    Of one that is chosen, `order` is that of the loops, outermost first; where reads are `packed`, it starts
    with the indices that panels depend on, those for rows before those for lanes. Those that `interleave`
    have much code for elements that are not consecutive in memory, and for loops of few steps. Of fewer
    values than in `least`, an index has single elements. `cost` is that of one element, besides that of
    `lines` from behind the second cache.
    """

    # Not frozen, which takes three times as long to make: of a map there are hundreds.
    width: int = 1
    lane: str = ""
    fold: Loop | None = None
    blocks: Mapping[str, int] = field(default_factory=dict[str, int])
    parts: int = 1
    leaps: Mapping[str, Leap] = field(default_factory=dict[str, Leap])
    order: tuple[str, ...] = ()
    packed: Panels | None = None
    cost: float = 0.0
    lines: float = 0.0
    streams: bool = False
    interleaves: bool = True
    least: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def lanes(self) -> str | None:
        """The index of the map that is that of the lanes."""
        return self.lane if self.lane and self.fold is None else None

    def extent(self, index: str) -> int:
        """The elements of a tile along an index."""
        return self.blocks.get(index, 1) * (self.width if index == self.lanes else 1)

    def with_blocks(self, blocks: Mapping[str, int]) -> Candidate:
        """One that is not chosen yet with other numbers of copies."""
        return Candidate(self.width, self.lane, self.fold, blocks, self.parts, self.leaps)

    def smaller(self, share: float) -> Candidate | None:
        """One with less code, about this share: without panels, which are for this number of copies, of fewer
        copies along the index that has the most, or of half as many parts of a reduction; None where there is
        one of each."""
        if self.packed is not None:
            return replace(self, packed=None)
        index = max(self.blocks, key=lambda name: self.blocks[name], default=None)
        if index is None or self.blocks[index] < 2:
            return replace(self, parts=self.parts // 2) if self.parts > 1 else None
        count = min(int(self.blocks[index] * share), self.blocks[index] - 1)
        return replace(self, blocks={**self.blocks, index: max(count, 1)})

    def stride(self, read: ElementRead) -> int | None:
        """What a lane adds to the address of a read."""
        return read.strides.get(self.lane, 0)

    def squares(self, read: ElementRead, name: str) -> bool:
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

    @cached_property
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
