"""What decides how fast a launch is, counted while it is emulated.

All of it follows from the addresses and the instructions alone, by a model with these parts:

request    what the hardware serves at once for a warp: 32 lanes of up to 4 bytes, 16 of 8 bytes, 8 of 16.
sector     32 aligned bytes of global memory. Lanes that read consecutive aligned elements touch 4 a request;
           one to 32 is possible.
wavefront  one pass over the 32 banks of shared memory, of 4 bytes each: a request takes as many as a bank has
           different words to give. 1 is free of conflicts.
L2         loads: the sectors that a block touches, each once (its first cache holds all that it reads);
           stores: the sectors of every request (they are written through).
DRAM       the sectors that a launch loads, each once, and those that it stores, each once. What one launch
           leaves in the second cache for the next is not modelled.

Instructions are counted by kind, once for each warp that issues them, and once for each lane.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

from tadc.backend.emulator.global_memory import Array
from tadc.frontend.dtypes import COMPUTED
from tadc.lattice.late_dataclasses import dataclass, field

if TYPE_CHECKING:
    from tadc.backend.emulator.ptx_reader import Instruction

Extents: TypeAlias = tuple[int, int, int]

SECTOR, BANKS, WORD, REQUEST = 32, 32, 4, 128
"""Bytes of a sector, banks of shared memory, bytes of a word of a bank, most bytes of a request."""

#: The functions of PTX that a unit of their own computes, or that become many instructions.
_SPECIAL = {"rcp", "rsqrt", "sqrt", "ex2", "lg2", "sin", "cos", "tanh"}
_BY_NAME = {
    "bra": "branch", "brx": "branch", "bar": "barrier", "barrier": "barrier",
    "shfl": "shuffle", "vote": "shuffle", "ret": "exit", "exit": "exit",
    "mov": "move", "selp": "move", "cvt": "convert", "cvta": "move",
}  # fmt: skip


def kind_of(one: Instruction) -> str:
    """The kind of an instruction: `f32`, `f64`, `special`, `divide` (of integers), `integer`, `branch`, ….

    Accesses of memory are counted where their space is known.
    """
    name, type = one.parts[0], one.parts[-1]
    if name in _BY_NAME:
        return _BY_NAME[name]
    if name in _SPECIAL or (name == "div" and type in COMPUTED):
        return "special"
    if type in COMPUTED:
        return type
    return "divide" if name in ("div", "rem") else "integer"


class LaneNumbers(Protocol):
    """Lanes as they are counted: how many lanes and warps, and of each lane its place and those it shares."""

    count: int
    warps: int
    warp_of: Array
    lane_of: Array
    block_of: Array


@dataclass
class Traffic:
    """Requests of one kind, and what they take: sectors of global memory, wavefronts of shared memory."""

    requests: int = 0
    parts: int = 0

    @property
    def each(self) -> float:
        """Sectors, or wavefronts, a request; 0 where there is none."""
        return self.parts / self.requests if self.requests else 0.0


@dataclass
class LaunchCounts:
    """What one launch did. `issued` and `lanes` have instructions by kind, of warps and of lanes."""

    kernel: str
    grid: Extents
    block: Extents
    local_bytes: int = 0
    """Local memory of a thread: arrays that registers do not hold. `ptxas` may spill beyond it."""
    shared_bytes: int = 0
    most_blocks: int | None = None
    """Of so many blocks these are the counts; None of all."""
    issued: Counter[str] = field(default_factory=Counter[str])
    lanes: Counter[str] = field(default_factory=Counter[str])
    loads: Traffic = field(default_factory=Traffic)
    """Of global memory, as `stores`."""
    stores: Traffic = field(default_factory=Traffic)
    shared: Traffic = field(default_factory=Traffic)
    """Loads and stores of shared memory."""
    l2_bytes: int = 0
    loaded: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    """The numbers of the sectors that are loaded, in order; those stored are in `stored`."""
    stored: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    _of_blocks: list[Array] = field(default_factory=list["Array"])
    _stored: list[Array] = field(default_factory=list["Array"])

    @property
    def threads(self) -> int:
        """All threads of the launch."""
        x, y, z = (grid * block for grid, block in zip(self.grid, self.block, strict=True))
        return x * y * z

    @property
    def dram_bytes(self) -> int:
        """Bytes of the sectors that are loaded, and of those that are stored."""
        return SECTOR * (len(self.loaded) + len(self.stored))

    def step(self, kind: str, lanes: LaneNumbers, at: Array) -> None:
        """Some lanes ran an instruction."""
        warps = lanes.warps if len(at) == lanes.count else _distinct(lanes.warp_of[at])
        self.issued[kind] += warps
        self.lanes[kind] += len(at)

    def access(
        self, name: str, space: str, first: Array, size: int, lanes: LaneNumbers, numbers: Array
    ) -> None:
        """Lanes load (`ld`) or store (`st`) `size` bytes each, from addresses on in a space."""
        self.step(f"{'load' if name == 'ld' else 'store'} {space}", lanes, numbers)
        served = max(REQUEST // max(size, WORD), 1)
        requests = lanes.warp_of[numbers] + lanes.lane_of[numbers] // served
        if space == "global":
            sectors = np.concatenate([(first + byte) // SECTOR for byte in _steps(size, SECTOR)])
            asked = np.tile(requests, len(sectors) // len(first))
            traffic = self.loads if name == "ld" else self.stores
            count = _distinct(asked << 40 | sectors)
            traffic.requests += _distinct(requests)
            traffic.parts += count
            if name == "ld":
                blocks = np.tile(lanes.block_of[numbers], len(sectors) // len(first))
                self._of_blocks.append(np.unique(blocks << 40 | sectors))
            else:
                self.l2_bytes += SECTOR * count
                self._stored.append(np.unique(sectors))
        elif space == "shared":
            words = np.concatenate([(first + byte) // WORD for byte in _steps(size, WORD)])
            asked = np.tile(requests, len(words) // len(first))
            self.shared.requests += _distinct(requests)
            self.shared.parts += _passes(asked, words)

    def end_wave(self) -> None:
        """The blocks that ran together are done: what they loaded is known."""
        if self._of_blocks:
            each = np.unique(np.concatenate(self._of_blocks))
            self._of_blocks.clear()
            self.l2_bytes += SECTOR * len(each)
            self.loaded = np.union1d(self.loaded, each & (1 << 40) - 1)
        self.stored = np.unique(np.concatenate([self.stored, *self._stored]))
        self._stored.clear()


def _steps(size: int, each: int) -> list[int]:
    """Offsets that reach every part of `size` bytes: from the first to the last byte."""
    return sorted({*range(0, size, each), size - 1})


def _distinct(keys: Array) -> int:
    return len(np.unique(keys))


def _passes(requests: Array, words: Array) -> int:
    """How many wavefronts requests take: of each the most words of one bank."""
    pairs = np.unique(requests << 32 | words)
    banks, counts = np.unique(pairs >> 32 << 32 | pairs % BANKS, return_counts=True)
    most = np.zeros(len(banks), np.int64)
    owners, place = np.unique(banks >> 32, return_inverse=True)
    np.maximum.at(most, place, counts)
    return int(most[: len(owners)].sum())


_COUNTED: ContextVar[tuple[list[LaunchCounts], int | None] | None] = ContextVar("counted", default=None)


@contextmanager
def counting(most_blocks: int | None = None) -> Generator[list[LaunchCounts]]:
    """Count what is launched on the emulator inside, a launch an element of the list.

    With `most_blocks`, no more of each launch run, spread over its grid: so one looks at sizes that take
    too long otherwise. What the launches compute is then not there; counts are of these blocks alone.
    """
    found: list[LaunchCounts] = []
    token = _COUNTED.set((found, most_blocks))
    try:
        yield found
    finally:
        _COUNTED.reset(token)


def counts_of(kernel: str, grid: Extents, block: Extents, local: int, shared: int) -> LaunchCounts | None:
    """What a launch that begins notes its counts in; None where nobody counts."""
    counted = _COUNTED.get()
    if counted is None:
        return None
    launches, most = counted
    launches.append(LaunchCounts(kernel, grid, block, local, shared, most))
    return launches[-1]


#: Columns of the table, each with what it shows of a launch.
_COLUMNS: dict[str, Callable[[LaunchCounts], str]] = {
    "kernel": lambda c: c.kernel,
    "blocks": lambda c: str(c.grid[0] * c.grid[1] * c.grid[2]),
    "threads": lambda c: str(c.block[0] * c.block[1] * c.block[2]),
    "DRAM": lambda c: _bytes(c.dram_bytes),
    "L2": lambda c: _bytes(c.l2_bytes),
    "sect/ld": lambda c: f"{c.loads.each:.1f}",
    "sect/st": lambda c: f"{c.stores.each:.1f}",
    "wavef": lambda c: f"{c.shared.each:.1f}",
    "issued": lambda c: str(sum(c.issued.values())),
    **{name: lambda c, name=name: str(c.issued[name]) for name in COMPUTED},
    "special": lambda c: str(c.issued["special"]),
    "divide": lambda c: str(c.issued["divide"]),
    "local": lambda c: str(c.issued["load local"] + c.issued["store local"]),
}


def table(launches: list[LaunchCounts]) -> str:
    """A line a launch, and one for all of them; the instructions are those that warps issue."""
    rows = [list(_COLUMNS), *([show(c) for show in _COLUMNS.values()] for c in launches)]
    last = dict.fromkeys(_COLUMNS, "")
    last["kernel"] = "1 launch" if len(launches) == 1 else f"{len(launches)} launches"
    last["DRAM"] = _bytes(sum(c.dram_bytes for c in launches))
    last["L2"] = _bytes(sum(c.l2_bytes for c in launches))
    rows.append([*last.values()])
    widths = [max(len(row[n]) for row in rows) for n in range(len(_COLUMNS))]
    lines = [
        "  ".join(
            text.ljust(width) if n == 0 else text.rjust(width)
            for n, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    return "\n".join(lines)


def _bytes(count: int) -> str:
    for unit, scale in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= scale:
            return f"{count / scale:.1f} {unit}"
    return f"{count} B"
