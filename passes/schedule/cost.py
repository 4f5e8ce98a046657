"""What a candidate costs for one element, in halves of a cycle of a processor that starts two vector
operations a cycle: the pieces of the body, each as often as a tile needs it.

Nothing but strides, trip counts and what depends on what goes in, so the derivatives of a contraction or a
convolution are treated as what they are, and so is everything else.
"""

from __future__ import annotations

import math

from tadc.lattice.late_dataclasses import dataclass
from tadc.passes.nest.squares import FEWEST, TOGETHER
from tadc.passes.schedule.accesses import Accesses, ElementRead, Loop
from tadc.passes.schedule.body_cost import BodyCost
from tadc.passes.schedule.cache_sets import cost_of_lines, cost_of_stored_lines
from tadc.passes.schedule.candidate import Candidate, Panels
from tadc.passes.schedule.cpu_machine import CpuMachine
from tadc.passes.schedule.leaps import steps_of, vectors_read
from tadc.passes.schedule.packing import is_far
from tadc.passes.schedule.splits import FEW_COPIES, FEW_TILES, copies, limits_of

MASKED = 2
"""So many times the time of another takes a tile whose elements have bounds of their own."""


def cost(accesses: Accesses, candidate: Candidate, machine: CpuMachine) -> float:
    """The cost of one element."""
    parts, packed = _Cost(accesses, candidate, machine), candidate.packed
    store = parts.store()
    total = parts.loop(accesses.body) + store
    if packed is None:
        total += cost_of_lines(accesses, candidate, machine)
    else:
        total += packed.cost + (packed.times - 1) * 2 * store
        total += packed.rows.cost if packed.rows else 0
    return total / candidate.elements * parts.waste()


def writes_by_turns(accesses: Accesses, machine: CpuMachine) -> bool:
    """Whether the body writes several tensors, and does not much else: it costs less than a function."""
    body = accesses.body
    if accesses.results < 2:
        return False
    return len(body.reads) + sum(machine.cost(o.name) for o in body.operations) < machine.function


@dataclass(frozen=True)
class _Cost(BodyCost[CpuMachine]):
    """The costs of the pieces of a body for one tile."""

    accesses: Accesses
    candidate: Candidate
    machine: CpuMachine

    def waste(self) -> float:
        """How many elements tiles compute for each element that there is."""
        candidate, total = self.candidate, 1.0
        for name in self.accesses.names:
            found = self.accesses.ranges[name]
            width = candidate.width if name == candidate.lane and candidate.fold is None else 1
            tile = candidate.blocks.get(name, 1) * width
            if tile > 1 and found is not None and found.extent.is_constant:
                extent = max(found.extent.constant, 1)
                total *= self.tiles(name, extent, tile) * tile / extent
        return total

    def tiles(self, name: str, extent: int, tile: int) -> float:
        """How many tiles an index has, those before and after its full part by what they cost."""
        part = self.accesses.parts[name]
        tiles = math.ceil(extent / tile)
        if not part.rows:
            return tiles
        # Of an index by residue the extent counts groups.
        start, stop = limits_of(part.rows, extent * part.factor)
        start, stop = -(-start // part.factor), stop // part.factor
        if stop <= start:
            return tiles
        full = math.ceil((stop - start) / tile)
        after = self.accesses.names[self.accesses.names.index(name) + 1 :]
        if self.candidate.packed and copies([self.accesses.parts[inner] for inner in after]) > FEW_COPIES:
            # Elements of an edge are computed one by one.
            return full + (start + extent - stop) * self.share(name, 1)
        if tiles <= FEW_TILES and not self.candidate.packed:
            return MASKED * tiles
        edges = (start, extent - stop)
        return full + sum(edge // tile + self.share(name, edge % tile) for edge in edges)

    def share(self, name: str, copies: int) -> float:
        """What part of the time of a tile one with fewer copies along an index takes."""
        if not copies or name == self.candidate.lane or self.candidate.blocks.get(name, 1) == 1:
            return min(copies, 1)
        one = self.candidate.with_blocks({**self.candidate.blocks, name: copies})
        one.packed = self.candidate.packed
        return _Cost(self.accesses, one, self.machine).loop(self.accesses.body) / self.loop(
            self.accesses.body
        )

    def store(self) -> float:
        """The cost of storing a tile."""
        accesses, candidate, machine = self.accesses, self.candidate, self.machine
        tensors, names = accesses.results, accesses.names
        if candidate.fold is not None or not candidate.lane:
            return candidate.elements * tensors
        vectors, last = candidate.elements // candidate.width * tensors, len(names) - 1
        if last < 0 or candidate.lane == names[last]:
            return vectors + (machine.switch * tensors if writes_by_turns(accesses, machine) else 0)
        # Lanes so far apart that each has a line of its own.
        inner = names[names.index(candidate.lane) + 1 :] if candidate.lane in names else []
        distance = math.prod(accesses.extent(name) for name in inner) * accesses.widest
        scattered = machine.scatter if distance < machine.line else machine.scatter_far
        rows = 1 if accesses.parts[names[last]].factor > 1 else candidate.blocks.get(names[last], 1)
        left = rows % TOGETHER
        short = rows - left + (TOGETHER if left >= FEWEST else 0)
        lane = (short * machine.interleaved + (left if left < FEWEST else 0) * scattered) / rows
        return vectors * candidate.width * lane + tensors * cost_of_stored_lines(accesses, candidate, machine)

    def copies(self, names: frozenset[str]) -> int:
        """How many copies of a value a tile has."""
        return self.candidate.copies(names)

    def results(self, loop: Loop) -> int:
        """How many copies of a result a reduction has."""
        return self.candidate.results(loop)

    def steps(self, loop: Loop, step: float) -> float:
        """The cost of all steps of a loop: the results that it carries wait for each other."""
        candidate, machine, trips, ending = self.candidate, self.machine, math.prod(loop.trips), 0.0
        # Of so few steps a loop is written out.
        around = 0 if trips <= machine.unrolled and loop is not candidate.fold else 1
        step += 2 * around
        if loop.binders[-1] in candidate.leaps:
            return self.leaping(loop, step)
        runs = 1
        if loop is candidate.fold:
            runs, vectors = math.prod(loop.trips[:-1]), candidate.width * candidate.parts
            # Between elements of an index array a last step is under masks, which others are not.
            trips = runs * (math.ceil(loop.trips[-1] / vectors) + self.accesses.has_unlike_bounds(loop))
            ending = machine.join_lanes * math.log2(candidate.width) * self.results(loop) * loop.results
            if loop.trips[-1] % vectors:
                # Each run of the innermost loop ends with a step under masks.
                ending += runs * sum(self.copies(read.names) for read in loop.reads)
        if candidate.lane in loop.bounds and candidate.fold is None:
            trips = trips + candidate.width / 2
        return trips * max(step, machine.latency) + ending + 4 * around * runs

    def leaping(self, loop: Loop, step: float) -> float:
        """The cost of a loop that takes several steps at once, where a single one costs so much."""
        candidate, latency = self.candidate, self.machine.latency
        leap, (whole, left) = candidate.leaps[loop.binders[-1]], steps_of(loop, candidate)
        reads = [read for read in loop.reads if not read.names.isdisjoint(loop.binders)]
        singly = sum(self.vectors(read, None, loop) for read in reads)
        together = sum(self.vectors(read, None, loop) * vectors_read(read, loop, candidate) for read in reads)
        at_once = leap.steps * (step - singly - 2) + together + 2
        return whole * max(at_once, leap.steps * latency / leap.parts) + left * max(step, latency) + 4

    def read(self, read: ElementRead, loop: Loop) -> float:
        """The cost of what a tile reads at one read in a loop, and of the lines that are not near."""
        return self.vectors(read, self.candidate.packed, loop) + self.misses(loop, read)

    def vectors(self, read: ElementRead, packed: Panels | None, loop: Loop) -> float:
        """The cost of the vectors, or elements, of a read."""
        candidate, machine = self.candidate, self.machine
        copies, stride = candidate.copies(read.names), candidate.stride(read)
        if stride == 0:
            return copies * machine.broadcast
        if packed is not None and read in packed.reads:
            return copies * machine.load
        if stride == 1:
            return copies * (machine.load + (machine.unaligned if self.is_unaligned(read) else 0))
        beside = self.beside(read, loop)
        if beside == candidate.width:
            return copies * (machine.load + machine.shuffle * math.log2(candidate.width))
        if beside >= FEWEST and candidate.width >= TOGETHER:
            return copies * machine.short * candidate.width
        if stride == -1:
            return copies * machine.reversed
        if candidate.lane in read.looked_up:
            return copies * machine.gather_looked_up * candidate.width
        # Elsewhere what is far is packed, if it is read often.
        is_far = self.accesses.in_steps and abs(stride or machine.far) * self.accesses.widest >= machine.far
        return copies * (machine.gather_far if is_far else machine.gather) * candidate.width

    def beside(self, read: ElementRead, loop: Loop) -> int:
        """How many elements of a read are side by side, of copies or of a few steps, where lanes are not."""
        candidate = self.candidate
        counts = dict(candidate.blocks)
        if candidate.held(loop):
            counts[loop.binders[-1]] = loop.trips[-1]
        return max((n for name, n in counts.items() if candidate.squares(read, name)), default=1)

    def is_unaligned(self, read: ElementRead) -> bool:
        """Whether a vector may start anywhere in a line of the cache: some index moves it by parts of one."""
        candidate = self.candidate
        return any((s or 0) % candidate.width for name, s in read.strides.items() if name != candidate.lane)

    def misses(self, loop: Loop, read: ElementRead) -> float:
        """The cost of lines that a tile reads for a few elements each, and that do not stay near."""
        candidate, machine, packed = self.candidate, self.machine, self.candidate.packed
        if candidate.lane in read.names:
            return 0
        if packed is not None and packed.rows is not None and read in packed.rows.reads:
            return 0
        if not is_far(self.accesses, loop, read, machine):
            return self.crowded(loop, read)
        line, widest = machine.line, self.accesses.widest
        rows = [name for name in read.names if candidate.blocks.get(name, 1) > 1]
        near = all(abs(read.strides[name] or line) * widest < line for name in rows)
        if near and packed is not None and not packed.copied:
            # Of blocks alone the next tile finds the rest of a line in the first cache.
            return machine.again
        return machine.miss * (1 if near else candidate.copies(read.names))

    def crowded(self, loop: Loop, read: ElementRead) -> float:
        """The cost of lines that the tile before has read too, and that did not stay near, the rows of a tile
        being in too many places: for a step."""
        candidate, machine, widest = self.candidate, self.machine, self.accesses.widest
        apart = {name: abs(stride or machine.far) * widest for name, stride in read.strides.items()}
        rows = math.prod(n for name, n in candidate.blocks.items() if apart.get(name, 0) >= machine.far)
        if rows == 1:
            return 0
        trips = [(apart.get(name, 0), n) for name, n in zip(loop.binders, loop.trips, strict=True)]
        if rows * math.prod(n for space, n in trips if space >= machine.far) < machine.sets:
            return 0
        lines = rows * math.prod(n for space, n in trips if space >= machine.line)
        return machine.again * lines / math.prod(loop.trips)
