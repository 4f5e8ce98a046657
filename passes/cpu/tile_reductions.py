"""Reductions at all points of a tile: one nest of loops that carries a result for each copy.

Where the bounds of a loop move with the tile, it runs in three parts: the middle one holds what
every point takes in, the others are masked. All points combine their elements in the order of the
loops, so a result does not depend on the tile that it was computed in.

A reduction over lanes takes a vector of consecutive elements in one step and combines the lanes
at the end, by halves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

from tadc.dialect.locations import unnamed
from tadc.dialect.mlir import ir
from tadc.frontend.terms import Domain
from tadc.lattice.affine import ZERO, Affine, Constraint
from tadc.lattice.bounds import Level
from tadc.passes.cpu.prefetch import Prefetch
from tadc.passes.cpu.tile_leaps import leaping_loop
from tadc.passes.cpu.tile_shifts import shift_of, shifted_loop
from tadc.passes.maps.reduction_nests import Join, ReductionNest
from tadc.passes.maps.scalar_lowering import Scalars
from tadc.passes.maps.tile_values import LANE, PARTS, Copy, Leap, all_yielded, factors, lanes_index, owner
from tadc.passes.nest.lanes import extreme

if TYPE_CHECKING:
    from tadc.passes.cpu.tile_body import Context, TileBody

#: A result with one more element, a value of the body: of that element, the result so far and the copy.
Combine = Callable[["TileReduction", Scalars, Any, Any, Copy], Any]


@dataclass(frozen=True)
class Span:
    """The ends of a loop: below `start` and from `stop` on, no point takes an element in.

    From `inner_start` to `inner_stop`, all do; None where these are the same.
    """

    start: Any
    stop: Any
    inner_start: Any = None
    inner_stop: Any = None


class TileReduction(ReductionNest):
    """The loops over the domain of a reduction, to be made any number of times."""

    def __init__(self, body: TileBody, op: Any, context: Context) -> None:
        self.leap: Leap | None = body.tile.leaps.get(op)
        self.moved = Affine.var(LANE) * (self.leap.lane if self.leap else 0)
        super().__init__(op, body.low.forms, (*context.facts, *body.tile.facts), self.moved)
        self.body = body
        self.elements = all_yielded(self.block)
        """What is reduced; all results depend on the same."""
        self.left_out: tuple[Any, ...] = ()
        """Operations of the body whose results are made where an element joins a result."""
        self.over_lanes = body.depends.lanes_of is not None and body.depends.lanes_of == lanes_index(op)
        self.moving = {name for name in body.tile.ranges if not (self.over_lanes and name in (LANE, PARTS))}
        self.kept = body.names(op.results[0], context)
        """The variables for which the reduction has a result of its own."""
        parts = (PARTS,) if self.over_lanes and PARTS in body.tile.copies else ()
        self.carried = body.tile.along({*self.kept, *parts})
        """The variables for which the loops carry one."""
        scalar = op.results[0].type
        vector = self.over_lanes or LANE in body.depends(op.results[0])
        self.type = body.lanes.type(scalar) if vector else scalar

    # -- what an element gives -------------------------------------------------------------------

    def leave_out_products(self) -> None:
        """Make no products that only join a sum."""
        made = [owner(element) for element in self.elements]
        self.left_out = tuple(op for op in made if factors(op) and self.is_own(op))

    def is_own(self, made: Any) -> bool:
        """Whether an operation stands in the body and only the result uses it."""
        return made.block == self.block and len(list(made.results[0].uses)) == 1

    def value(self, s: Scalars, element: Any, copy: Copy) -> Any:
        """A value of the body in a copy, of the type that the loops carry."""
        return self.body.lanes.spread_to(self.body.value(element, copy), s.type, s.point)

    def moves(self, forms: Sequence[Affine]) -> bool:
        """Whether forms hold a variable of the tile."""
        return any(form.variables & self.moving for form in forms)

    # -- loops -----------------------------------------------------------------------------------

    def fold(self, combine: Combine, join: Join, start: float, context: Context) -> list[Any]:
        """What is left of `start` after every element, for each copy along `kept`, result by result."""
        low, point = self.body.low, context.point
        low.location = self.location
        self.combine, self.join, self.start = combine, join, start
        copies = list(self.body.tile.points(self.carried))
        first = [low.constant(self.type, start, point)] * (len(copies) * len(self.elements))
        still = tuple(row for row in self.nest.outside if not self.moves([row.form]))
        masked = any(self.moves([row.form]) for row in (*self.nest.outside, *self.nest.inside))

        def loops(inside: Any) -> list[Any]:
            return self.loop(self.nest.levels, {}, first, masked, context.moved(inside))

        results = self.with_last(self.where(still, loops, first, point), copies, join, point)
        return self.joined(results, copies, join, point) if self.over_lanes else results

    def with_last(self, results: list[Any], copies: Sequence[Copy], join: Join, point: Any) -> list[Any]:
        """The results of a block joined with what the blocks before it left, if there were any.

        Each block is a sum of its own: errors grow with the terms of a block and with the number of blocks,
        not with all terms (Higham, SIAM J. Sci. Comput. 1993).
        """
        low, block = self.body.low, self.body.panels.cut(self.op)
        if block is None:
            return results

        def both(inside: Any) -> list[Any]:
            s, left = Scalars(low, inside, self.type), (self.body.stored(copy, inside) for copy in copies)
            return [join(s, before, value) for before, value in zip(left, results, strict=True)]

        return low.choose(block.first, [self.type] * len(copies), lambda at: results, both, point)

    def where(
        self, rows: Domain, then: Callable[[Any], list[Any]], otherwise: list[Any], point: Any
    ) -> list[Any]:
        """What `then` makes where all rows hold, else the values given."""
        if not rows:
            return then(point)
        low = self.body.low
        types = [self.type] * len(otherwise)
        return low.choose(low.holds(rows, point), types, then, lambda at: otherwise, point)

    def loop(
        self,
        levels: Sequence[Level],
        bound: Mapping[str, Affine],
        carried: list[Any],
        masked: bool,
        context: Context,
    ) -> list[Any]:
        """Loops over levels, outermost first; what they carry at the end."""
        if not levels:
            return self.innermost(bound, carried, masked, context)
        level, point = levels[0], context.point
        block = self.body.panels.cut(self.op)
        if block is not None and len(bound) < len(block.at):
            inner = {**bound, level.name: block.at[len(bound)]}
            return self.loop(levels[1:], inner, carried, masked, context)
        if self.over_lanes and len(levels) == 1:
            return self.lane_loops(level, bound, carried, masked, context)
        if self.leap is not None and len(levels) == 1:
            return leaping_loop(self, self.leap, level, bound, carried, masked, context)
        shift = shift_of(level, bound, self.moving)
        if shift is not None:
            return shifted_loop(self, shift, levels, bound, carried, masked, context)
        span = self.span(level, bound, masked or context.in_part, point)
        in_part = context.in_part or span.inner_start is not None

        def run(start: Any, stop: Any, values: list[Any], masked: bool) -> list[Any]:
            def inside(index: Affine, values: list[Any], at: Any) -> list[Any]:
                inner = {**bound, level.name: index}
                there = replace(context, point=at, in_part=in_part)
                return self.loop(levels[1:], inner, values, masked, there)

            if len(levels) == 1 and not masked:
                return Prefetch(self, level, bound).loop((start, stop), values, inside, point)
            return self.one_loop(level.name, (start, stop, 1), values, inside, point)

        if span.inner_start is None:
            return run(span.start, span.stop, carried, masked or self.moves_at(level, bound))
        carried = run(span.start, span.inner_start, carried, True)
        carried = run(span.inner_start, span.inner_stop, carried, masked)
        return run(span.inner_stop, span.stop, carried, True)

    def moves_at(self, level: Level, bound: Mapping[str, Affine]) -> bool:
        """Whether the bounds of a level move with the tile."""
        return self.moves([b.form.substitute(bound) for b in (*level.lower, *level.upper)])

    def span(self, level: Level, bound: Mapping[str, Affine], whole: bool, point: Any) -> Span:
        """The ends of the loop over a level, of its middle part too if it may be taken apart."""
        low, ranges, block = self.body.low, self.body.tile.ranges, self.body.panels.cut(self.op)
        if block is not None and block.ends is not None and len(bound) == len(block.at):
            return Span(*block.ends)
        lower = [b.ceil().substitute(bound) for b in level.lower]
        upper = [b.floor().substitute(bound) + 1 for b in level.upper]
        moving = self.moves([*lower, *upper])
        if moving and self.over_lanes:
            ranges = {name: size for name, size in ranges.items() if name in self.moving}

        def ends(sign: int) -> tuple[Any, Any]:
            """The hull of all points for -1, what they share for 1."""
            return (
                low.affine([extreme(form, ranges, sign) for form in lower], point, "affine.max"),
                low.affine([extreme(form, ranges, -sign) for form in upper], point, "affine.min"),
            )

        start, stop = ends(-1) if moving else (
            low.affine(lower, point, "affine.max"),
            low.affine(upper, point, "affine.min"),
        )  # fmt: skip
        if not moving or whole:
            return Span(start, stop)
        return self.ordered(start, stop, *ends(1), point)

    def ordered(self, start: Any, stop: Any, inner_start: Any, inner_stop: Any, point: Any) -> Span:
        """The ends in this order, so that the three parts have every element once."""
        stop = self.choose_index("arith.maxsi", start, stop, point)
        inner_start = self.choose_index("arith.minsi", inner_start, stop, point)
        inner_start = self.choose_index("arith.maxsi", inner_start, start, point)
        inner_stop = self.choose_index("arith.minsi", inner_stop, stop, point)
        inner_stop = self.choose_index("arith.maxsi", inner_stop, inner_start, point)
        return Span(start, stop, inner_start, inner_stop)

    def choose_index(self, name: str, x: Any, y: Any, point: Any) -> Any:
        """The lesser or the greater of two indices."""
        return self.body.low.create(name, [x.type], [x, y], point).results[0]

    def one_loop(
        self,
        name: str,
        ends: tuple[Any, Any, int],
        carried: list[Any],
        fill: Callable[[Affine, list[Any], Any], list[Any]],
        point: Any,
    ) -> list[Any]:
        """An `scf.for` from a start below a stop by a step, which carries values."""
        low = self.body.low
        start, stop, by = ends
        step = low.constant(low.index_type, by, point)
        types = [value.type for value in carried]
        made = low.create("scf.for", types, [start, stop, step, *carried], point, regions=1)
        locations = [self.places[name], *(unnamed(low.location) for _ in carried)]
        block = ir.Block.create_at_start(made.regions[0], [low.index_type, *types], locations)
        inside = ir.InsertionPoint(block)
        index, *values = block.arguments
        results = fill(low.variable(index), values, inside)
        low.create("scf.yield", [], results, inside)
        return list(made.results)

    # -- the elements ----------------------------------------------------------------------------

    def innermost(
        self,
        bound: Mapping[str, Affine],
        carried: list[Any],
        masked: bool,
        context: Context,
        tests: Domain | None = None,
    ) -> list[Any]:
        """Take in one element at each point, under masks where not all points have it: by `tests`, or all."""
        self.set_indices(bound)
        rows = tuple(c.substitute(bound) for c in self.rows)
        inside = context.moved(context.point, *rows)
        guards = tuple(c.substitute(bound) for c in self.nest.inside)
        still = tuple(row for row in guards if not self.moves([row.form]))
        if masked:
            tested = (c.substitute(bound) for c in (self.conditions() if tests is None else tests))
            moving = tuple(dict.fromkeys(row for row in tested if self.moves([row.form])))
            return self.where(
                still, lambda at: self.under(moving, carried, inside.moved(at)), carried, context.point
            )
        return self.where(still, lambda at: self.take(carried, inside.moved(at)), carried, context.point)

    def set_indices(self, bound: Mapping[str, Affine]) -> None:
        """Give the reduction's indices their values."""
        forms = self.body.low.forms
        for argument, name in zip(self.block.arguments, self.names, strict=True):
            forms[argument] = bound[name] + (self.moved if name == self.names[-1] else ZERO)

    def conditions(self) -> Domain:
        """What the nest tests of a point; each row of the domain may follow from bounds of several levels."""
        bounds: list[Constraint] = []
        for level in self.nest.levels:
            index = Affine.var(level.name)
            bounds += [Constraint(index * b.divisor - b.form) for b in level.lower]
            bounds += [Constraint(b.form - index * b.divisor) for b in level.upper]
        return (*bounds, *self.nest.outside, *self.nest.inside)

    def take(self, carried: list[Any], context: Context) -> list[Any]:
        """The results with one more element, in one copy after the other: few values are in use at once."""
        s = Scalars(self.body.low, context.point, self.type)
        copies = list(self.body.tile.points(self.carried))
        results = list(carried)

        def then(copy: Copy) -> None:
            for number, element in enumerate(self.elements):
                at = number * len(copies) + copies.index(dict(copy))
                results[at] = self.combine(self, s, element, carried[at], copy)

        self.body.in_turns(self.block, context, self.carried, then, self.left_out)
        return results

    def under(self, rows: Domain, carried: list[Any], context: Context) -> list[Any]:
        """The same at points where rows hold; the results stay as they are at others."""
        from tadc.passes.cpu.tile_body import at_copy

        body, point = self.body, context.point
        copies = list(body.tile.points(self.carried))
        found = [at_copy(rows, copy) for copy in copies]
        made = {test: body.lanes.holds(test, point) for test in dict.fromkeys(found)}
        conditions = [made[test] for test in found]
        each = conditions * len(self.elements)
        some = len(made) == 1 and context.masks is None
        inner = replace(body.masked(conditions, self.carried, copies, context), some=some, any=True)
        assert inner.masks is not None
        masks = [inner.mask(copy) for copy in copies]

        def then(at: Any) -> list[Any]:
            found = self.take(carried, inner.moved(at))
            # Not by the whole mask, which may differ between lanes where the results do not.
            return [body.lanes.select(c, x, y, at) for c, x, y in zip(each, found, carried, strict=True)]

        active = body.lanes.any(masks, point)
        return body.low.choose(active, [self.type] * len(carried), then, lambda at: carried, point)

    # -- reductions over lanes -------------------------------------------------------------------

    def lane_loops(
        self, level: Level, bound: Mapping[str, Affine], carried: list[Any], masked: bool, context: Context
    ) -> list[Any]:
        """Steps of all parts and lanes: under masks before and after those that every point takes whole."""
        low, point = self.body.low, context.point
        guarded = masked or any(level.name in row.form.variables for row in self.nest.inside)
        span = self.span(level, bound, guarded or context.in_part, point)
        width, parts = self.body.tile.width, self.body.tile.copies.get(PARTS, 1)
        inner_start, inner_stop = span.inner_start, span.inner_stop
        if inner_start is None:
            inner_start, inner_stop = span.start, span.stop
            guarded = guarded or self.moves_at(level, bound)
        step = width * parts
        lane = Affine.var(LANE) + (Affine.var(PARTS) * width if parts > 1 else 0)

        def run(start: Any, stop: Any, values: list[Any], masked: bool) -> list[Any]:
            def inside(index: Affine, values: list[Any], at: Any) -> list[Any]:
                inner = {**bound, level.name: index + lane}
                return self.innermost(inner, values, masked, replace(context, point=at, in_part=True))

            return self.one_loop(level.name, (start, stop, step), values, inside, point)

        def after(start: Any, stop: Any, less: int) -> Any:
            """Where the first step is that does not begin, for `less` of 0, or end before a stop."""
            first, room = low.variable(start), low.variable(stop) - low.variable(start) + (step - 1 - less)
            count = self.choose_index("arith.maxsi", low.affine([room], point), self.zero(point), point)
            return low.affine([first + low.variable(count).floordiv(step) * step], point)

        start = span.start
        lower = [b.ceil().substitute(bound) for b in level.lower]
        self.moving |= {LANE, PARTS}
        if self.moves(lower) and span.inner_start is not None:
            carried = run(start, inner_start, carried, True)
            start = after(start, inner_start, 0)
        end = low.affine([low.variable(inner_stop) - (step - 1)], point)
        carried = run(start, end, carried, guarded)
        carried = run(after(start, inner_stop, step - 1), span.stop, carried, True)
        self.moving -= {LANE, PARTS}
        return carried

    def zero(self, point: Any) -> Any:
        """The index 0."""
        return self.body.low.constant(self.body.low.index_type, 0, point)

    def joined(self, results: list[Any], copies: Sequence[Copy], join: Join, point: Any) -> list[Any]:
        """The results of all parts and lanes in one, for each copy along `kept`."""
        found: dict[tuple[int, ...], Any] = {}
        each = product(range(len(self.elements)), copies)
        for (number, copy), value in zip(each, results, strict=True):
            key = (number, *(copy[name] for name in self.kept))
            s = Scalars(self.body.low, point, value.type)
            found[key] = join(s, found[key], value) if key in found else value
        return [self.body.lanes.folded(value, join, point) for value in found.values()]
