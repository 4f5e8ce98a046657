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
from typing import Any

from tadc.passes.cpu.packing_plan import Packed, Way
from tadc.passes.maps.accesses import Accesses, Loop, Read
from tadc.passes.nest.caches import LINE, element_bytes, is_large

LEAST_BYTES = 4 << 10
"""Runs of fewer bytes are too short for the processor to see."""

MOST_BYTES = 512 << 10
"""Those of more do not stay in the second-level cache with what else is there."""

MOST_LINES = 2
"""Steps that read more lines each wait for memory, whatever is asked for."""


@dataclass(frozen=True)
class Run:
    """What a read covers in a step of the map's index `index`, which are `tile` values.

    The loops inside that cover it are those over some of the map's `indices`, each with its tile and the
    innermost steps that one tile takes, and those over the `binders` of a reduction from a number on, each
    with the innermost steps of one of its values. Each innermost step asks for so many `lines`.
    """

    index: int
    tile: int
    indices: Mapping[int, tuple[int, int]]
    binders: Mapping[int, int]
    lines: int


def runs(accesses: Accesses, way: Way, order: Sequence[str], packed: Packed | None) -> dict[Any, Run]:
    """The runs of reads that come from memory, where the loops over a map's indices have this order."""
    body = accesses.body
    if way.over is not None or way.leaps or len(body.inner) != 1:
        return {}
    loop = body.inner[0]
    if loop.inner or loop.domain or not loop.is_box or not loop.direct:
        return {}
    copied = {read.op for read in (*(packed.reads if packed else ()), *(_rows(packed)))}
    nest = _Nest(accesses, way, order, packed, loop)
    found = {read.op: nest.run(read) for read in loop.reads if read.direct and read.op not in copied}
    return {op: run for op, run in found.items() if run is not None}


def _rows(packed: Packed | None) -> Sequence[Read]:
    return packed.rows.reads if packed and packed.rows else ()


class _Nest:
    """The loops of a map, outermost first: over tiles, then of its reduction."""

    def __init__(
        self, accesses: Accesses, way: Way, order: Sequence[str], packed: Packed | None, loop: Loop
    ) -> None:
        self.accesses, self.order = accesses, order
        self.tile = {name: way.blocks.get(name, 1) for name in order}
        self.tile[way.lane] *= way.width
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
        tensor = read.op.operands[0].type
        strides = {name: stride for name, stride in read.strides.items() if stride}
        if not hasattr(tensor, "shape") or not is_large(tensor) or min(strides.values(), default=0) <= 0:
            return None
        if not all(self._is_known(name) for name in (*self.order, *self.binders)):
            return None
        width = element_bytes(tensor)
        for place in range(len(self.free) - 1, -1, -1):
            name = self.free[place]
            if name not in strides or self.steps(name) < 2:
                continue
            loops = [*self.free[place + 1 :], *self.binders]
            for first in range(len(loops)):
                covered = loops[first:]
                length = self.length(strides, covered) * width
                if LEAST_BYTES <= length <= MOST_BYTES:
                    return self.planned(name, covered, -(-length // LINE))
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
        if each > MOST_LINES:
            return None
        counts = dict(zip(covered, inside, strict=True))
        index = {n: k for k, n in enumerate(self.accesses.names)}
        binder = {n: k for k, n in enumerate(self.binders)}
        return Run(
            index[name],
            self.tile[name],
            {index[n]: (self.tile[n], count) for n, count in counts.items() if n in index},
            {binder[n]: count for n, count in counts.items() if n in binder},
            each,
        )
