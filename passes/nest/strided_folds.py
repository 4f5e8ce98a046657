"""Folds that take several steps at once, a vector apart, so that these share vectors.

    y[i] = sum{k}_0^(K - 1) (x[i + k] * w[k])

At k = c + b + W*a, for W lanes, vector v of a tile of y reads x from W*(v + a) + c + b on: what v reads for
a, v + 1 reads for a - 1. So V vectors of y and A steps take V + A - 1 vectors of x, and A elements of w that
stay in registers for all of them.

Each element adds up in the order of c, the start of a block of W*A steps, then b from 0 to W - 1, then a from
0 to A - 1, where blocks begin with the element's own first step: so its value does not depend on its tile.
What is no whole block for all points of a tile runs in the same order in single steps. Where a tile has few
vectors, even and odd b have sums of their own: an addition waits for less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tadc.dialect.mlir import ir
from tadc.lattice.affine import Affine, Constraint
from tadc.lattice.bounds import Level
from tadc.passes.maps.closest_bounds import counted_from
from tadc.passes.maps.map import Fold, Load
from tadc.passes.maps.scalar_lowering import Scalars
from tadc.passes.nest.fold_loops import Fill, FoldLoops, Inside
from tadc.passes.nest.joins import Emit, Made, Point
from tadc.passes.nest.lockstep import Context, Lockstep, Maker
from tadc.passes.nest.tile import LANE, Copy, at, lane_step
from tadc.passes.nest.vector_lanes import Lanes, extreme


class StridedFold(FoldLoops):
    """A fold whose innermost loop takes `takes.leap` steps at once."""

    def moved(self, fold: Fold, context: Context) -> Affine:
        """The innermost index is counted from where it begins, which moves with the lane."""
        return Affine.var(LANE) * lane_step(fold, context.forms)

    def last_loop(self, levels: Sequence[Level], carried: Made, here: Inside) -> Made:
        """The innermost loop, several steps at once; what it carries at the end."""
        low, count, parts = self.body.low, len(carried), self.value.takes.parts
        starts = [low.constant(self.type, self.start, here.point)] * (count * (parts - 1))
        found = self.parts_of_loop(levels[0], [*carried, *starts], here)
        s = Scalars(low, here.point, self.type)
        results = found[:count]
        for part in range(1, parts):
            more = found[part * count : (part + 1) * count]
            results = [self.join(s, x, y) for x, y in zip(results, more, strict=True)]
        return results

    def parts_of_loop(self, level: Level, carried: Made, here: Inside) -> Made:
        """The results of all parts at the end of the loop."""
        counted = counted_from(level.name, self.rows)
        assert counted is not None, "a loop that takes strided steps counts them"
        first, steps = counted[0].substitute(here.bound), counted[1]
        loop = _Steps(self, level.name, first, here)
        lower, upper = ([form - first for form in forms] for forms in self.ends_of(level, here))
        moves = self.moves([*lower, *upper])
        start, stop = loop.ends(lower, upper, -1)
        block, point = loop.block, here.point
        if here.masked or (moves and here.in_part) or self.nest.inside:
            return loop.single(start, stop, carried, here.masked or moves, point)
        inner_start, inner_stop = loop.ends(lower, upper, 1) if moves else (start, stop)
        begin, end = start.floordiv(block), -(-stop).floordiv(block)
        middle = loop.between(begin, -(-inner_start).floordiv(block), end)
        last = loop.between(middle, inner_stop.floordiv(block), end)
        head = loop.extreme("affine.min", [middle * block, stop])
        carried = loop.single(start, head, carried, moves, point)
        carried = loop.whole(middle * block, last * block, carried, point)
        rest = loop.extreme("affine.max", [last * block, head])
        if not moves or steps is None or steps % block == 0:
            return loop.single(rest, stop, carried, moves, point)
        common = self.body.low.holds((Constraint(inner_stop - stop),), point)

        def ending(masked: bool) -> Emit:
            return lambda inside: loop.single(rest, stop, carried, masked, inside)

        types = [value.type for value in carried]
        return self.body.low.choose(common, types, ending(False), ending(True), point)


class _Steps:
    """Steps of such a loop, counted from `first`: blocks of `leap` steps that are a vector apart."""

    def __init__(self, of: StridedFold, name: str, first: Affine, here: Inside) -> None:
        self.of, self.name, self.first, self.here, self.low = of, name, first, here, of.body.low
        self.width, self.leap, self.parts = of.body.tile.width, of.value.takes.leap, of.value.takes.parts
        self.block = self.width * self.leap

    # -- where steps begin and end ---------------------------------------------------------------

    def extreme(self, operation: str, forms: Sequence[Affine]) -> Affine:
        """The least or the greatest of forms."""
        return self.low.extreme(operation, forms, self.here.point)

    def between(self, least: Affine, form: Affine, most: Affine) -> Affine:
        """A form, or the least or the most where it is less or more."""
        return self.extreme("affine.max", [self.extreme("affine.min", [form, most]), least])

    def ends(self, lower: Sequence[Affine], upper: Sequence[Affine], sign: int) -> tuple[Affine, Affine]:
        """From where to where a point of the tile, for -1, or all, for 1, have steps."""
        ranges = self.of.body.tile.ranges
        return (
            self.extreme("affine.max", [extreme(form, ranges, sign) for form in lower]),
            self.extreme("affine.min", [extreme(form, ranges, -sign) for form in upper]),
        )

    # -- loops -----------------------------------------------------------------------------------

    def loop(self, start: Affine, stop: Affine, step: int, carried: Made, fill: Fill, point: Point) -> Made:
        """A loop from a start below a stop, or what is in it where it runs once."""
        span = stop - start
        if span.is_constant and span.constant <= 0:
            return carried
        if span.is_constant and span.constant <= step:
            return fill(start, carried, point)
        ends = (self.low.affine([start], point), self.low.affine([stop], point), step)
        return self.of.one_loop(self.name, ends, carried, fill, point)

    def by_turns(self, fill: Fill) -> Fill:
        """Fills a loop where each of some indices in a row has results of its own."""

        def every(index: Affine, values: Made, point: Point) -> Made:
            count, results = len(values) // self.parts, Made()
            for part in range(self.parts):
                results += fill(index + part, values[part * count : (part + 1) * count], point)
            return results

        return every

    def whole(self, start: Affine, stop: Affine, carried: Made, point: Point) -> Made:
        """Whole blocks, which all points have."""

        def blocks(c: Affine, values: Made, point: Point) -> Made:
            turns = self.by_turns(self.at_once)
            return self.loop(c, c + self.width, self.parts, values, turns, point)

        return self.loop(start, stop, self.block, carried, blocks, point)

    def single(self, start: Affine, stop: Affine, carried: Made, masked: bool, point: Point) -> Made:
        """The steps from a start below a stop one by one, block by block."""
        low, width = self.low, self.width
        begins_whole = start.is_constant and start.constant % self.block == 0
        there = replace(self.here, in_part=True, masked=masked)

        def step(index: Affine, values: Made, point: Point) -> Made:
            return self.of.innermost(values, there.binding(self.name, index + self.first, point))

        def blocks(c: Affine, values: Made, point: Point) -> Made:
            end = low.variable(low.affine([c + self.block, stop], point, "affine.min"))

            def of_residue(b: Affine, values: Made, point: Point) -> Made:
                begin = b
                if not begins_whole:
                    later = b - (b - start).floordiv(width) * width
                    begin = low.variable(low.affine([b, later], point, "affine.max"))
                return self.loop(begin, end, width, values, step, point)

            last = low.variable(low.affine([c + width, end], point, "affine.min"))
            return self.loop(c, last, self.parts, values, self.by_turns(of_residue), point)

        span = stop - start
        if span.is_constant and span.constant <= 0:
            return carried
        return self.loop(start.floordiv(self.block) * self.block, stop, self.block, carried, blocks, point)

    # -- steps at once ---------------------------------------------------------------------------

    def at_once(self, index: Affine, carried: Made, point: Point) -> Made:
        """The results with an element for each of the steps from an index on, which are a vector apart."""
        of, body, context = self.of, self.of.body, replace(self.here, point=point, in_part=True)
        s = Scalars(self.low, point, of.type)
        copies = list(body.tile.points(of.kept))
        lets = [let for let in of.value.body.lets if let.names and let.names[0] not in of.left_out]
        results = list(carried)
        lanes = _Shared(self.low, self.width)
        steps: list[tuple[Lockstep, list[Maker]]] = []
        for a in range(self.leap):
            here = replace(body, values=body.values.snapshot(), lanes=lanes)
            steps.append((here, here.makers(lets, context.with_forms(self.place(index, a)))))
        for number, a in self.in_order(index, copies, context):
            here, makers = steps[a]
            here.turn(copies[number], makers, context)
            for result, element in enumerate(of.elements):
                n = result * len(copies) + number
                results[n] = of.changed(body=here).combined(s, element, results[n], copies[number])
        return results

    def place(self, index: Affine, a: int) -> dict[str, Affine]:
        """The values of the fold's indices in one of the steps from an index on."""
        return self.of.indices({**self.here.bound, self.name: index + self.first + a * self.width})

    def in_order(self, index: Affine, copies: Sequence[Copy], context: Context) -> list[tuple[int, int]]:
        """The copies with the steps, those of a copy in order; what reads the same vector stands together."""
        points = [(n, a) for a in range(self.leap) for n in range(len(copies))]
        found = [self.vectors(context.with_forms(self.place(index, a))) for a in range(2)]
        for here, next in zip(*found, strict=True):
            apart = next - here
            if apart.is_constant and abs(apart.constant) == self.width:
                places = [at(here, copy) - at(here, copies[0]) for copy in copies]
                if all(place.is_constant for place in places):
                    sign = 1 if apart.constant > 0 else -1
                    return sorted(points, key=lambda p: places[p[0]].constant * sign + p[1] * self.width)
        return points

    def vectors(self, context: Context) -> list[Affine]:
        """Where loads of consecutive elements begin in the last subscript."""
        loads = [let.value for let in self.of.value.body.lets if isinstance(let.value, Load) and let.value.at]
        forms = [load.at[-1].substitute(context.forms) for load in loads]
        return [form for form in forms if LANE in form.variables]


@dataclass(frozen=True)
class _Shared(Lanes):
    """In code without branches, what makes loads and broadcasts once."""

    made: dict[ir.Value | tuple[ir.Value | Affine, ...], ir.Value] = field(
        default_factory=dict[ir.Value | tuple[ir.Value | Affine, ...], ir.Value]
    )

    def spread(self, value: ir.Value, point: Point) -> ir.Value:
        """A value as a vector: a scalar in all lanes."""
        if value not in self.made:
            self.made[value] = super().spread(value, point)
        return self.made[value]

    def load(
        self, buffer: ir.Value, forms: Sequence[Affine], mask: ir.Value | None, point: Point
    ) -> ir.Value:
        """Elements of a buffer at subscripts; nothing is read in lanes where the mask does not hold."""
        key = (buffer, *forms)
        if mask is not None or key not in self.made:
            made = super().load(buffer, forms, mask, point)
            return made if mask is not None else self.made.setdefault(key, made)
        return self.made[key]
