"""Loads, stores and addresses."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from tadc.backend.emulator.arithmetic import DTYPES
from tadc.backend.emulator.errors import Fault, UnknownPtx
from tadc.backend.emulator.global_memory import LOCAL, SHARED, UNSIGNED, Array
from tadc.backend.emulator.lane_registers import (
    At,
    LaneRegisters,
    Operands,
    Read,
    Write,
    split_address,
    stored_as,
    viewed,
)
from tadc.backend.emulator.ptx_reader import SIZES, Instruction

Run: TypeAlias = Callable[[LaneRegisters, At], None]

_SPACES = ("global", "shared", "local", "const", "param")
#: Words that say how a cache or another thread sees an access, which no kernel of ours depends on.
_HINTS = {"nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "volatile", "weak", "L1", "L2"}
_OFFSETS = {"shared": SHARED, "local": LOCAL, "global": 0, "const": 0}


def access(one: Instruction, operands: Operands) -> Run | None:
    """What a load, a store or a conversion of an address does; None for anything else."""
    name, *rest = one.parts
    if name == "cvta":
        return _converted_address(one, rest, operands)
    if name not in ("ld", "st"):
        return None
    type = rest[-1]
    words = {word for part in rest[:-1] for word in part.split("::")}
    spaces = [space for space in _SPACES if space in words]
    vectors = [word for word in words if re.fullmatch(r"v[248]", word)]
    if type not in SIZES or words - {*_HINTS, *spaces, *vectors, "evict_first", "evict_last"}:
        raise UnknownPtx(f"`{one}`")
    space = spaces[0] if spaces else ""
    if space == "param":
        return _parameter(one, name, type, operands)
    place, registers = one.operands if name == "st" else one.operands[::-1]
    names = [part.strip() for part in registers.strip("{}").split(",")]
    if len(names) != int(vectors[0][1:] if vectors else 1):
        raise UnknownPtx(f"`{one}`")
    address = operands.read_address(place)
    if name == "ld":
        # LLVM reads up to 16 aligned bytes where it needs 12 of them: a GPU has no page that ends within.
        needed = [n for n in names if n not in operands.unread] or names
        writes = [operands.write(n) if n in needed else None for n in names]
        return _load(address, space, SIZES[type], writes, type)
    return _store(address, space, SIZES[type], [operands.read(n, f"b{8 * SIZES[type]}") for n in names])


def _load(address: Read, space: str, size: int, writes: list[Write | None], type: str) -> Run:
    """A load of as many values as there are `writes`, but for those that nothing reads."""
    needed = [(n, write) for n, write in enumerate(writes) if write is not None]

    def run(lanes: LaneRegisters, at: At) -> None:
        numbers = lanes.numbers_at(at)
        first = np.broadcast_to(address(lanes, at), numbers.shape)
        where, first = _space(space, first, numbers)
        _check_vector(first, size * len(writes), numbers)
        if lanes.counts is not None:
            lanes.counts.access("ld", where, first, size * len(writes), lanes, numbers)
        values = [_load_from(lanes, where, first + n * size, size, numbers) for n, _ in needed]
        for (_, write), value in zip(needed, values, strict=True):
            write(lanes, at, value.view(DTYPES[type]))

    return run


def _store(address: Read, space: str, size: int, reads: list[Read]) -> Run:
    def run(lanes: LaneRegisters, at: At) -> None:
        numbers = lanes.numbers_at(at)
        first = np.broadcast_to(address(lanes, at), numbers.shape)
        where, first = _space(space, first, numbers)
        _check_vector(first, size * len(reads), numbers)
        if lanes.counts is not None:
            lanes.counts.access("st", where, first, size * len(reads), lanes, numbers)
        for n, read in enumerate(reads):
            value = np.broadcast_to(read(lanes, at), numbers.shape)
            _store_to(lanes, where, first + n * size, value, numbers)

    return run


def _space(space: str, addresses: Array, numbers: Array) -> tuple[str, Array]:
    """Where a generic address points to, and the address there."""
    if space:
        return space, addresses
    kinds = (addresses >= SHARED).astype(np.int64) + (addresses >= LOCAL)
    if (kinds != kinds[0]).any():
        raise Fault("an access of global and shared memory by one instruction", int(numbers[0]))
    name = ("global", "shared", "local")[int(kinds[0])]
    return name, addresses - _OFFSETS[name]


def _check_vector(addresses: Array, size: int, numbers: Array) -> None:
    wrong = addresses % size != 0
    if wrong.any():
        first = int(np.argmax(wrong))
        raise Fault(
            f"misaligned access of {size} bytes", int(numbers[first]), f"at {int(addresses[first]):#x}"
        )


def _load_from(lanes: LaneRegisters, space: str, addresses: Array, size: int, numbers: Array) -> Array:
    if space == "shared":
        return lanes.shared.load(addresses, size, numbers, lanes.block_of[numbers])
    if space == "local":
        return lanes.local.view(UNSIGNED[size])[_local(lanes, addresses, size, numbers)]
    return lanes.memory.load(addresses, size, numbers, lanes.races)


def _store_to(lanes: LaneRegisters, space: str, addresses: Array, values: Array, numbers: Array) -> None:
    if space == "shared":
        lanes.shared.store(addresses, values, numbers, lanes.block_of[numbers])
    elif space == "local":
        size = values.dtype.itemsize
        lanes.local.view(UNSIGNED[size])[_local(lanes, addresses, size, numbers)] = values
    else:
        lanes.memory.store(addresses, values, numbers, lanes.races)


def _local(lanes: LaneRegisters, addresses: Array, size: int, numbers: Array) -> Array:
    wrong = (addresses < 0) | (addresses + size > lanes.local_bytes)
    if wrong.any():
        raise Fault("access out of bounds of local memory", int(numbers[np.argmax(wrong)]))
    return (numbers * lanes.local_bytes + addresses) // size


def _parameter(one: Instruction, name: str, type: str, operands: Operands) -> Run:
    """A parameter of the kernel, the same for all lanes, or one that passes to or from a function."""
    size, dtype = SIZES[type], DTYPES[type]
    place, registers = one.operands if name == "st" else one.operands[::-1]
    base, offset = split_address(place)
    names = [part.strip() for part in registers.strip("{}").split(",")]
    offsets = [offset + n * size for n in range(len(names))]
    if name == "st":
        reads = [operands.read(n, f"b{8 * size}") for n in names]
        keep = [stored_as(f"{base}+{n}", DTYPES["b64"]) for n in offsets]

        def pass_on(lanes: LaneRegisters, at: At) -> None:
            for read, write in zip(reads, keep, strict=True):
                write(lanes, at, read(lanes, at).copy())

        return pass_on
    writes = [operands.write(n) for n in names]

    def take(lanes: LaneRegisters, at: At) -> None:
        for write, n in zip(writes, offsets, strict=True):
            write(lanes, at, viewed(lanes.registers[f"{base}+{n}"][at], dtype).copy())

    def read(lanes: LaneRegisters, at: At) -> None:
        for write, n in zip(writes, offsets, strict=True):
            bits = lanes.parameters[base] >> 8 * n & (1 << 8 * size) - 1
            write(lanes, at, np.array(bits, UNSIGNED[size]).view(dtype))

    return read if base in operands.parameters else take


def _converted_address(one: Instruction, rest: list[str], operands: Operands) -> Run:
    """Between addresses of a space and generic ones."""
    to_space = rest[0] == "to"
    space = rest[1] if to_space else rest[0]
    if space not in _OFFSETS or rest[-1] != "u64":
        raise UnknownPtx(f"`{one}`")
    offset = np.int64(-_OFFSETS[space] if to_space else _OFFSETS[space])
    read, write = operands.read(one.operands[1], "s64"), operands.write(one.operands[0])
    return lambda lanes, at: write(lanes, at, read(lanes, at) + offset)
