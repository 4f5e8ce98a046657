"""Memory of earlier calls, used again once nobody has it any more.

A system gives large memory a page at a time, each filled with zeros when it is first written. That takes
longer than many kernels. So the next call gets a block that no array uses any more: that used last, in cache.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from numpy import empty, uint8

from tadc.backend.environment import current
from tadc.frontend.forks import new_lock

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[uint8]

SMALL = 1 << 18
"""Blocks of fewer bytes are not kept: the allocator of the process keeps them itself."""

MOST = 32
"""So many blocks are kept at most: all are looked at."""


class Blocks:
    """Blocks of memory, those used last in front; `limit` bytes together, with those still in use.

    A block is free where nothing but the list refers to it: an array has the block that its memory is in as
    its base, and so have all views of it.
    """

    def __init__(self, limit: int | None = None) -> None:
        self._limit = limit
        self.blocks: list[Array] = []
        self.lock = new_lock()
        self.alone = 0
        self.alone = self._references([empty(0, uint8)])[0]

    @property
    def limit(self) -> int:
        """How many bytes are kept at most; what is chosen here where nothing was given."""
        return current("keep_memory") if self._limit is None else self._limit

    def take(self, size: int) -> Array:
        """At least so many bytes, of any content, in nobody's use as long as the caller refers to them."""
        if size < SMALL or 2 * size > (limit := self.limit):
            return empty(size, uint8)
        with self.lock:
            blocks = self.blocks
            for n, count in enumerate(self._references(blocks)):
                if count == self.alone and size <= blocks[n].nbytes <= size + size // 4:
                    blocks.insert(0, blocks.pop(n))
                    return blocks[0]
            made = empty(size, uint8)
            blocks.insert(0, made)
            self._keep(limit)
            return made

    def trim(self) -> None:
        """Keep no more than the limit, which is another than before."""
        with self.lock:
            self._keep(self.limit)

    def _keep(self, limit: int) -> None:
        blocks = self.blocks
        total = sum([block.nbytes for block in blocks])
        while total > limit or len(blocks) > MOST:
            total -= blocks.pop().nbytes

    def forget(self) -> None:
        """Keep none of them; those in use stay as they are."""
        with self.lock:
            self.blocks.clear()

    def _references(self, blocks: list[Array]) -> list[int]:
        """How many references there are to each, those of this function among them."""
        count = sys.getrefcount
        return [count(block) for block in blocks]


_COUNTS = sys.implementation.name == "cpython" and getattr(sys, "_is_gil_enabled", lambda: True)()

KEPT = Blocks(None if _COUNTS else 0)
"""Those of this process; none where references are not counted exactly."""
