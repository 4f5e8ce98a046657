"""What reads ask for ahead of time: lines that the next tile will read, while one is computed.

The processor sees ahead along a row, but not from the rows of one tile to those of the next, and a row of a
few kilobytes ends before it has caught up. Where a tensor is so large that it comes from memory, a long
innermost loop of a sum runs in steps of a line, and before each the line that the next tile reads there is
asked for, in each of its rows. What vectors read from rows far apart is asked for at each step, and what an
index array says the place of, in a tensor that no cache near holds, some steps before. It may be
outside of the tensor: then it is not used.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from tadc.lattice.affine import Affine, box
from tadc.lattice.bounds import Level
from tadc.lattice.loop_nests import loop_nest
from tadc.passes.maps.map import Block, Fold, Load, Map, MapFunction, blocks_of
from tadc.passes.nest.steps import Ahead
from tadc.passes.schedule.accesses import shape_bytes
from tadc.passes.schedule.candidate import Candidate
from tadc.passes.schedule.cpu_machine import CpuMachine
from tadc.passes.schedule.packing import LEAST_STEPS
from tadc.passes.terms.costs import ELEMENT

LEAST_COPIES = 16
"""Nor are bodies of fewer copies."""


def reads_ahead(
    item: Map, function: MapFunction, tiling: Candidate, machine: CpuMachine
) -> Mapping[str, Ahead]:
    """How reads ask for what the next tile reads, by their names."""
    anywhere = _from_anywhere(item.body, function, tiling, machine)
    found: dict[str, Ahead] = {name: "places" for name in anywhere}
    if not tiling.leaps:
        for fold, copies in _folds(item.body, tiling, math.prod(tiling.blocks.values())):
            if copies >= LEAST_COPIES and _is_long(fold, item, function):
                found |= _Look(fold, function, tiling, machine).reads()
    return found


def _from_anywhere(
    block: Block, function: MapFunction, tiling: Candidate, machine: CpuMachine
) -> Iterator[str]:
    """The reads of reductions, but for those over lanes, whose element an index array says.

    Of rows that it says the processor begins with the next while it adds up one.
    """
    tensors = function.tensors()
    for fold, _ in _folds(block, tiling, 1):
        if any(fold.body.folds()):
            continue
        for let in fold.body.all_lets():
            load = let.value
            if (
                isinstance(load, Load)
                and load.at
                and (shape_bytes(tensors[load.tensor]) or 0) >= machine.share
            ):
                if any(fold.indices[-1] in lookup.variables for lookup in load.at[-1].lookups()):
                    yield let.names[0]


def _folds(block: Block, tiling: Candidate, copies: int) -> Iterator[tuple[Fold, int]]:
    """The reductions in a block, but for that over lanes, and how many copies they have."""
    for let in block.lets:
        for inner in blocks_of(let.value):
            over_lanes = tiling.fold is not None and let.names[0] == tiling.fold.fold
            yield from _folds(inner, tiling, copies * (tiling.parts if over_lanes else 1))
        if isinstance(let.value, Fold) and not (tiling.fold and let.names[0] == tiling.fold.fold):
            yield let.value, copies


def _is_long(fold: Fold, item: Map, function: MapFunction) -> bool:
    """Whether the innermost loop of a reduction is long, and has one bound on each side."""
    facts = (*box(item.indices, item.extents), *function.known)
    bounds = {name for row in fold.rows for name in row.form.variables}
    if not fold.indices or not bounds.isdisjoint(item.indices):
        return False
    level: Level = loop_nest(fold.indices, fold.rows, facts).levels[-1]
    if len(level.lower) != 1 or len(level.upper) != 1:
        return False
    span = level.upper[0].floor() + 1 - level.lower[0].ceil()
    return not span.is_constant or span.constant >= LEAST_STEPS


class _Look:
    """The reads of the body of a reduction, none in guards."""

    def __init__(self, fold: Fold, function: MapFunction, tiling: Candidate, machine: CpuMachine) -> None:
        self.fold, self.tiling, self.machine = fold, tiling, machine
        self.tensors = function.tensors()
        self.step = fold.indices[-1]

    def reads(self) -> dict[str, Ahead]:
        """How they ask."""
        found: dict[str, Ahead] = {}
        copied = self.tiling.packed.copied if self.tiling.packed else frozenset[str]()
        for let in self.fold.body.lets:
            name = let.names[0]
            if isinstance(let.value, Load) and name not in copied:
                if (how := self.ahead(let.value)) is not None:
                    found[name] = how
        return found

    def ahead(self, load: Load) -> Ahead | None:
        """How one asks."""
        tensor, lane = self.tensors[load.tensor], self.tiling.lane or None
        if len(tensor.shape) < 2 or (shape_bytes(tensor) or 0) < self.machine.share:
            return None
        *others, last = load.at
        names = frozenset[str]().union(*(form.variables for form in others))
        if lane in names or any(list(form.inner_atoms()) for form in load.at):
            return None
        if lane is not None and lane in last.variables:
            moved = self.distance(load, others) >= self.machine.far
            near = last.coefficient(lane) == 1 and self.step not in last.variables
            return "vectors" if near and moved else None
        in_rows = last.coefficient(self.step) == 1 and self.step not in names
        return "rows" if in_rows and not names.isdisjoint(self.tiling.blocks) else None

    def distance(self, load: Load, others: list[Affine]) -> int:
        """The bytes from what one step reads to what the next reads."""
        tensor = self.tensors[load.tensor]
        shape = [size.constant for size in tensor.shape]
        strides = [math.prod(shape[n + 1 :]) for n in range(len(others))]
        moved = sum(k * form.coefficient(self.step) for k, form in zip(strides, others, strict=True))
        return abs(moved) * ELEMENT[tensor.type]
