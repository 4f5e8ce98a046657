"""Reductions of which a few steps are written out.

    y[i] = sum{k} (x[i + k] * w[k]),    split k 32 clip -> k0, k1; split k1 8 -> k2, k3; reorder k0, k3, k2

At i = 8*v + l and k = 32*k0 + 8*k2 + k3, vector v of a tile reads x from 8*(v + k2) + … on: what v reads in
one step of k2, v + 1 reads in the step before. Where these steps stand one after the other for all copies,
what they share is read once: V copies and A steps take V + A - 1 vectors of x, and A elements of w.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tadc.lattice.affine import Affine, Constraint
from tadc.lattice.bounds import Level
from tadc.passes.maps.map import Choice, Fold, Load
from tadc.passes.maps.scalar_lowering import Scalars
from tadc.passes.nest.fold_loops import FoldLoops, Inside
from tadc.passes.nest.joins import Made, Point
from tadc.passes.nest.lockstep import LockstepContext
from tadc.passes.nest.squares import FEWEST, TOGETHER, ReductionSteps, are_side_by_side, is_transposable
from tadc.passes.nest.tile import LANE, Copy, at


def steps_of(name: str, rows: Sequence[Constraint]) -> int:
    """How many values from 0 on an index has by rows of its own; 0 where these do not say so."""
    own = [row.form for row in rows if row.form.variables == frozenset([name]) and not row.equality]
    ends = [form + Affine.var(name) for form in own if form.coefficient(name) == -1]
    if Affine.var(name) not in own or not ends or len(own) != len(ends) + 1:
        return 0
    return min(form.constant for form in ends) + 1


class FoldInBlocks(FoldLoops):
    """The loops of a fold, the last of which may be written out."""

    def one_level(self, levels: Sequence[Level], carried: Made, here: Inside) -> Made:
        """The loop over the first of some levels; the last one may be written out."""
        made = None if levels[1:] else self.written_out(levels[0], carried, here)
        return made if made is not None else super().one_level(levels, carried, here)

    def written_out(self, level: Level, carried: Made, here: Inside) -> Made | None:
        """The steps of the innermost loop one after the other; None where it is not to be written out, or
        has not the same number of them for all points."""
        starts, stops = (
            [form for form in forms if not self.moves([form])] for forms in self.ends_of(level, here)
        )
        if self.value.loop != "unroll" or len(starts) != 1 or len(stops) != 1:
            return None
        count, start, low = stops[0] - starts[0], starts[0], self.body.low
        masked = here.masked or self.moves_at(level, here)
        if not count.is_constant or (masked and self.value.parts):
            return None
        here = replace(here, masked=masked)
        together = self.value.together or count.constant
        if count.constant <= 0:
            return carried
        if count.constant % together:
            return None
        if together < count.constant:
            ends = low.affine(starts, here.point), low.affine(stops, here.point), together

            def turn(index: Affine, values: Made, point: Point) -> Made:
                return self.several(level.name, index, together, values, here.at(point))

            return self.one_loop(level.name, ends, carried, turn, here.point)
        return self.several(level.name, start, count.constant, carried, here)

    def several(self, name: str, start: Affine, count: int, carried: Made, here: Inside) -> Made:
        """So many steps of a loop, from a first one on, one after the other."""
        places = [here.binding(name, start + step, here.point) for step in range(count)]
        steps = self.transposed(name, start, count, here)
        blocks = any(isinstance(let.value, Fold | Choice) for let in self.value.body.lets)
        if steps is None and not blocks and not self.nest.inside and not here.masked:
            return self.at_once([self.inside(there) for there in places], carried, here)
        for step, there in enumerate(places):
            carried = self.innermost(carried, replace(there, steps=steps and replace(steps, step=step)))
        return carried

    def transposed(self, name: str, first: Affine, count: int, here: Inside) -> ReductionSteps | None:
        """A few steps that reads are transposed along, where all of these have elements of them side by side
        and lanes far apart."""
        lets, index = self.value.body.lets, self.value.indices[-1]
        loads = [let.value for let in lets if isinstance(let.value, Load) and let.value.along == index]
        fits = is_transposable(self.body.tile.width) and FEWEST <= count <= TOGETHER
        if not loads or not fits or here.masks or here.masked or self.nest.inside or self.body.beyond:
            return None
        form = self.own[index].substitute({**here.bound, name: Affine.var(name) + first})
        steps, forms = (
            ReductionSteps(index, form, name, first, count),
            {**here.forms, **self.indices(here.bound)},
        )
        return steps if all(are_side_by_side(steps.forms(load.at, forms), name) for load in loads) else None

    def at_once(self, places: Sequence[LockstepContext], carried: Made, here: Inside) -> Made:
        """The results with an element for each of some places, whose copies are made by turns."""
        copies, results = list(self.body.tile.points(self.kept)), list(carried)
        lets = [let for let in self.value.body.lets if let.names and let.names[0] not in self.left_out]
        shared = replace(self.body, reads={})
        bodies = [replace(shared, values=self.body.values.snapshot()) for _ in places]
        makers = [body.makers(lets, there) for body, there in zip(bodies, places, strict=True)]
        s = Scalars(self.body.low, here.point, self.type)
        for number, step in self.in_order(copies, places):
            bodies[step].turn(copies[number], makers[step], places[step])
            for result, element in enumerate(self.elements):
                n = result * len(copies) + number
                results[n] = self.changed(body=bodies[step]).combined(s, element, results[n], copies[number])
        return results

    def in_order(self, copies: Sequence[Copy], places: Sequence[LockstepContext]) -> list[tuple[int, int]]:
        """The copies with the steps, those of a copy in order; what reads the same vector stands together: it
        is not long in a register then."""
        points = [(n, step) for step in range(len(places)) for n in range(len(copies))]
        loads = (let.value for let in self.value.body.lets if isinstance(let.value, Load) and let.value.at)
        for load in loads:
            forms = [load.at[-1].substitute(context.forms) for context in places]
            found = {(n, step): at(forms[step], copies[n]) - at(forms[0], copies[0]) for n, step in points}
            if LANE not in forms[0].variables or not all(place.is_constant for place in found.values()):
                continue
            numbers = {point: place.constant for point, place in found.items()}
            apart = {forms[step + 1] - forms[step] for step in range(len(places) - 1)}
            if len({*numbers.values()}) < len(points) and len(apart) == 1 and apart != {Affine.const(0)}:
                sign = 1 if apart.pop().constant > 0 else -1
                return sorted(points, key=lambda point: numbers[point] * sign)
        return points
