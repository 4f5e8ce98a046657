"""Which blocks there are at values of all sizes, and what each of them reads and computes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, product
from math import prod

from tadc.apps.blocks.block_program import BlockProgram, Slices
from tadc.apps.blocks.block_stages import BlockStage, JoinedPart
from tadc.toolkit.language import bytes_of_type, shape_at
from tadc.toolkit.reporting import usage

#: So many blocks are planned.
MOST_BLOCKS = 1_000_000

#: Of each dimension the places.
Box = tuple[range, ...]

#: How many places blocks have along an axis: all but the last so many, or each as many as is said.
Length = int | tuple[int, ...]


@dataclass(frozen=True)
class BlockTask:
    """One block of a stage: where it stands along each axis, its sizes, and the boxes of its tensors.

    `lengths` are those sizes that do not only say where something begins.
    """

    cell: tuple[int, ...]
    places: tuple[range, ...]
    sizes: Mapping[str, int]
    lengths: Mapping[str, int]
    reads: Mapping[str, Box]
    writes: Mapping[str, Box]


@dataclass(frozen=True)
class StagePlan:
    """The blocks of a stage, in the order of the axes, the last one fastest."""

    stage: BlockStage
    division: BlockProgram
    sizes: Mapping[str, int]
    shapes: Mapping[str, tuple[int, ...]]
    #: The places of each block along each axis.
    places: tuple[tuple[range, ...], ...]

    @property
    def is_divided(self) -> bool:
        """Whether there is more than one block where an axis has more places than one block."""
        return is_divided(self.stage)

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
        """Where blocks stand. A stage of which nothing is divided has one block."""
        return product(*(range(len(places)) for places in self.places))

    def sizes_at(self, places: Sequence[range]) -> dict[str, int]:
        """All sizes of a block of these places: of the program, of where it begins, of its slices."""
        sizes = dict(self.sizes)
        for along, own in zip(self.division.along, places, strict=True):
            sizes[along.start], sizes[along.size] = own.start, len(own)
        return self.division.sizes_at(sizes)

    def task(self, cell: Sequence[int]) -> BlockTask:
        """The block that stands there."""
        return self.task_of(cell, [places[n] for places, n in zip(self.places, cell, strict=True)])

    def task_of(self, cell: Sequence[int], places: Sequence[range]) -> BlockTask:
        """The block that stands there, or some places of it."""
        sizes = self.sizes_at(places)
        program = self.stage.program
        starts = {along.start for along in (*self.division.along, *self.division.told)}
        return BlockTask(
            tuple(cell),
            tuple(places),
            {name: sizes[name] for name in self.division.sizes},
            {name: sizes[name] for name in self.division.sizes if name not in starts},
            {a.name: self._box(a.name, sizes) for a in program.arguments},
            {d.name: self._box(d.name, sizes) for d in program.outputs},
        )

    @property
    def usual_cells(self) -> Iterator[tuple[int, ...]]:
        """Blocks of which most others have the sizes, and then those at the ends along one axis."""
        usual = tuple(_usual(places) for places in self.places)
        yield usual
        for n, places in enumerate(self.places):
            for end in (0, len(places) - 1):
                yield (*usual[:n], end, *usual[n + 1 :])

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

    def _box(self, name: str, sizes: Mapping[str, int]) -> Box:
        slices: Slices = self.division.slices[name]
        return tuple(
            range(size)
            if s is None
            else range(start := s.start.evaluate(sizes), start + s.size.evaluate(sizes))
            for s, size in zip(slices, self.shapes[name], strict=True)
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
    made: Sequence[tuple[BlockStage, BlockProgram]], sizes: Mapping[str, int], lengths: Mapping[str, Length]
) -> BlockPlan:
    """The blocks with so many places along each axis, at values of all sizes.

    Raises UsageError for lengths that do not add up to an axis, and for more blocks than anyone can wait for.
    """
    axes = made[0][0].axes
    count = prod(_count(a.extent(sizes), lengths[a.name]) for a in axes)
    if count > MOST_BLOCKS:
        own = lengths[axes[0].name]
        length = 100 * (own if isinstance(own, int) else max(own))
        longer = f"give longer blocks: `f.block({axes[0].name}={length})`"
        raise usage(f"there are {count:,} blocks, which is more than {MOST_BLOCKS:,}", longer)
    found: list[StagePlan] = []
    for stage, division in made:
        program = stage.program
        tensors = (*program.arguments, *program.outputs)
        shapes = {t.name: shape_at(t.shape, sizes) for t in tensors}
        places = tuple(
            _places(axis.name, axis.extent(sizes), lengths[axis.name])
            if is_divided(stage)
            else (range(axis.extent(sizes)),)
            for axis in stage.axes
        )
        found.append(StagePlan(stage, division, sizes, shapes, places))
    return BlockPlan(tuple(found))


def is_divided(stage: BlockStage) -> bool:
    """Whether a stage has results that go along with an axis, or parts of them."""
    names = {d.name for d in stage.program.outputs}
    return bool(stage.parts) or any(axis.dims.keys() & names for axis in stage.axes)


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


def bytes_of(box: Box, type: str) -> int:
    """What a box takes in memory."""
    return prod(map(len, box)) * bytes_of_type(type)
