"""Reductions whose operands go through shared memory: read once by a block, used by many of its threads.

The outer loops run over blocks of steps. In each the threads of a block fill the room that the steps read;
after a barrier each thread combines what its own elements read. All threads have the same outer loops; a
block of steps tests its bounds only where not all of them hold at all of its points.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tadc.lattice.affine import ZERO, Affine, Constraint
from tadc.lattice.bounds import Level
from tadc.lattice.polyhedron import implied
from tadc.passes.maps.map import Fold, Let
from tadc.passes.nest.emit import Scope, emit_body
from tadc.passes.nest.fold_blocks import FoldInBlocks, steps_of, whole_levels
from tadc.passes.nest.fold_loops import Inside
from tadc.passes.nest.joins import Emit, Made, Point
from tadc.passes.nest.lockstep import Context, Lockstep
from tadc.passes.nest.nest import Stage
from tadc.passes.nest.primitives.boxes import within
from tadc.passes.nest.primitives.rewriting import loads_in
from tadc.passes.nest.vector_lanes import extreme

Filled = tuple[Stage, Scope]
"""Room that is filled before each turn of a reduction, and where it stands."""


class StagedFold(FoldInBlocks):
    """The loops of a reduction over blocks of steps, run by the threads of a block."""

    tested: Sequence[Constraint] = ()
    """What holds of the points of a block of steps, where it does not hold for all."""

    def __init__(
        self,
        body: Lockstep,
        let: Let,
        fold: Fold,
        context: Context,
        filled: Mapping[str, Filled],
        threads: Mapping[str, int],
    ) -> None:
        super().__init__(body, let, fold, context)
        self.filled = filled
        (self.depth,) = {len(stage.turns) for stage, _ in filled.values()}
        """So many loops run over blocks of steps."""
        self.steps = {name: steps_of(name, self.rows) for name in self.names[self.depth :]}
        self.apart = {**threads, **body.tile.copies}
        """The variables in which elements of the block differ, with their numbers of values."""

    def all_steps(self, first: Made, context: Context) -> Made:
        """What is left of `first` after every element."""
        still = tuple(row for row in self.nest.outside if not row.form.variables & self.apart.keys())
        facts = (*context.facts, *within(self.apart), *still)
        here = Inside(context.point, facts, context.forms, context.names, context.masks)

        def blocks(inside: Point) -> Made:
            return self.loop(self.nest.levels, first, here.at(inside))

        return self.where(still, blocks, first, context.point)

    # -- blocks of steps -------------------------------------------------------------------------

    def loop(self, levels: Sequence[Level], carried: Made, here: Inside) -> Made:
        """Loops over levels, outermost first; what they carry at the end."""
        left = len(self.names) - self.depth
        if here.in_blocks or len(levels) < left:
            return super().loop(levels, carried, here)
        return self.outer(levels, carried, here) if len(levels) > left else self.block(levels, carried, here)

    def outer(self, levels: Sequence[Level], carried: Made, here: Inside) -> Made:
        """The loop over blocks of steps, the same for all points of the block of threads."""
        level, low, point = levels[0], self.body.low, here.point
        lower, upper = self.ends_of(level, here)
        start = self.end("affine.max", [extreme(form, self.apart, -1) for form in lower], point)
        stop = self.end("affine.min", [extreme(form, self.apart, 1) for form in upper], point)
        if stop - start == Affine.const(1):
            return self.loop(levels[1:], carried, here.binding(level.name, start, point))

        def inside(number: Affine, values: Made, point: Point) -> Made:
            there = here.binding(level.name, start + number, point)
            rows = Constraint(number), Constraint(stop - start - 1 - number)
            return self.loop(levels[1:], values, there.moved(point, *rows))

        ends = low.affine([ZERO], point), low.affine([stop - start], point), 1
        return self.one_loop(level.name, ends, carried, inside, point)

    def end(self, name: str, forms: Sequence[Affine], point: Point) -> Affine:
        """The least of forms, or the greatest."""
        forms = list(dict.fromkeys(forms))
        return forms[0] if len(forms) == 1 else self.body.low.extreme(name, forms, point)

    def block(self, levels: Sequence[Level], carried: Made, here: Inside) -> Made:
        """Fill the room that a block of steps reads, and combine it."""
        low, point = self.body.low, here.point
        facts, whole = (*here.facts, *within(self.steps)), {**self.apart, **self.steps}
        rows = [row.substitute(here.bound) for row in dict.fromkeys(self.conditions())]
        rows = [row for row in rows if row.equality or not implied(row.form, facts)]
        forms = self.indices(here.bound)
        for stage, scope in self.filled.values():
            turns = {index: forms[index] for index in stage.turns}
            there = replace(scope, point=point, forms={**scope.forms, **turns})
            emit_body(stage.fill, low, there.knowing(*there.rows(stage.rows)))
        low.create("gpu.barrier", [], [], point)
        inner, closed = whole_levels(levels, self.steps), replace(here, in_blocks=True)

        def combined(masked: bool) -> Emit:
            made = self.changed(tested=rows if masked else ())
            return lambda at: made.loop(inner, carried, replace(closed, point=at, masked=masked))

        types = [value.type for value in carried]
        if not rows or any(row.equality for row in rows):
            results = combined(bool(rows))(point)
        else:
            # A row that holds at the worst point of the block holds at all.
            tests = dict.fromkeys(Constraint(extreme(row.form, whole, -1)) for row in rows)
            results = low.choose(
                low.holds(tuple(tests), point), types, combined(False), combined(True), point
            )
        low.create("gpu.barrier", [], [], point)
        return results

    def innermost(self, carried: Made, here: Inside) -> Made:
        """Combine one element at each point, where rows hold."""
        rows = [row.substitute(here.bound) for row in self.tested]
        still = tuple(row for row in rows if not self.moves([row.form]))
        moving = tuple(row for row in rows if self.moves([row.form]))
        inside = self.inside(here)

        def take(at: Point) -> Made:
            there = inside.moved(at)
            return self.under(moving, carried, there) if moving else self.take(carried, there)

        return self.where(still, take, carried, here.point)


def filled_for(fold: Fold, rooms: Mapping[str, Filled]) -> dict[str, Filled]:
    """The rooms that are filled in the turns of a reduction."""
    read = {load.tensor for load in loads_in(fold.body)}
    return {name: each for name, each in rooms.items() if name in read and each[0].turns[-1] in fold.indices}
