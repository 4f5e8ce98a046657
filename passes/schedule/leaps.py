"""In which loops several steps may be taken at once, a vector apart, so that they share vectors."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from tadc.passes.schedule.accesses import GUARD, ElementRead, Loop
from tadc.passes.schedule.candidate import COUNTS, POWERS, Candidate, Leap
from tadc.passes.schedule.cpu_machine import CpuMachine

VECTORS = (*COUNTS[1:], 16, 20)
"""Vectors of a tile whose sums take several steps at once: the more, the more of them share a vector."""


def leaping_candidates(
    body: Loop, plain: Candidate, extent: int | None, most: int, machine: CpuMachine
) -> Iterator[Candidate]:
    """Those like a plain one of one vector, whose loops leap where they may; tiles make `most` operations."""
    loops = [loop for loop in body.below() if may_leap(loop, plain.lane)]
    if not loops:
        return
    for vectors in VECTORS:
        if extent is not None and extent < vectors * plain.width:
            return
        for steps in POWERS[1:]:
            tile = replace(plain, blocks={plain.lane: vectors})
            enough = [loop for loop in loops if loop.trips[-1] >= steps * plain.width]
            leaping = {loop.binders[-1]: Leap(steps, _parts_of(loop, tile, machine)) for loop in enough}
            candidate = replace(tile, leaps=leaping)
            found = [loop for loop in body.below() if loop.binders and loop.binders[-1] in leaping]
            fits = sum(_code(loop, candidate) for loop in found) <= most
            if leaping and fits and all(_fits(loop, candidate, machine) for loop in found):
                yield candidate


def may_leap(loop: Loop, lane: str) -> bool:
    """Whether steps a vector apart read vectors that other lanes read too."""
    if not loop.binders or loop.inner or not loop.is_counted or any(o.name == GUARD for o in loop.operations):
        return False
    return any(leap_sign(read, loop, lane) for read in loop.reads)


def leap_sign(read: ElementRead, loop: Loop, lane: str) -> int:
    """Whether a lane and a step move a read by one element, the same way, or for -1 the other way; else 0."""
    own, step = read.strides.get(lane), read.strides.get(loop.binders[-1])
    return own * step if own in (1, -1) and step in (1, -1) else 0


def _parts_of(loop: Loop, candidate: Candidate, machine: CpuMachine) -> int:
    """How many results each sum has: additions that do not wait for each other are to be enough."""
    return 1 if candidate.copies(loop.result) * loop.results >= machine.latency else 2


def _fits(loop: Loop, candidate: Candidate, machine: CpuMachine) -> bool:
    """Whether what a step holds fits in registers: the results, and what all vectors read the same."""
    leap, copies = candidate.leaps[loop.binders[-1]], candidate.copies(loop.result)
    same = sum(candidate.lane not in read.names for read in loop.reads)
    return copies * loop.results * leap.parts + leap.steps * same + 2 <= machine.registers


def _code(loop: Loop, candidate: Candidate) -> float:
    """The operations of the code of a loop; single steps stand in it twice where its bounds move."""
    vectors, leap = candidate.blocks[candidate.lane], candidate.leaps[loop.binders[-1]]
    operations, reads = max(len(loop.operations), 1), len(loop.reads)
    places = sum(candidate.copies(read.names) * vectors_read(read, loop, candidate) for read in loop.reads)
    single = vectors * (operations + 2 * reads) * (2 if candidate.lane in loop.bounds or loop.domain else 1)
    at_once = 2 * places + leap.steps * (reads + vectors * operations)
    return leap.parts * (at_once + single)


def steps_of(loop: Loop, candidate: Candidate) -> tuple[float, float]:
    """How often a leaping loop takes all its steps at once, and how many steps are left."""
    trips, at_once = loop.trips[-1], candidate.leaps[loop.binders[-1]].steps * candidate.width
    around, left = math.prod(loop.trips[:-1]), float(trips % at_once)
    if candidate.lane in loop.bounds:
        # Before and after what all points of a tile have, under masks.
        left += 2 * (candidate.blocks[candidate.lane] * candidate.width + at_once / 2)
    return around * (trips // at_once * candidate.width), around * left


def vectors_read(read: ElementRead, loop: Loop, candidate: Candidate) -> float:
    """How often what a read has for one step is read for all steps at once."""
    leap, copies = candidate.leaps[loop.binders[-1]].steps, candidate.copies(read.names)
    if leap_sign(read, loop, candidate.lane):
        return 1 + (leap - 1) / copies
    return leap if loop.binders[-1] in read.names else 1
