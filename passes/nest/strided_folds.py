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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tadc.dialect.mlir import ir
from tadc.lattice.affine import Affine, Constraint
from tadc.lattice.bounds import Level
from tadc.passes.maps.closest_bounds import counted_from
from tadc.passes.maps.map import Fold, Load
from tadc.passes.maps.scalar_lowering import Scalars
from tadc.passes.nest.folds import Fill, FoldLoops
from tadc.passes.nest.lanes import Lanes, extreme
from tadc.passes.nest.lockstep import Context, Lockstep, Maker
from tadc.passes.nest.tile import at, lane_step
from tadc.passes.nest.tile_variables import LANE


class StridedFold(FoldLoops):
    """A fold whose innermost loop takes `takes.leap` steps at once."""

    def moved(self, fold: Fold, context: Context) -> Affine:
        """The innermost index is counted from where it begins, which moves with the lane."""
        return Affine.var(LANE) * lane_step(fold, context.forms)

    def last_loop(
        self,
        level: Level,
        bound: Mapping[str, Affine],
        carried: list[ir.Value],
        masked: bool,
        context: Context,
    ) -> list[ir.Value]:
        """The innermost loop, several steps at once; what it carries at the end."""
        low, count, parts = self.body.low, len(carried), self.value.takes.parts
        starts = [low.constant(self.type, self.start, context.point)] * (count * (parts - 1))
        found = self.parts_of_loop(level, bound, [*carried, *starts], masked, context)
        s = Scalars(low, context.point, self.type)
        results = found[:count]
        for part in range(1, parts):
            more = found[part * count : (part + 1) * count]
            results = [self.join(s, x, y) for x, y in zip(results, more, strict=True)]
        return results

    def parts_of_loop(
        self,
        level: Level,
        bound: Mapping[str, Affine],
        carried: list[ir.Value],
        masked: bool,
        context: Context,
    ) -> list[ir.Value]:
        """The same, with the results of all parts."""
        counted = counted_from(level.name, self.rows)
        assert counted is not None, "a loop that takes strided steps counts them"
        first, steps = counted[0].substitute(bound), counted[1]
        loop = _Steps(self, level.name, bound, first, context)
        lower = [b.ceil().substitute(bound) - first for b in level.lower]
        upper = [b.floor().substitute(bound) + 1 - first for b in level.upper]
        moves = self.moves([*lower, *upper])
        start, stop = loop.ends(lower, upper, -1)
        block, point = loop.block, context.point
        if masked or (moves and context.in_part) or self.nest.inside:
            return loop.single(start, stop, carried, masked or moves, point)
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

        def ending(masked: bool) -> Callable[[ir.InsertionPoint], list[ir.Value]]:
            return lambda inside: loop.single(rest, stop, carried, masked, inside)

        types = [value.type for value in carried]
        return self.body.low.choose(common, types, ending(False), ending(True), point)


@dataclass(frozen=True)
class _Steps:
    """Steps of such a loop, counted from `first`."""

    of: StridedFold
    name: str
    bound: Mapping[str, Affine]
    first: Affine
    context: Context

    @property
    def width(self) -> int:
        """The steps from one to the next of those taken at once."""
        return self.of.body.tile.width

    @property
    def at_once_count(self) -> int:
        """The steps taken at once."""
        return self.of.value.takes.leap

    @property
    def parts(self) -> int:
        """The results that steps join by turns."""
        return self.of.value.takes.parts

    @property
    def block(self) -> int:
        """The steps of a block."""
        return self.width * self.at_once_count

    # -- where steps begin and end ---------------------------------------------------------------

    def extreme(self, operation: str, forms: Sequence[Affine]) -> Affine:
        """The least or the greatest of forms."""
        return self.of.body.low.extreme(operation, forms, self.context.point)

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

    def loop(
        self,
        start: Affine,
        stop: Affine,
        step: int,
        carried: list[ir.Value],
        fill: Fill,
        point: ir.InsertionPoint,
    ) -> list[ir.Value]:
        """A loop from a start below a stop, or what is in it where it runs once."""
        low, span = self.of.body.low, stop - start
        if span.is_constant and span.constant <= 0:
            return carried
        if span.is_constant and span.constant <= step:
            return fill(start, carried, point)
        ends = (low.affine([start], point), low.affine([stop], point), step)
        return self.of.one_loop(self.name, ends, carried, fill, point)

    def by_turns(self, fill: Fill) -> Fill:
        """What fills a loop where each of some indices in a row has results of its own."""

        def every(index: Affine, values: list[ir.Value], point: ir.InsertionPoint) -> list[ir.Value]:
            count, results = len(values) // self.parts, list[ir.Value]()
            for part in range(self.parts):
                results += fill(index + part, values[part * count : (part + 1) * count], point)
            return results

        return every

    def whole(
        self, start: Affine, stop: Affine, carried: list[ir.Value], point: ir.InsertionPoint
    ) -> list[ir.Value]:
        """Whole blocks, which all points have."""

        def blocks(c: Affine, values: list[ir.Value], point: ir.InsertionPoint) -> list[ir.Value]:
            def steps(index: Affine, values: list[ir.Value], point: ir.InsertionPoint) -> list[ir.Value]:
                return self.at_once(index, values, replace(self.context, point=point, in_part=True))

            return self.loop(c, c + self.width, self.parts, values, self.by_turns(steps), point)

        return self.loop(start, stop, self.block, carried, blocks, point)

    def single(
        self, start: Affine, stop: Affine, carried: list[ir.Value], masked: bool, point: ir.InsertionPoint
    ) -> list[ir.Value]:
        """The steps from a start below a stop one by one, block by block."""
        low, width = self.of.body.low, self.width
        begins_whole = start.is_constant and start.constant % self.block == 0

        def step(index: Affine, values: list[ir.Value], point: ir.InsertionPoint) -> list[ir.Value]:
            there = replace(self.context, point=point, in_part=True)
            bound = {**self.bound, self.name: index + self.first}
            return self.of.innermost(bound, values, masked, there)

        def blocks(c: Affine, values: list[ir.Value], point: ir.InsertionPoint) -> list[ir.Value]:
            end = low.variable(low.affine([c + self.block, stop], point, "affine.min"))

            def of_residue(b: Affine, values: list[ir.Value], point: ir.InsertionPoint) -> list[ir.Value]:
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

    def at_once(self, index: Affine, carried: list[ir.Value], context: Context) -> list[ir.Value]:
        """The results with an element for each of the steps from an index on, which are a vector apart."""
        of, body = self.of, self.of.body
        s = Scalars(body.low, context.point, of.type)
        copies = list(body.tile.points(of.carried))
        lets = [let for let in of.value.body.lets if let.names and let.names[0] not in of.left_out]
        results = list(carried)
        lanes = _Shared(body.low, self.width)
        steps: list[tuple[Lockstep, list[Maker]]] = []
        for a in range(self.at_once_count):
            here = replace(body, values=body.values.snapshot(), lanes=lanes)
            steps.append((here, here.makers(lets, context.with_forms(self.place(index, a)))))
        for number, a in self.in_order(index, copies, context):
            here, makers = steps[a]
            here.turn(copies[number], makers, context)
            for result, element in enumerate(of.elements):
                n = result * len(copies) + number
                results[n] = of.with_body(here).combined(s, element, results[n], copies[number])
        return results

    def place(self, index: Affine, a: int) -> dict[str, Affine]:
        """The values of the fold's indices in one of the steps from an index on."""
        return self.of.indices({**self.bound, self.name: index + self.first + a * self.width})

    def in_order(
        self, index: Affine, copies: Sequence[Mapping[str, int]], context: Context
    ) -> list[tuple[int, int]]:
        """The copies with the steps, those of a copy in order; what reads the same vector stands together."""
        points = [(n, a) for a in range(self.at_once_count) for n in range(len(copies))]
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

    def spread(self, value: ir.Value, point: ir.InsertionPoint) -> ir.Value:
        """A value as a vector: a scalar in all lanes."""
        if value not in self.made:
            self.made[value] = super().spread(value, point)
        return self.made[value]

    def load(
        self, buffer: ir.Value, forms: Sequence[Affine], mask: ir.Value | None, point: ir.InsertionPoint
    ) -> ir.Value:
        """Elements of a buffer at subscripts; nothing is read in lanes where the mask does not hold."""
        if mask is not None:
            return super().load(buffer, forms, mask, point)
        key = (buffer, *forms)
        if key not in self.made:
            self.made[key] = super().load(buffer, forms, None, point)
        return self.made[key]
