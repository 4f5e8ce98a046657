"""The arguments of functions that compute a range of an index of a map: what threads divide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tadc.dialect.mlir import ir
from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine, Constraint
from tadc.lattice.fibre import ranges_in
from tadc.passes.maps.lower_body import BodyLowering
from tadc.passes.maps.map import Fold, Map, Tensor
from tadc.passes.nest.primitives.divided_ranges import PART, RANGE, SECOND
from tadc.passes.nest.steps import Cut, Split, Threads
from tadc.passes.schedule.plans import Plan
from tadc.passes.schedule.thread_division import FEW, Division


def range_names(plan: Plan) -> tuple[str, ...]:
    """The arguments of a function over a range of one of the indices that a plan divides; of one over a range
    of steps those of a range in each step too."""
    names = ((), RANGE, (SECOND, *RANGE))[len(plan.axes)]
    return (*names, *PART) if plan.divided else names


def grain_in_steps(item: Map, plan: Plan) -> int:
    """What ranges of the index that threads divide in each step begin at multiples of."""
    return Ranges(plan, item.indices, item.extents).grain(plan.divided) if plan.divided else 1


def starts_of(item: Map, axis: str, tensors: Mapping[str, Tensor]) -> str | None:
    """The increasing array whose n-th range is as long as a reduction for the n-th value of an index."""
    at, extent = (Affine.var(axis),), item.extents[item.indices.index(axis)]
    folds = (let.value for let in item.body.all_lets() if isinstance(let.value, Fold))
    for found in (found for fold in folds for found in ranges_in(fold.rows)):
        array = tensors[found.stop.array]
        # Under a guard a reduction may have ranges for some of the values alone.
        if found.ends_one_behind and found.values == at and array.shape == (extent + 1,) and array.increasing:
            return array.name
    return None


def part_of(
    extent: Affine,
    grain: int,
    which: tuple[ir.Value, ir.Value],
    low: BodyLowering,
    point: ir.InsertionPoint,
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


class Ranges:
    """The ranges of a map with a plan, whose indices have these extents."""

    def __init__(self, plan: Plan, indices: Sequence[str], extents: Sequence[Affine]) -> None:
        self.plan = plan
        self.extents = dict(zip(indices, extents, strict=True))
        self.division = Division(indices, extents, plan.tiling, plan.work)

    def divided(self, axis: str) -> Affine:
        """The elements that are divided; the last range takes those after them too.

        Where a reduction runs in blocks, results are in memory between them: no two threads may compute one
        element, so the tile that is moved back at the end overlaps with none of another range.
        """
        extent, tiling = self.extents[axis], self.plan.tiling
        if self.plan.given is not None:
            steps = self.plan.given
            tails = {step.tail for step in steps if isinstance(step, Split) and step.index == axis}
            is_cut = any(isinstance(step, Cut) for step in steps)
            grain = self.grain(axis)
            return extent.floordiv(grain) * grain if is_cut and tails & {"overlap", "again"} else extent
        if tiling is None or tiling.packed is None or tiling.packed.block is None:
            return extent
        tile = tiling.extent(axis)
        return extent.floordiv(tile) * tile if axis == tiling.lanes else extent

    def grain(self, axis: str) -> int:
        """What ranges of an index begin at multiples of."""
        for step in self.plan.given or ():
            if isinstance(step, Threads) and axis in step.indices:
                return step.grains[step.indices.index(axis)]
        return self.division.grain(axis)

    def arguments(self, low: BodyLowering, point: ir.InsertionPoint) -> list[ir.Value]:
        """What the arguments are for the whole map: `second`, then how many values the range may have at
        most, and what its ends are multiples of."""
        axes = self.plan.axes
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
        axes = self.plan.axes
        names = dict(zip(range_names(self.plan), given, strict=True))
        if len(axes) == 1 and self.divided(axes[0]) != self.extents[axes[0]]:
            end, stop = names["end"], low.affine([self.divided(axes[0])], point)
            last = low.compare("eq", end, stop, point)
            names["end"] = low.select(last, low.affine([self.extents[axes[0]]], point), end, point)
        return {name: low.variable(value) for name, value in names.items()}

    def facts(self, forms: Mapping[str, Affine]) -> Domain:
        """What holds of the range of one index, and of that within steps."""
        if len(self.plan.axes) != 1:
            return ()
        divided = [self.plan.divided] if self.plan.divided else []
        return tuple(
            row
            for axis, (begin, end) in zip((*self.plan.axes, *divided), (RANGE, PART), strict=False)
            for row in (Constraint(forms[begin]), Constraint(self.extents[axis] - forms[end]))
        )
