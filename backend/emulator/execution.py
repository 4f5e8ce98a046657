"""Launches: the order in which lanes run.

Of lanes that stand at different instructions, those at the lowest run first: LLVM places what follows a
branch below it, so lanes that parted are together again there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np

from tadc.backend.emulator import decoding
from tadc.backend.emulator.counts import LaunchCounts, counts_of
from tadc.backend.emulator.decoding import DecodedInstruction, decode
from tadc.backend.emulator.errors import Fault, KernelFault, UnknownPtx
from tadc.backend.emulator.global_memory import Array, GlobalMemory
from tadc.backend.emulator.inlining import inlined
from tadc.backend.emulator.lane_registers import Extents, LaneRegisters
from tadc.backend.emulator.meeting import Meetings
from tadc.backend.emulator.ptx_reader import PtxModule, Routine, Variable, parse_ptx
from tadc.backend.emulator.races import Races
from tadc.backend.emulator.shared import SharedMemory
from tadc.frontend.diagnostics import Diagnostic

#: So many lanes run at a time, and so many bytes of shared memory are held.
_LANES, _SHARED_BYTES = 1 << 15, 1 << 25
#: What every GPU lets a block have, unless a kernel asks for more.
SHARED_LIMIT = 48 << 10


class EmulatedModule:
    """PTX in a memory. Raises UnknownPtx."""

    def __init__(self, ptx: str, memory: GlobalMemory) -> None:
        self.memory = memory
        self.text: PtxModule = parse_ptx(ptx)
        self.kernels: dict[str, EmulatedKernel] = {}
        self._addresses: dict[str, int] = {}
        for variable in self.text.variables:
            if variable.space != "shared":
                data = (variable.data or b"").ljust(variable.bytes, b"\0")
                self._addresses[variable.name] = memory.allocate(variable.bytes)
                memory.put(self._addresses[variable.name], data)

    def kernel(self, name: str) -> EmulatedKernel | None:
        """A kernel by name."""
        if name not in self.kernels and name in self.text.kernels:
            shared = [v for v in self.text.variables if v.space == "shared"]
            self.kernels[name] = EmulatedKernel(
                inlined(self.text.kernels[name], self.text), self.memory, self._addresses, shared
            )
        return self.kernels.get(name)


class EmulatedKernel:
    """A kernel, decoded. Raises UnknownPtx."""

    def __init__(
        self, routine: Routine, memory: GlobalMemory, addresses: dict[str, int], shared: Sequence[Variable]
    ) -> None:
        self.name = routine.name
        self.parameters = routine.parameters
        self.most_threads = routine.most_threads
        self.memory = memory
        all_shared = [*shared, *(v for v in routine.variables if v.space == "shared")]
        local = [v for v in routine.variables if v.space == "local"]
        places, self.shared_bytes = _placed(all_shared)
        local_places, local_bytes = _placed(local)
        self.local_bytes = -(-local_bytes // 16) * 16
        self.steps = decode(routine, {**addresses, **places, **local_places})

    def launch(self, grid: Extents, block: Extents, arguments: Sequence[int], dynamic_bytes: int = 0) -> None:
        """Run all blocks; `arguments` are the bits of each.

        Raises:
            KernelFault: TAD0708, a lane did what it may not do.
        """
        names = [name for name, _ in self.parameters]
        parameters = dict(zip(names, arguments, strict=True))
        shared_bytes = self.shared_bytes + dynamic_bytes
        blocks = prod(grid)
        counts = counts_of(self.name, grid, block, self.local_bytes, shared_bytes)
        wave = max(1, min(_LANES // prod(block), _SHARED_BYTES // max(shared_bytes, 1)))
        races = Races(prod(block))
        with np.errstate(all="ignore"):
            for first, count in _waves(blocks, wave, counts):
                shared = SharedMemory(count, shared_bytes)
                races.wave(first, count)
                lanes = LaneRegisters(
                    grid, block, first, count, self.memory, shared, races, self.local_bytes, parameters,
                    dynamic_bytes, counts,
                )  # fmt: skip
                _Wave(self, lanes).run()
                if counts is not None:
                    counts.end_wave()
        if counts is not None and counts.most_blocks is not None:
            self.memory.take_as_written()


def _waves(blocks: int, wave: int, counts: LaunchCounts | None) -> Iterator[tuple[int, int]]:
    """The first block of each wave and how many it has: all blocks, or some of them that are counted."""
    most = None if counts is None else counts.most_blocks
    if most is None or most >= blocks:
        yield from ((first, min(wave, blocks - first)) for first in range(0, blocks, wave))
    else:
        yield from ((n * blocks // most, 1) for n in range(most))


def _placed(variables: Sequence[Variable]) -> tuple[dict[str, int], int]:
    """Offsets of variables, one after the other, those of unknown size last."""
    places: dict[str, int] = {}
    end = 0
    for variable in sorted(variables, key=lambda v: v.bytes == 0):
        places[variable.name] = end = -(-end // variable.align) * variable.align
        end += variable.bytes
    return places, end


class _Wave:
    """Blocks that run together."""

    def __init__(self, kernel: EmulatedKernel, lanes: LaneRegisters) -> None:
        self.kernel = kernel
        self.steps = kernel.steps
        self.lanes = lanes
        self.meetings = Meetings(lanes)
        #: The instruction that runs.
        self.number = 0
        #: Lanes that can run, by the number of their next instruction.
        self.ready: dict[int, Array] = {0: lanes.numbers}

    def run(self) -> None:
        """Until no lane is left. Raises KernelFault."""
        try:
            while self.ready:
                number = min(self.ready)
                at = self.ready.pop(number)
                self._straight(number, at, min(self.ready, default=len(self.steps)))
            self.meetings.check_none_waits()
        except Fault as fault:
            raise self._report(fault, self.number if fault.step is None else fault.step) from None

    def _straight(self, number: int, at: Array, until: int) -> None:
        """Run lanes until they part, end, wait, or meet others."""
        lanes = self.lanes
        while True:
            if number >= len(self.steps):
                self.meetings.leave(at)
                return
            if number >= until:
                self._join(number, at)
                return
            self.number = number
            step = self.steps[number]
            chosen = at
            if step.guard is not None:
                truth = np.broadcast_to(step.guard(lanes, at), at.shape)
                chosen = at[truth]
            if lanes.counts is not None and step.counted:
                lanes.counts.step(step.counted, lanes, chosen if step.kind == decoding.PLAIN else at)
            if step.kind == decoding.PLAIN:
                if len(chosen):
                    assert step.run
                    step.run(lanes, slice(None) if len(chosen) == lanes.count else chosen)
                number += 1
            elif step.kind == decoding.BRANCH and len(chosen) in (0, len(at)):
                number = step.targets[0] if len(chosen) else number + 1
            else:
                rest = np.setdiff1d(at, chosen, assume_unique=True) if len(chosen) < len(at) else at[:0]
                if len(rest):
                    self._join(number + 1, rest)
                if len(chosen):
                    self._control(step, number, chosen)
                return

    def _control(self, step: DecodedInstruction, number: int, at: Array) -> None:
        """A step after which lanes may go on at different places."""
        if step.kind == decoding.EXIT:
            self.meetings.leave(at)
        elif step.kind == decoding.BRANCH:
            self._join(step.targets[0], at)
        elif step.kind == decoding.TABLE:
            assert step.index
            index = np.broadcast_to(step.index(self.lanes, at), at.shape)
            for n, target in enumerate(step.targets):
                if len(part := at[index == n]):
                    self._join(target, part)
        elif step.kind == decoding.BARRIER:
            self._join(number + 1, self.meetings.at_barrier(number, at))
        else:
            assert step.run
            assert step.index
            members = np.broadcast_to(step.index(self.lanes, at), at.shape)
            free = self.meetings.in_warp(number, at, members)
            if len(free):
                step.run(self.lanes, free)
                self._join(number + 1, free)

    def _join(self, number: int, at: Array) -> None:
        """Lanes go on at an instruction. What only ends does so at once: nobody is to wait for it."""
        if not len(at):
            return
        if number >= len(self.steps) or (
            self.steps[number].kind == decoding.EXIT and self.steps[number].guard is None
        ):
            self.meetings.leave(at)
            return
        others = self.ready.get(number)
        self.ready[number] = at if others is None else np.union1d(others, at)

    def _report(self, fault: Fault, number: int) -> KernelFault:
        instruction = self.steps[number].instruction
        lane = fault.lane or 0
        block, thread = self.lanes.place(lane)
        notes = [fault.note] if fault.note else []
        notes.append(f"in thread {thread} of block {block}, at `{instruction}`")
        message = f"kernel `{self.kernel.name}`: {fault.message}"
        return KernelFault(Diagnostic("TAD0708", message, notes=notes), instruction.place)


__all__ = ["EmulatedKernel", "EmulatedModule", "UnknownPtx"]
