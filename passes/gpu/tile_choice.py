"""Which reductions and transposed reads are worth shared memory, and how large the tiles of their blocks are.

What counts is reuse: an element that a block copies once and many of its threads read. It follows from
the strides of the reads alone, so the gradients of a contraction or a convolution are treated alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import permutations, product

from tadc.lattice.affine import Affine
from tadc.passes.gpu.occupancy import registers, registers_of_sizes, resident, unknown_strides
from tadc.passes.gpu.thread_costs import ThreadCost, lines, stored_at, warp_over
from tadc.passes.gpu.tiles import Along, GpuTile, of_block
from tadc.passes.maps.machine import Gpu
from tadc.passes.nest.primitives.boxes import padded, spans_of
from tadc.passes.schedule.accesses import Accesses, ElementRead, Loop
from tadc.passes.terms.costs import LANES, TILE_CODE, UNKNOWN

SHAPES = ((16, 16), (32, 8), (8, 32), (64, 4), (16, 8), (8, 8))
"""Threads along the fast and the slow index."""

COPIES = ((8, 8), (8, 4), (4, 8), (4, 4), (4, 2), (2, 4), (4, 1), (1, 4), (2, 2), (8, 1), (1, 8))
"""Copies of a thread along the fast and the slow index."""

STEPS = (8, 16, 32)
"""About so many steps are between two barriers."""

LEAST_REUSE = 4
"""So often at least an element that is copied is to be read."""


Spans = tuple[tuple[int, int], ...]
"""Of what a block reads of a tensor, the elements along each dimension and the distance between two."""


def extent_or_open(accesses: Accesses, name: str) -> int:
    """The values of an index of a map; `UNKNOWN` where they are not known."""
    return accesses.extent(name) if accesses.is_known(name) else UNKNOWN


def block_tiles(gpu: Gpu, accesses: Accesses) -> Iterator[tuple[float, GpuTile]]:
    """The tiles with shared memory that fit, with their costs for the whole map."""
    for loop in accesses.body.inner:
        if not loop.binders or not loop.direct or math.prod(loop.trips) < STEPS[0]:
            continue
        choice = _TileChoice(gpu, accesses, loop)
        for tile in choice.tiles():
            found = choice.copied(tile)
            if found is not None:
                yield found


class _TileChoice:
    """What the candidates for one reduction share."""

    def __init__(self, gpu: Gpu, accesses: Accesses, loop: Loop) -> None:
        self.gpu, self.accesses, self.loop = gpu, accesses, loop
        self.reads = [(read, inner) for inner in loop.below() for read in inner.reads]
        self.extents = {name: extent_or_open(accesses, name) for name in accesses.names}
        self.bytes = {read.name: accesses.bytes_of(read) for read, _ in self.reads}
        self.stored = stored_at(accesses)
        self.all_steps = tuple(dict.fromkeys(_steps(loop.trips, target) for target in STEPS))
        self.forms = {read.name: accesses.place(read) for read, _ in self.reads}
        self.runs = {name: self.run(name) for name in accesses.names}
        self.known_spans: dict[tuple[object, ...], Spans] = {}
        self.known_warps: dict[tuple[object, ...], Sequence[Mapping[str, int]]] = {}
        self.known_lines: dict[tuple[object, ...], float] = {}
        self.inner: dict[str, int] = {}
        self.is_open = not all(self.take_inner(inner) for inner in loop.below() if inner is not loop)

    def take_inner(self, inner: Loop) -> bool:
        """Note the ranges of a reduction inside; whether they are numbers."""
        for name in inner.binders:
            range = self.accesses.ranges[name]
            if range is None or not (range.low.is_constant and range.extent.is_constant):
                return False
            if self.accesses.forms[name] != Affine.var(name):
                return False
            self.inner[name] = max(range.extent.constant, 1)
        return True

    def tiles(self) -> Iterator[GpuTile]:
        """All candidates that the extents leave room for."""
        if self.is_open:
            return
        most = TILE_CODE // max(self.loop.size, 1)
        for fast, slow in permutations(self.extents, 2):
            for shape, copies in product(SHAPES, COPIES):
                if math.prod(copies) * self.accesses.widest // 4 <= min(64, most):
                    yield from self.with_steps(fast, slow, shape, copies)

    def with_steps(
        self, fast: str, slow: str, shape: tuple[int, int], copies: tuple[int, int]
    ) -> Iterator[GpuTile]:
        """The candidates of one shape."""
        along: dict[str, Along] = {}
        for name, threads, count in zip((fast, slow), shape, copies, strict=True):
            tile, extent = threads * count, self.extents[name]
            if tile >= 2 * extent or (count > 1 and -(-extent // tile) * tile > extent * 1.34):
                return
            along[name] = Along(threads, count, math.gcd(count, self.runs[name]))
        tile = replace(of_block(tuple(self.extents), along), over=self.loop.fold)
        for steps in self.all_steps:
            yield replace(tile, steps=dict(zip(self.loop.binders, steps, strict=True)))

    def run(self, name: str) -> int:
        """How many consecutive elements a thread may have: vectors of shared memory are aligned then."""
        most = 16 // self.accesses.widest
        for forms in self.forms.values():
            for form in forms:
                others = form - Affine.var(name) * form.coefficient(name)
                if form.coefficient(name) not in (0, 1) or name in others.variables:
                    return 1
                if form.coefficient(name) and any(k % most for _, k in others.terms):
                    return 1
        return most

    def copied(self, tile: GpuTile) -> tuple[float, GpuTile] | None:
        """The tile and its cost; None where it does not fit, or nothing is worth copying."""
        ranges = {name: one.extent for name, one in tile.along.items()}
        ranges |= {name: count for name, count in tile.steps.items() if count > 1}
        ranges |= self.inner
        staged: dict[str, Spans] = {}
        used = 0
        for read, _ in self.reads:
            box = self.spans(read, ranges)
            if not box:
                continue
            points = math.prod(ranges.values())
            if points < LEAST_REUSE * math.prod(n for n, _ in box) or not self.is_shared(read, tile):
                continue
            staged[read.name] = box
            used += math.prod(padded(self.gpu, [n for n, _ in box], True)) * self.bytes[read.name]
        if not staged or used > self.gpu.shared_of_tile:
            return None
        held = self.resident(tile, staged, used)
        if not held:
            return None
        found = replace(tile, staged=frozenset(staged))
        # Blocks wait at barriers: others are to run meanwhile.
        return self.cost(tile, staged) * max(1.0, self.gpu.enough / held) ** 0.5, found

    def resident(self, tile: GpuTile, staged: Mapping[str, Spans], shared: int) -> int:
        """The threads that a multiprocessor holds; 0 where registers or shared memory do not suffice."""
        operands = sum(tile.copies(read.names) for read in self.loop.reads)
        loads = sum(-(-math.prod(n for n, _ in box) // tile.block) for box in staged.values())
        needed = registers(self.gpu, self.accesses, tile.results, operands + min(loads, 2 * self.gpu.warp))
        if needed + self.for_sizes(tile, staged) > self.gpu.thread_registers:
            return 0
        return resident(self.gpu, tile.block, needed, shared)

    def for_sizes(self, tile: GpuTile, staged: Mapping[str, Spans]) -> int:
        """Registers for addresses and guards where sizes are not known; what does not fit spills."""
        needed = registers_of_sizes(self.gpu, self.accesses)
        if not needed:
            return 0
        for read, _ in self.reads:
            strides = unknown_strides(self.accesses.tensors[read.tensor])
            if read.name in staged:
                loads = -(-math.prod(n for n, _ in staged[read.name]) // tile.block)
                needed += loads * max(strides - 1, 0)
            elif strides:
                needed += self.gpu.address_registers * tile.copies(read.names)
        needed += self.gpu.bound_registers * len(self.loop.domain)
        is_moving = not self.loop.domain.isdisjoint(tile.along)
        others = self.accesses.results - 1 + is_moving
        return needed + others * tile.results * self.accesses.widest // 4

    def spans(self, read: ElementRead, ranges: Mapping[str, int]) -> Spans:
        """What a block reads where indices have so many values; nothing if that varies."""
        forms = self.forms[read.name]
        key = read.name, *(ranges.get(name, 1) for name in sorted(read.names))
        if key not in self.known_spans:
            self.known_spans[key] = spans_of(self.gpu, forms, ranges, self.bytes[read.name]) or ()
        return self.known_spans[key]

    def is_shared(self, read: ElementRead, tile: GpuTile) -> bool:
        """Whether threads of a block read the same elements, at other times or by other threads."""
        own = set(self.loop.binders)
        if not read.names & own:
            return False
        return any(name not in read.names for name in tile.along) or len(read.names) > len(
            self.forms[read.name]
        )

    # -- costs ----------------------------------------------------------------------------------

    def cost(self, tile: GpuTile, staged: Mapping[str, Spans]) -> float:
        """The cost of the whole map."""
        rounds = math.prod(
            -(-trips // tile.steps[name])
            for name, trips in zip(self.loop.binders, self.loop.trips, strict=True)
        )
        steps, body = math.prod(tile.steps.values()), _BlockCost(self, tile, staged)
        one = rounds * (self.copying(tile, staged) + steps * body.step(self.loop))
        stored, each = self.stored
        one += self.accesses.results * tile.results * (2 + self.gpu.access * self.lines(stored, tile, each))
        one += 100
        blocks = math.prod(
            -(-extent // (tile.along[name].extent if name in tile.along else 1))
            for name, extent in self.extents.items()
        )
        # A thread with many independent results needs few others beside it.
        least = self.gpu.busy / min(4, tile.results)
        return one * max(blocks * tile.block, least)

    def copying(self, tile: GpuTile, staged: Mapping[str, Spans]) -> float:
        """The cost of a block of steps before any is combined."""
        total = 2 * self.gpu.barrier
        for name, box in staged.items():
            each = self.bytes[name]
            row, step = box[-1]
            warp = self.gpu.warp
            touched = max(min(warp, -(-warp // row)), math.ceil(warp * each * step / self.gpu.line))
            loads = -(-math.prod(n for n, _ in box) // tile.block)
            total += loads * (2 + self.gpu.find + self.gpu.access * (touched + 2))
        return total

    def lines(self, read: ElementRead, tile: GpuTile, each: int) -> float:
        """The lines that a warp of a tile touches with one load."""
        shape = *tile.along, *((one.threads, one.run) for one in tile.along.values())
        key = read.name, shape
        if key not in self.known_lines:
            if shape not in self.known_warps:
                runs = {name: one.run for name, one in tile.along.items()}
                extents = {name: one.threads * one.run for name, one in tile.along.items()}
                self.known_warps[shape] = warp_over(self.gpu, [*tile.along][::-1], extents, runs)
            self.known_lines[key] = lines(self.gpu, read, self.known_warps[shape], each)
        return self.known_lines[key]


class _BlockCost(ThreadCost):
    """The cost of what a thread of a block does between two barriers."""

    def __init__(self, choice: _TileChoice, tile: GpuTile, staged: Mapping[str, Spans]) -> None:
        self.machine, self.choice, self.tile, self.staged = choice.gpu, choice, tile, staged

    def step(self, loop: Loop) -> float:
        """The cost of one step, which has masks where bounds move with a tile."""
        moving = not loop.bounds.isdisjoint(self.tile.along)
        return super().step(loop) * (2.5 if moving else 1.0) + self.machine.step / 4

    def read(self, read: ElementRead, loop: Loop) -> float:
        """The cost of a read, of shared memory where it is staged."""
        tile, access, copies = self.tile, self.machine.access, self.copies(read.names)
        if read.name in self.staged:
            wide = max((tile.along[n].run for n in tile.along if n in read.names), default=1)
            return copies / wide * (1 + access * (2 if tile.fast in read.names and wide > 1 else 1))
        return copies * (1 + access * self.choice.lines(read, tile, self.choice.bytes[read.name]))


def _steps(trips: Sequence[int], target: int) -> tuple[int, ...]:
    """Steps along each index of a reduction, about so many in all: most along the last one."""
    found: list[int] = []
    left = target
    for count in reversed(trips):
        count = max(count, 1)
        if count <= left:
            step = count
        else:
            fitting = [n for n in range(max(left // 2, 1), left + 1) if count % n == 0]
            step = max(fitting, default=left)
        found.append(step)
        left = max(left // step, 1)
    return tuple(reversed(found))


def transposing_tiles(gpu: Gpu, accesses: Accesses) -> Iterator[tuple[float, GpuTile]]:
    """The tiles of a map without reductions for each index that something is read along, other than that of
    consecutive threads, with their costs for the whole map.

        %f[i, j] = %x[j, i]

    A warp that runs along j reads a line of memory for each of its elements. A block that has a tile of both
    indices copies what it reads along i, and reads it from shared memory along j: rows there have an element
    more than they hold, so that neighbours along j are in different banks.
    """
    if accesses.body.inner or len(accesses.names) < 2:
        return
    fast = accesses.names[-1]
    for slow in accesses.names[:-1]:
        transposed = [read for read in accesses.body.reads if is_transposed(read, fast, slow)]
        if transposed and min(extent_or_open(accesses, fast), extent_or_open(accesses, slow)) >= LANES:
            tile = _transposing(gpu, accesses, fast, slow, transposed)
            yield from () if tile is None else (tile,)


def is_transposed(read: ElementRead, fast: str, slow: str) -> bool:
    """Whether neighbours along `slow` are neighbours in memory, and those along `fast` far apart."""
    step = read.strides.get(fast, 0)
    return read.strides.get(slow, 0) in (1, -1) and step is not None and abs(step) > 1


def _transposing(
    gpu: Gpu, accesses: Accesses, fast: str, slow: str, transposed: list[ElementRead]
) -> tuple[float, GpuTile] | None:
    """The tile, and its cost; None where shared memory does not hold the tiles."""
    size, threads = gpu.banks, gpu.usual_block // gpu.banks
    rows = min(extent_or_open(accesses, slow), size)
    own = {fast: Along(size, 1), slow: Along(threads, -(-rows // threads))}
    ranges = {name: along.extent for name, along in own.items()}
    used = 0
    for read in transposed:
        each = accesses.bytes_of(read)
        spans = spans_of(gpu, accesses.place(read), ranges, each)
        if spans is None:
            return None
        used += math.prod(padded(gpu, [n for n, _ in spans], False, 1)) * each
    if used > gpu.static_shared:
        return None
    tile = replace(of_block(tuple(accesses.names), own), staged=frozenset(read.name for read in transposed))
    copies = own[slow].copies
    extents = {name: extent_or_open(accesses, name) for name in accesses.names}
    all_reads = ThreadCost(gpu, accesses, tile, warp_over(gpu, [fast], extents, {}))
    cost = all_reads.thread() - sum(all_reads.read(read, accesses.body) for read in transposed)
    cost += 2 * gpu.barrier + len(transposed) * copies * (2 + gpu.find + 3 * gpu.access)
    tiles = math.prod(-(-extents[name] // ranges.get(name, 1)) for name in accesses.names)
    # A thread with several independent elements needs fewer others beside it.
    return cost * max(tiles * tile.block, gpu.busy / min(4, copies)), tile
