"""Reductions whose loops are split: a part where all points of a tile have whole blocks, and in it steps that
are written out.

    y[i] = sum{k} (x[i + k] * w[k]),    split k 32 clip -> k0, k1; split k1 8 -> k2, k3; reorder k0, k3, k2

At i = 8*v + l and k = 32*k0 + 8*k2 + k3, vector v of a tile reads x from 8*(v + k2) + … on: what v reads in
one step of k2, v + 1 reads in the step before. Where these steps stand one after the other for all copies,
what they share is read once: V copies and A steps take V + A - 1 vectors of x, and A elements of w.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from tadc.frontend.terms import Domain
from tadc.lattice.affine import ZERO, Affine, Constraint
from tadc.lattice.bounds import Bound, Level
from tadc.passes.maps.map import Choice, Fold, Load
from tadc.passes.maps.scalar_lowering import Scalars
from tadc.passes.nest.fold_loops import FoldLoops, Inside
from tadc.passes.nest.joins import Emit, Made, Point
from tadc.passes.nest.lockstep import Context
from tadc.passes.nest.squares import FEWEST, TOGETHER, Steps, are_side_by_side, is_transposable
from tadc.passes.nest.tile import LANE, Copy, at
from tadc.passes.nest.vector_lanes import extreme


@dataclass(frozen=True)
class WholeBlocks:
    """Where the loop over an index has all steps of the loops in it, for all points of a tile: from the
    greatest of `starts` to the least of `stops`. `rows` are those that say so."""

    starts: list[Affine]
    stops: list[Affine]
    steps: Mapping[str, int]
    rows: tuple[Constraint, ...]

    def worst(
        self, index: str, first: Affine, last: Affine, ranges: Mapping[str, int], moving: Set[str]
    ) -> Domain:
        """The rows that move with a tile where they hold least, in blocks from a first to a last one."""
        rows = [row.form for row in self.rows if row.form.variables & moving]
        there = [form.substitute({index: first if form.coefficient(index) > 0 else last}) for form in rows]
        return tuple(Constraint(extreme(form, {**ranges, **self.steps}, -1)) for form in there)


def whole_blocks(
    levels: Sequence[Level], rows: Sequence[Constraint], ranges: Mapping[str, int]
) -> WholeBlocks | None:
    """The whole blocks of the first of some loops over a set; None where it is no loop over blocks of known
    numbers of steps of the others. `ranges` are those of the tile."""
    index, later = levels[0].name, frozenset(level.name for level in levels[1:])
    steps = {name: steps_of(name, rows) for name in later}
    known = {name: count for name, count in steps.items() if count}
    mixed = tuple(row for row in rows if row.form.variables & {index, *later} and not _is_of_one(row, later))
    if not later or known.keys() != later or any(row.equality for row in mixed):
        return None
    starts, stops = list[Affine](), list[Affine]()
    if all(row.form.variables.isdisjoint(later) for row in mixed):
        return None
    for row in mixed:
        k = row.form.coefficient(index)
        rest = row.form - Affine.var(index) * k
        if not k or index in rest.variables:
            return None
        worst = extreme(rest, {**ranges, **known}, -1)
        span = extreme(rest, known, 1) - extreme(rest, known, -1)
        if not span.is_constant or span.constant >= abs(k):
            return None
        if k > 0:
            starts.append(-worst.floordiv(k))
        else:
            stops.append(worst.floordiv(-k) + 1)
    return WholeBlocks(starts, stops, known, mixed)


def _is_of_one(row: Constraint, names: frozenset[str]) -> bool:
    """Whether a row bounds one of some indices by a number."""
    return len(row.form.variables) == 1 and row.form.variables <= names


def steps_of(name: str, rows: Sequence[Constraint]) -> int:
    """How many values from 0 on an index has by rows of its own; 0 where these do not say so."""
    own = [row.form for row in rows if row.form.variables == frozenset([name]) and not row.equality]
    ends = [form + Affine.var(name) for form in own if form.coefficient(name) == -1]
    if Affine.var(name) not in own or not ends or len(own) != len(ends) + 1:
        return 0
    return min(form.constant for form in ends) + 1


def whole_levels(levels: Sequence[Level], steps: Mapping[str, int]) -> list[Level]:
    """Loops that run so many steps each."""
    ends = ((level, Bound(Affine.const(steps[level.name] - 1), 1)) for level in levels)
    return [Level(level.name, (Bound(ZERO, 1),), (end,)) for level, end in ends]


def kept(levels: Sequence[Level], wanted: Callable[[Affine], bool]) -> tuple[Level, ...]:
    """Levels with the wanted ones of their bounds; nothing where one is without."""

    def those(bounds: Sequence[Bound]) -> tuple[Bound, ...]:
        return tuple(bound for bound in bounds if wanted(bound.form))

    made = tuple(Level(level.name, those(level.lower), those(level.upper)) for level in levels)
    return made if all(level.lower and level.upper for level in made) else ()


class FoldInBlocks(FoldLoops):
    """The loops of a fold, some of which may be blocks of those in them."""

    def one_level(self, levels: Sequence[Level], carried: Made, here: Inside) -> Made:
        """The loop over the first of some levels; whole blocks apart, where the others are steps of one. The
        last one may be written out."""
        made = None if levels[1:] else self.written_out(levels[0], carried, here)
        if made is not None:
            return made
        shift = self.shift_at(levels[0], here)
        if self.is_peeled(levels[0], here) and not (shift or here.in_blocks or self.nest.inside):
            rows = [row.substitute(here.bound) for row in self.rows]
            whole = whole_blocks(levels, rows, self.body.tile.ranges)
            if whole is not None:
                return self.in_blocks(levels, whole, carried, here)
        return super().one_level(levels, carried, here)

    def in_blocks(self, levels: Sequence[Level], whole: WholeBlocks, carried: Made, here: Inside) -> Made:
        """The loop over the first of some levels: what is before whole blocks, these, and what is left."""
        level, low, point, ranges = levels[0], self.body.low, here.point, self.body.tile.ranges
        moves = self.moves([row.form for row in whole.rows])
        lower, upper = self.ends_of(level, here)
        lower = [extreme(form, ranges, -1) for form in lower]
        upper = [extreme(form, ranges, 1) for form in upper]
        begin, end = low.extreme("affine.max", lower, point), low.extreme("affine.min", upper, point)

        def between(name: str, forms: list[Affine], least: Affine) -> Affine:
            inside = low.extreme("affine.min", [low.extreme(name, forms, point), end], point)
            return low.extreme("affine.max", [inside, least], point)

        first = begin if whole.starts == lower else between("affine.max", whole.starts, begin)
        last = end if whole.stops == upper else between("affine.min", whole.stops, first)
        open = replace(here, masked=moves, in_part=here.in_part or moves, in_blocks=True)
        closed = replace(open, masked=False)
        carried = self.part(levels, (begin, first), carried, open)
        carried = self.part([level, *whole_levels(levels[1:], whole.steps)], (first, last), carried, closed)
        still = kept(levels, lambda form: not self.moves([form.substitute(here.bound)]))
        if not moves or not still or last == end:
            return self.part(levels, (last, end), carried, open)
        # Where what moves with the tile holds in all blocks that are left, these are the same for all points.
        holds = low.holds(whole.worst(level.name, last, end - 1, ranges, self.moving), point)

        def ending(inner: Sequence[Level], there: Inside) -> Emit:
            return lambda inside: self.part(inner, (last, end), carried, there.at(inside))

        types = [value.type for value in carried]
        return low.choose(holds, types, ending(still, closed), ending(levels, open), point)

    def part(
        self, levels: Sequence[Level], ends: tuple[Affine, Affine], carried: Made, there: Inside
    ) -> Made:
        """A part of the loop over the first of some levels."""
        (start, stop), name, point = ends, levels[0].name, there.point
        if start == stop:
            return carried

        def inside(index: Affine, values: Made, point: Point) -> Made:
            return self.loop(levels[1:], values, there.binding(name, index, point))

        values = self.body.low.affine([start], point), self.body.low.affine([stop], point), 1
        return self.one_loop(name, values, carried, inside, point)

    def written_out(self, level: Level, carried: Made, here: Inside) -> Made | None:
        """The steps of the innermost loop one after the other; None where it is not to be written out, or
        has not the same number of them for all points."""
        (start, *more), (stop, *others) = self.ends_of(level, here)
        count, low = stop - start, self.body.low
        if self.value.loop != "unroll" or here.masked or more or others or not count.is_constant:
            return None
        together = self.value.together or count.constant
        if count.constant <= 0:
            return carried
        if count.constant % together:
            return None
        if together < count.constant:
            ends = low.affine([start], here.point), low.affine([stop], here.point), together

            def turn(index: Affine, values: Made, point: Point) -> Made:
                return self.several(level.name, index, together, values, here.at(point))

            return self.one_loop(level.name, ends, carried, turn, here.point)
        return self.several(level.name, start, count.constant, carried, here)

    def several(self, name: str, start: Affine, count: int, carried: Made, here: Inside) -> Made:
        """So many steps of a loop, from a first one on, one after the other."""
        places = [here.binding(name, start + step, here.point) for step in range(count)]
        steps = self.transposed(name, start, count, here)
        blocks = any(isinstance(let.value, Fold | Choice) for let in self.value.body.lets)
        if steps is None and not blocks and not self.nest.inside:
            return self.at_once([self.inside(there) for there in places], carried, here)
        for step, there in enumerate(places):
            carried = self.innermost(carried, replace(there, steps=steps and replace(steps, step=step)))
        return carried

    def transposed(self, name: str, first: Affine, count: int, here: Inside) -> Steps | None:
        """A few steps that reads are transposed along, where all of these have elements of them side by side
        and lanes far apart."""
        lets, index = self.value.body.lets, self.value.indices[-1]
        loads = [let.value for let in lets if isinstance(let.value, Load) and let.value.along == index]
        fits = is_transposable(self.body.tile.width) and FEWEST <= count <= TOGETHER
        if not loads or not fits or here.masks or self.nest.inside or self.body.beyond:
            return None
        form = self.own[index].substitute({**here.bound, name: Affine.var(name) + first})
        steps, forms = Steps(index, form, name, first, count), {**here.forms, **self.indices(here.bound)}
        return steps if all(are_side_by_side(steps.forms(load.at, forms), name) for load in loads) else None

    def at_once(self, places: Sequence[Context], carried: Made, here: Inside) -> Made:
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

    def in_order(self, copies: Sequence[Copy], places: Sequence[Context]) -> list[tuple[int, int]]:
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
