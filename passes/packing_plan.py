"""What a tile reads is copied to a small buffer first, where many tiles read it and it is scattered.

As in BLIS and GETT, what is copied (packed) is a panel: all that a reduction reads for the lanes of a
tile. It is read again for each tile along the other indices, one vector after the next. Where a panel
is too large to stay near, the loops of the reduction are cut into blocks: outer ones run one value at a
time, the next one in steps, and results go to memory and back between them. Only the copy knows the
layout of the tensor.
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

PANEL_BYTES = 128 << 10
"""The most bytes of all panels: they stay in the second-level cache, and on the stack."""

LEAST_STEPS = 64
"""So many steps at least has a reduction between two packings: results are loaded and stored for each."""

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

    `names` are the indices whose loops are around the packing. The loops over the first `outer` binders
    of the reduction are too, and of the next one `block` values are taken between two packings (None for
    all). `price` is that of packing, for a tile.
    """

    loop: Loop
    lane: str
    reads: tuple[Read, ...]
    names: frozenset[str]
    outer: int
    block: int | None
    price: float

    @property
    def times(self) -> int:
        """How often a tile is taken up."""
        if self.block is None:
            return 1
        return math.prod(self.loop.trips[: self.outer]) * -(-self.loop.trips[self.outer] // self.block)


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
    cut = _cut(accesses, loop, reads, way)
    if cut is None:
        return None
    outer, block = cut
    reuse = _reuse(accesses, names, way)
    price = sum(
        math.prod(loop.trips[:outer])
        * _elements(loop, read, way, outer)
        * (GATHER if read.strides[way.lane] != 1 else 0.2)
        for read in reads
    )
    return Packed(loop, way.lane, tuple(reads), names, outer, block, price / reuse)


def _cut(accesses: Accesses, loop: Loop, reads: Sequence[Read], way: Way) -> tuple[int, int | None] | None:
    """How many loops run around the packing, and the steps of the next one; None if panels are too large."""
    known = [_known(accesses, name) for name in loop.binders]
    if not all(loop.trips):
        return None
    if all(known) and sum(_elements(loop, r, way, 0) for r in reads) * accesses.widest <= PANEL_BYTES:
        return 0, None
    if not _is_value(accesses, loop):
        return None
    for outer, trips in enumerate(loop.trips):
        step = sum(_elements(loop, r, way, outer, 1) for r in reads) * accesses.widest
        block = min(PANEL_BYTES // step, trips)
        steps = block * math.prod(loop.trips[outer + 1 :])
        if steps >= LEAST_STEPS and all(known[:outer] + known[outer + 1 :]):
            return outer, -(-trips // -(-trips // block)) if known[outer] else block
    return None


def _is_value(accesses: Accesses, loop: Loop) -> bool:
    """Whether a reduction, which no lanes are joined for, is the map's value as it stands."""
    made = owner(yielded(accesses.body.op.regions[0].blocks[0]))
    return made is not None and made == loop.op and loop.op.name == "tad.sum"


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


def _elements(loop: Loop, read: Read, way: Way, outer: int, steps: int | None = None) -> int:
    """The elements of a panel inside so many loops; `steps` replaces the trips of the next one."""
    trips = list(loop.trips)
    if steps is not None:
        trips[outer] = steps
    inner = zip(loop.binders[outer:], trips[outer:], strict=True)
    moved = [n for name, n in inner if name in read.names]
    return math.prod(moved) * way.width * way.blocks.get(way.lane, 1)
