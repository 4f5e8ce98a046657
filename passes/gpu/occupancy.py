"""How many threads a multiprocessor holds at a time, by a model of registers, and block sizes that follow."""

from __future__ import annotations

from tadc.passes.maps.machine import Gpu
from tadc.passes.schedule.accesses import Accesses
from tadc.passes.schedule.cpu_machine import FUNCTION_COSTS

LEAST_BLOCK = 64
MOST_REGISTERS = 168
"""The most registers that a thread of a block of 256 is planned with."""

_OWN = 28
"""Registers for addresses, counters and the like."""

_FUNCTION = 32
"""What a function such as exp needs."""


def registers(accesses: Accesses, results: int, operands: int) -> int:
    """About how many registers a thread needs that holds so many results and operands."""
    words = accesses.widest // 4
    loops = list(accesses.body.below())
    functions = any(o.name not in FUNCTION_COSTS for loop in loops for o in loop.operations)
    return _OWN + words * (results + operands + (_FUNCTION if functions else 0))


def resident(gpu: Gpu, block: int, registers: int, shared: int) -> int:
    """The threads that a multiprocessor holds of blocks of this size; 0 where none fits."""
    each = -(-registers // 8) * 8 * block
    blocks = min(gpu.threads // block, gpu.registers // each)
    if shared:
        blocks = min(blocks, gpu.shared // shared)
    return blocks * block


def block_of(gpu: Gpu, threads: int | None, most: int) -> int:
    """The threads of a block, so that each multiprocessor gets two; all are equal in other respects."""
    block = most
    while threads is not None and block > LEAST_BLOCK and threads < 2 * gpu.multiprocessors * block:
        block //= 2
    return block
