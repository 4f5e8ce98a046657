"""The lanes of some blocks: their registers, and operands read from them and written to them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from tadc.backend.emulator.arithmetic import DTYPES
from tadc.backend.emulator.counts import Extents, LaunchCounts
from tadc.backend.emulator.errors import Fault, UnknownPtx
from tadc.backend.emulator.global_memory import UNSIGNED, Array, GlobalMemory
from tadc.backend.emulator.races import Races
from tadc.backend.emulator.shared import SharedMemory
from tadc.lattice.late_dataclasses import dataclass, field

if TYPE_CHECKING:
    from tadc.backend.emulator.ptx_reader import Routine

#: Lanes by number, or all of them.
At: TypeAlias = "Array | slice"
Read: TypeAlias = "Callable[[LaneRegisters, At], Array]"
Write: TypeAlias = "Callable[[LaneRegisters, At, Array], None]"

WARP = 32
_REGISTER = re.compile(r"%[\w.]+")


def coordinates(number: int, extents: Extents) -> Extents:
    """Of a position counted along x first."""
    x, y, _ = extents
    return number % x, number // x % y, number // (x * y)


@dataclass
class LaneRegisters:
    """All lanes of blocks `first` to `first + blocks - 1` of a grid; a register holds a value for each."""

    grid: Extents
    block: Extents
    first: int
    blocks: int
    memory: GlobalMemory
    shared: SharedMemory
    races: Races
    local_bytes: int
    #: The bits of each parameter of the kernel.
    parameters: dict[str, int]
    dynamic_bytes: int = 0
    #: What the launch is counted in, if it is.
    counts: LaunchCounts | None = None
    registers: dict[str, Array] = field(default_factory=dict[str, Array])
    special: dict[str, Array] = field(default_factory=dict[str, Array])

    def __post_init__(self) -> None:
        self.threads = prod(self.block)
        self.count = self.blocks * self.threads
        self.numbers = np.arange(self.count)
        self.thread_of = self.numbers % self.threads
        self.block_of = self.numbers // self.threads
        self.lane_of = self.thread_of % WARP
        #: The first lane of the warp of each.
        self.warp_of = self.numbers - self.lane_of
        self.warps = self.blocks * -(-self.threads // WARP)
        self.carry = np.zeros(self.count, np.bool_)
        self.local: Array = np.zeros(self.count * self.local_bytes, np.uint8)

    def numbers_at(self, at: At) -> Array:
        """The numbers of these lanes."""
        return self.numbers if isinstance(at, slice) else at

    def place(self, lane: int) -> tuple[Extents, Extents]:
        """The block and the thread of a lane."""
        block = coordinates(self.first + int(self.block_of[lane]), self.grid)
        return block, coordinates(int(self.thread_of[lane]), self.block)

    def special_register(self, name: str) -> Array:
        """`%tid.x` and its like, for each lane. Raises UnknownPtx."""
        if name not in self.special:
            self.special[name] = np.broadcast_to(self._special(name), (self.count,)).astype(np.uint32)
        return self.special[name]

    def _special(self, name: str) -> Array | int:
        base, _, axis = name.partition(".")
        if axis in ("x", "y", "z"):
            n = "xyz".index(axis)
            numbers = self.block_of + self.first
            if base == "%tid":
                return _coordinate(self.thread_of, self.block, n)
            if base == "%ctaid":
                return _coordinate(numbers, self.grid, n)
            if base in ("%ntid", "%nctaid"):
                return (self.block if base == "%ntid" else self.grid)[n]
        others = {
            "%laneid": self.lane_of,
            "%warpid": self.thread_of // WARP,
            "%nwarpid": -(-self.threads // WARP),
            "%dynamic_smem_size": self.dynamic_bytes,
        }
        if name not in others:
            raise UnknownPtx(f"the register `{name}`")
        return others[name]


def _coordinate(numbers: Array, extents: Extents, axis: int) -> Array:
    return numbers // prod(extents[:axis]) % extents[axis]


class Operands:
    """Reads and writes operands of the instructions of a kernel; `addresses` are those of variables."""

    def __init__(self, kernel: Routine, addresses: dict[str, int]) -> None:
        self.addresses = addresses
        self.parameters = {name for name, _ in kernel.parameters}
        self._types = kernel.registers
        self._instructions = kernel.instructions

    @cached_property
    def unread(self) -> frozenset[str]:
        """The registers that stand in one place alone: what is put there is used by nothing."""
        texts = [text for one in self._instructions for text in (*one.operands, one.guard)]
        counts = Counter(name for text in texts for name in _REGISTER.findall(text))
        return frozenset(["_", *(name for name, count in counts.items() if count == 1)])

    def read(self, text: str, type: str) -> Read:
        """What gives an operand as values of a type. Raises UnknownPtx."""
        dtype = DTYPES[type]
        if not text.startswith("%") and text not in self._types:
            return _constant(self._number(text, type), dtype)
        if self._type(text) is None:
            return lambda lanes, at: viewed(lanes.special_register(text)[at], dtype)

        def register(lanes: LaneRegisters, at: At) -> Array:
            values = lanes.registers.get(text)
            if values is None:
                raise Fault(f"register `{text}` is read and has no value", int(lanes.numbers_at(at)[0]))
            return viewed(values[at], dtype)

        return register

    def write(self, text: str) -> Write:
        """What sets a register. Raises UnknownPtx."""
        if text == "_":
            return lambda lanes, at, values: None
        type = self._type(text)
        if type is None:
            raise UnknownPtx(f"the register `{text}`")
        return stored_as(text, DTYPES[type])

    def read_address(self, text: str) -> Read:
        """What gives `[register+offset]` or `[variable+offset]` as i64."""
        base, offset = split_address(text)
        inner = self.read(base, "s64")
        return inner if not offset else lambda lanes, at: inner(lanes, at) + np.int64(offset)

    def _type(self, register: str) -> str | None:
        return self._types.get(register) or self._types.get(register.rstrip("0123456789"))

    def _number(self, text: str, type: str) -> int:
        if text[:2] in ("0f", "0F", "0d", "0D"):
            return int(text[2:], 16)
        if text in self.addresses:
            return self.addresses[text]
        if text == "WARP_SZ":
            return WARP
        try:
            number = int(text.rstrip("U"), 0)
        except ValueError:
            raise UnknownPtx(f"the operand `{text}`") from None
        return int(number != 0) if type == "pred" else number


def split_address(text: str) -> tuple[str, int]:
    """`[%rd1+8]` to its base and its offset."""
    found = re.fullmatch(r"\[\s*([%\w$.]+)\s*(?:\+\s*(-?\w+))?\s*\]", text)
    if found is None:
        raise UnknownPtx(f"the address `{text}`")
    return found[1], int(found[2] or "0", 0)


def _constant(number: int, dtype: np.dtype[np.generic]) -> Read:
    size = dtype.itemsize
    value = np.array(number & (1 << 8 * size) - 1, UNSIGNED[size]).view(dtype)
    return lambda lanes, at: value


def viewed(values: Array, dtype: np.dtype[np.generic]) -> Array:
    """The bits of values as another type; of a wider register, its lower bits."""
    if values.dtype.itemsize != dtype.itemsize:
        values = values.astype(UNSIGNED[dtype.itemsize])
    return values if values.dtype == dtype else values.view(dtype)


def stored_as(name: str, declared: np.dtype[np.generic]) -> Write:
    """What sets a register of a declared type, extended by zeros or by the sign of signed values."""
    size = declared.itemsize
    kind = np.dtype(np.bool_) if declared.kind == "b" else np.dtype(UNSIGNED[size])

    def write(lanes: LaneRegisters, at: At, values: Array) -> None:
        if values.dtype.itemsize < size:
            values = values.astype(f"{'i' if values.dtype.kind == 'i' else 'u'}{size}")
        values = viewed(values, kind)
        if isinstance(at, slice):
            full = values.shape == (lanes.count,)
            lanes.registers[name] = values if full else np.broadcast_to(values, (lanes.count,)).copy()
            return
        if name not in lanes.registers:
            lanes.registers[name] = np.zeros(lanes.count, kind)
        lanes.registers[name][at] = values

    return write
