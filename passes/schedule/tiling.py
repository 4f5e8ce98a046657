"""How the elements of a map are computed: vectors along one index, copies along some, an order of loops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tadc.passes.schedule.leaps import Leap
from tadc.passes.schedule.packing import Panels


@dataclass(frozen=True)
class Tiling:
    """How the elements of a map are computed, by the names of its indices.

    `lanes` is the index of the lanes, or None where `lanes_of` is: the innermost index of a reduction, named
    `fold`, that takes `parts` vectors in one step. `blocks` has the number of copies along indices: of
    vectors along that of the lanes, else of elements. `order` is that of the loops, outermost first; where
    reads are `packed`, it starts with the indices that panels depend on, those for rows before those for
    lanes. Tiles that `stay` end where a range of an index does; those that `interleave` have much code for
    elements that are not consecutive in memory, and for loops of few steps. `leaps` are by the index of a
    reduction. Of fewer values than in `least`, an index has single elements.
    """

    width: int
    order: tuple[str, ...]
    lanes: str | None = None
    blocks: Mapping[str, int] = field(default_factory=dict[str, int])
    lanes_of: str | None = None
    fold: str = ""
    parts: int = 1
    packed: Panels | None = None
    leaps: Mapping[str, Leap] = field(default_factory=dict[str, Leap])
    streams: bool = False
    stays: bool = False
    interleaves: bool = True
    least: Mapping[str, int] = field(default_factory=dict[str, int])

    def smaller(self, share: float) -> Tiling | None:
        """A tiling with less code, about this share: without panels, which are for this number of copies, or
        of fewer copies along the index that has the most; None where there is one.
        """
        if self.packed is not None:
            return replace(self, packed=None)
        index = max(self.blocks, key=lambda name: self.blocks[name], default=None)
        if index is None or self.blocks[index] < 2:
            return None
        count = min(int(self.blocks[index] * share), self.blocks[index] - 1)
        return replace(self, blocks={**self.blocks, index: max(count, 1)})

    def extent(self, index: str) -> int:
        """The elements of a tile along an index."""
        return self.blocks.get(index, 1) * (self.width if index == self.lanes else 1)
