"""What schedules know of GPUs: facts of each, in one table, and none in their code."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Gpu:
    """Facts of a GPU: of the device, and of each of its multiprocessors. Bytes, and counts of threads.

    The unit of costs is the time in which a multiprocessor starts one arithmetic instruction of a warp.
    """

    multiprocessors: int
    shared: int
    """The shared memory of a multiprocessor."""
    threads: int
    """The most threads of a multiprocessor at a time."""
    l2: int
    registers: int = 1 << 16
    """The 32-bit registers of a multiprocessor."""
    reserved: int = 1 << 10
    """Of the shared memory of a multiprocessor, what a block cannot have."""
    static_shared: int = 48 << 10
    """The most shared memory that a block has without asking the driver for it."""
    block: int = 1024
    """The most threads of a block."""
    warp: int = 32
    """The threads that run together, and exchange registers."""
    banks: int = 32
    """The parts of shared memory, each of which gives 4 bytes at a time."""
    line: int = 128
    """Bytes of a line of the first cache."""
    sector: int = 32
    """The bytes that memory gives at least."""
    thread_registers: int = 168
    """The most registers that a thread of a block of 256 is planned with."""

    access: float = 4.0
    """The cost of one line for a warp."""
    step: float = 2.0
    """The cost of one step of a loop."""
    join: float = 14.0
    """The cost of joining two results within a warp."""
    barrier: float = 40.0
    """The cost of a barrier, and of waiting for what was copied before it."""
    find: float = 6.0
    """The cost of finding an element to copy."""
    launch: float = 1 << 23
    """The cost of a launch, in instructions of threads: about two microseconds."""

    @property
    def busy(self) -> int:
        """With fewer threads than these, the time of one counts, not how many there are."""
        return self.multiprocessors << 10


TYPICAL = Gpu(132, 228 << 10, 2048, 50 << 20)
"""Where no architecture is named."""

GPUS: dict[str, Gpu] = {}
"""By architecture, a large device of each; `backend/target.py` enters those of backends."""


def gpu_of(name: str) -> Gpu:
    """The facts of an architecture. Raises ValueError for one that is not known."""
    if not name:
        return TYPICAL
    if name not in GPUS:
        raise ValueError(f"no GPU `{name}` is known; {', '.join(GPUS)} are")
    return GPUS[name]
