"""Loops that take several steps of a reduction at once, a vector apart, so that these share vectors.

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
from typing import TYPE_CHECKING, Any

from tadc.lattice.affine import Affine, Constraint
from tadc.lattice.bounds import Level
from tadc.passes.maps.accesses import counted_from
from tadc.passes.maps.scalar_lowering import Scalars
from tadc.passes.maps.tile_values import LANE, Copy, Leap, Values, at
from tadc.passes.nest.lanes import Lanes, extreme

if TYPE_CHECKING:
    from tadc.passes.cpu.tile_body import Context, Maker
    from tadc.passes.cpu.tile_reductions import TileReduction

#: What is in a loop: of its index and what it carries, at a point.
Fill = Callable[[Affine, list[Any], Any], list[Any]]


def leaping_loop(
    of: TileReduction,
    leap: Leap,
    level: Level,
    bound: Mapping[str, Affine],
    carried: list[Any],
    masked: bool,
    context: Context,
) -> list[Any]:
    """The innermost loop of a reduction, several steps at once; what it carries at the end."""
    if leap.parts == 1:
        return _loops(of, leap, level, bound, carried, masked, context)
    low, count = of.body.low, len(carried)
    starts = [low.constant(of.type, of.start, context.point)] * (count * (leap.parts - 1))
    found = _loops(of, leap, level, bound, [*carried, *starts], masked, context)
    s = Scalars(low, context.point, of.type)
    results = found[:count]
    for part in range(1, leap.parts):
        more = found[part * count : (part + 1) * count]
        results = [of.join(s, x, y) for x, y in zip(results, more, strict=True)]
    return results


def _loops(
    of: TileReduction,
    leap: Leap,
    level: Level,
    bound: Mapping[str, Affine],
    carried: list[Any],
    masked: bool,
    context: Context,
) -> list[Any]:
    """The same, with the results of all parts."""
    counted = counted_from(level.name, of.rows)
    assert counted is not None, "a loop that leaps counts its steps"
    first, steps = counted[0].substitute(bound), counted[1]
    loop = _Leaps(of, level.name, bound, first, leap, context)
    lower = [b.ceil().substitute(bound) - first for b in level.lower]
    upper = [b.floor().substitute(bound) + 1 - first for b in level.upper]
    moves = of.moves([*lower, *upper])
    start, stop = loop.ends(lower, upper, -1)
    block, point = loop.block, context.point
    if masked or (moves and context.in_part) or of.nest.inside:
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
    common = of.body.low.holds((Constraint(inner_stop - stop),), point)

    def ending(masked: bool) -> Callable[[Any], list[Any]]:
        return lambda at: loop.single(rest, stop, carried, masked, at)

    return of.body.low.choose(common, [v.type for v in carried], ending(False), ending(True), point)


@dataclass(frozen=True)
class _Leaps:
    """Steps of such a loop, counted from `first`."""

    of: TileReduction
    name: str
    bound: Mapping[str, Affine]
    first: Affine
    leap: Leap
    context: Context

    @property
    def width(self) -> int:
        """The steps from one to the next of those taken at once."""
        return self.of.body.tile.width

    @property
    def block(self) -> int:
        """The steps of a block."""
        return self.width * self.leap.steps

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
        self, start: Affine, stop: Affine, step: int, carried: list[Any], fill: Fill, point: Any
    ) -> list[Any]:
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

        def every(index: Affine, values: list[Any], at: Any) -> list[Any]:
            count, results = len(values) // self.leap.parts, list[Any]()
            for part in range(self.leap.parts):
                results += fill(index + part, values[part * count : (part + 1) * count], at)
            return results

        return every

    def whole(self, start: Affine, stop: Affine, carried: list[Any], point: Any) -> list[Any]:
        """Whole blocks, which all points have."""

        def blocks(c: Affine, values: list[Any], at: Any) -> list[Any]:
            def steps(index: Affine, values: list[Any], at: Any) -> list[Any]:
                return self.at_once(index, values, replace(self.context, point=at, in_part=True))

            return self.loop(c, c + self.width, self.leap.parts, values, self.by_turns(steps), at)

        return self.loop(start, stop, self.block, carried, blocks, point)

    def single(self, start: Affine, stop: Affine, carried: list[Any], masked: bool, point: Any) -> list[Any]:
        """The steps from a start below a stop one by one, block by block."""
        low, width = self.of.body.low, self.width
        begins_whole = start.is_constant and start.constant % self.block == 0

        def step(index: Affine, values: list[Any], at: Any) -> list[Any]:
            there = replace(self.context, point=at, in_part=True)
            bound = {**self.bound, self.name: index + self.first}
            return self.of.innermost(bound, values, masked, there)

        def blocks(c: Affine, values: list[Any], at: Any) -> list[Any]:
            end = low.variable(low.affine([c + self.block, stop], at, "affine.min"))

            def of_residue(b: Affine, values: list[Any], at: Any) -> list[Any]:
                begin = b
                if not begins_whole:
                    later = b - (b - start).floordiv(width) * width
                    begin = low.variable(low.affine([b, later], at, "affine.max"))
                return self.loop(begin, end, width, values, step, at)

            last = low.variable(low.affine([c + width, end], at, "affine.min"))
            return self.loop(c, last, self.leap.parts, values, self.by_turns(of_residue), at)

        span = stop - start
        if span.is_constant and span.constant <= 0:
            return carried
        return self.loop(start.floordiv(self.block) * self.block, stop, self.block, carried, blocks, point)

    # -- steps at once ---------------------------------------------------------------------------

    def at_once(self, index: Affine, carried: list[Any], context: Context) -> list[Any]:
        """The results with an element for each of the steps from an index on, which are a vector apart."""
        of, body = self.of, self.of.body
        s = Scalars(body.low, context.point, of.type)
        copies = list(body.tile.points(of.carried))
        operations = [operation.operation for operation in list(of.block.operations)[:-1]]
        operations = [op for op in operations if op not in of.left_out]
        results, outer = list(carried), (body.values, body.lanes)
        steps: list[tuple[Values, list[Maker]]] = []
        for a in range(self.leap.steps):
            self.place(index, a)
            body.values = Values(body.tile, dict(outer[0].kept), dict(outer[0].found))
            steps.append((body.values, body.makers(operations, context)))
        body.lanes = _Shared(body.low, self.width)
        for number, a in self.in_order(index, copies):
            body.values, makers = steps[a]
            body.turn(copies[number], makers, context)
            for result, element in enumerate(of.elements):
                n = result * len(copies) + number
                results[n] = of.combine(of, s, element, results[n], copies[number])
        body.values, body.lanes = outer
        return results

    def place(self, index: Affine, a: int) -> None:
        """Give the reduction's indices their values in one of the steps from an index on."""
        self.of.set_indices({**self.bound, self.name: index + self.first + a * self.width})

    def in_order(self, index: Affine, copies: Sequence[Copy]) -> list[tuple[int, int]]:
        """The copies with the steps, those of a copy in order; what reads the same vector stands together."""
        points = [(n, a) for a in range(self.leap.steps) for n in range(len(copies))]
        found: list[list[Affine]] = []
        for a in range(2):
            self.place(index, a)
            found.append(self.vectors())
        for here, next in zip(*found, strict=True):
            apart = next - here
            if apart.is_constant and abs(apart.constant) == self.width:
                places = [at(here, copy) - at(here, copies[0]) for copy in copies]
                if all(place.is_constant for place in places):
                    sign = 1 if apart.constant > 0 else -1
                    return sorted(points, key=lambda p: places[p[0]].constant * sign + p[1] * self.width)
        return points

    def vectors(self) -> list[Affine]:
        """Where reads of consecutive elements begin in the last subscript."""
        reads = [op.operation for op in self.of.block.operations if op.operation.name == "tad.read"]
        forms = [self.of.body.low.subscripts(read, list(read.operands)[1:])[-1] for read in reads]
        return [form for form in forms if LANE in form.variables]


@dataclass(frozen=True)
class _Shared(Lanes):
    """In code without branches, what makes loads and broadcasts once."""

    made: dict[Any, Any] = field(default_factory=dict[Any, Any])

    def spread(self, value: Any, point: Any) -> Any:
        """A value as a vector: a scalar in all lanes."""
        if value not in self.made:
            self.made[value] = super().spread(value, point)
        return self.made[value]

    def load(self, buffer: Any, forms: Sequence[Affine], mask: Any, point: Any) -> Any:
        """Elements of a buffer at subscripts; nothing is read in lanes where the mask does not hold."""
        if mask is not None:
            return super().load(buffer, forms, mask, point)
        key = (buffer, *forms)
        if key not in self.made:
            self.made[key] = super().load(buffer, forms, None, point)
        return self.made[key]
