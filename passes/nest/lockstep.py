"""A block at all points of a tile, in lockstep: vectors over lanes, copies side by side.

Where points take different branches of a choice, both are evaluated under masks, as on a GPU: nothing is read
at a point that does not take the branch, and a branch that no point takes is skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from tadc.dialect.element_types import conversion
from tadc.dialect.mlir import ir
from tadc.dialect.program_reader import UnsupportedIR
from tadc.dialect.scalar_ops import PREDICATES, UPSTREAM
from tadc.frontend.terms import Domain
from tadc.lattice.affine import ZERO, Affine, Constraint
from tadc.lattice.polyhedron import implied
from tadc.passes.maps.lower_body import BodyLowering
from tadc.passes.maps.map import Applied, Ask, Block, Choice, Constant, Fold, IndexNumber, Let, Load
from tadc.passes.maps.scalar_lowering import EXPANSIONS, InOperations, Scalars
from tadc.passes.nest.joins import Emit, Made, Point
from tadc.passes.nest.squares import ReductionSteps, Squares, has_square
from tadc.passes.nest.tile import LANE, Copy, Dependence, Tile, TileValues, at, copies_of
from tadc.passes.nest.vector_lanes import Lanes, last_stride
from tadc.passes.terms.costs import WEIGHTS

#: Elements that were made or read, by their buffers and places.
InRegisters = dict[tuple[ir.Value | Affine, ...], ir.Value]

#: A value, and what makes it in a copy.
Maker = tuple[Let, Callable[[Copy], ir.Value]]


@dataclass(frozen=True)
class LockstepContext:
    """Where code stands: the forms of indices, what holds there at points that are active, and which are.

    `masks` has a condition for each of `tile.points(names)`; without masks every point is active. Where
    `some` is set, one is for each of these; where `any` is, one of all.
    """

    point: Point
    facts: Domain
    forms: Mapping[str, Affine]
    names: tuple[str, ...] = ()
    masks: Mapping[tuple[int, ...], ir.Value] | None = None
    some: bool = False
    any: bool = False
    steps: ReductionSteps | None = None
    """The steps that stand one after the other here, of which this is one."""

    @property
    def is_open(self) -> bool:
        """Whether points of the tile may be beyond what they compute here, without a mask so far."""
        return False

    def mask(self, copy: Copy) -> ir.Value | None:
        """The condition of a copy, or None."""
        return None if self.masks is None else self.masks[tuple(copy[name] for name in self.names)]

    def moved(self, point: Point, *rows: Constraint) -> Self:
        """This context at another point, where more rows hold."""
        return replace(self, point=point, facts=(*self.facts, *rows))

    def with_forms(self, forms: Mapping[str, Affine]) -> Self:
        """This context where some indices have values."""
        return replace(self, forms={**self.forms, **forms})

    def rows(self, rows: Domain) -> Domain:
        """Rows over what indices stand for."""
        return tuple(row.substitute(self.forms) for row in rows)


@dataclass(frozen=True)
class Conditions:
    """A condition for each copy along names."""

    names: tuple[str, ...]
    found: Mapping[tuple[int, ...], ir.Value]

    def at(self, copy: Copy) -> ir.Value:
        """That of a copy along these names and more."""
        return self.found[tuple(copy[name] for name in self.names)]

    def each(self, change: Callable[[ir.Value], ir.Value]) -> Conditions:
        """The conditions changed."""
        return Conditions(self.names, {key: change(value) for key, value in self.found.items()})


LITTLE = 12
"""So many operations that may not be wanted cost less than a jump that the processor did not foresee."""

#: Gives the names of a fold their values.
FoldLowering = Callable[["Lockstep", Let, Fold, LockstepContext], None]


@dataclass(frozen=True)
class Lockstep:
    """One walk over a block; `low` makes code, `buffers` are those of tensors by name."""

    low: BodyLowering
    tile: Tile
    depends: Dependence
    buffers: Mapping[str, ir.Value]
    fold: FoldLowering
    lanes: Lanes
    values: TileValues
    shapes: Mapping[str, tuple[Affine, ...]] = field(default_factory=dict[str, tuple[Affine, ...]])
    beyond: bool = False
    """Whether points may be beyond all elements: there the next element of tensors with `shapes` is read."""
    reads: InRegisters | None = None
    """In code without branches, what was read so far: what is read again is the same."""
    held: frozenset[str] = frozenset()
    """The tensors that have an element for each point, active or not."""
    given: InRegisters | None = None
    """Elements that are not read again."""

    # -- values by copy --------------------------------------------------------------------------

    def names(self, value: str, context: LockstepContext) -> tuple[str, ...]:
        """For which variables a value is made copy by copy."""
        return self.tile.along({*self.depends(value), *context.names})

    def value(self, value: str, copy: Copy) -> ir.Value:
        """The code's value for a value in a copy."""
        return self.values.get(value, copy)

    def scalar(self, let: Let) -> ir.Type:
        """The scalar type of what is named."""
        assert not isinstance(let.value, Ask)
        return self.low.scalar_type(let.value.type)

    def as_type(self, made: ir.Value, value: str, point: Point) -> ir.Value:
        """A scalar in all lanes, if the value differs between lanes."""
        return self.lanes.spread(made, point) if LANE in self.depends(value) else made

    # -- blocks ----------------------------------------------------------------------------------

    def block(self, block: Block, context: LockstepContext) -> None:
        """Make the values of a block."""
        for let in block.lets:
            self.let(let, context)

    def in_turns(
        self,
        block: Block,
        context: LockstepContext,
        names: Sequence[str],
        then: Callable[[Copy], None],
        left_out: Collection[str] = (),
    ) -> None:
        """Make the values of a block, those after the last fold or choice for one copy after the other.

        `then` uses the values of a copy while they are in registers. No code is made for what is left out.
        """
        lets = [let for let in block.lets if let.names and let.names[0] not in left_out]
        first = max((n + 1 for n, let in enumerate(lets) if isinstance(let.value, Fold | Choice)), default=0)
        for let in lets[:first]:
            self.let(let, context)
        makers = self.makers(lets[first:], context)
        for turn in self.tile.points(names):
            self.turn(turn, makers, context)
            then(turn)

    def makers(self, lets: Iterable[Let], context: LockstepContext) -> list[Maker]:
        """Functions that make values without blocks, with indices as they are now."""
        makers: list[Maker] = []
        for let in lets:
            self.values.forget(let.names[0])
            makers.append((let, self.maker(let, context)))
        return makers

    def turn(self, turn: Copy, makers: Iterable[Maker], context: LockstepContext) -> None:
        """Make all values in the copies of one turn."""
        for let, make in makers:
            self.low.locate(let.place)
            self.copies_in(turn, let.names[0], make, context)

    def copies_in(
        self, turn: Copy, name: str, make: Callable[[Copy], ir.Value], context: LockstepContext
    ) -> None:
        """Make a value in those copies of one turn that are not made yet."""
        names = self.names(name, context)
        for copy in self.tile.points(names, turn):
            self.values.add(name, names, copy, lambda c=copy: self.as_type(make(c), name, context.point))

    def let(self, let: Let, context: LockstepContext) -> None:
        """Make what is named, at all points."""
        self.low.locate(let.place)
        match let.value:
            case Fold() as fold:
                self.fold(self, let, fold, context)
            case Choice() as choice:
                self.choice(let.names[0], choice, context)
            case Ask():
                pass
            case _:
                self.copies(let.names[0], self.maker(let, context), context)

    def copies(self, name: str, make: Callable[[Copy], ir.Value], context: LockstepContext) -> None:
        """Make a value in each copy that it needs."""
        self.values.forget(name)
        self.copies_in({}, name, make, context)

    # -- values without blocks -------------------------------------------------------------------

    def maker(self, let: Let, context: LockstepContext) -> Callable[[Copy], ir.Value]:
        """A function that makes a value without blocks in a copy."""
        point, type = context.point, self.scalar(let)
        match let.value:
            case Load() as load:
                return self.loader(load, context)
            case IndexNumber(form=found):
                form = found.substitute(context.forms)
                checked = context.masks is not None
                return lambda copy: self.lanes.as_float(at(form, copy), type, point, checked=checked)
            case Constant(value=number):
                return lambda copy: self.low.constant(type, number, point)
            case Applied() as apply:
                return lambda copy: self.applied(
                    apply, type, [self.value(name, copy) for name in apply.operands], point
                )
            case other:
                raise UnsupportedIR(f"{other} has no lowering", self.low.location)

    def loader(self, load: Load, context: LockstepContext) -> Callable[[Copy], ir.Value]:
        """A function that loads an element in a copy."""
        point, buffer = context.point, self.buffers[load.tensor]
        forms = [form.substitute(context.forms) for form in load.at]
        if load.tensor in self.held:
            return self.lanes.held(buffer, forms, self.tile, point)
        if self.beyond and load.tensor in self.shapes:
            return self.nearest(buffer, forms, self.shapes[load.tensor], context)
        if context.masks is None and load.along:
            copies, steps = copies_of(load.along), context.steps
            if has_square(forms, self.tile, copies):
                return Squares(self.lanes, buffer, forms, (copies, self.tile.copies[copies]), point).vector
            if steps is not None and steps.index == load.along:
                return steps.vector(self.lanes, buffer, steps.forms(load.at, context.forms), point)
        # An element that an active point reads too.
        moving = {LANE, *(self.tile.ranges if context.any and not context.some else ())}
        still = (context.some or context.any) and not any(moving & form.variables for form in forms)

        def loaded(copy: Copy) -> ir.Value:
            mask, place = None if still else context.mask(copy), [at(form, copy) for form in forms]
            if self.given and (buffer, *place) in self.given:
                return self.given[buffer, *place]
            if mask is not None or self.reads is None:
                return self.lanes.load(buffer, place, mask, point)
            if (key := (buffer, *place)) not in self.reads:
                self.reads[key] = self.lanes.load(buffer, place, None, point)
            return self.reads[key]

        return loaded

    def nearest(
        self, buffer: ir.Value, forms: Sequence[Affine], shape: Sequence[Affine], context: LockstepContext
    ) -> Callable[[Copy], ir.Value]:
        """A function that loads an element in a copy, or the next one in range of a point beyond all."""
        known, point = (*context.facts, *self.tile.facts), context.point
        lookups = [lookup for form in forms for lookup in form.lookups()]
        checked = not all(self.low.is_inside(lookup, known) for lookup in lookups)
        ends = [
            (None if implied(form, known) else ZERO, None if implied(size - 1 - form, known) else size - 1)
            for form, size in zip(forms, shape, strict=True)
        ]

        def loaded(copy: Copy) -> ir.Value:
            place: list[Affine] = []
            for form, (first, last) in zip(forms, ends, strict=True):
                here = at(form, copy)
                if checked and LANE not in here.variables:
                    here = self.low.looked_up(here, point, checked=True)
                if last is not None:
                    here = self.low.extreme("affine.min", [here, last], point)
                place.append(here if first is None else self.low.extreme("affine.max", [here, first], point))
            mask = context.mask(copy)
            if checked and mask is None and any(LANE in form.variables for form in place):
                mask = self.lanes.true(self.lanes.truth, point)  # what lanes look up is tested then
            return self.lanes.load(buffer, place, mask, point)

        return loaded

    def applied(self, apply: Applied, type: ir.Type, operands: Made, point: Point) -> ir.Value:
        """A function of values."""
        name = apply.function
        if name == "powi":
            scalars = Scalars(self.low, point, operands[0].type)
            return InOperations(scalars).power(operands[0], apply.exponent)
        if name in ("max", "min"):
            name = UPSTREAM[name]
        if name in EXPANSIONS:
            given = self.lanes.together(operands, point)
            return EXPANSIONS[name](Scalars(self.low, point, given[0].type), *given)
        if name in PREDICATES or name.startswith("cmpf "):
            number = PREDICATES[name] if name in PREDICATES else int(name.split()[1])
            whole = ir.IntegerType.get_signless(64, self.low.context)
            predicate = {"predicate": ir.IntegerAttr.get(whole, number)}
            return self.lanes.operation("arith.cmpf", type, operands, point, predicate)
        if name == "convert":
            name = conversion(operands[0].type, type)
        elif name == "choose":
            condition, x, y = operands
            return self.lanes.chosen(condition, x, y, point)
        return self.lanes.operation(UPSTREAM.get(name, name), type, operands, point)

    # -- choices ---------------------------------------------------------------------------------

    def choice(self, name: str, choice: Choice, context: LockstepContext) -> None:
        """An `scf.if` where all points go one way, both branches under masks where they may not."""
        rows = context.rows(choice.rows)
        decided = [row.holds({}) for row in rows if row.form.is_constant]
        if len(decided) == len(rows) or not all(decided):
            self.taken(name, choice.then if all(decided) else choice.otherwise, context)
            return
        rows = tuple(row for row in rows if not row.form.is_constant)
        if self.is_apart(rows, context):
            self.taken(name, choice.otherwise, context)
            return
        if not any(row.form.variables & self.tile.ranges.keys() for row in rows):
            chosen = self.read_anyway(choice, rows, context)
            if chosen is not None:
                self.flat_choice(name, chosen, rows, context)
            else:
                self.uniform_choice(name, choice, rows, context)
        else:
            self.masked_choice(name, choice, rows, context)

    def taken(self, name: str, block: Block, context: LockstepContext) -> None:
        """The one branch that all points take here."""
        self.block(block, context)
        self.copies(name, lambda copy: self.value(block.gives[0], copy), context)

    def is_apart(self, rows: Domain, context: LockstepContext) -> bool:
        """Whether an equality holds nowhere here."""
        known = (*context.facts, *self.tile.facts)
        forms = [row.form for row in rows if row.equality]
        return any(implied(side - 1, known) for form in forms for side in (form, -form))

    def uniform_choice(self, name: str, choice: Choice, rows: Domain, context: LockstepContext) -> None:
        """A branch that all points take together."""
        names = self.names(name, context)
        copies = list(self.tile.points(names))
        checked = self.may_be_beyond(rows, context)
        condition = self.low.holds(rows, context.point, checked=checked)

        def fill(block: Block, *more: Constraint) -> Emit:
            return lambda inside: self.branch(name, block, copies, context.moved(inside, *more))

        types = [self.type_of(name, choice)] * len(copies)
        then, otherwise = fill(choice.then, *rows), fill(choice.otherwise)
        self.values.put(name, names, self.low.choose(condition, types, then, otherwise, context.point))

    def read_anyway(self, choice: Choice, rows: Domain, context: LockstepContext) -> Choice | None:
        """A choice that elements of index arrays make, which no processor foresees, between a little work and
        a number: with these elements, which are in their arrays at all points, as values of this code. None
        where a jump is no worse."""
        lets, others = choice.then.lets, choice.otherwise.lets
        looked_up = {lookup for row in rows for lookup in row.form.lookups()}
        is_flat = _is_little(lets) and all(isinstance(let.value, Constant) for let in others)
        if self.tile.width == 1 or context.masks is not None or not (looked_up and is_flat):
            return None
        loads = [replace(x.value, at=tuple(form.substitute(context.forms) for form in x.value.at))
                 if isinstance(x.value, Load) else x.value for x in lets]  # fmt: skip
        places = [form for load in loads if isinstance(load, Load) for form in load.at]
        looked_up |= {lookup for form in places for lookup in form.lookups()}
        known = (*context.facts, *self.tile.facts)
        if any(lookup.variables & self.tile.ranges.keys() for lookup in looked_up):
            return None
        if not all(self.low.is_inside(lookup, known) for lookup in looked_up):
            return None
        made = list[Let]()
        for let, value in zip(lets, loads, strict=True):
            if isinstance(value, Load):
                place = tuple(self.low.looked_up(form, context.point) for form in value.at)
                value = replace(value, at=place)
            made.append(replace(let, value=value))
        return replace(choice, then=Block(tuple(made), choice.then.gives))

    def flat_choice(self, name: str, choice: Choice, rows: Domain, context: LockstepContext) -> None:
        """A choice of `read_anyway`: what it reads is read under a mask."""
        names, point = self.names(name, context), context.point
        copies = list(self.tile.points(names))
        condition = self.low.holds(rows, point)
        inner = self.masked(Conditions((), {(): condition}), replace(context, forms={}))
        sides = (self.branch(name, choice.then, copies, inner),
                 self.branch(name, choice.otherwise, copies, context))  # fmt: skip
        made = [self.lanes.select(condition, x, y, point) for x, y in zip(*sides, strict=True)]
        self.values.put(name, names, made)

    def type_of(self, name: str, choice: Choice) -> ir.Type:
        """The type of what stands for a choice."""
        scalar = self.low.scalar_type(choice.type)
        return self.lanes.type(scalar) if LANE in self.depends(name) else scalar

    def branch(self, name: str, block: Block, copies: Sequence[Copy], context: LockstepContext) -> Made:
        """The values of one branch of a choice."""
        self.block(block, context)
        made = [self.value(block.gives[0], copy) for copy in copies]
        return [self.as_type(one, name, context.point) for one in made]

    def masked_choice(self, name: str, choice: Choice, rows: Domain, context: LockstepContext) -> None:
        """Each branch at the points that take it; a choice by point."""
        point = context.point
        names = self.names(name, context)
        copies = list(self.tile.points(names))
        holds = self.conditions(rows, context)
        sides: list[Made] = []
        for block, conditions, more in (
            (choice.then, holds, rows),
            (choice.otherwise, holds.each(lambda c: self.lanes.negated(c, point)), ()),
        ):
            inner = self.masked(conditions, context.moved(point, *more))
            sides.append(self.where_active(name, choice, block, copies, inner))
        made = [
            self.lanes.select(holds.at(copy), x, y, point) for copy, x, y in zip(copies, *sides, strict=True)
        ]
        self.values.put(name, names, [self.as_type(one, name, point) for one in made])

    def conditions(self, rows: Domain, context: LockstepContext) -> Conditions:
        """Whether rows hold, in the copies in which they or the masks around differ."""
        names = self.tile.along({*context.names, *(name for row in rows for name in row.form.variables)})
        checked = context.is_open or self.may_be_beyond(rows, context)
        found = {
            tuple(copy.values()): self.lanes.holds(at_copy(rows, copy), context.point, checked=checked)
            for copy in self.tile.points(names)
        }
        return Conditions(names, found)

    def may_be_beyond(self, rows: Domain, context: LockstepContext) -> bool:
        """Whether conditions may ask for elements beyond an index array: where another of them fails, or at
        points that are not active."""
        lookups = {lookup for row in rows for lookup in row.form.lookups()}
        known = (*context.facts, *self.tile.facts)
        is_masked = context.masks is not None
        return bool(lookups) and (is_masked or not all(self.low.is_inside(each, known) for each in lookups))

    def masked(self, conditions: Conditions, context: LockstepContext) -> LockstepContext:
        """The context in which conditions hold besides."""
        names, point = conditions.names, context.point
        masks = {
            tuple(copy.values()): self.lanes.both(context.mask(copy), conditions.at(copy), point)
            for copy in self.tile.points(names)
        }
        return replace(context, names=names, masks=masks, some=False, any=False)

    def where_active(
        self, name: str, choice: Choice, block: Block, copies: Sequence[Copy], context: LockstepContext
    ) -> Made:
        """The values of a branch under masks, zeros if no point is active."""
        if self.costs_no_jump(block, context):
            return self.branch(name, block, copies, context)
        assert context.masks is not None
        type = self.type_of(name, choice)
        active = self.lanes.any(list(context.masks.values()), context.point)
        return self.low.choose(
            active, [type] * len(copies),
            lambda inside: self.branch(name, block, copies, context.moved(inside)),
            lambda inside: [self.low.constant(type, 0.0, inside)] * len(copies), context.point,
        )  # fmt: skip

    def costs_no_jump(self, block: Block, context: LockstepContext) -> bool:
        """Whether a branch under masks is so little that it is taken where no point is active too: it reads
        nothing there."""
        loads = [let.value for let in block.lets if isinstance(let.value, Load)]
        places = [[form.substitute(context.forms) for form in load.at] for load in loads]
        are_runs = all(not place or last_stride(place) in (1, -1) for place in places)
        return _is_little(block.lets) and are_runs and not self.beyond


def _is_little(lets: Sequence[Let]) -> bool:
    """Whether values are reads and arithmetic that costs less than a jump."""
    weights = 0
    for let in lets:
        match let.value:
            case Load() | Constant():
                weights += 1
            case Applied(function=name):
                weights += WEIGHTS.get(name, 1)
            case _:
                return False
    return weights <= LITTLE


def at_copy(rows: Domain, copy: Copy) -> Domain:
    """Rows in one copy."""
    return tuple(Constraint(at(row.form, copy), row.equality) for row in rows)
