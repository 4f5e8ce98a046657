"""An instruction to what it does to lanes."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property

import numpy as np

from tadc.backend.emulator.arithmetic import DTYPES, Operation
from tadc.backend.emulator.counts import kind_of
from tadc.backend.emulator.errors import UnknownPtx
from tadc.backend.emulator.instruction_table import find_operation
from tadc.backend.emulator.integers import lop3
from tadc.backend.emulator.lane_registers import At, LaneRegisters, Operands, Read
from tadc.backend.emulator.loads_and_stores import Run, access
from tadc.backend.emulator.meeting import shuffle, vote
from tadc.backend.emulator.ptx_reader import Instruction, Routine
from tadc.lattice.late_dataclasses import dataclass

#: What a step is, besides one that only computes.
BRANCH, TABLE, EXIT, BARRIER, WARP_STEP, PLAIN = "branch", "table", "exit", "barrier", "warp", "plain"
_BARRIERS = re.compile(r"(bar|barrier)\.(cta\.)?sync(\.aligned)?")


@dataclass(frozen=True)
class DecodedInstruction:
    """An instruction, decoded. `run` computes; `targets` are where lanes go on."""

    instruction: Instruction
    kind: str
    run: Run | None = None
    guard: Callable[[LaneRegisters, At], np.ndarray] | None = None
    targets: tuple[int, ...] = ()
    index: Read | None = None
    """Which of the targets, or of a step of a warp the lanes that take part, as bits."""

    @cached_property
    def counted(self) -> str:
        """The kind that it is counted as; accesses of memory count themselves."""
        return "" if self.instruction.parts[0] in ("ld", "st") else kind_of(self.instruction)


def decode(kernel: Routine, addresses: dict[str, int]) -> list[DecodedInstruction]:
    """The steps of a kernel without calls. Raises UnknownPtx."""
    operands = Operands(kernel, addresses)
    return [_step(one, kernel, operands) for one in kernel.instructions]


def _step(one: Instruction, kernel: Routine, operands: Operands) -> DecodedInstruction:
    guard = _guard(one.guard, operands) if one.guard else None
    name = one.parts[0]
    try:
        if name == "bra":
            return DecodedInstruction(one, BRANCH, None, guard, (kernel.labels[one.operands[0]],))
        if name == "brx":
            index, table = one.operands
            targets = tuple(kernel.labels[label] for label in kernel.tables[table])
            return DecodedInstruction(one, TABLE, None, guard, targets, operands.read(index, "u32"))
        if name in ("ret", "exit"):
            return DecodedInstruction(one, EXIT, None, guard)
        if _BARRIERS.fullmatch(one.name) and one.operands == ("0",):
            return DecodedInstruction(one, BARRIER, None, guard)
        if one.name.startswith(("shfl.sync.", "vote.sync.")):
            run = (shuffle if name == "shfl" else vote)(one, operands)
            return DecodedInstruction(one, WARP_STEP, run, guard, (), operands.read(one.operands[-1], "u32"))
        run = access(one, operands) or _computed(one, operands)
    except (KeyError, ValueError, IndexError, StopIteration):
        raise UnknownPtx(f"`{one}`") from None
    if run is None:
        raise UnknownPtx(f"`{one}`")
    return DecodedInstruction(one, PLAIN, run, guard)


def _guard(text: str, operands: Operands) -> Callable[[LaneRegisters, At], np.ndarray]:
    read = operands.read(text.lstrip("!"), "pred")
    return (lambda lanes, at: ~read(lanes, at)) if text[0] == "!" else read


def _computed(one: Instruction, operands: Operands) -> Run | None:
    if one.parts[0] == "mov" and one.operands[0].startswith("{"):
        return _unpacked(one, operands)
    if one.parts[0] == "mov" and one.operands[1].startswith("{"):
        return _packed(one, operands)
    given = one.operands
    operation = lop3(int(given[-1], 0)) if one.name == "lop3.b32" else find_operation(one.parts)
    if operation is None:
        return None
    if one.name == "lop3.b32":
        given = given[:-1]
    reads = [operands.read(text, type) for text, type in zip(given[1:], operation.reads, strict=True)]
    write = operands.write(given[0])
    if operation.takes_carry or operation.sets_carry:
        return _with_carry(operation, reads, write)
    apply = operation.apply
    return lambda lanes, at: write(lanes, at, apply(*[read(lanes, at) for read in reads]))


def _with_carry(operation: Operation, reads: list[Read], write: Callable[..., None]) -> Run:
    def run(lanes: LaneRegisters, at: At) -> None:
        values = [read(lanes, at) for read in reads]
        if operation.takes_carry:
            values.append(lanes.carry[at])
        found = operation.apply(*values)
        if operation.sets_carry:
            found, carry = found
            lanes.carry[at] = carry
        write(lanes, at, found)

    return run


def _unpacked(one: Instruction, operands: Operands) -> Run:
    """`mov.b64 {a, b}, c`: the lower part first."""
    names = [part.strip() for part in one.operands[0].strip("{}").split(",")]
    type = one.parts[1]
    bits = 8 * DTYPES[type].itemsize // len(names)
    read, part = operands.read(one.operands[1], type), DTYPES[f"b{bits}"]
    writes = [operands.write(name) for name in names]

    def run(lanes: LaneRegisters, at: At) -> None:
        whole = read(lanes, at)
        for n, write in enumerate(writes):
            write(lanes, at, (whole >> whole.dtype.type(n * bits)).astype(part))

    return run


def _packed(one: Instruction, operands: Operands) -> Run:
    names = [part.strip() for part in one.operands[1].strip("{}").split(",")]
    type = DTYPES[one.parts[1]]
    bits = 8 * type.itemsize // len(names)
    reads, write = [operands.read(name, f"b{bits}") for name in names], operands.write(one.operands[0])

    def run(lanes: LaneRegisters, at: At) -> None:
        whole = np.zeros((), type)
        for n, read in enumerate(reads):
            whole = whole | read(lanes, at).astype(type) << type.type(n * bits)
        write(lanes, at, np.asarray(whole))

    return run
