"""Folds over lanes: a vector of consecutive elements in one step, the lanes joined at the end, by halves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

from tadc.dialect.mlir import ir
from tadc.lattice.affine import Affine, Constraint
from tadc.lattice.bounds import Level
from tadc.passes.maps.map import Fold, Let
from tadc.passes.maps.scalar_lowering import Scalars
from tadc.passes.nest.fold_loops import Combine, FoldLoops, Inside
from tadc.passes.nest.joins import Join, Made, Point
from tadc.passes.nest.lockstep import Context, Lockstep
from tadc.passes.nest.tile import ACROSS, LANE, PARTS


class LaneFold(FoldLoops):
    """A fold whose innermost loop takes some vectors in one step; the tile has its lanes and `PARTS`."""

    def __init__(self, body: Lockstep, let: Let, fold: Fold, context: Context) -> None:
        super().__init__(body, let, fold, context)
        self.moving = self.moving - ACROSS
        parts = (PARTS,) if PARTS in body.tile.copies else ()
        self.carried = body.tile.along({*self.kept, *parts})

    @property
    def is_vector(self) -> bool:
        """The loops carry a result for each lane."""
        return True

    def fold(self, combine: Combine, join: Join, start: float) -> Made:
        """The results of all parts and lanes in one, for each copy along `kept`."""
        results = super().fold(combine, join, start)
        point = self.context.point
        found: dict[tuple[int, ...], ir.Value] = {}
        each = product(range(len(self.elements)), self.body.tile.points(self.carried))
        for (number, copy), value in zip(each, results, strict=True):
            key = (number, *(copy[name] for name in self.kept))
            s = Scalars(self.body.low, point, value.type)
            found[key] = join(s, found[key], value) if key in found else value
        return [self.body.lanes.folded(value, join, point) for value in found.values()]

    def last_loop(self, levels: Sequence[Level], carried: Made, here: Inside) -> Made:
        """Steps of all parts and lanes: under masks before and after those that every point takes whole."""
        (level,), low, point = levels, self.body.low, here.point
        guarded = here.masked or any(level.name in row.form.variables for row in self.nest.inside)
        span = self.span(level, here, guarded or here.in_part)
        width, parts = self.body.tile.width, self.body.tile.copies.get(PARTS, 1)
        guarded = guarded or (span.inner is None and self.moves_at(level, here))
        inner_start, inner_stop = span.inner or (span.start, span.stop)
        step = width * parts
        lane = Affine.var(LANE) + (Affine.var(PARTS) * width if parts > 1 else 0)
        across = self.changed(moving=self.moving | ACROSS)
        index = Affine.var(level.name)
        alike = not guarded and not self.moves_at(level, here)
        until = (Constraint(low.variable(span.stop) - 1 - index),) if alike else None

        def run(start: ir.Value, stop: ir.Value, values: Made, masked: bool) -> Made:
            there = replace(here, in_part=True, masked=masked)
            if masked and until is not None:
                there = replace(there, until=until, is_met=parts == 1)

            def inside(index: Affine, values: Made, point: Point) -> Made:
                return across.innermost(values, there.binding(level.name, index + lane, point))

            return self.one_loop(level.name, (start, stop, step), values, inside, point)

        def after(start: ir.Value, stop: ir.Value, less: int) -> ir.Value:
            """Where the first step is that does not begin, for `less` of 0, or end before a stop."""
            first, room = low.variable(start), low.variable(stop) - low.variable(start) + (step - 1 - less)
            count = self.choose_index("arith.maxsi", low.affine([room], point), low.index(0, point), point)
            return low.affine([first + low.variable(count).floordiv(step) * step], point)

        if until is not None and (self.is_long or here.is_rare):
            return run(span.start, span.stop, carried, True)
        start = span.start
        if span.inner is not None and self.moves(self.ends_of(level, here)[0]):
            carried = run(start, inner_start, carried, True)
            start = after(start, inner_start, 0)
        end = low.affine([low.variable(inner_stop) - (step - 1)], point)
        carried = run(start, end, carried, guarded)
        return run(after(start, inner_stop, step - 1), span.stop, carried, True)
