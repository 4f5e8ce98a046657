"""The arguments of functions that compute a range of an index of a map: what threads divide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from tadc.dialect.mlir import ir
from tadc.lattice.affine import Affine
from tadc.lattice.fibre import ranges_in
from tadc.lattice.late_dataclasses import dataclass
from tadc.passes.maps.lower_body import BodyLowering
from tadc.passes.maps.map import Map, TensorDecl
from tadc.passes.nest.plain import going_down
from tadc.passes.nest.primitives.divided_ranges import PART, RANGE, SECOND
from tadc.passes.nest.steps import Cut, Rows, Split, Steps, Threads
from tadc.passes.schedule.thread_division import FEW


def starts_of(item: Map, axis: str, tensors: Mapping[str, TensorDecl]) -> str | None:
    """The increasing array whose n-th range is as long as a reduction for the n-th value of an index."""
    at, extent = (Affine.var(axis),), item.extents[item.indices.index(axis)]
    for found in (found for fold in item.body.folds() for found in ranges_in(fold.rows)):
        array = tensors[found.stop.array]
        # Under a guard a reduction may have ranges for some of the values alone.
        if found.ends_one_behind and found.values == at and array.shape == (extent + 1,) and array.increasing:
            return array.name
    return None


def part_of(
    extent: Affine, grain: int, which: tuple[ir.Value, ir.Value], low: BodyLowering, point: ir.InsertionPoint
) -> tuple[ir.Value, ir.Value]:
    """The ends of one of so many parts of the values of an index: whole grains, of the last one more."""
    part, parts = which
    grains = low.affine([extent.floordiv(grain)], point)

    def up_to(part: ir.Value) -> ir.Value:
        product = low.create("arith.muli", [low.index_type], [part, grains], point).results[0]
        whole = low.create("arith.divui", [low.index_type], [product, parts], point).results[0]
        return low.affine([low.variable(whole) * grain], point)

    following = low.affine([low.variable(part) + 1], point)
    is_last = low.compare("eq", following, parts, point)
    end = low.select(is_last, low.affine([extent], point), up_to(following), point)
    return up_to(part), end


@dataclass(frozen=True)
class Ranges:
    """The ranges that the steps of a map say: over `axes`, and in each step over the index `inside`.

    `extents` are those of the map as its steps see it."""

    steps: Steps
    extents: Mapping[str, Affine]

    @cached_property
    def threads(self) -> Threads:
        """What is divided among threads."""
        return next((step for step in self.steps if isinstance(step, Threads)), Threads((), ()))

    @cached_property
    def axes(self) -> tuple[str, ...]:
        """The index of which ranges are computed; of two one of them."""
        rows = next((step.index for step in self.steps if isinstance(step, Rows)), None)
        own = tuple(name for name in self.extents if rows in (name, going_down(name)))
        return self.threads.indices if rows is None else own

    @property
    def inside(self) -> str | None:
        """The index that threads divide in each step."""
        is_inside = self.axes != self.threads.indices
        return next(iter(self.threads.indices), None) if is_inside else None

    @property
    def names(self) -> tuple[str, ...]:
        """The arguments of a function over a range of one of the axes, and over one in each of its steps."""
        return (*((), RANGE, (SECOND, *RANGE))[len(self.axes)], *(PART if self.inside else ()))

    def divided(self, axis: str) -> Affine:
        """The elements that are divided; the last range takes those after them too.

        Where a reduction runs in blocks, results are in memory between them: no two threads may compute one
        element, so the tile that is moved back at the end overlaps with none of another range.
        """
        extent, grain = self.extents[axis], self.grain(axis)
        tails = {step.tail for step in self.steps if isinstance(step, Split) and step.index == axis}
        is_cut = any(isinstance(step, Cut) for step in self.steps)
        return extent.floordiv(grain) * grain if is_cut and tails & {"overlap", "again"} else extent

    def grain(self, axis: str | None) -> int:
        """What ranges of an index begin at multiples of."""
        return dict(zip(self.threads.indices, self.threads.grains, strict=True)).get(axis or "", 1)

    def arguments(self, low: BodyLowering, point: ir.InsertionPoint) -> list[ir.Value]:
        """What the arguments are for the whole map: `second`, then how many values the range may have at
        most, and what its ends are multiples of."""
        axes = self.axes
        extents = [low.affine([self.divided(axis)], point) for axis in axes]
        multiples = [low.index(self.grain(axis), point) for axis in axes]
        if len(axes) == 1:
            return [*extents, *multiples]
        few = low.compare("slt", extents[0], low.index(FEW, point), point)
        fewer = low.compare("slt", extents[0], extents[1], point)
        second = low.create("arith.andi", [few.type], [few, fewer], point).results[0]
        number = low.create("arith.index_castui", [low.index_type], [second], point).results[0]
        return [number, *(low.select(second, pair[1], pair[0], point) for pair in (extents, multiples))]

    def forms(
        self, given: Sequence[ir.Value], low: BodyLowering, point: ir.InsertionPoint
    ) -> dict[str, Affine]:
        """What the names of the arguments stand for."""
        names = dict(zip(self.names, given, strict=True))
        divided, whole = ([of(axis) for axis in self.axes] for of in (self.divided, self.extents.__getitem__))
        if len(divided) == 1 and divided != whole:
            end, stop = names["end"], low.affine(divided, point)
            last = low.compare("eq", end, stop, point)
            names["end"] = low.select(last, low.affine(whole, point), end, point)
        return {name: low.variable(value) for name, value in names.items()}
