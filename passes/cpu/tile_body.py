"""The body of a map at all points of a tile, in lockstep: vectors over lanes, copies side by side.

Where points take different branches of a guard, both are evaluated under masks, as on a GPU:
nothing is read at a point that does not take the branch, and a branch that no point takes is skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tadc.dialect.index_maps import parse_set
from tadc.dialect.mlir import ir
from tadc.dialect.program_reader import UnsupportedIR
from tadc.frontend.terms import Domain
from tadc.lattice.affine import Constraint
from tadc.passes.cpu.packing import Panels
from tadc.passes.cpu.runs import Run
from tadc.passes.cpu.tile_kinds import lower_tiled_reduction
from tadc.passes.cpu.tile_reductions import TileReduction
from tadc.passes.cpu.tile_squares import Squares, copies_of_square
from tadc.passes.maps.lower_body import BodyLowering
from tadc.passes.maps.scalar_lowering import EXPANSIONS, integer_power
from tadc.passes.maps.tile_values import (
    LANE,
    Copy,
    Dependence,
    Tile,
    Values,
    at,
    is_reduction,
    owner,
    yielded,
)
from tadc.passes.nest.lanes import Lanes

#: An operation, and what makes its result in a copy.
Maker = tuple[Any, Callable[[Copy], Any]]


@dataclass(frozen=True)
class Context:
    """Where code stands: what holds there at points that are active, and which are.

    `masks` has a condition for each of `tile.points(names)`; without masks every point is active. Where
    `some` is set, one is for each of these; where `any` is, one of all. In a part of a loop (`in_part`) no
    loop is taken apart again: code would grow with every level.
    """

    point: Any
    facts: Domain
    names: tuple[str, ...] = ()
    masks: Mapping[tuple[int, ...], Any] | None = None
    in_part: bool = False
    some: bool = False
    any: bool = False

    def mask(self, copy: Copy) -> Any:
        """The condition of a copy, or None."""
        return None if self.masks is None else self.masks[tuple(copy[name] for name in self.names)]

    def moved(self, point: Any, *rows: Constraint) -> Context:
        """The same at another point, where more rows hold."""
        return replace(self, point=point, facts=(*self.facts, *rows))


class TileBody:
    """One walk over a map's body; `low` makes scalar code and holds the forms of indices."""

    def __init__(
        self,
        low: BodyLowering,
        tile: Tile,
        depends: Dependence,
        panels: Panels,
        stored: Callable[[Copy, Any], Any],
        runs: Mapping[Any, Run] | None = None,
    ) -> None:
        """`stored` loads the map's value of a copy, as the last block of a reduction left it.

        `runs` are those of the schedule.
        """
        self.low, self.tile, self.depends = low, tile, depends
        self.panels, self.stored, self.runs = panels, stored, runs or {}
        self.lanes: Lanes = Lanes(low, tile.width)
        self.values = Values(tile)

    # -- values by copy --------------------------------------------------------------------------

    def names(self, value: Any, context: Context) -> tuple[str, ...]:
        """For which variables a value is made copy by copy."""
        return self.tile.along({*self.depends(value), *context.names})

    def value(self, value: Any, copy: Copy) -> Any:
        """What stands for a scalar of the body in a copy."""
        return self.values.get(value, copy) if value in self.values else self.low.value(value)

    def type(self, value: Any) -> Any:
        """The type of what stands for a scalar of the body."""
        return self.lanes.type(value.type) if LANE in self.depends(value) else value.type

    def as_type(self, made: Any, value: Any, point: Any) -> Any:
        """A scalar in all lanes, if the value differs between lanes."""
        return self.lanes.spread(made, point) if LANE in self.depends(value) else made

    # -- operations ------------------------------------------------------------------------------

    def region(self, block: Any, context: Context) -> Any:
        """Lower a region's operations; the value of the body that it yields."""
        for operation in list(block.operations)[:-1]:
            op = operation.operation
            self.low.location = op.location
            self.operation(op, context)
        return yielded(block)

    def in_turns(
        self,
        block: Any,
        context: Context,
        names: Sequence[str],
        then: Callable[[Copy], None],
        left_out: Collection[Any] = (),
    ) -> None:
        """The same, but what follows the last reduction or guard for one copy along names after the other.

        `then` uses the values of a copy while they are in registers. No code is made for what is left out.
        """
        operations = [operation.operation for operation in list(block.operations)[:-1]]
        operations = [op for op in operations if op not in left_out]
        first = max((n + 1 for n, op in enumerate(operations) if op.regions), default=0)
        for op in operations[:first]:
            self.low.location = op.location
            self.operation(op, context)
        makers = self.makers(operations[first:], context)
        for turn in self.tile.points(names):
            self.turn(turn, makers, context)
            then(turn)

    def makers(self, operations: Iterable[Any], context: Context) -> list[Maker]:
        """What makes the results of operations without regions, with indices as they are now."""
        makers: list[Maker] = []
        for op in operations:
            if op.name == "tad.index":
                self.operation(op, context)
            else:
                self.values.forget(op.results[0])
                makers.append((op, self.maker(op, context)))
        return makers

    def turn(self, turn: Copy, makers: Iterable[Maker], context: Context) -> None:
        """Make all results in the copies of one turn."""
        for op, make in makers:
            self.low.location = op.location
            self.copies_in(turn, op, make, context)

    def copies_in(self, turn: Copy, op: Any, make: Callable[[Copy], Any], context: Context) -> None:
        """Make the result of an operation in those copies of one turn that are not made yet."""
        result = op.results[0]
        names = self.names(result, context)
        for copy in self.tile.points(names, turn):
            self.values.add(result, names, copy, lambda c=copy: self.as_type(make(c), result, context.point))

    def operation(self, op: Any, context: Context) -> None:
        """Lower one operation at all points."""
        if op.name == "tad.index":
            self.low.forms[op.results[0]] = self.low.subscripts(op, op.operands)[0]
        elif is_reduction(op):
            lower_tiled_reduction(self, op, context)
        elif op.name == "tad.guard":
            self.guard(op, context)
        else:
            self.copies(op, self.maker(op, context), context)

    def copies(self, op: Any, make: Callable[[Copy], Any], context: Context) -> None:
        """Make the result of an operation in each copy that it needs."""
        result = op.results[0]
        names = self.names(result, context)
        made = [self.as_type(make(copy), result, context.point) for copy in self.tile.points(names)]
        self.values.put(result, names, made)

    def maker(self, op: Any, context: Context) -> Callable[[Copy], Any]:
        """What makes the result of an operation without regions in a copy."""
        name, point = op.name, context.point
        if name == "tad.read":
            panel = self.panels.by_read.get(op)
            if panel is None:
                forms, buffer = (
                    self.low.subscripts(op, list(op.operands)[1:]),
                    self.low.memrefs[op.operands[0]],
                )
            else:
                forms, buffer = panel.subscripts(self.low.forms), panel.buffer

            square = copies_of_square(forms, self.tile) if context.masks is None else None
            if square is not None:
                return Squares(self.lanes, buffer, forms, square, point).vector
            # An element that an active point reads too.
            moving = {LANE, *(self.tile.ranges if context.any and not context.some else ())}
            still = (context.some or context.any) and not any(moving & form.variables for form in forms)

            def load(copy: Copy) -> Any:
                mask, place = None if still else context.mask(copy), [at(form, copy) for form in forms]
                return self.lanes.load(buffer, place, mask, point)

            return load
        if name == "tad.value_of":
            form, type = self.low.forms[op.operands[0]], op.results[0].type
            return lambda copy: self.lanes.as_float(at(form, copy), type, point)
        if name == "math.fpowi":
            base, exponent = op.operands[0], self.exponent(op)
            return lambda copy: integer_power(self.low, point, self.value(base, copy), exponent)
        if name in ("tad.apply", "arith.maximumf", "arith.minimumf"):
            function = ir.StringAttr(op.attributes["fn"]).value if name == "tad.apply" else name
            return lambda copy: EXPANSIONS[function](self.low, point, *self.operands(op, copy, point))
        if name.startswith(("arith.", "math.")):
            return lambda copy: self.lanes.apply(op, [self.value(v, copy) for v in op.operands], point)
        raise UnsupportedIR(f"'{name}' has no lowering", op.location)

    def operands(self, op: Any, copy: Copy, point: Any) -> list[Any]:
        """The operands in a copy, all vectors if one is."""
        return self.lanes.together([self.value(v, copy) for v in op.operands], point)

    def exponent(self, op: Any) -> int:
        """The constant exponent of an integer power."""
        made = owner(op.operands[1])
        if made is None or made.name != "arith.constant":
            raise UnsupportedIR("the exponent of an integer power must be a constant", op.location)
        return ir.IntegerAttr(made.attributes["value"]).value

    # -- guards ----------------------------------------------------------------------------------

    def guard(self, op: Any, context: Context) -> None:
        """An `scf.if` where all points go one way, both branches under masks where they may not."""
        found = parse_set(str(op.attributes["where"]))
        mapping = {f"d{i}": self.low.forms[v] for i, v in enumerate(op.operands)}
        rows = tuple(c.substitute(mapping) for c in found.constraints)
        decided = [c.holds({}) for c in rows if c.form.is_constant]
        if len(decided) == len(rows) or not all(decided):
            block = op.regions[0 if all(decided) else 1].blocks[0]
            self.take_over(op, self.region(block, context), context)
            return
        rows = tuple(c for c in rows if not c.form.is_constant)
        if any(row.form.variables & self.tile.ranges.keys() for row in rows):
            self.masked_guard(op, rows, context)
        else:
            self.uniform_guard(op, rows, context)

    def reduction(self, op: Any, context: Context) -> TileReduction:
        """The loops of a reduction."""
        return TileReduction(self, op, context)

    def take_over(self, op: Any, value: Any, context: Context) -> None:
        """An operation's result is another value of the body."""
        self.copies(op, lambda copy: self.value(value, copy), context)

    def uniform_guard(self, op: Any, rows: Domain, context: Context) -> None:
        """A branch that all points take together."""
        result = op.results[0]
        names = self.names(result, context)
        copies = list(self.tile.points(names))
        condition = self.low.holds(rows, context.point)

        def fill(number: int, *more: Constraint) -> Callable[[Any], list[Any]]:
            return lambda inside: self.branch(op, number, copies, context.moved(inside, *more))

        types = [self.type(result)] * len(copies)
        made = self.low.choose(condition, types, fill(0, *rows), fill(1), context.point)
        self.values.put(result, names, made)

    def branch(self, op: Any, number: int, copies: Sequence[Copy], context: Context) -> list[Any]:
        """The values of one branch of a guard."""
        value = self.region(op.regions[number].blocks[0], context)
        made = [self.value(value, copy) for copy in copies]
        return [self.as_type(one, op.results[0], context.point) for one in made]

    def masked_guard(self, op: Any, rows: Domain, context: Context) -> None:
        """Each branch at the points that take it; a choice by point."""
        result, point = op.results[0], context.point
        names = self.names(result, context)
        copies = list(self.tile.points(names))
        holds = [self.lanes.holds(at_copy(rows, copy), point) for copy in copies]
        sides: list[list[Any]] = []
        for number, conditions in enumerate((holds, [self.lanes.negated(c, point) for c in holds])):
            more = rows if number == 0 else ()
            inner = self.masked(conditions, names, copies, context.moved(point, *more))
            sides.append(self.where_active(op, number, copies, inner))
        made = [self.lanes.select(c, x, y, point) for c, x, y in zip(holds, *sides, strict=True)]
        self.values.put(result, names, [self.as_type(one, result, point) for one in made])

    def masked(
        self, conditions: Sequence[Any], names: tuple[str, ...], copies: Sequence[Copy], context: Context
    ) -> Context:
        """The context in which a condition holds besides, for each of the copies along names."""
        masks = {
            tuple(copy[name] for name in names): self.lanes.both(context.mask(copy), condition, context.point)
            for copy, condition in zip(copies, conditions, strict=True)
        }
        return replace(context, names=names, masks=masks, some=False, any=False)

    def where_active(self, op: Any, number: int, copies: Sequence[Copy], context: Context) -> list[Any]:
        """The values of a branch under masks, zeros if no point is active."""
        block = op.regions[number].blocks[0]
        if len(list(block.operations)) == 1:
            return self.branch(op, number, copies, context)
        assert context.masks is not None
        type = self.type(op.results[0])
        active = self.lanes.any(list(context.masks.values()), context.point)

        def nothing(inside: Any) -> list[Any]:
            return [self.low.constant(type, 0.0, inside)] * len(copies)

        def something(inside: Any) -> list[Any]:
            return self.branch(op, number, copies, context.moved(inside))

        return self.low.choose(active, [type] * len(copies), something, nothing, context.point)


def at_copy(rows: Domain, copy: Copy) -> Domain:
    """Rows in one copy."""
    return tuple(Constraint(at(row.form, copy), row.equality) for row in rows)
