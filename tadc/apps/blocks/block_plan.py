"""Which blocks there are at values of all sizes, and what each of them reads and computes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, product
from math import prod
from typing import Any

import numpy as np

from tadc.apps.blocks.block_places import Box, cut, moved, places_in
from tadc.apps.blocks.block_program import BlockProgram, Slices, StepsBefore
from tadc.apps.blocks.block_stages import BlockStage, JoinedPart
from tadc.apps.blocks.domain_points import DomainPoints, Numbers, SortedElements
from tadc.apps.blocks.place_inspector import BlockPlaces, PlaceInspector
from tadc.apps.blocks.program_of_lists import ListedProgram
from tadc.toolkit.language import Program, shape_at
from tadc.toolkit.reporting import usage
from tadc.toolkit.running import Relation

#: So many blocks are planned.
MOST_BLOCKS = 1_000_000


#: How many places blocks have along an axis: all but the last so many, or each as many as is said.
Length = int | tuple[int, ...]


@dataclass(frozen=True)
class BlockTask:
    """One block of a stage: where it stands along each axis, its sizes, and the boxes of its tensors.

    `lengths` are those sizes that do not only say where something begins; `arrays` index arrays that say
    where in lists of places the elements of others stand; `before` arguments that are steps of results of
    other blocks.
    """

    cell: tuple[int, ...]
    places: tuple[range, ...]
    sizes: Mapping[str, int]
    lengths: Mapping[str, int]
    reads: Mapping[str, Box]
    writes: Mapping[str, tuple[range, ...]]
    arrays: Mapping[str, Relation] = field(default_factory=dict[str, Relation])
    before: Mapping[str, StepsOfOthers] = field(default_factory=dict[str, "StepsOfOthers"])


@dataclass(frozen=True)
class StepsOfOthers:
    """A box of a result of other blocks; of each dimension so many places more before it and behind it, which
    hold anything.
    """

    of: str
    box: tuple[range, ...]
    beyond: tuple[tuple[int, int], ...]

    def filled(self, array: Any) -> Any:
        """The box with what is beyond it."""
        return np.pad(array, self.beyond) if any(map(any, self.beyond)) else array


@dataclass(frozen=True)
class StagePlan:
    """The blocks of a stage, in the order of the axes, the last one fastest."""

    stage: BlockStage
    division: BlockProgram
    sizes: Mapping[str, int]
    shapes: Mapping[str, tuple[int, ...]]
    #: The places of each block along each axis.
    places: tuple[tuple[range, ...], ...]
    #: The program over lists of places, where index arrays tell what is read.
    listed: ListedProgram | None = None
    #: The index arrays, if they are given.
    arrays: Mapping[str, Numbers] = field(default_factory=dict[str, Numbers])
    _tasks: dict[tuple[int, ...], BlockTask] = field(default_factory=dict[tuple[int, ...], BlockTask])
    _sorted: dict[str, SortedElements] = field(default_factory=dict[str, SortedElements])

    @property
    def program(self) -> Program:
        """The program of a block."""
        return self.division.program if self.listed is None else self.listed.program

    @property
    def is_divided(self) -> bool:
        """Whether there is more than one block where an axis has more places than one block."""
        return any(map(self.stage.goes_along, self.stage.axes))

    @property
    def all_go_along(self) -> bool:
        """Whether each axis divides each result, or a sum in it: no block computes what others do."""
        return all(
            d.name in axis.dims or ((part := self.part(d.name)) is not None and axis.name in part.axes)
            for axis in self.stage.axes
            for d in self.stage.program.outputs
        )

    @property
    def cells(self) -> Iterator[tuple[int, ...]]:
        """Where blocks stand, each behind those that it needs; one where nothing of a stage is divided."""
        backward = {handed.axis for handed in self.stage.handed if handed.is_backward}
        several = zip(self.stage.axes, self.places, strict=True)
        return product(
            *(range(len(p))[:: -1 if axis.name in backward else 1] for axis, p in several),
        )

    def sizes_at(self, places: Sequence[range]) -> dict[str, int]:
        """All sizes of a block of these places: of the program, of where it begins, of its slices."""
        sizes = dict(self.sizes)
        for along, own in zip(self.division.along, places, strict=True):
            sizes[along.start], sizes[along.size] = own.start, len(own)
        return self.division.sizes_at(sizes)

    def task(self, cell: Sequence[int]) -> BlockTask:
        """The block that stands there."""
        key = tuple(cell)
        places = [places[n] for places, n in zip(self.places, cell, strict=True)]
        if self.listed is None:
            return self.task_of(key, places)
        if key not in self._tasks:  # An inspector looks at index arrays once.
            self._tasks[key] = self.task_of(key, places)
        return self._tasks[key]

    def task_of(self, cell: Sequence[int], places: Sequence[range]) -> BlockTask:
        """The block that stands there, or some places of it."""
        sizes = self.sizes_at(places)
        program = self.stage.program
        starts = {along.start for along in (*self.division.along, *self.division.told)}
        task = BlockTask(
            tuple(cell),
            tuple(places),
            {name: sizes[name] for name in self.division.sizes},
            {name: sizes[name] for name in self.division.sizes if name not in starts},
            {a.name: self._box(a.name, sizes) for a in program.arguments},
            {d.name: self._box(d.name, sizes) for d in program.outputs},
            before={b.name: self._steps(b, sizes) for b in self.division.before},
        )
        return task if self.listed is None else self._with_lists(task, sizes, self.listed)

    @property
    def usual_cells(self) -> Iterator[tuple[int, ...]]:
        """Blocks of which most others have the sizes, and then those at the ends along one axis."""
        usual = tuple(_usual(places) for places in self.places)
        yield usual
        for n, places in enumerate(self.places):
            for end in (0, len(places) - 1):
                yield (*usual[:n], end, *usual[n + 1 :])

    def _steps(self, before: StepsBefore, sizes: Mapping[str, int]) -> StepsOfOthers:
        shape = self.shapes[before.of]
        wanted = self._places(before.slices, shape, sizes)
        box = tuple(
            range(max(0, p.start), max(0, min(size, p.stop))) for p, size in zip(wanted, shape, strict=True)
        )
        beyond = tuple(
            (max(0, -p.start), max(0, p.stop - size)) for p, size in zip(wanted, shape, strict=True)
        )
        return StepsOfOthers(before.of, box, beyond)

    def _with_lists(self, task: BlockTask, sizes: dict[str, int], program: ListedProgram) -> BlockTask:
        """The same block with the places that index arrays tell."""
        boxes = task.reads
        found = self._inspected(boxes, sizes, program)
        sizes |= found.sizes
        return replace(
            task,
            sizes={name: sizes[name] for name in program.sizes},
            lengths={},
            reads={
                name: tuple(
                    moved(places_in(found.lists[number]), places[0])
                    if number is not None and places
                    else places
                    for places, number in zip(boxes[name], program.dims[name], strict=True)
                )
                for name in program.arguments
            },
            arrays=found.arrays,
        )

    def _inspected(
        self, boxes: Mapping[str, Box], sizes: Mapping[str, int], program: ListedProgram
    ) -> BlockPlaces:
        whole = {n for n in self.arrays if tuple(map(len, boxes[n])) == self.shapes[n]}
        arrays = {n: a if n in whole else cut(a, boxes[n]) for n, a in self.arrays.items()}
        shared = {n: found for n, found in self._sorted.items() if n in whole}
        found = PlaceInspector(self.points(arrays, sizes, shared)).block(program)
        self._sorted.update({n: s for n, s in shared.items() if n in whole})
        return found

    def points(
        self, arrays: Mapping[str, Numbers], sizes: Mapping[str, int], kept: dict[str, SortedElements]
    ) -> DomainPoints:
        """Points of domains with these index arrays, of which `kept` gets what is sorted."""
        known = self.stage.program.index_arrays() | self.program.index_arrays()
        rising = {name for name, array in known.items() if array.increasing}
        return DomainPoints(arrays, sizes, rising, kept)

    def lists_between(self, task: BlockTask) -> dict[str, dict[str, Numbers]]:
        """Of tensors in between the places that a block has, by the indices that take them."""
        if self.listed is None:
            return {}
        sizes = self.sizes_at(task.places)
        boxes = {a.name: self._box(a.name, sizes) for a in self.stage.program.arguments}
        lists = self._inspected(boxes, sizes, self.listed).lists
        found: dict[str, dict[str, Numbers]] = {}
        for d in self.stage.program.definitions:
            if d.name in self.division.between:
                name, slices = self.division.between[d.name]
                found[d.name] = {
                    index: lists[number] + (0 if s is None else s.start.evaluate(sizes))
                    for index, number, s in zip(d.indices, self.listed.dims[name], slices, strict=True)
                    if number is not None
                }
        return found

    def is_written(self, name: str, cell: Sequence[int]) -> bool:
        """Whether a block says what a result is: one along no axis is of the first block alone."""
        part = self.part(name)
        return all(
            n == 0 or name in axis.dims or (part is not None and axis.name in part.axes)
            for n, axis in zip(cell, self.stage.axes, strict=True)
        )

    def part(self, name: str) -> JoinedPart | None:
        """How a result is joined of those of blocks; None where it is not."""
        return next((part for part in self.stage.parts if part.name == name), None)

    def _box(self, name: str, sizes: Mapping[str, int]) -> tuple[range, ...]:
        return self._places(self.division.slices[name], self.shapes[name], sizes)

    @staticmethod
    def _places(slices: Slices, shape: Sequence[int], sizes: Mapping[str, int]) -> tuple[range, ...]:
        return tuple(
            range(size)
            if s is None
            else range(start := s.start.evaluate(sizes), start + s.size.evaluate(sizes))
            for s, size in zip(slices, shape, strict=True)
        )


@dataclass(frozen=True)
class BlockPlan:
    """The blocks of all stages."""

    stages: tuple[StagePlan, ...]

    @property
    def count(self) -> int:
        """How many blocks there are."""
        return sum(prod(map(len, stage.places)) for stage in self.stages)


def plan_of(
    made: Sequence[tuple[BlockStage, BlockProgram, ListedProgram | None]],
    sizes: Mapping[str, int],
    lengths: Mapping[str, Length],
    arrays: Mapping[str, Numbers],
) -> BlockPlan:
    """The blocks with so many places along each axis, at values of all sizes.

    Raises UsageError for lengths that do not add up to an axis, and for more blocks than anyone can wait for.
    """
    axes = made[0][0].axes
    count = prod(_count(a.extent(sizes), lengths[a.name]) for a in axes)
    if count > MOST_BLOCKS:
        own_length = lengths[axes[0].name]
        length = 100 * (own_length if isinstance(own_length, int) else max(own_length))
        longer = f"give longer blocks: `f.block({axes[0].name}={length})`"
        raise usage(f"there are {count:,} blocks, which is more than {MOST_BLOCKS:,}", longer)
    found: list[StagePlan] = []
    for stage, division, listed in made:
        program = stage.program
        tensors = (*program.arguments, *program.outputs)
        shapes = {t.name: shape_at(t.shape, sizes) for t in tensors}
        places = tuple(
            _places(axis.name, axis.extent(sizes), lengths[axis.name])
            if stage.goes_along(axis)
            else (range(axis.extent(sizes)),)
            for axis in stage.axes
        )
        own = {a.name: arrays[a.name] for a in program.arguments if a.name in arrays}
        found.append(StagePlan(stage, division, sizes, shapes, places, listed, own))
    return BlockPlan(tuple(found))


def _usual(places: Sequence[range]) -> int:
    """A block of the most common length, near the middle."""
    lengths = [len(own) for own in places]
    (most, _), *_ = Counter(lengths).most_common(1)
    return min((n for n, own in enumerate(lengths) if own == most), key=lambda n: abs(2 * n - len(places)))


def _count(extent: int, length: Length) -> int:
    return -(-extent // length) if isinstance(length, int) else len(length)


def _places(name: str, extent: int, length: Length) -> tuple[range, ...]:
    if isinstance(length, int):
        return tuple(range(at, min(at + length, extent)) for at in range(0, extent, length))
    if sum(length) != extent:
        raise usage(f"blocks along `{name}` have {sum(length)} places together, and there are {extent}")
    return tuple(range(stop - own, stop) for own, stop in zip(length, accumulate(length), strict=True))
