"""Global memory: buffers with room between them, whose bytes are known to be written or not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tadc.backend.emulator.errors import Fault
from tadc.backend.emulator.races import Races
from tadc.lattice.late_dataclasses import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

Array: TypeAlias = "NDArray[Any]"

#: Addresses of spaces begin far from each other: an address tells its space.
GLOBAL, SHARED, LOCAL = 1 << 36, 1 << 48, 1 << 50
#: What cuMemAlloc promises of an address.
ALIGNMENT = 256
UNSIGNED: dict[int, Any] = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


@dataclass
class Buffer:
    """Bytes from `base` on; `size` of them may be accessed. `written` marks those that have a value."""

    base: int
    size: int
    bytes: Array
    written: Array
    is_whole: bool = False
    """All are written."""


class GlobalMemory:
    """Buffers by address."""

    def __init__(self) -> None:
        self._buffers: dict[int, Buffer] = {}
        self._bases: Array = np.zeros(0, np.int64)
        self._next = GLOBAL
        self.used = 0

    def allocate(self, size: int) -> int:
        """The address of a new buffer without values."""
        room = -(-max(size, 1) // 8) * 8
        made = Buffer(self._next, size, np.zeros(room, np.uint8), np.zeros(room, np.bool_))
        self._buffers[made.base] = made
        self._next += -(-room // ALIGNMENT) * ALIGNMENT + ALIGNMENT
        self.used += size
        self._bases = np.array(list(self._buffers), np.int64)
        return made.base

    def free(self, base: int) -> bool:
        """Give a buffer back; False where none begins at the address."""
        found = self._buffers.pop(base, None)
        if found is None:
            return False
        self.used -= found.size
        self._bases = np.array(list(self._buffers), np.int64)
        return True

    def find(self, address: int, size: int) -> Buffer | None:
        """The buffer that holds all these bytes."""
        number = int(np.searchsorted(self._bases, address, "right")) - 1
        if number < 0:
            return None
        found = self._buffers[int(self._bases[number])]
        return found if address + size <= found.base + found.size else None

    def put(self, address: int, data: bytes) -> bool:
        """Write bytes from the host; False where they do not lie in one buffer."""
        found = self.find(address, len(data))
        if found is None:
            return False
        at = slice(address - found.base, address - found.base + len(data))
        found.bytes[at] = np.frombuffer(data, np.uint8)
        found.written[at] = True
        found.is_whole = bool(found.written[: found.size].all())
        return True

    def get(self, address: int, size: int) -> bytes | None:
        """Bytes for the host; None where they do not lie in one buffer."""
        found = self.find(address, size)
        return None if found is None else found.bytes[address - found.base :][:size].tobytes()

    def take_as_written(self) -> None:
        """From now on all bytes of all buffers have a value."""
        for buffer in self._buffers.values():
            buffer.is_whole = True

    def load(self, addresses: Array, size: int, lanes: Array, races: Races) -> Array:
        """Unsigned integers of `size` bytes, one for each lane. Raises Fault."""
        _check_alignment(addresses, size, lanes)
        if found := self._one(addresses, size):
            races.load(found.base, addresses - found.base, size, lanes)
            return _load(found, addresses, size, lanes)
        values = np.zeros(addresses.shape, UNSIGNED[size])
        for found, at in self._each(addresses, size, lanes):
            races.load(found.base, addresses[at] - found.base, size, lanes[at])
            values[at] = _load(found, addresses[at], size, lanes[at])
        return values

    def store(self, addresses: Array, values: Array, lanes: Array, races: Races) -> None:
        """Write unsigned integers, one from each lane. Raises Fault."""
        size = values.dtype.itemsize
        _check_alignment(addresses, size, lanes)
        if found := self._one(addresses, size):
            _store(found, addresses, values, lanes, races)
            return
        for found, at in self._each(addresses, size, lanes):
            _store(found, addresses[at], values[at], lanes[at], races)

    def _one(self, addresses: Array, size: int) -> Buffer | None:
        first, last = int(addresses.min()), int(addresses.max())
        return self.find(first, last - first + size)

    def _each(self, addresses: Array, size: int, lanes: Array) -> list[tuple[Buffer, Array]]:
        numbers = np.searchsorted(self._bases, addresses, "right") - 1
        found: list[tuple[Buffer, Array]] = []
        for number in np.unique(numbers):
            at: Array = np.nonzero(numbers == number)[0]
            near = self._buffers[int(self._bases[max(int(number), 0)])] if len(self._bases) else None
            wrong = at if near is None else at[addresses[at] + size > near.base + near.size]
            if near is not None and number < 0:
                wrong = at
            if len(wrong) or near is None:
                raise _outside(int(addresses[wrong[0]]), size, near, int(lanes[wrong[0]]))
            found.append((near, at))
        return found


def _check_alignment(addresses: Array, size: int, lanes: Array) -> None:
    wrong = addresses & (size - 1) != 0
    if wrong.any():
        first = int(np.argmax(wrong))
        raise Fault(
            f"misaligned access of {size} bytes at address {int(addresses[first]):#x}", int(lanes[first])
        )


def _outside(address: int, size: int, near: Buffer | None, lane: int) -> Fault:
    if near is None:
        return Fault(f"access of {size} bytes at {address:#x}, and there is no buffer", lane)
    offset = address - near.base
    side = f"{-offset} bytes before" if offset < 0 else f"at byte {offset} of"
    return Fault(
        "access out of bounds", lane, f"it is of {size} bytes, {side} the nearest buffer, of {near.size}"
    )


def _load(buffer: Buffer, addresses: Array, size: int, lanes: Array) -> Array:
    at = (addresses - buffer.base) // size
    if not buffer.is_whole:
        known = buffer.written.view(UNSIGNED[size])[at] == _all_written(size)
        if not known.all():
            first = int(np.argmin(known))
            offset = int(addresses[first]) - buffer.base
            raise Fault(
                "read of memory that nothing has written",
                int(lanes[first]),
                f"it is byte {offset} of a buffer of {buffer.size}",
            )
    return buffer.bytes.view(UNSIGNED[size])[at]


def _store(buffer: Buffer, addresses: Array, values: Array, lanes: Array, races: Races) -> None:
    size = values.dtype.itemsize
    offsets, elements = addresses - buffer.base, buffer.bytes.view(UNSIGNED[size])
    at = offsets // size
    races.store(buffer.base, len(buffer.bytes), offsets, size, lanes, elements[at] == values)
    elements[at] = values
    other = elements[at] != values
    if other.any():
        raise Fault("write to memory that another lane writes at once", int(lanes[np.argmax(other)]))
    if not buffer.is_whole:
        buffer.written.view(UNSIGNED[size])[at] = _all_written(size)


def _all_written(size: int) -> int:
    return int.from_bytes(b"\1" * size, "little")
