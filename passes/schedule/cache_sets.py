"""Which lines of the first cache a tile takes from itself: rows some kilobytes apart share few sets."""

from __future__ import annotations

import math
from collections import Counter
from itertools import product

from tadc.passes.schedule.accesses import Accesses, Read, shape_bytes
from tadc.passes.schedule.candidate import Candidate
from tadc.passes.schedule.cpu_machine import CpuMachine
from tadc.passes.terms.costs import MUCH_CODE

MOST_PLACES = MUCH_CODE
"""A tile that reads vectors at more places runs loops: what it reads again is long gone."""


def lines_lost(accesses: Accesses, candidate: Candidate, machine: CpuMachine) -> int:
    """How many lines of the tile before, read again, are in the first cache no more, since a tile wants
    more lines of a set than it holds. Tensors count one by one: where others begin is not known."""
    lane = candidate.lane
    if candidate.fold is not None or not accesses.names or lane != accesses.names[-1]:
        return 0
    reads = [
        read
        for loop in accesses.body.below()
        for read in loop.reads
        if candidate.stride(read) == 1 and shape_bytes(accesses.tensors[read.tensor]) is not None
    ]
    moves = [_moves(accesses, read, candidate) for read in reads]
    places = sum(math.prod(map(len, steps)) for steps in moves)
    if not machine.ways < places <= MOST_PLACES:
        return 0
    wanted: set[tuple[str, int]] = set()
    again: set[tuple[str, int]] = set()
    tile = candidate.blocks.get(lane, 1) * candidate.width
    for read, steps in zip(reads, moves, strict=True):
        size = accesses.bytes_of(read)
        for first in (read.offset + sum(moved) for moved in product(*steps)):
            wanted |= _lines(read, first * size, candidate.width * size, machine)
            again |= _lines(read, (first + tile) * size, candidate.width * size, machine)
    sets = Counter((tensor, line % machine.sets) for tensor, line in wanted)
    return sum(sets[tensor, line % machine.sets] > machine.ways for tensor, line in wanted & again)


def _moves(accesses: Accesses, read: Read, candidate: Candidate) -> list[range]:
    """How many elements each index moves the vectors of a read within a tile."""
    counts = {
        n: trip for loop in accesses.body.below() for n, trip in zip(loop.binders, loop.trips, strict=True)
    }
    counts |= candidate.blocks
    strides = {name: stride or 0 for name, stride in read.strides.items()}
    strides[candidate.lane] = candidate.width
    return [range(0, counts[n] * k, k) for n, k in strides.items() if k and n in counts]


def _lines(read: Read, first: int, size: int, machine: CpuMachine) -> set[tuple[str, int]]:
    return {(read.tensor, at // machine.line) for at in (first, first + size - 1)}
