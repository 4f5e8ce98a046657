"""How the elements of a map are laid over threads: the plans that a kernel is made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tadc.passes.maps.machine import TYPICAL
from tadc.passes.maps.size_tests import Condition

BLOCK_SIZE, VECTOR_BYTES = TYPICAL.usual_block, TYPICAL.vector


@dataclass(frozen=True)
class ThreadPlan:
    """A thread computes a tile of elements: `copies` along indices, a vector of `width` along the fastest.

    `order` has the indices of the map; along the last one consecutive threads run. Where all that is read
    lies as the elements do, they may be `flat`: vectors in the order of memory, whatever rows they are of.
    """

    order: tuple[int, ...]
    copies: Mapping[int, int] = field(default_factory=dict[int, int])
    width: int = 1
    block: int = BLOCK_SIZE
    flat: bool = False

    def extent(self, index: int) -> int:
        """The elements of a tile along an index."""
        vector = self.width if self.order and index == self.order[-1] else 1
        return self.copies.get(index, 1) * vector


@dataclass(frozen=True)
class GroupPlan:
    """`size` threads compute an element together; `lanes` says how they share each reduction.

    They are consecutive, unless consecutive threads are to run along the last index of `order`: then a
    block has an element for each thread of a warp, and each of its warps takes a part of all of them.
    Of the indices in `copies`, which `order` does not have, they compute all so many elements together.
    """

    size: int
    lanes: Mapping[str, tuple[int, ...]]
    block: int = BLOCK_SIZE
    order: tuple[int, ...] | None = None
    copies: Mapping[int, int] = field(default_factory=dict[int, int])

    @property
    def elements(self) -> int:
        """The elements of a block."""
        return self.block // self.size


@dataclass(frozen=True)
class Along:
    """The elements of a block along an index: `threads`, with `copies` each, `run` of them consecutive."""

    threads: int
    copies: int
    run: int = 1

    @property
    def extent(self) -> int:
        """How many they are."""
        return self.threads * self.copies


@dataclass(frozen=True)
class TilePlan:
    """A block computes a tile of elements, and what a reduction reads for it goes through shared memory.

    `fast` is the index along which consecutive threads run, and `slow` the other one that has threads.
    `steps` has the steps of the reduction `over` between two barriers, for each of its indices, and
    `staged` are the reads that are copied; without a reduction all of them before anything is computed.
    """

    fast: tuple[int, Along]
    slow: tuple[int, Along] | None
    over: str | None
    steps: tuple[int, ...]
    staged: frozenset[str]

    @property
    def block(self) -> int:
        """The threads of a block."""
        return self.fast[1].threads * (self.slow[1].threads if self.slow else 1)

    def along(self, index: int) -> Along:
        """The elements of a block along an index."""
        for one in (self.fast, self.slow):
            if one is not None and one[0] == index:
                return one[1]
        return Along(1, 1)


Plan = ThreadPlan | GroupPlan | TilePlan


@dataclass(frozen=True)
class Variant:
    """A plan and the sizes that it is for; None is that of a map that completes another in its memory."""

    plan: Plan | None
    when: tuple[Condition, ...] = ()
