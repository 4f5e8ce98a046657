"""How the elements of a map are computed: which index makes vectors, and how large tiles are.

Each way has a price for one element, in halves of a cycle of a processor that starts two vector
operations a cycle: the pieces of the body, each as often as a tile needs it. Nothing but strides,
trip counts and what depends on what goes in, so the derivatives of a contraction or a convolution
are treated as what they are, and so is everything else.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tadc.lattice.affine import Affine
from tadc.passes.cpu.leaps import leap_of, leaped, leaping_ways, parts_of, steps_of, vectors_read
from tadc.passes.cpu.loop_order import loop_order
from tadc.passes.cpu.packing_plan import GATHER, Packed, Way, far, packing
from tadc.passes.cpu.runs import Run, runs
from tadc.passes.cpu.splits import PLAIN, Split, copies
from tadc.passes.cpu.tile_schedule import Schedule
from tadc.passes.cpu.tile_stores import may_stream
from tadc.passes.cpu.tile_transposes import TOGETHER
from tadc.passes.maps.accesses import Accesses, Loop, Read
from tadc.passes.maps.machine import Machine
from tadc.passes.maps.marks import JOINED, PARTS
from tadc.passes.maps.steps import Steps
from tadc.passes.maps.tile_values import lanes_index
from tadc.passes.nest.caches import LINE

LATENCY = 8
"""The price of one step of a loop whose result waits for the step before."""

MISS = 8
"""The price of a line from the second-level cache, where it is not clear beforehand that it is wanted."""

STREAMED = 8
"""An element of a higher price takes longer to compute than the line that it is in to be read."""

SCATTER = 1.5
"""The price of storing one lane of a vector that is not consecutive in memory."""

SCATTER_FAR = 2.5
"""That where each lane has a line of its own."""

WOVEN = 0.75
"""That where vectors of copies are woven."""

MOST_WORK = 600
"""The most operations that the code of a tile has."""

MASKED = 4
"""So many times the operations count where bounds move with a tile."""

TURNED = 2
"""The price of a round in which vectors that are transposed are shuffled."""

EACH = 3
"""So many operations of code does an operation of a tile make, for its indices and bounds."""

FOLD = 8
"""So many operations more has a tile where lanes are those of a reduction, to join them."""

PRICES: Mapping[str, float] = {
    **dict.fromkeys(("arith.addf", "arith.subf", "arith.mulf", "arith.negf", "arith.select"), 1),
    **dict.fromkeys(("arith.cmpf", "math.absf", "math.fma", "math.floor", "math.ceil"), 1),
    **dict.fromkeys(("arith.maximumf", "arith.minimumf", "relu", "safe", "sign", "tad.guard"), 3),
    "math.fpowi": 2,
    **dict.fromkeys(("arith.divf", "math.sqrt", "mod"), 16),
    "tad.value_of": 3,
}
FUNCTION = 25
"""The price of any other function."""

SWITCH = 1
"""The price of going from one tensor to the next when several are written by turns: vectors that share a
line of the cache are written together only one after the other."""

FEW_OPERATIONS = 24
"""The most that a body costs to which writing by turns makes a difference: less than a function."""

UNALIGNED = 0.75
"""What a vector costs more that may be in two lines of the cache: those are two loads."""

BLOCKS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14)
VECTORS = (1, 2, 4)


def schedule_of(
    op: Any,
    sizes: Sequence[Affine],
    found: Sequence[Split],
    outer: Mapping[Any, Affine],
    machine: Machine,
    code: int | None = None,
    steps: Steps | None = None,
) -> Schedule | None:
    """The cheapest schedule with vectors, or None where there is none worth having.

    `found` are the splits of the indices; `outer` has the forms of values from above. Tiles are so small that
    they make about `code` operations at most. `steps` are those of a recurrence, of whose ordered indices
    each value has its turn.
    """
    if not machine.vector_bytes or JOINED in op.attributes:
        return None
    accesses = Accesses(op, sizes, [split.factor for split in found], outer)
    tiled = frozenset(range(len(sizes))) if steps is None else steps.tiled(len(sizes))
    best = _best(accesses, sizes, found, machine, tiled, code)
    if best is None:
        return None
    index = {name: number for number, name in enumerate(accesses.names)}
    blocks = {index[name]: count for name, count in best.blocks.items() if count > 1}
    packed = packing(accesses, best, found) if best.over is None and steps is None else None
    if steps is None:
        split = frozenset(n for n, part in zip(accesses.names, found, strict=True) if part is not PLAIN)
        names = loop_order(accesses, best, packed, split)
        order, ahead = tuple(index[name] for name in names), runs(accesses, best, names, packed)
    else:
        order, ahead = steps.loops(len(sizes)), dict[Any, Run]()
    if best.over is not None:
        return Schedule(best.width, order, None, blocks, lanes_index(best.over.op), best.parts)
    if packed is None:
        leaps = {loop.op: leap_of(loop, best) for loop in leaped(best, accesses.body)}
        lanes = index[best.lane]
        is_whole = lanes == order[-1] and found[lanes].factor == 1
        is_whole &= steps is None
        streams = is_whole and may_stream(op, best.width) and price(accesses, best, found) <= STREAMED
        return Schedule(best.width, order, lanes, blocks, leaps=leaps, streams=streams, runs=ahead)
    each = price(accesses, best, found)
    whole = each * best.elements
    rows = packed.rows and replace(packed.rows, share=packed.rows.price / whole)
    packed = replace(packed, share=packed.price / whole, rows=rows)
    lanes = index[best.lane]
    streams = lanes == len(sizes) - 1 and found[lanes].factor == 1 and packed.block is None
    streams = streams and may_stream(op, best.width) and each <= STREAMED
    return Schedule(best.width, order, lanes, blocks, packed=packed, streams=streams, runs=ahead)


def least_price(
    op: Any, sizes: Sequence[Affine], found: Sequence[Split], outer: Mapping[Any, Affine], machine: Machine
) -> tuple[float, int]:
    """The price of an element, and how many reads are packed, in the schedule that `schedule_of` chooses.

    Where it chooses none, that is one without vectors.
    """
    accesses = Accesses(op, sizes, [split.factor for split in found], outer)
    best = _best(accesses, sizes, found, machine, frozenset(range(len(sizes))))
    if best is None:
        return price(accesses, Way(1, accesses.names[-1] if accesses.names else "", None, {}), found), 0
    packed = packing(accesses, best, found) if best.over is None else None
    return price(accesses, best, found), len(packed.reads) if packed else 0


def _best(
    accesses: Accesses,
    sizes: Sequence[Affine],
    found: Sequence[Split],
    machine: Machine,
    tiled: frozenset[int],
    code: int | None = None,
) -> Way | None:
    """The way with the least price, tiles along some indices alone.

    Where there is none of so little code, that with the least code.
    """
    budget = (MOST_WORK if code is None else min(MOST_WORK, code // EACH)) // copies(found)
    if _moves(accesses):
        # Loops whose bounds move with a tile stand three times in its code, under masks.
        budget //= MASKED
    if accesses.body.size > budget:
        return None
    ways = _ways(accesses, sizes, found, budget, machine, tiled)
    return min(ways, key=lambda way: price(accesses, way, found), default=None)


def _ways(
    accesses: Accesses,
    sizes: Sequence[Affine],
    found: Sequence[Split],
    budget: int,
    machine: Machine,
    tiled: frozenset[int],
) -> Iterator[Way]:
    """All ways that fit sizes and registers."""
    width = machine.vector_bytes // accesses.widest
    extents = {
        name: size.constant // split.factor if size.is_constant else None
        for n, (name, size, split) in enumerate(zip(accesses.names, sizes, found, strict=True))
        if n in tiled
    }
    size = max(accesses.body.size, 1)
    most, code = budget // size, budget * (MASKED if _moves(accesses) else 1)
    if PARTS in accesses.body.op.attributes:
        extents = {}
    for lane, extent in extents.items():
        fitting = _width(width, extent)
        if fitting >= 2:
            for vectors in VECTORS:
                room = extent is None or extent >= vectors * fitting
                if vectors == 1 or (room and (accesses.body.inner or _in_turns(accesses))):
                    yield from _blocked(
                        accesses, Way(fitting, lane, None, {lane: vectors}), extents, most, machine
                    )
            plain = Way(fitting, lane, None, {lane: 1})
            yield from leaping_ways(accesses.body, plain, extent, EACH * code, machine.registers)
    for loop in accesses.body.below():
        if loop.binders and not (loop.bounds and len(loop.binders) > 1):
            innermost, trips = loop.binders[-1], loop.trips[-1]
            fitting = _width(width, trips)
            for parts in VECTORS:
                if fitting >= 4 and fitting * parts <= trips:
                    way = Way(fitting, innermost, loop, {}, parts)
                    yield from _blocked(accesses, way, extents, budget // (size + FOLD), machine)


def _moves(accesses: Accesses) -> bool:
    """Whether bounds of a loop move with a tile."""
    return any(loop.bounds for loop in accesses.body.below())


def _in_turns(accesses: Accesses) -> bool:
    """Whether the body writes several tensors, and does not much else."""
    body = accesses.body
    if accesses.tensors < 2:
        return False
    return len(body.reads) + sum(PRICES.get(o.name, FUNCTION) for o in body.operations) <= FEW_OPERATIONS


def _width(width: int, extent: int | None) -> int:
    """The width, or the greatest power of two that an extent holds."""
    return width if extent is None or extent >= width else 1 << max(extent, 1).bit_length() - 1


def _blocked(
    accesses: Accesses, way: Way, extents: Mapping[str, int | None], most: int, machine: Machine
) -> Iterator[Way]:
    """A way with copies along one more index."""
    own = math.prod(way.blocks.values()) * way.parts
    if own <= max(most, 1) and _fits(accesses.body, way, machine):
        yield way
    for name, extent in extents.items():
        if name == way.lane:
            continue
        blocks = BLOCKS[1:] if accesses.body.inner or _shares(accesses.body, way, name) else ()
        if own == 1 and any(way.squares(read, name) for read in accesses.body.reads):
            blocks = (*blocks, way.width)
        for block in blocks:
            made = Way(way.width, way.lane, way.over, {**way.blocks, name: block}, way.parts)
            if (
                own * block <= most
                and (extent is None or extent >= block)
                and _fits(accesses.body, made, machine)
            ):
                yield made


def _shares(body: Loop, way: Way, name: str) -> bool:
    """Whether copies along an index share a vector that is not consecutive in memory."""
    strides = (read.strides.get(way.lane, 0) for read in body.reads if name not in read.names)
    return any(stride not in (0, 1, -1) for stride in strides)


def _fits(body: Loop, way: Way, machine: Machine) -> bool:
    """Whether the results that innermost loops carry and what they read fit in registers."""
    for loop in body.below():
        if not loop.binders or loop.inner:
            continue
        carried = way.copies(loop.result | (frozenset([way.lane]) if loop is way.over else frozenset[str]()))
        carried *= loop.results
        read = max((way.copies(r.names) for r in loop.reads if way.stride(r) != 0), default=0)
        if carried > 1 and carried + read + 1 > machine.registers:
            return False
    return True


def price(accesses: Accesses, way: Way, found: Sequence[Split] = ()) -> float:
    """The price of one element."""
    body = accesses.body
    packed = packing(accesses, way, found) if way.over is None else None
    cost = _loop(accesses, body, way, packed) + _store(accesses, way, found)
    if packed is not None:
        cost += packed.price + (packed.times - 1) * 2 * _store(accesses, way, found)
        cost += packed.rows.price if packed.rows else 0
    return cost / way.elements * _waste(accesses, way)


def _waste(accesses: Accesses, way: Way) -> float:
    """How many elements tiles compute for each element that there is."""
    total = 1.0
    for name in accesses.names:
        found = accesses.ranges[name]
        tile = way.blocks.get(name, 1) * (way.width if name == way.lane and way.over is None else 1)
        if tile > 1 and found is not None and found.extent.is_constant:
            extent = max(found.extent.constant, 1)
            total *= math.ceil(extent / tile) * tile / extent
    return total


def _store(accesses: Accesses, way: Way, found: Sequence[Split]) -> float:
    """The price of storing a tile."""
    tensors = accesses.tensors
    if way.over is not None or not way.lane:
        return way.elements * tensors
    vectors, last = way.elements // way.width * tensors, len(accesses.names) - 1
    if last < 0 or way.lane == accesses.names[last]:
        return vectors + (SWITCH * tensors if _in_turns(accesses) else 0)
    # Lanes so far apart that each has a line of its own.
    inner = accesses.names[accesses.names.index(way.lane) + 1 :] if way.lane in accesses.names else []
    distance = math.prod(accesses.extent(name) for name in inner) * accesses.widest
    scattered = SCATTER if distance < LINE else SCATTER_FAR
    rows = 1 if found and found[last].factor > 1 else way.blocks.get(f"b{last}", 1)
    woven = rows // TOGETHER * TOGETHER / rows
    return vectors * way.width * (woven * WOVEN + (1 - woven) * scattered)


def _loop(accesses: Accesses, loop: Loop, way: Way, packed: Packed | None) -> float:
    """The price of a loop for one tile."""
    once = sum(_read(read, way, packed) for read in loop.reads)
    once += sum(_misses(accesses, loop, read, way, packed) for read in loop.reads)
    once += sum(n * PRICES.get(o.name, FUNCTION) * way.copies(o.names) for o, n in loop.counts.items())
    once += sum(_loop(accesses, inner, way, packed) for inner in loop.inner)
    if not loop.binders:
        return once
    results = way.copies(loop.result | (frozenset([way.lane]) if loop is way.over else frozenset[str]()))
    once += loop.additions * results + 2
    if loop.binders[-1] in way.leaps:
        return _leaping(loop, way, once)
    trips = math.prod(loop.trips)
    ending = 0.0
    if loop is way.over:
        steps = math.ceil(loop.trips[-1] / (way.width * way.parts))
        trips = math.prod(loop.trips[:-1]) * steps
        ending = 3.0 * math.log2(way.width) * results * loop.results
    if way.lane in loop.bounds and way.over is None:
        trips = trips + way.width / 2
    return trips * max(once, LATENCY) + ending + 4


def _leaping(loop: Loop, way: Way, once: float) -> float:
    """The price of a loop that takes several steps at once, where a single one has the price `once`."""
    leap, (whole, left) = way.leaps[loop.binders[-1]], steps_of(loop, way)
    singly = sum(_read(read, way, None) for read in loop.reads)
    together = sum(_read(read, way, None) * vectors_read(read, loop, way) for read in loop.reads)
    at_once = leap * (once - singly - 2) + together + 2
    return whole * max(at_once, leap * LATENCY / parts_of(loop, way)) + left * max(once, LATENCY) + 4


def _read(read: Read, way: Way, packed: Packed | None) -> float:
    """The price of what a tile reads at one read."""
    copies = way.copies(read.names)
    stride = way.stride(read)
    if stride == 0:
        return copies * 0.75
    if packed is not None and read in packed.reads:
        return copies * 1.0
    if stride == 1:
        return copies * (1.0 + (UNALIGNED if _is_unaligned(read, way) else 0))
    if any(count == way.width and way.squares(read, name) for name, count in way.blocks.items()):
        return copies * (1.0 + TURNED * math.log2(way.width))
    return copies * (1.5 if stride == -1 else GATHER * way.width)


def _is_unaligned(read: Read, way: Way) -> bool:
    """Whether a vector may start anywhere in a line of the cache: some index moves it by parts of one."""
    return any((step or 0) % way.width for name, step in read.strides.items() if name != way.lane)


def _misses(accesses: Accesses, loop: Loop, read: Read, way: Way, packed: Packed | None) -> float:
    """The price of lines that a tile reads for a few elements each, and that do not stay near."""
    if way.lane in read.names or not far(accesses, loop, read):
        return 0
    if packed is not None and packed.rows is not None and read in packed.rows.reads:
        return 0
    rows = [name for name in read.names if way.blocks.get(name, 1) > 1]
    near = all(abs(read.strides[name] or LINE) * accesses.widest < LINE for name in rows)
    return MISS * (1 if near else way.copies(read.names))
