"""Which lines of the first cache a tile takes from itself: rows some kilobytes apart share few sets."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product

from tadc.passes.schedule.accesses import Accesses, ElementRead, shape_bytes
from tadc.passes.schedule.candidate import Candidate
from tadc.passes.schedule.cpu_machine import CpuMachine
from tadc.passes.terms.costs import MUCH_CODE

MOST_PLACES = MUCH_CODE
"""A tile that reads vectors at more places runs loops: its lines are counted on average."""


def cost_of_lines(accesses: Accesses, candidate: Candidate, machine: CpuMachine) -> float:
    """What the lines of the tile before cost that are read again, and are in the first cache no more, since a
    tile wants more lines of a set than it holds. Tensors count one by one: where others begin is not known.
    """
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
    places = sum(math.prod(map(len, _apart(steps))) for steps in moves)
    if places <= machine.ways:
        return 0
    if places > MOST_PLACES:
        return machine.again * _ends_gone(accesses, candidate, reads, moves, machine)

    def lines(moved: int) -> set[tuple[str, int]]:
        """Those of a tile that is moved by so many elements."""
        found = set[tuple[str, int]]()
        for read, steps in zip(reads, moves, strict=True):
            size, tensor, line = accesses.bytes_of(read), read.tensor, machine.line
            starts = [(read.offset + moved + sum(apart)) * size for apart in product(*_apart(steps))]
            found.update([(tensor, start // line) for start in starts])
            found.update([(tensor, (start + candidate.width * size - 1) // line) for start in starts])
        return found

    wanted = lines(0)
    sets = Counter((tensor, line % machine.sets) for tensor, line in wanted)
    if max(sets.values()) <= machine.ways:
        return 0
    again = wanted & lines(candidate.extent(lane))
    return machine.lost * sum(sets[tensor, line % machine.sets] > machine.ways for tensor, line in again)


def cost_of_stored_lines(accesses: Accesses, candidate: Candidate, machine: CpuMachine) -> float:
    """What the lines cost that a tile stores parts of, where lanes are rows, and that are gone before the
    next tile stores the next part: there are more of a set than it holds."""
    *rows, last = accesses.names
    size = accesses.widest
    if not all(accesses.is_known(name) and accesses.extent(name) for name in accesses.names):
        return 0
    if candidate.extent(last) * size >= machine.line:
        return 0
    steps = list[range]()
    apart = accesses.extent(last) * size
    for name in reversed(rows):
        steps.append(range(0, candidate.extent(name) * apart, apart))
        apart *= accesses.extent(name)
    if math.prod(map(len, steps)) <= machine.ways:
        return 0
    sets = Counter(sum(place) // machine.line % machine.sets for place in product(*steps))
    return machine.lost * sum(count for count in sets.values() if count > machine.ways)


def _ends_gone(
    accesses: Accesses,
    candidate: Candidate,
    reads: Sequence[ElementRead],
    moves: Sequence[Mapping[str, range]],
    machine: CpuMachine,
) -> float:
    """How many lines in which a row of one tile ends and that of the next begins are gone in between, where
    all that a tile reads fills all but one way of the first cache: that is for the rest."""
    lines, ends = 0.0, 0.0
    for read, steps in zip(reads, moves, strict=True):
        size, extents = accesses.bytes_of(read), Counter[int]()
        for name, step in steps.items():
            extents[abs(step.step) * size] += len(step) - 1 if name != candidate.lane else 0
        tile = candidate.extent(candidate.lane) * size
        width = tile + sum(apart * count for apart, count in extents.items() if apart < machine.line)
        rows = math.prod(count + 1 for apart, count in extents.items() if apart >= machine.line)
        # Rows may begin at any multiple of what all distances have in common.
        inside = 1 - math.gcd(machine.line, tile, *extents) / machine.line
        lines += rows * (width / machine.line + inside)
        ends += rows * inside
    return ends if lines > machine.sets * (machine.ways - 1) else 0


def _moves(accesses: Accesses, read: ElementRead, candidate: Candidate) -> dict[str, range]:
    """How many elements each index moves the vectors of a read within a tile."""
    counts = {
        n: trip for loop in accesses.body.below() for n, trip in zip(loop.binders, loop.trips, strict=True)
    }
    counts |= candidate.blocks
    strides = {name: stride or 0 for name, stride in read.strides.items()}
    strides[candidate.lane] = candidate.width
    return {n: range(0, counts[n] * k, k) for n, k in strides.items() if k and n in counts}


def _apart(steps: Mapping[str, range]) -> list[range]:
    """The distances that indices move vectors by, those of the same stride together."""
    counts = Counter[int]()
    for step in steps.values():
        counts[step.step] += len(step) - 1
    return [range(0, (count + 1) * stride, stride) for stride, count in counts.items()]
