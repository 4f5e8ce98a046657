"""How the elements of a map are computed: vectors along one index, copies along some, an order of loops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tadc.lattice.affine import Affine
from tadc.passes.cpu.packing_plan import Packed
from tadc.passes.cpu.runs import Run
from tadc.passes.maps.tile_values import LANE, PARTS, Leap, Tile

FEW_STEPS = 5
"""So many steps of a loop may be written one after the other."""


@dataclass(frozen=True)
class Schedule:
    """How the elements of a map are computed, by the number of each of its indices.

    `lanes` is the index of the lanes, or None where `lanes_of` is: the index of a reduction that takes
    `parts` vectors in one step. `blocks` has the number of copies along indices: of vectors along
    that of the lanes, else of elements. `order` is that of the loops, outermost first; where reads are
    `packed`, it starts with the indices that panels depend on, those for rows before those for lanes.
    Tiles that `stay` end where a range of an index does; those that `weave` have much code for elements that
    are not consecutive in memory, and for loops of few steps. `runs` has, by read, what is asked for ahead.
    """

    width: int
    order: tuple[int, ...]
    lanes: int | None = None
    blocks: Mapping[int, int] = field(default_factory=dict[int, int])
    lanes_of: Any = None
    parts: int = 1
    packed: Packed | None = None
    leaps: Mapping[Any, Leap] = field(default_factory=dict[Any, Leap])
    streams: bool = False
    stays: bool = False
    weaves: bool = True
    runs: Mapping[Any, Run] = field(default_factory=dict[Any, "Run"])

    @property
    def tile(self) -> Tile:
        """The variables of a tile, that of the vectors last: what is read in all lanes is used up at once."""
        indices = sorted(self.blocks, key=lambda index: index == self.lanes)
        copies = {variable(index): self.blocks[index] for index in indices if self.blocks[index] > 1}
        if self.parts > 1:
            copies[PARTS] = self.parts
        return Tile(self.width, copies, self.leaps, FEW_STEPS if self.weaves else 0)

    def smaller(self, share: float) -> Schedule | None:
        """The same with less code, about this share: of fewer copies along the index that has the most.

        None where there is one, or panels are for this number.
        """
        index = max(self.blocks, key=lambda n: self.blocks[n], default=None)
        if index is None or self.blocks[index] < 2 or self.packed is not None:
            return None
        count = min(int(self.blocks[index] * share), self.blocks[index] - 1)
        return replace(self, blocks={**self.blocks, index: max(count, 1)})

    def extent(self, index: int) -> int:
        """The elements of a tile along an index."""
        return self.blocks.get(index, 1) * (self.width if index == self.lanes else 1)

    def form(self, index: int, base: Affine) -> Affine:
        """An index of the points of a tile, which starts at a base."""
        scale = self.width if index == self.lanes else 1
        form = base + Affine.var(LANE) if index == self.lanes else base
        return form + Affine.var(variable(index)) * scale if self.blocks.get(index, 1) > 1 else form


def variable(index: int) -> str:
    """The variable of the copies along an index."""
    return f"copy{index}"
