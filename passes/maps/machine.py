"""Tables of machine properties for schedules: costs of functions, properties of each GPU."""

from __future__ import annotations

from collections.abc import Mapping

from tadc.lattice.late_dataclasses import dataclass, field

FUNCTION_COSTS: Mapping[str, float] = {
    **dict.fromkeys(("add", "sub", "mul", "neg", "choose"), 1),
    **dict.fromkeys(("=", ">", ">=", "<", "<=", "!="), 1),
    **dict.fromkeys(("abs", "math.fma", "floor", "ceil"), 1),
    **dict.fromkeys(("max", "min", "relu", "safe", "sign", "guard"), 3),
    "powi": 2,
    **dict.fromkeys(("div", "sqrt", "mod"), 16),
    "pinv": 18,
    "index number": 3,
    "lookup": 1,
}


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What functions and operations cost, for a vector or a warp, by their names in maps."""

    functions: Mapping[str, float] = field(default_factory=lambda: FUNCTION_COSTS, compare=False)
    function: float = 25
    """One that is not in the table."""

    def cost(self, name: str) -> float:
        """What an operation costs."""
        return self.functions.get(name, self.function)


@dataclass(frozen=True)
class Gpu(Machine):
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
    least_block: int = 64
    """A block has so many threads at least: a multiprocessor holds few blocks."""
    usual_block: int = 256
    """The threads of a block, where nothing asks for fewer or more."""
    enough: int = 512
    """With so many threads on a multiprocessor, one block computes while another waits."""
    vector: int = 16
    """The most bytes that a thread loads at once, and what a buffer is aligned to."""
    shared_of_tile: int = 40 << 10
    """The most shared memory that a block copies elements to: so several blocks fit."""
    shared_of_joins: int = 24 << 10
    """The most shared memory in which the threads of a block join their results."""
    shared_of_warps: int = 2 << 10
    """What is left of it where maps keep their rows there, for the results of warps."""
    carried: int = 32
    """A thread carries so many sums over rows at most."""
    row_of_warp: int = 1024
    """A row of more elements has a block of its own, one of fewer a warp."""

    own_registers: int = 28
    """What a thread needs for addresses, counters and the like."""
    size_registers: int = 4
    """For a size, and for a stride that is not known."""
    function_registers: int = 32
    """For a function such as exp."""
    bound_registers: int = 14
    """Where sizes are not known, for what an index says of the bounds of a reduction."""
    address_registers: int = 4
    """And for the place of an element that is not copied, in this step and in the next."""

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

GPUS = {
    "sm_70": Gpu(80, 96 << 10, 2048, 6 << 20, reserved=0),
    "sm_72": Gpu(8, 96 << 10, 2048, 1 << 19, reserved=0),
    "sm_75": Gpu(40, 64 << 10, 1024, 4 << 20, reserved=0),
    "sm_80": Gpu(108, 164 << 10, 2048, 40 << 20),
    "sm_86": Gpu(84, 100 << 10, 1536, 6 << 20),
    "sm_87": Gpu(16, 164 << 10, 1536, 4 << 20),
    "sm_89": Gpu(142, 100 << 10, 1536, 96 << 20),
    "sm_90": TYPICAL,
    "sm_100": Gpu(148, 228 << 10, 2048, 126 << 20),
    "sm_101": Gpu(20, 228 << 10, 1536, 32 << 20),
    "sm_103": Gpu(160, 228 << 10, 2048, 126 << 20),
    "sm_120": Gpu(188, 100 << 10, 1536, 128 << 20),
    "sm_121": Gpu(48, 100 << 10, 1536, 24 << 20),
    "gfx90a": Gpu(104, 64 << 10, 2048, 8 << 20, registers=1 << 17),
    "gfx942": Gpu(304, 64 << 10, 2048, 4 << 20, registers=1 << 17),
    "gfx1100": Gpu(48, 64 << 10, 2048, 6 << 20, registers=98304),
}
"""By architecture, a large device of each.

CUDA C++ Programming Guide, table of specifications; data sheets of V100, Xavier, T4, A100, A40, Orin, L40S,
H200, B200, Thor, B300, RTX PRO 6000, GB10. AMD's guides to instruction sets; LLVM's User Guide for AMDGPU
Backend: 32 lanes run together, as a wave or as half of one. A compute unit has 64 KiB of memory that blocks
share; of vector registers 4 x 512 x 64, or 2 x 1536 x 32.
"""


def gpu_of(name: str) -> Gpu:
    """The facts of an architecture. Raises ValueError for one that is not known."""
    if not name:
        return TYPICAL
    if name not in GPUS:
        raise ValueError(f"no GPU `{name}` is known; {', '.join(GPUS)} are")
    return GPUS[name]
