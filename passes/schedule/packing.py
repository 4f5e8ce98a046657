"""What a tile reads is copied to a small buffer first, where many tiles read it and it is scattered.

As in BLIS and GETT, what is copied (packed) is a panel: all that a reduction reads for the lanes of a
tile. It is read again for each tile along the other indices, one vector after the next. Where a panel
is too large to stay near, the loops of the reduction are cut into blocks: outer ones run one value at a
time, the next one in steps, and results go to memory and back between them.

Where what the rows of a tile read, one scalar for all lanes, is far apart too, it is packed as well: row
by row of a step, for a chunk of rows, before all that is packed for lanes. Only the copies know the layout
of a tensor.

Where nothing is packed, a long sum has blocks too if all tiles together would read its elements from behind
the second cache, each anew: those of a block stay in the first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from tadc.lattice.affine import Affine
from tadc.lattice.late_dataclasses import dataclass
from tadc.passes.maps.lifted_folds import is_in_range
from tadc.passes.maps.map import Load
from tadc.passes.schedule.accesses import IRREGULAR, Accesses, ElementRead, Loop
from tadc.passes.schedule.candidate import Candidate, Panels, RowPanels
from tadc.passes.schedule.cpu_machine import CpuMachine
from tadc.passes.schedule.loop_order import GAIN, TileLoops, comes_from_afar
from tadc.passes.schedule.splits import WHOLE
from tadc.passes.terms.costs import LARGE

LEAST_STEPS = LARGE
"""So many steps at least has a reduction between two packings: results are loaded and stored for each."""

FEWEST_ROWS = LEAST_STEPS
"""So many rows at least are packed at a time."""

LEAST_REUSE = 3
"""So often at least a panel is to be read."""


def along(loop: Loop, read: ElementRead, width: int) -> str | None:
    """The binder of a reduction along which a read is consecutive, for a vector at least."""
    for name, trips in zip(loop.binders, loop.trips, strict=True):
        if read.strides.get(name) == 1 and trips >= width:
            return name
    return None


def is_far(accesses: Accesses, loop: Loop, read: ElementRead, machine: CpuMachine) -> bool:
    """Whether a reduction reads from many places, one element or a few from each."""
    if read.step * accesses.widest < machine.far:
        return False
    places = (n for name, n in zip(loop.binders, loop.trips, strict=True) if name in read.names)
    return math.prod(places) >= machine.sets


def packing(accesses: Accesses, candidate: Candidate, machine: CpuMachine) -> Panels | None:
    """What is worth packing; None if nothing is, or the map has no reduction with bounds of its own, or is
    computed in steps."""
    found = _reduction(accesses, candidate, machine)
    return found and found.panels()


def blocks_alone(accesses: Accesses, candidate: Candidate, machine: CpuMachine) -> Panels | None:
    """Blocks of the one sum of a candidate, which packs nothing: each for all elements of the map, which read
    far fewer lines from afar so."""
    found = _reduction(accesses, candidate, machine)
    if found is None or not comes_from_afar(accesses, machine):
        return None
    panels = found.blocks()
    if panels is None:
        return None
    blocked = replace(candidate, packed=panels)
    lines, fewer = (TileLoops(accesses, one, machine) for one in (candidate, blocked))
    return panels if fewer.cost() < GAIN * lines.cost() else None


def _reduction(accesses: Accesses, candidate: Candidate, machine: CpuMachine) -> _ReductionPacking | None:
    """The one reduction of a candidate, of which all elements of a tile have the same steps."""
    if len(accesses.body.inner) != 1 or not accesses.names or candidate.leaps or candidate.fold:
        return None
    if accesses.in_steps:
        return None
    loop = accesses.body.inner[0]
    if not loop.is_box or loop.inner or accesses.parts[candidate.lane].factor > 1:
        return None
    if loop.domain and not loop.is_within_box:
        return None
    # All elements of a tile in full parts have one loop, whose bounds are the same for them.
    if candidate.lane in loop.domain or any(candidate.blocks.get(name, 1) > 1 for name in loop.bounds):
        return None
    return _ReductionPacking(accesses, candidate, machine, loop)


@dataclass(frozen=True)
class _ReductionPacking:
    """A candidate with one reduction, which is a box."""

    accesses: Accesses
    candidate: Candidate
    machine: CpuMachine
    loop: Loop

    def panels(self) -> Panels | None:
        """What is worth packing."""
        candidate, loop = self.candidate, self.loop
        reads, names = self.lane_reads()
        rows = self.row_reads()
        if not reads and not rows:
            return None
        lanes = candidate.width * candidate.blocks.get(candidate.lane, 1)
        # With rows, the panels of lanes are packed again for each chunk, and both are to stay near.
        cut = self.cut(reads or rows, lanes if reads else FEWEST_ROWS, 1 + 3 * bool(rows and reads))
        if cut is None:
            return None
        outer, block = cut
        of_rows = self.rows(rows, outer, block)
        reuse = self.reuse(names, of_rows)
        cost = sum(
            math.prod(loop.trips[:outer]) * self.points(read, outer) * lanes * self.copy(read)
            for read in reads
        )
        if not reads and of_rows is None:
            return None
        return Panels(loop, candidate.lane, tuple(reads), names, outer, block, cost / reuse, rows=of_rows)

    def blocks(self) -> Panels | None:
        """Blocks of a sum of which all steps are known: of so many that what a tile reads takes half of the
        lines of the first cache."""
        loop, machine = self.loop, self.machine
        if not self.is_value() or not all(map(self.accesses.is_known, loop.binders)):
            return None
        lines = sum(self.lines(read) for read in loop.reads)
        most = max(machine.l1 // 2 // machine.line // max(1, lines), LEAST_STEPS)
        for outer, trips in enumerate(loop.trips):
            block = min(trips, most // math.prod(loop.trips[outer + 1 :]))
            if block and (outer or block < trips):
                block = -(-trips // -(-trips // block))
                return Panels(loop, self.candidate.lane, (), frozenset(), outer, block, 0)
        return None

    def lines(self, read: ElementRead) -> int:
        """In about how many lines a tile reads what a read is of, in a step."""
        along = {name: self.candidate.extent(name) for name in read.names if name in self.accesses.names}
        beside = (count for name, count in along.items() if read.strides[name] == 1)
        run = next(beside, 1)
        return math.prod(along.values()) // run * -(-run * self.accesses.widest // self.machine.line)

    def copy(self, read: ElementRead) -> float:
        """The cost of copying one element for a lane."""
        if read.strides[self.candidate.lane] == 1:
            return self.machine.copy
        transposed = along(self.loop, read, self.candidate.width)
        return self.machine.copy_transposed if transposed else self.machine.gather

    def lane_reads(self) -> tuple[list[ElementRead], frozenset[str]]:
        """What is worth packing for lanes, and the indices whose loops are around that."""
        lane, blocks = self.candidate.lane, self.candidate.blocks
        names = frozenset([lane])
        reads: list[ElementRead] = []
        for read in self.loop.reads:
            together = names | (read.names & frozenset(self.accesses.names))
            # A panel has no copies along other indices than that of the lanes.
            if any(blocks.get(name, 1) > 1 for name in together - {lane}):
                continue
            least = self.least_reuse(read)
            is_worth_it = least is not None and self.reuse(together) >= least
            if is_worth_it and self.is_inside(read) and self.is_of_all_residues(read):
                reads.append(read)
                names = together
        return reads, names if reads else frozenset()

    def is_inside(self, read: ElementRead) -> bool:
        """Whether a read is of elements for all values of its indices, where bounds leave some of these out
        too: panels are for all of them."""
        if not self.loop.domain:
            return True
        accesses, value = self.accesses, self.accesses.lets[read.name].value
        assert isinstance(value, Load)
        # Indices of reductions as they are: loops may count them from where they start.
        own = {name: accesses.forms[name] for name in accesses.names}
        return is_in_range(value, accesses.tensors, accesses.ranges, accesses.known, forms=own)

    def is_of_all_residues(self, read: ElementRead) -> bool:
        """Whether a read is of the same elements for all residues of an index: their loop is inside of the
        packing."""
        value = self.accesses.lets[read.name].value
        assert isinstance(value, Load)
        several = {name: part.factor for name, part in self.accesses.parts.items() if part.factor > 1}
        for name, factor in several.items():
            groups = Affine.var(name) * factor
            places = {
                tuple(form.substitute({name: groups + residue}) for form in value.at)
                for residue in range(factor)
            }
            if len(places) > 1:
                return False
        return True

    @property
    def row(self) -> str | None:
        """The index along which tiles have copies, besides that of the lanes."""
        candidate = self.candidate
        blocks = candidate.blocks.items()
        return next((name for name, count in blocks if name != candidate.lane and count > 1), None)

    def row_reads(self) -> list[ElementRead]:
        """What is worth packing for rows."""
        accesses, row = self.accesses, self.row
        if row is None or not accesses.is_known(row) or accesses.parts[row] != WHOLE:
            return []
        return [
            read
            for read in self.loop.reads
            if read.direct
            and row in read.names
            and self.candidate.lane not in read.names
            and IRREGULAR not in read.strides.values()
            and is_far(accesses, self.loop, read, self.machine)
            and self.is_inside(read)
            and self.is_of_all_residues(read)
            and self.reuse(read.names) >= LEAST_REUSE
        ]

    def rows(self, reads: Sequence[ElementRead], outer: int, block: int | None) -> RowPanels | None:
        """How reads are packed for rows; None if there are none, or too few rows are packed at a time."""
        accesses, loop, row = self.accesses, self.loop, self.row
        if not reads or row is None:
            return None
        names = frozenset[str]().union(*(read.names for read in reads)) & frozenset(accesses.names)
        points = tuple(self.points(read, outer, block) for read in reads)
        tile = self.candidate.blocks[row]
        whole = -(-accesses.extent(row) // tile)
        tiles = min(self.machine.l2 // self.machine.panels // (sum(points) * accesses.widest * tile), whole)
        if tiles < 2:
            return None
        tiles = -(-whole // -(-whole // tiles))
        machine = self.machine
        cost = sum(
            math.prod(loop.trips[:outer])
            * self.points(read, outer)
            * tile
            * (machine.copy_row if read.strides[row] == 1 else machine.copy_far_row)
            for read in reads
        )
        reuse = max(1, self.reuse(names))
        return RowPanels(row, tuple(reads), names - {row}, tiles * tile, cost / reuse)

    def cut(self, reads: Sequence[ElementRead], lanes: int, kinds: int) -> tuple[int, int | None] | None:
        """How many loops run around the packing, and the steps of the next one; None if panels are too large.

        Of the room for panels they take the part that one of so many kinds of panels has. The lines of which
        one tile after the next reads some elements take half of the first cache at most.
        """
        loop, room = self.loop, self.machine.l2 // self.machine.panels
        known = [self.accesses.is_known(name) for name in loop.binders]
        if not all(loop.trips):
            return None
        each = lanes * self.accesses.widest * kinds
        near = self.machine.l1 // 2 // self.machine.line
        shared = [] if self.row_reads() else [read for read in loop.reads if self.shares_lines(read)]
        lines = sum(self.points(read, 0) for read in shared)
        if all(known) and sum(self.points(r, 0) for r in reads) * each <= room and lines <= near:
            return 0, None
        if not self.is_value():
            return None
        for outer, trips in enumerate(loop.trips):
            step = sum(self.points(r, outer, 1) for r in reads) * each
            lines = sum(self.points(read, outer, 1) for read in shared)
            block = min(room // step, near // lines if lines else trips, trips)
            steps = block * math.prod(loop.trips[outer + 1 :])
            if steps >= LEAST_STEPS and all(known[:outer] + known[outer + 1 :]):
                return outer, -(-trips // -(-trips // block)) if known[outer] else block
        return None

    def shares_lines(self, read: ElementRead) -> bool:
        """Whether each step reads a line anew, of which the next tile along the rows reads other elements."""
        row, widest = self.row, self.accesses.widest
        if row is None or self.candidate.lane in read.names or read.strides.get(row) != 1:
            return False
        return read.step * widest >= self.machine.line

    def is_value(self) -> bool:
        loop, item = self.loop, self.accesses.map
        return item.body.gives == (loop.fold,) and loop.results == 1 and loop.kind == "sum"

    def least_reuse(self, read: ElementRead) -> float | None:
        """How often at least a panel is to be read that a read may be packed for; None where it may not."""
        accesses = self.accesses
        if not read.direct or self.candidate.lane not in read.strides:
            return None
        if read.strides[self.candidate.lane] != 1:
            return LEAST_REUSE
        inner = [k for name, k in read.strides.items() if name not in accesses.names]
        if any(k is None or abs(k) * accesses.widest >= self.machine.far for k in inner):
            return LEAST_REUSE
        # Vectors of what the caller gives are in two lines of the cache each: that alone is spared.
        saved = self.machine.unaligned / self.candidate.width
        return self.machine.copy / saved if accesses.is_from_caller(read) else None

    def reuse(self, names: frozenset[str], rows: RowPanels | None = None) -> float:
        """How many tiles read a panel that depends on some of the map's indices, of a chunk of rows."""
        candidate = self.candidate
        total = 1.0
        others = [name for name in self.accesses.names if name not in names]
        for name in others:
            extent = self.accesses.extent(name)
            if rows is not None and name == rows.name:
                extent = min(extent, rows.chunk)
            width = candidate.width if name == candidate.lane else 1
            total *= extent / (candidate.blocks.get(name, 1) * width)
        return total if others else 0

    def points(self, read: ElementRead, outer: int, steps: int | None = None) -> int:
        """The elements of a lane, or a row, inside so many loops; `steps` replaces the trips of the next
        one."""
        trips = list(self.loop.trips)
        if steps is not None:
            trips[outer] = steps
        inner = zip(self.loop.binders[outer:], trips[outer:], strict=True)
        return math.prod(n for name, n in inner if name in read.names)
