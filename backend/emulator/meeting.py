"""Where lanes meet: barriers of a block, shuffles and votes of a warp."""

from __future__ import annotations

import numpy as np

from tadc.backend.emulator.errors import Fault, UnknownPtx
from tadc.backend.emulator.global_memory import Array
from tadc.backend.emulator.lane_registers import WARP, At, LaneRegisters, Operands
from tadc.backend.emulator.loads_and_stores import Run
from tadc.backend.emulator.ptx_reader import Instruction

_RUNNING = -1


class Meetings:
    """Which lanes have left, and which wait at an instruction for others of their block or warp."""

    def __init__(self, lanes: LaneRegisters) -> None:
        self.lanes = lanes
        self.alive = np.ones(lanes.count, np.bool_)
        self.waiting = np.full(lanes.count, _RUNNING)
        #: Of those that wait, whether it is for lanes of their warp alone.
        self.in_warps = np.zeros(lanes.count, np.bool_)

    def leave(self, at: Array) -> None:
        """Lanes end. Raises Fault where lanes of their block wait for them at a barrier, or of their warp."""
        self.alive[at] = False
        lanes = self.lanes
        blocks, warps = np.zeros((2, lanes.count), np.bool_)
        blocks[lanes.block_of[at]] = warps[lanes.warp_of[at]] = True
        asked = np.where(self.in_warps, warps[lanes.warp_of], blocks[lanes.block_of])
        stuck = asked & (self.waiting != _RUNNING)
        if stuck.any():
            raise self._divergent(int(np.argmax(stuck)), int(at[0]))

    def at_barrier(self, number: int, at: Array) -> Array:
        """Lanes come to a barrier; those whose block is complete go on."""
        lanes = self.lanes
        self.waiting[at], self.in_warps[at] = number, False
        blocks = self._mask(lanes.block_of, at, lanes.blocks)
        late = np.zeros(lanes.blocks, np.bool_)
        late[lanes.block_of[self.alive & (self.waiting != number)]] = True
        free = (blocks & ~late)[lanes.block_of] & self.alive
        self.waiting[free] = _RUNNING
        done = np.nonzero(blocks & ~late)[0]
        lanes.shared.barrier(done)
        lanes.races.barrier(done)
        return np.nonzero(free)[0]

    def in_warp(self, number: int, at: Array, members: Array) -> Array:
        """Lanes come to an instruction of a warp; those go on whose warp has all that take part."""
        lanes = self.lanes
        apart = members >> lanes.lane_of[at].astype(np.uint32) & np.uint32(1) == 0
        if apart.any():
            raise Fault("a lane takes part in an exchange that does not name it", int(at[np.argmax(apart)]))
        self.waiting[at], self.in_warps[at] = number, True
        named = np.zeros(lanes.count, np.uint32)
        named[lanes.warp_of[at]] = members
        asked = named[lanes.warp_of] >> lanes.lane_of.astype(np.uint32) & np.uint32(1) == 1
        late = np.zeros(lanes.count, np.bool_)
        late[lanes.warp_of[asked & self.alive & (self.waiting != number)]] = True
        free = asked & self.alive & ~late[lanes.warp_of]
        self.waiting[free] = _RUNNING
        return np.nonzero(free)[0]

    def check_none_waits(self) -> None:
        """No lane can run: raises Fault if one waits."""
        stuck = self.waiting != _RUNNING
        if stuck.any():
            first = int(np.argmax(stuck))
            block = self.lanes.block_of == self.lanes.block_of[first]
            other = block & self.alive & (self.waiting != self.waiting[first])
            raise self._divergent(first, int(np.argmax(other)) if other.any() else first)

    def _divergent(self, waits: int, other: int) -> Fault:
        _, thread = self.lanes.place(other)
        fault = Fault(
            "a barrier or an exchange that not all lanes reach",
            waits,
            f"thread {thread} of the block goes another way",
        )
        fault.step = int(self.waiting[waits])
        return fault

    @staticmethod
    def _mask(groups: Array, at: Array, count: int) -> Array:
        found = np.zeros(count, np.bool_)
        found[groups[at]] = True
        return found


def shuffle(one: Instruction, operands: Operands) -> Run:
    """`shfl.sync.mode.b32 d|p, a, b, c, members`, as the manual's section 9.7.9.6 has it."""
    mode, type = one.parts[2:]
    if mode not in ("up", "down", "bfly", "idx") or type != "b32":
        raise UnknownPtx(f"`{one}`")
    names = [name.strip() for name in one.operands[0].split("|")]
    write = operands.write(names[0])
    tell = operands.write(names[1]) if len(names) > 1 else None
    value, by, limits = (
        operands.read(o, t) for o, t in zip(one.operands[1:4], ("b32", "u32", "u32"), strict=True)
    )

    def run(lanes: LaneRegisters, at: At) -> None:
        numbers = lanes.numbers_at(at)
        own = lanes.lane_of[numbers]
        step = by(lanes, at).astype(np.int64) & 31
        bound = limits(lanes, at).astype(np.int64)
        segment = bound >> 8 & 31
        highest = own & segment | bound & 31 & ~segment
        source = {
            "up": own - step,
            "down": own + step,
            "bfly": own ^ step,
            "idx": own & segment | step & ~segment,
        }[mode]
        valid = source >= highest if mode == "up" else source <= highest
        source = np.where(valid, source, own)
        taken = np.full(lanes.count + WARP, -1)
        taken[numbers] = np.arange(len(numbers))
        places = lanes.warp_of[numbers] + source
        positions = taken[places]
        wrong = (positions < 0) | (lanes.thread_of[numbers] - own + source >= lanes.threads)
        if wrong.any():
            first = int(np.argmax(wrong))
            raise Fault(
                f"a shuffle reads lane {int(source[first])} of the warp, which takes no part",
                int(numbers[first]),
            )
        write(lanes, at, np.broadcast_to(value(lanes, at), numbers.shape)[positions])
        if tell:
            tell(lanes, at, valid)

    return run


def vote(one: Instruction, operands: Operands) -> Run:
    """`vote.sync.all.pred`, `any`, and `ballot.b32`."""
    mode = one.parts[2]
    if mode not in ("all", "any", "ballot"):
        raise UnknownPtx(f"`{one}`")
    read, write = operands.read(one.operands[1], "pred"), operands.write(one.operands[0])

    def run(lanes: LaneRegisters, at: At) -> None:
        numbers = lanes.numbers_at(at)
        truth = np.broadcast_to(read(lanes, at), numbers.shape)
        bits = np.zeros(lanes.count, np.uint32)
        voters = bits.copy()
        one_bit = np.uint32(1) << lanes.lane_of[numbers].astype(np.uint32)
        np.bitwise_or.at(bits, lanes.warp_of[numbers], np.where(truth, one_bit, np.uint32(0)))
        np.bitwise_or.at(voters, lanes.warp_of[numbers], one_bit)
        mine, all_of = bits[lanes.warp_of[numbers]], voters[lanes.warp_of[numbers]]
        found = {"all": mine == all_of, "any": mine != 0, "ballot": mine}[mode]
        write(lanes, at, found)

    return run
