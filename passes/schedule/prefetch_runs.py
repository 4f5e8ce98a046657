"""Runs of memory that loops read in pieces: their lines are asked for ahead of time, in the order of memory.

A tile may read a few lines of each of many rows, and the next tile the lines beside them. The processor sees
rows coming only where they are read one after the other. All that the loops inside a loop over tiles read of
a tensor is often one run of memory, whatever their order: then each of their steps asks for the next line of
the run of the next tile. So memory is read as fast as by a plain copy, while the loops compute.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tadc.passes.schedule.accesses import Accesses, Loop, Read, shape_bytes
from tadc.passes.schedule.candidate import Candidate
from tadc.passes.schedule.cpu_machine import CpuMachine
from tadc.passes.schedule.packing import Panels
from tadc.passes.terms.costs import ELEMENT


@dataclass(frozen=True)
class Run:
    """What a read covers in a step of the map's index `index`, which are `tile` values.

    The loops inside that cover it are those over some of the map's `indices`, each with its tile and the
    innermost steps that one tile takes, and those over the `binders` of a reduction, each with the innermost
    steps of one of its values. Each innermost step asks for so many `lines`.
    """

    index: str
    tile: int
    indices: Mapping[str, tuple[int, int]]
    binders: Mapping[str, int]
    lines: int


def prefetch_runs(
    accesses: Accesses,
    candidate: Candidate,
    order: Sequence[str],
    packed: Panels | None,
    machine: CpuMachine,
) -> dict[str, Run]:
    """The runs of reads that come from memory, where the loops over a map's indices have this order."""
    body = accesses.body
    if candidate.fold is not None or candidate.leaps or len(body.inner) != 1:
        return {}
    loop = body.inner[0]
    if loop.inner or loop.domain or not loop.is_box or not loop.direct:
        return {}
    copied = packed.copied if packed else frozenset[str]()
    nest = _TileLoops(accesses, candidate, order, packed, loop, machine)
    found = {r.name: nest.run(r) for r in loop.reads if r.direct and r.name not in copied}
    return {name: run for name, run in found.items() if run is not None}


class _TileLoops:
    """The loops of a map, outermost first: over tiles, then of its reduction."""

    def __init__(
        self,
        accesses: Accesses,
        candidate: Candidate,
        order: Sequence[str],
        packed: Panels | None,
        loop: Loop,
        machine: CpuMachine,
    ) -> None:
        self.accesses, self.order, self.machine = accesses, order, machine
        self.tile = {name: candidate.blocks.get(name, 1) for name in order}
        self.tile[candidate.lane] *= candidate.width
        trips = list(loop.trips)
        if packed is not None and packed.block is not None:
            trips[: packed.outer + 1] = [*[1] * packed.outer, packed.block]
        self.binders = dict(zip(loop.binders, trips, strict=True))
        fixed = packed.names | packed.around if packed else frozenset[str]()
        self.free = [name for name in order if name not in fixed]

    def steps(self, name: str) -> int:
        """How many steps a loop has."""
        if name in self.binders:
            return self.binders[name]
        return -(-self.accesses.extent(name) // self.tile[name])

    def run(self, read: Read) -> Run | None:
        """The run of a read in a step of the innermost index that moves it, for which it is long enough."""
        tensor, machine = self.accesses.tensors[read.tensor], self.machine
        strides = {name: stride for name, stride in read.strides.items() if stride}
        is_large = (shape_bytes(tensor) or 0) >= machine.share
        if not tensor.shape or not is_large or min(strides.values(), default=0) <= 0:
            return None
        if not all(self._is_known(name) for name in (*self.order, *self.binders)):
            return None
        width = ELEMENT[tensor.type]
        for place in range(len(self.free) - 1, -1, -1):
            name = self.free[place]
            if name not in strides or self.steps(name) < 2:
                continue
            loops = [*self.free[place + 1 :], *self.binders]
            for first in range(len(loops)):
                covered = loops[first:]
                length = self.length(strides, covered) * width
                if machine.seen <= length <= machine.l2 // machine.runs:
                    return self.planned(name, covered, -(-length // machine.line))
        return None

    def _is_known(self, name: str) -> bool:
        found = self.accesses.ranges[name]
        return found is not None and found.extent.is_constant and found.low.is_constant

    def length(self, strides: Mapping[str, int], covered: Sequence[str]) -> int:
        """The elements of the run that a tile and the loops that are covered read; 0 if it is none."""
        extents = {name: self.tile.get(name, 1) for name in strides}
        for name in covered:
            extents[name] = self.accesses.extent(name) if name in self.tile else self.binders[name]
        length = 1
        for name, stride in sorted(strides.items(), key=lambda pair: pair[1]):
            if extents[name] > 1:
                if stride > length:
                    return 0
                length += stride * (extents[name] - 1)
        return length

    def planned(self, name: str, covered: Sequence[str], lines: int) -> Run | None:
        """The run as the steps of its loops ask for it; None where they would ask for too much."""
        inside = [math.prod(self.steps(n) for n in covered[k + 1 :]) for k in range(len(covered))]
        each = -(-lines // math.prod(self.steps(n) for n in covered))
        if each > self.machine.asked:
            return None
        counts = dict(zip(covered, inside, strict=True))
        own = self.accesses.names
        return Run(
            name,
            self.tile[name],
            {n: (self.tile[n], count) for n, count in counts.items() if n in own},
            {n: count for n, count in counts.items() if n in self.binders},
            each,
        )
