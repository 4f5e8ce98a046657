"""The shared memory of blocks.

Lanes of a block run in any order between two barriers. So what one lane writes, another may read only
after a barrier, and the other way round: such accesses are found here, though here they run in one order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tadc.backend.emulator.errors import Fault
from tadc.backend.emulator.global_memory import UNSIGNED, Array

#: Accesses are noted by words of so many bytes.
_WORD = 4
_NONE, _SEVERAL = -1, -2


class SharedMemory:
    """`size` bytes for each of some blocks, and who accessed them since the last barrier."""

    def __init__(self, blocks: int, size: int) -> None:
        self.size = size
        room = -(-max(size, 1) // 16) * 16
        self._row = room
        self._bytes: Array = np.zeros(blocks * room, np.uint8)
        words = blocks * room // _WORD
        self._word = _WORD
        self._written: Array = np.zeros(words, np.bool_)
        #: The lane that wrote a word since the last barrier, and the one that read it.
        self._writer: Array = np.full(words, _NONE, np.int64)
        self._reader: Array = np.full(words, _NONE, np.int64)
        self._touched = np.zeros(blocks, np.bool_)

    def load(self, offsets: Array, size: int, lanes: Array, blocks: Array) -> Array:
        """Unsigned integers of `size` bytes, one for each lane. Raises Fault."""
        at = self._places(offsets, size, lanes, blocks)
        self._refine(size)
        for words in self._words(at, size):
            self._refuse(~self._written[words], lanes, "read of shared memory that nothing has written")
            writer = self._writer[words]
            self._refuse(
                (writer != _NONE) & (writer != lanes),
                lanes,
                "read of shared memory that another lane writes, without a barrier between",
            )
            reader = self._reader[words]
            self._reader[words] = lanes
            several = (reader != _NONE) & (reader != lanes)
            # Lanes that read one word together: the last is noted, and for all others it is another.
            several |= self._reader[words] != lanes
            self._reader[words[several]] = _SEVERAL
        self._touched[blocks] = True
        return self._bytes.view(UNSIGNED[size])[at // size]

    def store(self, offsets: Array, values: Array, lanes: Array, blocks: Array) -> None:
        """Write unsigned integers, one from each lane. Raises Fault."""
        size = values.dtype.itemsize
        at = self._places(offsets, size, lanes, blocks)
        self._refine(size)
        for words in self._words(at, size):
            writer, reader = self._writer[words], self._reader[words]
            conflict = "write to shared memory that another lane {}, without a barrier between"
            self._refuse((writer != _NONE) & (writer != lanes), lanes, conflict.format("writes"))
            self._refuse((reader != _NONE) & (reader != lanes), lanes, conflict.format("reads"))
            self._writer[words] = lanes
            self._written[words] = True
            self._refuse(self._writer[words] != lanes, lanes, conflict.format("writes"))
        self._touched[blocks] = True
        self._bytes.view(UNSIGNED[size])[at // size] = values

    def barrier(self, blocks: Array) -> None:
        """All lanes of these blocks have met."""
        per_block = self._row // self._word
        for block in blocks[self._touched[blocks]]:
            at: Any = slice(int(block) * per_block, (int(block) + 1) * per_block)
            self._writer[at] = self._reader[at] = _NONE
        self._touched[blocks] = False

    def _refine(self, size: int) -> None:
        """Note accesses by words that hold no two elements of so many bytes."""
        if size < self._word:
            parts, self._word = self._word // size, size
            self._written, self._writer, self._reader = (
                np.repeat(each, parts) for each in (self._written, self._writer, self._reader)
            )

    def _places(self, offsets: Array, size: int, lanes: Array, blocks: Array) -> Array:
        self._refuse(
            (offsets < 0) | (offsets + size > self.size),
            lanes,
            "access out of bounds of shared memory",
            f"a block has {self.size} bytes",
        )
        self._refuse(offsets % size != 0, lanes, f"misaligned access of {size} bytes of shared memory")
        return blocks * self._row + offsets

    def _words(self, at: Array, size: int) -> list[Array]:
        return [(at + byte) // self._word for byte in range(0, size, self._word)]

    def _refuse(self, wrong: Array, lanes: Array, message: str, note: str = "") -> None:
        if wrong.any():
            raise Fault(message, int(lanes[np.argmax(wrong)]), note)
