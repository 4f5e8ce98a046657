"""Which index of a map is divided among threads.

Elements are independent, so any index is; but one of few values gives too few parts, and the loop over
the one that is divided has no constant bounds. Where sizes are symbols the choice is made at run time.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace

from tadc.lattice.affine import Affine
from tadc.passes.schedule.candidate import Candidate, Panels
from tadc.passes.terms.costs import LARGE, LINE, UNKNOWN

FEW = LARGE
"""An index of fewer values is divided only if there is no better one."""

MANY = UNKNOWN
"""An index after one of unknown extent may be divided, if it has so many values, or unknown many."""

MULTIPLE = LINE
"""Ranges of the innermost index begin at its multiples: vectors are whole, cache lines seldom shared. Where
an element takes so many operations, as a sum does, a line that two threads write costs little beside them."""

AGAIN = 0.2
"""What part of its time a map takes longer for each loop outside of that over the index that is divided: what
the inner loops read is further away when they run again."""

RANGES = 8
"""So many ranges, about, are made of an index: four for each thread, as in `backend/cpu/pool.ll`."""


class ThreadDivision:
    """How the indices of a map, of these extents and so many operations if they are known, may be divided."""

    def __init__(
        self, indices: Sequence[str], extents: Sequence[Affine], tiling: Candidate | None, work: int | None
    ) -> None:
        self.indices, self.tiling = list(indices), tiling
        self.extents = dict(zip(indices, extents, strict=True))
        elements = 0 if work is None else math.prod(extent.constant for extent in extents)
        self.is_slow = work is not None and work >= MULTIPLE * elements

    def axes(self) -> tuple[str, ...]:
        """The index to divide; of two where it is known at run time alone which is better."""
        tiling, extents = self.tiling, list(self.extents.values())
        if tiling is not None and (tiling.packed is not None or all(e.is_constant for e in extents)):
            panels = tiling.packed
            # Between blocks of a reduction, ranges of rows would be whole panels, of which there are few.
            few = panels.rows.name if panels and panels.rows and panels.block else None
            wasted = {axis: self._wasted(axis, tiling) for axis in tiling.order if axis != few}
            best = min(wasted, key=lambda axis: wasted[axis], default=None)
            return (best,) if best is not None and wasted[best] < 1 else ()
        unknown = next((n for n, extent in enumerate(extents) if not extent.is_constant), len(extents))
        known = [extent.constant for extent in extents[:unknown]]
        if unknown < len(extents) and all(extent < FEW for extent in known):
            inner = self.indices[unknown + 1 :]
            return (self.indices[unknown], *[n for n in inner if self._is_large(n, MANY)][:1])
        large = [n for n, extent in zip(self.indices, known, strict=False) if extent >= FEW]
        if large:
            return (large[0],)
        most = max(known, default=0)
        return (self.indices[known.index(most)],) if most > 1 else ()

    def batch_axes(self, batch: frozenset[str]) -> tuple[str, ...]:
        """The index to divide of those along which a recurrence does not go: no thread waits for another."""
        found = self.step_axis([name for name in self.indices if name not in batch])
        return () if found is None else (found,)

    def step_axis(self, taken: Collection[str]) -> str | None:
        """The index to divide within a step of a recurrence, whose own indices are taken; None without."""
        names = [name for name in self.indices if name not in taken]
        many = (name for name in names if self._is_large(name, max(FEW, 2 * self.grain(name))))
        found = next(many, max(names, key=lambda name: self.extents[name].constant, default=None))
        return found if found is not None and self._is_large(found, 2) else None

    def _is_large(self, name: str, least: int) -> bool:
        """Whether an index has so many values, or unknown many."""
        extent = self.extents[name]
        return not extent.is_constant or extent.constant >= least

    def grain(self, axis: str) -> int:
        """What ranges of an index begin at multiples of: none but the last has a tile that is moved back."""
        tiling = self.tiling
        tile = 1 if tiling is None else tiling.extent(axis)
        if axis != self.indices[-1] or self.is_slow or (tiling is not None and tiling.packed is not None):
            return tile
        return -(-MULTIPLE // tile) * tile

    def evened(self, axis: str) -> Candidate | None:
        """The tiling, with tiles a little smaller along an index that has an odd number of them, and few: as
        many for each of two threads."""
        tiling = self.tiling
        if tiling is None or tiling.packed is not None or axis == tiling.lanes:
            return tiling
        extent, tile = self._extent(axis), tiling.extent(axis)
        tiles = -(-extent // tile)
        if tile == 1 or self.grain(axis) != tile or tiles % 2 == 0 or not 1 < tiles < RANGES:
            return tiling
        smaller = -(-extent // (tiles + 1))
        return (
            tiling if -(-extent // smaller) % 2 else replace(tiling, blocks={**tiling.blocks, axis: smaller})
        )

    def _wasted(self, axis: str, tiling: Candidate) -> float:
        """What two threads lose that divide an index: what all ranges read or pack again, the time one
        waits."""
        tiles, ranges = self._ranges(axis)
        waits = 2 * -(-tiles // 2) / tiles - 1 if ranges > 1 else 1.0
        # Where there are few ranges, more threads than two would wait.
        waits += 0.1 / ranges
        if tiling.packed is None:
            # Each range runs through the loops outside of that over the index.
            return waits + AGAIN * tiling.order.index(axis)
        return waits + self._packed_again(axis, tiling.packed)

    def _ranges(self, axis: str) -> tuple[int, int]:
        """The tiles of an index, and the ranges that threads take of them."""
        extent, grain = self._extent(axis), self.grain(axis)
        tiles = max(1, -(-extent // grain))
        # Where blocks of a reduction add to results, the last range has the tile that is moved back too.
        packed = self.tiling.packed if self.tiling is not None else None
        adds = packed is not None and packed.block is not None and axis == packed.lane
        return tiles, min(max(1, extent // grain) if adds else tiles, RANGES)

    def _extent(self, axis: str) -> int:
        return self.extents[axis].constant if self.extents[axis].is_constant else MANY

    def _packed_again(self, axis: str, packed: Panels) -> float:
        """What part of the time ranges of an index take to pack what one packs already."""
        rows, ranges = packed.rows, self._ranges(axis)[1]
        again = float(ranges - 1)
        if axis in packed.names | packed.around:
            again = 0.0
        elif rows is not None and axis == rows.name:
            # All chunks of rows pack for lanes again anyway.
            again = max(0.0, ranges * rows.chunk / self._extent(axis) - 1)
        repeats = again * packed.share
        if rows is not None and axis not in rows.names | {rows.name}:
            repeats += (ranges - 1) * rows.share
        return repeats
