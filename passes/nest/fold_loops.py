"""Folds at all points of a tile: one nest of loops that carries a result for each copy.

Where the bounds of a loop move with the tile, it runs from the least of all points to the greatest, under
masks. All points combine their elements in the order of the loops, so a result does not depend on the tile
that it was computed in.
"""

from __future__ import annotations

import copy as copying
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

from tadc.dialect.mlir import ir
from tadc.dialect.program_reader import UnsupportedIR
from tadc.frontend.index_sets import IndexSetLimit
from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine, Constraint, Floor, Lookup
from tadc.lattice.bounds import Level, Unbounded
from tadc.lattice.effort import EliminationLimit
from tadc.lattice.emptiness import tight
from tadc.lattice.loop_nests import LoopNest, loop_nest
from tadc.lattice.polyhedron import NEVER, irredundant
from tadc.passes.maps.blocks import joined_by_factors
from tadc.passes.maps.map import Ask, Fold, Let
from tadc.passes.maps.scalar_lowering import Scalars
from tadc.passes.nest.joins import Emit, Made, Point
from tadc.passes.nest.lockstep import Lockstep, LockstepContext
from tadc.passes.nest.tile import LANE, Copy, at, bound_name
from tadc.passes.nest.vector_lanes import extreme

#: A result with one more element, a value of the block: of that element, the result so far and the copy.
Combine = Callable[["FoldLoops", Scalars, str, ir.Value, Copy], ir.Value]
#: What is in a loop: of its index and what it carries, at a point.
Fill = Callable[[Affine, Made, Point], Made]


@dataclass(frozen=True)
class Inside(LockstepContext):
    """Where code in the loops of a fold stands: `bound` are the indices of the loops around. Where it is
    `masked`, not all points have the element."""

    bound: Mapping[str, Affine] = field(default_factory=dict[str, Affine])
    masked: bool = False

    @property
    def is_open(self) -> bool:
        """Whether not all points have the element."""
        return self.masked

    def at(self, point: Point) -> Self:
        """The place moved to another point."""
        return replace(self, point=point)

    def binding(self, name: str, index: Affine, point: Point) -> Self:
        """In a loop."""
        return replace(self, point=point, bound={**self.bound, name: index})


class FoldLoops:
    """The loops over the set of a fold, to be made any number of times."""

    def __init__(self, body: Lockstep, let: Let, fold: Fold, context: LockstepContext) -> None:
        """Raises UnsupportedIR or IndexSetLimit for a set without loops."""
        self.body, self.let, self.value, self.context = body, let, fold, context
        self.names = [bound_name(index) for index in fold.indices]
        own = {index: Affine.var(name) for index, name in zip(fold.indices, self.names, strict=True)}
        self.own = own
        forms = {**context.forms, **self.own}
        self.facts = (*context.facts, *body.tile.facts)
        self.loaded: Domain = ()
        """What holds of elements of index arrays that are loaded before the loops."""

        def own_rows(rows: Domain) -> list[Constraint]:
            found = (row.substitute(forms) for row in rows)
            return [Constraint(row.form.replace(self.before), row.equality) for row in found]

        self.rows, self.parts = own_rows(fold.rows), [own_rows(part) for part in fold.parts]
        self.parted = bound_name(fold.parted)
        if [self.parted] == self.names[:1]:
            # All loops are those of parts.
            self.nest = LoopNest((), tuple(Level(name, (), ()) for name in self.names), ())
        else:
            self.nest = tight(self.loops_over(self.names, self.rows, self.facts), self.facts)
        self.elements = fold.body.gives
        self.left_out = frozenset[str]()
        """Values of the block that are made where an element joins a result."""
        self.moving = frozenset(body.tile.ranges)
        self.kept = body.names(let.names[0], context)
        """The variables for which the fold has a result of its own."""
        scalar = body.low.scalar_type(fold.type)
        self.type = body.lanes.type(scalar) if self.is_vector else scalar

    @property
    def is_vector(self) -> bool:
        """Whether the loops carry vectors."""
        return LANE in self.body.depends(self.let.names[0])

    def before(self, atom: str | Floor | Lookup) -> Affine | None:
        """A name for an element of an index array that is the same in all loops: it is loaded before them."""
        moving = {*self.names, *self.body.tile.ranges}
        if not isinstance(atom, Lookup) or not atom.variables.isdisjoint(moving):
            return None
        low, point = self.body.low, self.context.point
        value = low.variable(low.element(atom, point, checked=not low.is_inside(atom, self.facts)))
        self.loaded += (Constraint(value), Constraint(atom.below - 1 - value))
        self.facts += self.loaded[-2:]
        return value

    def loops_over(self, names: Sequence[str], rows: Sequence[Constraint], facts: Domain) -> LoopNest:
        """The loops over some indices of the set where facts hold."""
        try:
            return loop_nest(names, rows, facts)
        except Unbounded:
            raise UnsupportedIR("a reduction over an unbounded domain", self.body.low.location) from None
        except EliminationLimit:
            spoken = list(self.value.indices)
            mapping = {n: Affine.var(s) for n, s in zip(self.names, spoken, strict=True)}
            rows = [row.substitute(mapping) for row in self.rows]
            raise IndexSetLimit(spoken, rows, self.let.place) from None

    # -- what an element gives -------------------------------------------------------------------

    def leave_out_products(self) -> None:
        """Make no products that only join a sum, and no sums of them."""
        self.made = {let.names[0]: let for let in self.value.body.lets if let.names}
        self.left_out = joined_by_factors(self.value.body)

    def joining(self, s: Scalars, element: str, copy: Copy) -> ir.Value:
        """A value of the block in a copy, of the type that the loops carry."""
        return self.body.lanes.spread_to(self.body.value(element, copy), s.type, s.point)

    def moves(self, forms: Sequence[Affine]) -> bool:
        """Whether forms hold a variable of the tile."""
        return any(form.variables & self.moving for form in forms)

    # -- loops -----------------------------------------------------------------------------------

    def fold(self, combine: Combine, start: float) -> Made:
        """The results after every element, from `start` or a result so far on, for each copy by result."""
        low, context = self.body.low, self.context
        self.body.low.locate(self.let.place)
        self.combine = combine
        copies = list(self.body.tile.points(self.kept))
        first = [low.constant(self.type, start, context.point)] * (len(copies) * len(self.elements))
        if given := [(name, copy) for name in self.value.first for copy in copies]:
            s = Scalars(low, context.point, self.type)
            first = [self.joining(s, name, copy) for name, copy in given]
        outside = {each.name: getattr(context, each.name) for each in fields(LockstepContext)}
        here = Inside(**outside)
        if not self.value.when or any(fold.loop == "thread" for fold in self.value.body.folds()):
            return self.entered(self.nest.levels, first, here)
        names = self.body.names(self.value.when, context)
        wanted = [self.body.value(self.value.when, copy) for copy in self.body.tile.points(names)]
        active = self.body.lanes.any(wanted, context.point)
        return low.choose(
            active,
            [self.type] * len(first),
            lambda inside: self.entered(self.nest.levels, first, here.moved(inside)),
            lambda inside: first,
            context.point,
        )

    def entered(self, levels: Sequence[Level], carried: Made, here: Inside) -> Made:
        """The loops over some levels, where the points are in the set at all."""
        rows = [row.substitute(here.bound) for row in self.nest.outside]
        still = tuple(row for row in rows if not self.moves([row.form]))
        checked = here.masked or self.body.may_be_beyond(still, here)
        moving = any(self.moves([row.form]) for row in (*rows, *self.nest.inside))
        there = replace(here, masked=here.masked or moving)

        def loops(inside: Point) -> Made:
            return self.loop(levels, carried, there.at(inside))

        return self.where(still, loops, carried, here.point, checked=checked)

    def where(
        self, rows: Domain, then: Emit, otherwise: Made, point: Point, *, checked: bool = False
    ) -> Made:
        """The values that `then` makes where all rows hold, else those given."""
        if not rows:
            return then(point)
        low = self.body.low
        types = [self.type] * len(otherwise)
        holds = low.holds(rows, point, checked=checked)
        return low.choose(holds, types, then, lambda inside: otherwise, point)

    def loop(self, levels: Sequence[Level], carried: Made, here: Inside) -> Made:
        """Loops over levels, outermost first; what they carry at the end."""
        if not levels:
            return self.innermost(carried, here)
        if self.parts and levels[0].name == self.parted:
            for part in self.parts:
                carried = self.part(part, levels, carried, here)
            return carried
        return self.one_level(levels, carried, here)

    def part(self, part: Sequence[Constraint], levels: Sequence[Level], carried: Made, here: Inside) -> Made:
        """The loops over levels for the points in one part."""
        outer = self.nest.levels[: -len(levels)]
        bounds = (row for level in outer for row in rows_of(level))
        known = (row for row in bounds if not (here.masked and self.moves([row.form])))
        made = self.changed(rows=[*self.rows, *part], parts=[])
        own = made.rows
        if outer:
            own = [*(row for level in levels for row in rows_of(level)), *self.nest.inside, *part]
        found = made.loops_over([level.name for level in levels], own, (*self.facts, *known))
        made.nest = replace(found, levels=(*outer, *found.levels))
        return made.entered(found.levels, carried, here)

    def one_level(self, levels: Sequence[Level], carried: Made, here: Inside) -> Made:
        """The loop over the first of some levels."""
        level = levels[0]
        ends = self.hull(level, here)
        there = replace(here, masked=here.masked or self.moves_at(level, here))

        def inside(index: Affine, values: Made, point: Point) -> Made:
            return self.loop(levels[1:], values, there.binding(level.name, index, point))

        if len(levels) == 1 and not there.masked:
            return self.asking_loop(level.name, ends, carried, inside, here)
        return self.one_loop(level.name, (*ends, 1), carried, inside, here.point)

    def ends_of(self, level: Level, here: Inside) -> tuple[list[Affine], list[Affine]]:
        """The forms that a level starts at the greatest of, and stops before the least of."""
        return (
            [b.ceil().substitute(here.bound) for b in level.lower],
            [b.floor().substitute(here.bound) + 1 for b in level.upper],
        )

    def moves_at(self, level: Level, here: Inside) -> bool:
        """Whether the bounds of a level move with the tile."""
        return self.moves([b.form.substitute(here.bound) for b in (*level.lower, *level.upper)])

    def hull(self, level: Level, here: Inside) -> tuple[ir.Value, ir.Value]:
        """The ends of the loop over a level: no point of the tile takes an element in before or after."""
        low, point, ranges = self.body.low, here.point, self.body.tile.ranges
        lower, upper = self.ends_of(level, here)
        if self.moves([*lower, *upper]):
            lower, upper = ([extreme(form, ranges, sign) for form in forms]
                            for forms, sign in ((lower, -1), (upper, 1)))  # fmt: skip
        return (
            low.affine(lower, point, "affine.max", checked=here.masked),
            low.affine(upper, point, "affine.min", checked=here.masked),
        )

    def asking_loop(
        self, name: str, ends: tuple[ir.Value, ir.Value], carried: Made, fill: Fill, here: Inside
    ) -> Made:
        """The innermost loop, which asks for lines ahead."""
        asks = [let.value for let in self.value.body.lets if isinstance(let.value, Ask)]
        every, low = max((ask.every for ask in asks), default=1), self.body.low
        often, rarely = ([ask for ask in asks if (ask.every > 1) == rare] for rare in (False, True))

        def each(index: Affine, values: Made, point: Point) -> Made:
            self.ask(often, here.binding(name, index, point))
            return fill(index, values, point)

        if every == 1:
            return self.one_loop(name, (*ends, 1), carried, each, here.point)
        stop = low.variable(ends[1])

        def step(index: Affine, values: Made, point: Point) -> Made:
            self.ask(rarely, here.binding(name, index, point))
            until = low.affine([index + every, stop], point, "affine.min")
            return self.one_loop(name, (low.affine([index], point), until, 1), values, each, point)

        return self.one_loop(name, (*ends, every), carried, step, here.point)

    def ask(self, asks: Sequence[Ask], here: Inside) -> None:
        """Ask for lines, of each copy."""
        forms, body = {**here.forms, **self.indices(here.bound)}, self.body
        for ask in asks:
            place = [form.substitute(forms) for form in ask.at]
            names = body.tile.along(frozenset[str]().union(*(form.variables for form in place)))
            for copy in body.tile.points(names):
                there = [at(form, copy) for form in place]
                body.lanes.prefetch(body.buffers[ask.tensor], there, here.point)

    def one_loop(
        self, name: str, ends: tuple[ir.Value, ir.Value, int], carried: Made, fill: Fill, point: Point
    ) -> Made:
        """An `scf.for` from a start below a stop by a step, which carries values."""
        return self.body.low.loop(name[1:], ends, carried, fill, point)

    # -- the elements ----------------------------------------------------------------------------

    def indices(self, bound: Mapping[str, Affine]) -> dict[str, Affine]:
        """The values of the fold's indices."""
        return {index: form.substitute(bound) for index, form in self.own.items()}

    def inside(self, here: Inside) -> Inside:
        """Where the block of the fold stands in its loops."""
        rows = tuple(c.substitute(here.bound) for c in (*self.loaded, *self.rows))
        return here.with_forms(self.indices(here.bound)).moved(here.point, *rows)

    def innermost(self, carried: Made, here: Inside) -> Made:
        """Take in one element at each point, under masks where not all points have it."""
        inside = self.inside(here)
        guards = tuple(c.substitute(here.bound) for c in self.nest.inside)
        still = tuple(row for row in guards if not self.moves([row.form]))
        tested = (c.substitute(here.bound) for c in self.conditions()) if here.masked else ()
        moving = tuple(dict.fromkeys(row for row in tested if self.moves([row.form])))

        def take(point: Point) -> Made:
            there = inside.moved(point)
            return self.under(moving, carried, there) if here.masked else self.take(carried, there)

        checked = here.masked or self.body.may_be_beyond(still, inside)
        return self.where(still, take, carried, here.point, checked=checked)

    def conditions(self) -> Domain:
        """The nest's tests of a point; each row of the domain may follow from bounds of several levels."""
        bounds = (row for level in self.nest.levels for row in rows_of(level))
        found = (*bounds, *self.nest.outside, *self.nest.inside)
        needed = irredundant(found, self.facts) if len(self.nest.levels) > 1 else [NEVER]
        return found if NEVER in needed else tuple(needed)

    def take(self, carried: Made, context: LockstepContext) -> Made:
        """The results with one more element, in one copy after the other: few values are in use at once."""
        s = Scalars(self.body.low, context.point, self.type)
        copies = list(self.body.tile.points(self.kept))
        results = list(carried)

        def then(copy: Copy) -> None:
            for number, element in enumerate(self.elements):
                place = number * len(copies) + copies.index(dict(copy))
                results[place] = self.combined(s, element, carried[place], copy)

        self.body.in_turns(self.value.body, context, self.kept, then, self.left_out)
        return results

    def under(self, rows: Domain, carried: Made, context: LockstepContext) -> Made:
        """The results with one more element at points where rows hold, as they are at others."""
        body, point = self.body, context.point
        copies = list(body.tile.points(self.kept))
        conditions = body.conditions(rows, context)
        each = [conditions.at(copy) for copy in copies] * len(self.elements)
        some = len(conditions.found) == 1 and context.masks is None
        inner = replace(body.masked(conditions, context), some=some, any=True)
        assert inner.masks is not None
        masks = list(inner.masks.values())

        def then(inside: Point) -> Made:
            found = self.take(carried, inner.moved(inside))
            # Not by the whole mask, which may differ between lanes where the results do not.
            return [body.lanes.select(c, x, y, inside) for c, x, y in zip(each, found, carried, strict=True)]

        active = body.lanes.any(masks, point)
        return body.low.choose(active, [self.type] * len(carried), then, lambda inside: carried, point)

    def combined(self, s: Scalars, element: str, result: ir.Value, copy: Copy) -> ir.Value:
        """A result with one more element."""
        return self.combine(self, s, element, result, copy)

    def changed(self, **fields: Any) -> Self:
        """These loops with other values of some fields."""
        made = copying.copy(self)
        vars(made).update(fields)
        return made


def rows_of(level: Level) -> list[Constraint]:
    """The bounds of a loop as rows."""
    index = Affine.var(level.name)
    lower = [Constraint(index * b.divisor - b.form) for b in level.lower]
    return [*lower, *(Constraint(b.form - index * b.divisor) for b in level.upper)]
