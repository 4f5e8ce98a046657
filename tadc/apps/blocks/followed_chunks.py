"""Blocks that read the chunks of an argument through any index map: strides, windows, reflections."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from itertools import accumulate, pairwise
from typing import NamedTuple

from tadc.apps.blocks.block_plan import BlockPlan, StagePlan

#: Of each dimension the lengths of chunks.
Lengths = tuple[tuple[int, ...], ...]


class FollowedChunks(NamedTuple):
    """The dimension of an argument whose chunks are followed, and how many places blocks have then."""

    argument: str
    dimension: int
    lengths: tuple[int, ...]


def followed(plan: BlockPlan, chunks: Mapping[str, Lengths]) -> Iterator[FollowedChunks]:
    """The chunks that blocks along the only axis of a plan can follow, in the order of the arguments.

    A block begins where what it reads does not begin before a chunk; where strides do not fit, the last
    places of one block read the chunk of the next one too.
    """
    for stage in plan.stages:
        (places,) = stage.places
        extent = sum(map(len, places))
        if extent < 2 or not stage.all_go_along:
            continue
        whole = stage.task_of((0,), [range(extent)])
        for name in whole.reads.keys() & chunks.keys():
            for d, lengths in enumerate(chunks[name]):
                found = _PlacesAlong(stage, name, d, extent)
                # An index of a window moves along too, but not far.
                if len(lengths) > 1 and found.move and 2 * len(whole.reads[name][d]) > sum(lengths):
                    yield FollowedChunks(name, d, found.lengths(lengths))


class _PlacesAlong(NamedTuple):
    """Along an axis of so many places, what each of them reads of a dimension."""

    stage: StagePlan
    argument: str
    dimension: int
    extent: int

    def at(self, place: int) -> range:
        found = self.stage.task_of((0,), [range(place, place + 1)]).reads[self.argument][self.dimension]
        assert isinstance(found, range)  # Plans without index arrays have no lists.
        return found

    @property
    def move(self) -> bool:
        return self.at(0) != self.at(self.extent - 1)

    def lengths(self, chunks: tuple[int, ...]) -> tuple[int, ...]:
        """The lengths of blocks, none of which is empty."""
        ends = list(accumulate(chunks))[:-1]
        if self.at(0).start <= self.at(self.extent - 1).start:
            begins = [bisect_left(range(self.extent), end, key=lambda n: self.at(n).start) for end in ends]
        else:
            begins = [
                bisect_left(range(self.extent), -end, key=lambda n: -self.at(n).stop)
                for end in reversed(ends)
            ]
        return tuple(stop - start for start, stop in pairwise((0, *begins, self.extent)) if stop > start)
