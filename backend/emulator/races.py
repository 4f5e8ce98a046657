"""Accesses of global memory by several lanes of one launch.

Blocks of a launch run in any order, and lanes of a block do between two barriers. So what one lane writes,
another may read in the same launch only if a barrier of their block is between, and the other way round; a
lane may write what another wrote if it writes the same. Reads are noted of buffers to which the launch has
written before.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tadc.backend.emulator.errors import Fault
from tadc.lattice.late_dataclasses import dataclass

Array = NDArray[Any]

#: Accesses are noted by words of so many bytes, or by smaller ones where elements are smaller.
_WORD = 4
_NONE, _SEVERAL = -1, -2


@dataclass
class _Last:
    """For each word the lane of the grid that accessed it last, its block, and how many barriers this had
    met; `_SEVERAL` lanes or blocks since then are told from one."""

    lane: Array
    block: Array
    met: Array

    @staticmethod
    def of(words: int) -> _Last:
        return _Last(*(np.full(words, _NONE, np.int64) for _ in range(3)))

    def finer(self, parts: int) -> _Last:
        """The same of words that are parts of these."""
        return _Last(*(np.repeat(each, parts) for each in (self.lane, self.block, self.met)))

    def apart(self, words: Array, lanes: Array, blocks: Array, met: Array) -> Array:
        """Which of these lanes access words that others accessed, without a barrier between."""
        last = self.lane[words]
        is_late = (self.block[words] == blocks) & (self.met[words] < met)
        return (last != _NONE) & (last != lanes) & ~is_late

    def put(self, words: Array, lanes: Array, blocks: Array, met: Array) -> None:
        """Note accesses, of several lanes to one word perhaps."""
        both = self.apart(words, lanes, blocks, met)
        others = both & (self.block[words] != blocks)
        self.lane[words], self.block[words], self.met[words] = lanes, blocks, met
        both |= self.lane[words] != lanes
        others |= self.block[words] != blocks
        self.lane[words[both]] = _SEVERAL
        self.block[words[others]] = _SEVERAL


class Races:
    """Who accessed global memory in a launch; blocks have so many `threads`."""

    def __init__(self, threads: int) -> None:
        self._threads, self._first = threads, 0
        self._met: Array = np.zeros(0, np.int64)
        self._writes: dict[int, tuple[_Last, _Last, int]] = {}

    def wave(self, first: int, blocks: int) -> None:
        """From now on so many blocks from the first one on run."""
        self._first, self._met = first, np.zeros(blocks, np.int64)

    def barrier(self, blocks: Array) -> None:
        """All lanes of these blocks of the wave have met."""
        self._met[blocks] += 1

    def load(self, buffer: int, offsets: Array, size: int, lanes: Array) -> None:
        """Lanes of the wave read elements of so many bytes of a buffer, from these on. Raises Fault."""
        if buffer not in self._writes:
            return
        writes, reads, word = self._noted(buffer, 0, size)
        who = self._who(lanes)
        for words in _words(offsets, size, word):
            _refuse(writes.apart(words, *who), lanes, "read of memory that another lane writes")
            reads.put(words, *who)

    def store(self, buffer: int, room: int, offsets: Array, size: int, lanes: Array, is_same: Array) -> None:
        """Lanes of the wave write to a buffer of so much room, some of them what is there. Raises Fault."""
        writes, reads, word = self._noted(buffer, room, size)
        who = self._who(lanes)
        for words in _words(offsets, size, word):
            _refuse(writes.apart(words, *who) & ~is_same, lanes, "write to memory that another lane writes")
            _refuse(reads.apart(words, *who) & ~is_same, lanes, "write to memory that another lane reads")
            writes.put(words, *who)

    def _noted(self, buffer: int, room: int, size: int) -> tuple[_Last, _Last, int]:
        """The last writes and reads of a buffer, by words of so many bytes, which hold no two elements."""
        if buffer not in self._writes:
            count = -(-room // _WORD)
            self._writes[buffer] = _Last.of(count), _Last.of(count), _WORD
        writes, reads, word = self._writes[buffer]
        if size < word:
            writes, reads, word = writes.finer(word // size), reads.finer(word // size), size
            self._writes[buffer] = writes, reads, word
        return writes, reads, word

    def _who(self, lanes: Array) -> tuple[Array, Array, Array]:
        """The lanes by their numbers in the grid, their blocks, and the barriers that these have met."""
        block = lanes // self._threads
        return lanes + self._first * self._threads, block + self._first, self._met[block]


def _words(offsets: Array, size: int, word: int) -> list[Array]:
    return [(offsets + byte) // word for byte in range(0, size, word)]


def _refuse(wrong: Array, lanes: Array, message: str) -> None:
    if wrong.any():
        raise Fault(f"{message}, without a barrier between", int(lanes[np.argmax(wrong)]))
