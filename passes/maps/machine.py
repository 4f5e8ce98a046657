"""What schedules know of processors: facts of each, in one table, and none in their code."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Machine:
    """`vector_bytes` is the size of a vector, 0 for none; `registers` is how many a loop may use.

    A map of fewer operations than `least_work` gets no vectors: they would save less time than it takes to
    compile them.
    """

    vector_bytes: int = 64
    registers: int = 28
    least_work: int = 0


@dataclass(frozen=True)
class Gpu:
    """Facts of a GPU: of the device, and of each of its multiprocessors. Bytes, and counts of threads."""

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

    @property
    def busy(self) -> int:
        """With fewer threads than these, the time of one counts, not how many there are."""
        return self.multiprocessors << 10


#: By architecture, a large device of each; backends may add theirs. These are by compute capability (CUDA C++
#: Programming Guide, table of specifications; data sheets of V100, Xavier, T4, A100, A40,
#: Orin, L40S, H200, B200, Thor, B300, RTX PRO 6000, GB10).
GPUS: dict[str, Gpu] = {
    "sm_70": Gpu(80, 96 << 10, 2048, 6 << 20, reserved=0),
    "sm_72": Gpu(8, 96 << 10, 2048, 1 << 19, reserved=0),
    "sm_75": Gpu(40, 64 << 10, 1024, 4 << 20, reserved=0),
    "sm_80": Gpu(108, 164 << 10, 2048, 40 << 20),
    "sm_86": Gpu(84, 100 << 10, 1536, 6 << 20),
    "sm_87": Gpu(16, 164 << 10, 1536, 4 << 20),
    "sm_89": Gpu(142, 100 << 10, 1536, 96 << 20),
    "sm_90": Gpu(132, 228 << 10, 2048, 50 << 20),
    "sm_100": Gpu(148, 228 << 10, 2048, 126 << 20),
    "sm_101": Gpu(20, 228 << 10, 1536, 32 << 20),
    "sm_103": Gpu(160, 228 << 10, 2048, 126 << 20),
    "sm_120": Gpu(188, 100 << 10, 1536, 128 << 20),
    "sm_121": Gpu(48, 100 << 10, 1536, 24 << 20),
}


def gpu_of(name: str) -> Gpu:
    """The facts of an architecture, as `sm_90`. Raises ValueError for one that is not known."""
    if name not in GPUS:
        raise ValueError(f"no GPU `{name}` is known; {', '.join(GPUS)} are")
    return GPUS[name]
