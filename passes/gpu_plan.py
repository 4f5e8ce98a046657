"""How the elements of a map are laid over threads: the plans that a kernel is made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tadc.passes.gpu_launch import Condition

BLOCK_SIZE = 256
"""The threads of a block, where nothing asks for fewer or more."""


@dataclass(frozen=True)
class ThreadPlan:
    """A thread computes a tile of elements: `copies` along indices, a vector of `width` along the fastest.

    `order` has the indices of the map; along the last one consecutive threads run.
    """

    order: tuple[int, ...]
    copies: Mapping[int, int] = field(default_factory=dict[int, int])
    width: int = 1
    block: int = BLOCK_SIZE

    def extent(self, index: int) -> int:
        """The elements of a tile along an index."""
        vector = self.width if self.order and index == self.order[-1] else 1
        return self.copies.get(index, 1) * vector


@dataclass(frozen=True)
class GroupPlan:
    """`size` threads compute an element together; `lanes` says how they share each reduction.

    They are consecutive, unless consecutive threads are to run along the last index of `order`: then a
    block has an element for each thread of a warp, and each of its warps takes a part of all of them.
    """

    size: int
    lanes: Mapping[Any, tuple[int, ...]]
    block: int = BLOCK_SIZE
    order: tuple[int, ...] | None = None

    @property
    def elements(self) -> int:
        """The elements of a block."""
        return self.block // self.size


Plan = ThreadPlan | GroupPlan


@dataclass(frozen=True)
class Variant:
    """A plan and the sizes that it is for."""

    plan: Plan
    when: tuple[Condition, ...] = ()
