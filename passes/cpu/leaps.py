"""In which loops several steps may be taken at once, a vector apart, so that they share vectors."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from tadc.passes.cpu.packing_plan import Way
from tadc.passes.maps.accesses import Loop, Read
from tadc.passes.maps.tile_values import Leap

VECTORS = (2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 20)
"""Vectors of a tile whose sums take several steps at once."""

LEAPS = (2, 4, 8)
"""So many steps at once."""

WAITING = 8
"""So many additions may be under way at once."""

FEW = 32
"""The most vectors that a step reads for one sum alone: more code than that would save little."""


def leaping_ways(body: Loop, plain: Way, extent: int | None, most: int, registers: int) -> Iterator[Way]:
    """Ways like a plain one of one vector, whose loops leap where they may; tiles make `most` operations."""
    loops = [loop for loop in body.below() if may_leap(loop, plain.lane)]
    if not loops:
        return
    for vectors in VECTORS:
        if extent is not None and extent < vectors * plain.width:
            return
        for leap in LEAPS:
            leaping = {loop.binders[-1]: leap for loop in loops if loop.trips[-1] >= leap * plain.width}
            way = replace(plain, blocks={plain.lane: vectors}, leaps=leaping)
            leaped_now = leaped(way, body)
            fits = sum(_code(loop, way) for loop in leaped_now) <= most
            if leaping and fits and all(_fits(loop, way, registers) for loop in leaped_now):
                yield way


def may_leap(loop: Loop, lane: str) -> bool:
    """Whether steps a vector apart read vectors that other lanes read too."""
    if (
        not loop.binders
        or loop.inner
        or not loop.is_counted
        or any(o.name == "tad.guard" for o in loop.operations)
    ):
        return False
    return any(leap_sign(read, loop, lane) for read in loop.reads)


def leap_sign(read: Read, loop: Loop, lane: str) -> int:
    """Whether a lane and a step move a read by one element, the same way, or for -1 the other way; else 0."""
    own, step = read.strides.get(lane), read.strides.get(loop.binders[-1])
    return own * step if own in (1, -1) and step in (1, -1) else 0


def leaped(way: Way, body: Loop) -> list[Loop]:
    """The loops that leap."""
    return [loop for loop in body.below() if loop.binders and loop.binders[-1] in way.leaps]


def leap_of(loop: Loop, way: Way) -> Leap:
    """How such a loop leaps."""
    return Leap(way.leaps[loop.binders[-1]], loop.moved.coefficient(way.lane), parts_of(loop, way))


def parts_of(loop: Loop, way: Way) -> int:
    """How many results each sum has: additions that do not wait for each other are to be enough."""
    return 1 if way.copies(loop.result) * loop.results >= WAITING else 2


def _fits(loop: Loop, way: Way, registers: int) -> bool:
    """Whether what a step holds fits in registers: the results, and what all vectors read the same."""
    leap, copies = way.leaps[loop.binders[-1]], way.copies(loop.result)
    same = sum(way.lane not in read.names for read in loop.reads)
    if same < sum(not leap_sign(read, loop, way.lane) for read in loop.reads) and leap * copies > FEW:
        return False
    return copies * loop.results * parts_of(loop, way) + leap * same + 2 <= registers


def _code(loop: Loop, way: Way) -> float:
    """The operations of the code of a loop; single steps stand in it twice where its bounds move."""
    vectors, steps = way.blocks[way.lane], way.leaps[loop.binders[-1]]
    operations, reads = max(len(loop.operations), 1), len(loop.reads)
    places = sum(way.copies(read.names) * vectors_read(read, loop, way) for read in loop.reads)
    single = vectors * (operations + 2 * reads) * (2 if way.lane in loop.bounds or loop.domain else 1)
    at_once = 2 * places + steps * reads + vectors * steps * operations
    return parts_of(loop, way) * (at_once + single)


def steps_of(loop: Loop, way: Way) -> tuple[float, float]:
    """How often a leaping loop takes all its steps at once, and how many steps are left."""
    trips, at_once = loop.trips[-1], way.leaps[loop.binders[-1]] * way.width
    around, left = math.prod(loop.trips[:-1]), float(trips % at_once)
    if way.lane in loop.bounds:
        # Before and after what all points of a tile have, under masks.
        left += 2 * (way.blocks[way.lane] * way.width + at_once / 2)
    return around * (trips // at_once * way.width), around * left


def vectors_read(read: Read, loop: Loop, way: Way) -> float:
    """How often what a read has for one step is read for all steps at once."""
    leap, copies = way.leaps[loop.binders[-1]], way.copies(read.names)
    if leap_sign(read, loop, way.lane):
        return 1 + (leap - 1) / copies
    return leap if loop.binders[-1] in read.names else 1
