"""What a tile reads is copied to a small buffer first, where many tiles read it and it is scattered.

As in BLIS and GETT, what is copied (packed) is a panel: all that a reduction reads for the lanes of a
tile. It is read again for each tile along the other indices, one vector after the next. Where a panel
is too large to stay near, the outermost loop of the reduction is cut into blocks, and results go to
memory and back between them. Only the copy knows the layout of the tensor.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tadc.passes.accesses import Accesses, Loop, Read
from tadc.passes.splits import Split
from tadc.passes.tile_values import owner, yielded

GATHER = 1.2
"""The price of one lane of a vector that is not consecutive in memory."""

PANEL_BYTES = 64 << 10
"""The most bytes of all panels: they stay in the second-level cache, and on the stack."""

FAR = 1024
"""Rows so many bytes apart stand on too many pages, and may share the sets of a cache."""

LEAST_REUSE = 3
"""So often at least a panel is to be read."""


@dataclass(frozen=True)
class Way:
    """A schedule in terms of names: `lane` is the index of the lanes, `over` its reduction if it has one."""

    width: int
    lane: str
    over: Loop | None
    blocks: Mapping[str, int]
    parts: int = 1

    @property
    def elements(self) -> int:
        """The elements of the map in a tile."""
        return math.prod(self.blocks.values()) * (1 if self.over else self.width)

    def copies(self, names: frozenset[str]) -> int:
        """How many copies of a value a tile has, by what it depends on."""
        count = math.prod(block for name, block in self.blocks.items() if name in names)
        return count * (self.parts if self.over and self.lane in names else 1)


@dataclass(frozen=True)
class Packed:
    """Reads of one reduction that are packed.

    `names` are the indices whose loops are around the packing, `block` the steps of the outermost
    loop of the reduction between two packings (None for all), `price` that of packing, for a tile.
    """

    loop: Loop
    lane: str
    reads: tuple[Read, ...]
    names: frozenset[str]
    block: int | None
    price: float


def packing(accesses: Accesses, way: Way, found: Sequence[Split]) -> Packed | None:
    """What is worth packing; None if nothing is, or the map has no reduction with bounds of its own."""
    if len(accesses.body.inner) != 1 or not accesses.names:
        return None
    loop = accesses.body.inner[0]
    lane = accesses.names.index(way.lane)
    if loop.domain or not loop.is_box or loop.inner or (found and found[lane].factor > 1):
        return None
    own = set(accesses.names)
    names = frozenset([way.lane])
    reads: list[Read] = []
    for read in loop.reads:
        together = names | (read.names & own)
        # A panel has no copies along other indices than that of the lanes.
        if any(way.blocks.get(name, 1) > 1 for name in together - {way.lane}):
            continue
        if _worth(accesses, read, way) and _reuse(accesses, together, way) >= LEAST_REUSE:
            reads.append(read)
            names = together
    if not reads:
        return None
    whole = sum(_panel(accesses, loop, read, way) for read in reads)
    block = None
    if whole > PANEL_BYTES or not all(_known(accesses, name) for name in loop.binders):
        if not all(_known(accesses, name) for name in loop.binders[1:]) or not _is_value(accesses, loop):
            return None
        step = sum(_panel(accesses, loop, read, way, 1) for read in reads)
        block = PANEL_BYTES // step
        if block < 16:
            return None
    reuse = _reuse(accesses, names, way)
    price = sum(
        _elements(loop, read, way) * (GATHER if read.strides[way.lane] != 1 else 0.2) for read in reads
    )
    return Packed(loop, way.lane, tuple(reads), names, block, price / reuse)


def _is_value(accesses: Accesses, loop: Loop) -> bool:
    """Whether a reduction, which no lanes are joined for, is the map's one value as it stands."""
    op = accesses.body.op
    made = owner(yielded(op.regions[0].blocks[0]))
    return len(op.results) == 1 and made is not None and made == loop.op and loop.op.name == "tad.sum"


def _worth(accesses: Accesses, read: Read, way: Way) -> bool:
    """Whether a read may be packed and is not as good as packed."""
    if not read.direct or way.lane not in read.strides:
        return False
    if read.strides[way.lane] != 1:
        return True
    inner = [k for name, k in read.strides.items() if name not in accesses.names]
    return any(k is None or abs(k) * accesses.widest >= FAR for k in inner)


def _reuse(accesses: Accesses, names: frozenset[str], way: Way) -> float:
    """How many tiles read a panel that depends on some of the map's indices."""
    others = [name for name in accesses.names if name not in names]
    return math.prod(accesses.extent(name) / way.blocks.get(name, 1) for name in others) if others else 0


def _known(accesses: Accesses, name: str) -> bool:
    """Whether the number of values of an index is a number."""
    found = accesses.ranges[name]
    return found is not None and found.extent.is_constant


def _elements(loop: Loop, read: Read, way: Way, outermost: int | None = None) -> int:
    """The elements of a panel; `outermost` replaces the trips of the outermost loop."""
    trips = list(loop.trips)
    if outermost is not None:
        trips[0] = outermost
    moved = [n for name, n in zip(loop.binders, trips, strict=True) if name in read.names]
    return math.prod(moved) * way.width * way.blocks.get(way.lane, 1)


def _panel(accesses: Accesses, loop: Loop, read: Read, way: Way, outermost: int | None = None) -> int:
    """The bytes of a panel."""
    return _elements(loop, read, way, outermost) * accesses.widest
