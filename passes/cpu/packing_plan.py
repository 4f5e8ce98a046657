"""What a tile reads is copied to a small buffer first, where many tiles read it and it is scattered.

As in BLIS and GETT, what is copied (packed) is a panel: all that a reduction reads for the lanes of a
tile. It is read again for each tile along the other indices, one vector after the next. Where a panel
is too large to stay near, the loops of the reduction are cut into blocks: outer ones run one value at a
time, the next one in steps, and results go to memory and back between them.

Where what the rows of a tile read, one scalar for all lanes, is far apart too, it is packed as well: row
by row of a step, for a chunk of rows, before all that is packed for lanes. Only the copies know the layout
of a tensor.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tadc.dialect.mlir import ir
from tadc.passes.cpu.splits import PLAIN, Split
from tadc.passes.maps.accesses import IRREGULAR, Accesses, Loop, Read
from tadc.passes.maps.tile_values import owner, yielded

GATHER = 1.2
"""The price of one lane of a vector that is not consecutive in memory."""

TRANSPOSE = 0.5
"""That of one that is consecutive along the reduction."""

COPY = 1.0
"""That of one lane of a vector that is, but far from the one before."""

PANEL_BYTES = 256 << 10
"""The most bytes of all panels: they stay in the second-level cache, and on the stack."""

FEWEST_ROWS = 64
"""So many rows at least are packed at a time."""

MANY = 64
"""Lines of so many places do not stay in the first-level cache."""

LEAST_STEPS = 64
"""So many steps at least has a reduction between two packings: results are loaded and stored for each."""

FAR = 1024
"""Rows so many bytes apart stand on too many pages, and may share the sets of a cache."""

ROWS_BYTES = 256 << 10
"""The most bytes of what is packed for rows."""

LEAST_REUSE = 3
"""So often at least a panel is to be read."""

LEAST_REUSE_NEAR = 16
"""So often one at least that is packed for its alignment alone."""


@dataclass(frozen=True)
class Way:
    """A schedule in terms of names: `lane` is the index of the lanes, `over` its reduction if it has one."""

    width: int
    lane: str
    over: Loop | None
    blocks: Mapping[str, int]
    parts: int = 1
    leaps: Mapping[str, int] = field(default_factory=dict[str, int])
    """How many steps of some innermost binders are taken at once."""

    def stride(self, read: Read) -> int | None:
        """What a lane adds to the address of a read."""
        return read.strides.get(self.lane, 0)

    def squares(self, read: Read, name: str) -> bool:
        """Whether the lanes of a read are far apart, and its elements side by side along an index."""
        return self.over is None and self.stride(read) not in (0, 1, -1) and read.strides.get(name) == 1

    @property
    def elements(self) -> int:
        """The elements of the map in a tile."""
        return math.prod(self.blocks.values()) * (1 if self.over else self.width)

    def copies(self, names: frozenset[str]) -> int:
        """How many copies of a value a tile has, by what it depends on."""
        count = self.parts if self.over and self.lane in names else 1
        for name, block in self.blocks.items():
            if name in names:
                count *= block
        return count


@dataclass(frozen=True)
class Rows:
    """Reads that are packed for the rows of tiles, which are copies along the index `name`.

    `names` are the indices whose loops are around all, `chunk` the most rows between two packings,
    `points` the elements of a row, by read; `price` that of packing, for a tile, `share` what it is of the
    whole price.
    """

    name: str
    reads: tuple[Read, ...]
    names: frozenset[str]
    chunk: int
    points: tuple[int, ...]
    price: float
    share: float = 0.0


@dataclass(frozen=True)
class Packed:
    """Reads of one reduction that are packed.

    `names` are the indices whose loops are around the packing. The loops over the first `outer` binders
    of the reduction are too, and of the next one `block` values are taken between two packings (None for
    all). `price` is that of packing, for a tile; `share` what it is of the whole price.
    """

    loop: Loop
    lane: str
    reads: tuple[Read, ...]
    names: frozenset[str]
    outer: int
    block: int | None
    price: float
    share: float = 0.0
    rows: Rows | None = None

    @property
    def around(self) -> frozenset[str]:
        """The indices whose loops are around the packing for rows."""
        return self.rows.names if self.rows else frozenset()

    @property
    def times(self) -> int:
        """How often a tile is taken up."""
        if self.block is None:
            return 1
        return math.prod(self.loop.trips[: self.outer]) * -(-self.loop.trips[self.outer] // self.block)


def packing(accesses: Accesses, way: Way, found: Sequence[Split]) -> Packed | None:
    """What is worth packing; None if nothing is, or the map has no reduction with bounds of its own."""
    if len(accesses.body.inner) != 1 or not accesses.names or way.leaps:
        return None
    loop = accesses.body.inner[0]
    lane = accesses.names.index(way.lane)
    if loop.domain or not loop.is_box or loop.inner or (found and found[lane].factor > 1):
        return None
    reads, names = _reads(accesses, loop, way)
    rows = _row_reads(accesses, loop, way, found)
    if not reads and not rows:
        return None
    lanes = way.width * way.blocks.get(way.lane, 1)
    # With rows, the panels of lanes are packed again for each chunk, and both are to stay near.
    cut = _cut(accesses, loop, reads or rows, lanes if reads else FEWEST_ROWS, 1 + 3 * bool(rows))
    if cut is None:
        return None
    outer, block = cut
    of_rows = _rows(accesses, loop, way, rows, outer, block)
    reuse = _reuse(accesses, names, way, of_rows)
    price = sum(
        math.prod(loop.trips[:outer]) * _points(loop, read, outer) * lanes * _copy(loop, read, way)
        for read in reads
    )
    if not reads and of_rows is None:
        return None
    return Packed(loop, way.lane, tuple(reads), names, outer, block, price / reuse, rows=of_rows)


def _copy(loop: Loop, read: Read, way: Way) -> float:
    """The price of copying one element for a lane."""
    if read.strides[way.lane] == 1:
        return COPY
    return TRANSPOSE if along(loop, read, way.width) else GATHER


def along(loop: Loop, read: Read, width: int) -> str | None:
    """The binder of a reduction along which a read is consecutive, for a vector at least."""
    for name, trips in zip(loop.binders, loop.trips, strict=True):
        if read.strides.get(name) == 1 and trips >= width:
            return name
    return None


def _reads(accesses: Accesses, loop: Loop, way: Way) -> tuple[list[Read], frozenset[str]]:
    """What is worth packing for lanes, and the indices whose loops are around that."""
    names = frozenset([way.lane])
    reads: list[Read] = []
    for read in loop.reads:
        together = names | (read.names & frozenset(accesses.names))
        # A panel has no copies along other indices than that of the lanes.
        if any(way.blocks.get(name, 1) > 1 for name in together - {way.lane}):
            continue
        least = _least_reuse(accesses, read, way)
        if least is not None and _reuse(accesses, together, way) >= least:
            reads.append(read)
            names = together
    return reads, names if reads else frozenset()


def far(accesses: Accesses, loop: Loop, read: Read) -> bool:
    """Whether a reduction reads from many places, one element or a few from each."""
    if read.step * accesses.widest < FAR:
        return False
    return (
        math.prod(n for name, n in zip(loop.binders, loop.trips, strict=True) if name in read.names) >= MANY
    )


def _row_reads(accesses: Accesses, loop: Loop, way: Way, found: Sequence[Split]) -> list[Read]:
    """What is worth packing for rows."""
    row = next((name for name, count in way.blocks.items() if name != way.lane and count > 1), None)
    if row is None or not _known(accesses, row):
        return []
    if found and found[accesses.names.index(row)] is not PLAIN:
        return []
    return [
        read
        for read in loop.reads
        if read.direct
        and row in read.names
        and way.lane not in read.names
        and IRREGULAR not in read.strides.values()
        and far(accesses, loop, read)
        and _reuse(accesses, read.names, way) >= LEAST_REUSE
    ]


def _rows(
    accesses: Accesses, loop: Loop, way: Way, reads: Sequence[Read], outer: int, block: int | None
) -> Rows | None:
    """How reads are packed for rows; None if there are none, or too few rows are packed at a time."""
    if not reads:
        return None
    row = next(name for name, count in way.blocks.items() if name != way.lane and count > 1)
    names = frozenset[str]().union(*(read.names for read in reads)) & frozenset(accesses.names)
    points = tuple(_points(loop, read, outer, block) for read in reads)
    tile = way.blocks[row]
    whole = -(-accesses.extent(row) // tile)
    tiles = min(ROWS_BYTES // (sum(points) * accesses.widest * tile), whole)
    if tiles < 2:
        return None
    tiles = -(-whole // -(-whole // tiles))
    price = sum(
        math.prod(loop.trips[:outer])
        * _points(loop, read, outer)
        * tile
        * (0.6 if read.strides[row] == 1 else 2.0)
        for read in reads
    )
    reuse = max(1, _reuse(accesses, names, way))
    return Rows(row, tuple(reads), names - {row}, tiles * tile, points, price / reuse)


def _cut(
    accesses: Accesses, loop: Loop, reads: Sequence[Read], lanes: int, kinds: int
) -> tuple[int, int | None] | None:
    """How many loops run around the packing, and the steps of the next one; None if panels are too large.

    Of `PANEL_BYTES` they take the part that one of so many kinds of panels has.
    """
    known = [_known(accesses, name) for name in loop.binders]
    if not all(loop.trips):
        return None
    each = lanes * accesses.widest * kinds
    if all(known) and sum(_points(loop, r, 0) for r in reads) * each <= PANEL_BYTES:
        return 0, None
    if not _is_value(accesses, loop):
        return None
    for outer, trips in enumerate(loop.trips):
        step = sum(_points(loop, r, outer, 1) for r in reads) * each
        block = min(PANEL_BYTES // step, trips)
        steps = block * math.prod(loop.trips[outer + 1 :])
        if steps >= LEAST_STEPS and all(known[:outer] + known[outer + 1 :]):
            return outer, -(-trips // -(-trips // block)) if known[outer] else block
    return None


def _is_value(accesses: Accesses, loop: Loop) -> bool:
    """Whether a reduction, which no lanes are joined for, is the map's one value as it stands."""
    op = accesses.body.op
    made = owner(yielded(op.regions[0].blocks[0]))
    return len(op.results) == 1 and made is not None and made == loop.op and loop.op.name == "tad.sum"


def _least_reuse(accesses: Accesses, read: Read, way: Way) -> int | None:
    """How often at least a panel is to be read that a read may be packed for; None where it may not."""
    if not read.direct or way.lane not in read.strides:
        return None
    if read.strides[way.lane] != 1:
        return LEAST_REUSE
    inner = [k for name, k in read.strides.items() if name not in accesses.names]
    if any(k is None or abs(k) * accesses.widest >= FAR for k in inner):
        return LEAST_REUSE
    # Vectors of what the caller gives are in two lines of the cache each.
    return LEAST_REUSE_NEAR if isinstance(read.op.operands[0].owner, ir.Block) else None


def _reuse(accesses: Accesses, names: frozenset[str], way: Way, rows: Rows | None = None) -> float:
    """How many tiles read a panel that depends on some of the map's indices, of a chunk of rows."""
    total = 1.0
    others = [name for name in accesses.names if name not in names]
    for name in others:
        extent = accesses.extent(name)
        if rows is not None and name == rows.name:
            extent = min(extent, rows.chunk)
        total *= extent / (way.blocks.get(name, 1) * (way.width if name == way.lane else 1))
    return total if others else 0


def _known(accesses: Accesses, name: str) -> bool:
    """Whether the number of values of an index is a number."""
    found = accesses.ranges[name]
    return found is not None and found.extent.is_constant


def _points(loop: Loop, read: Read, outer: int, steps: int | None = None) -> int:
    """The elements of a lane, or a row, inside so many loops; `steps` replaces the trips of the next one."""
    trips = list(loop.trips)
    if steps is not None:
        trips[outer] = steps
    inner = zip(loop.binders[outer:], trips[outer:], strict=True)
    return math.prod(n for name, n in inner if name in read.names)
