"""Reductions whose operands go through shared memory: read once by a block, used by many of its threads.

The loops run in blocks of steps. For each, the threads of a block copy the box of each tensor that the
block reads, in the order of memory; after a barrier each thread combines what its own elements read.
Where bounds move with the elements, the loops move with them; a block of steps tests its bounds only
where not all of them hold at all of its points.
"""

from __future__ import annotations

import copy as copying
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Self

from tadc.dialect.mlir import ir
from tadc.frontend.terms import Domain
from tadc.lattice.affine import ZERO, Affine, Constraint
from tadc.lattice.bounds import Level
from tadc.lattice.polyhedron import implied
from tadc.passes.gpu.block_copies import BlockThreads, Copier
from tadc.passes.gpu.boxes import Box, box_of, spans_inside, within
from tadc.passes.maps.closest_bounds import step_with
from tadc.passes.maps.machine import Gpu
from tadc.passes.maps.map import Block, Fold, Let, Load
from tadc.passes.nest.fold_loops import FoldLoops
from tadc.passes.nest.lockstep import Context, Lockstep
from tadc.passes.nest.primitives.rewriting import DoesNotFit, rewrite_lets
from tadc.passes.nest.vector_lanes import extreme

UNROLLED = 256
"""The most operations of the body of an innermost loop."""


class StagedFold(FoldLoops):
    """The loops of a reduction in blocks of steps, run by the threads of a block."""

    def __init__(self, body: Lockstep, let: Let, fold: Fold, context: Context, threads: BlockThreads) -> None:
        super().__init__(body, let, fold, context)
        self.threads = threads
        self.counts = dict(zip(self.names, fold.takes.steps, strict=True))
        self.shared = loads_of(fold.body, fold.takes.shared)
        self.inner = spans_inside(fold.body)
        self.apart = {**threads.ranges, **body.tile.copies}
        """The variables in which elements of the block differ, with their numbers of values."""
        self.rooms: dict[str, ir.Value] = {}

    def all_steps(self, first: list[ir.Value], context: Context) -> list[ir.Value]:
        """What is left of `first` after every element."""
        still = tuple(row for row in self.nest.outside if not row.form.variables & self.apart.keys())
        facts = (*context.facts, *within(self.apart), *still)

        def blocks(inside: ir.InsertionPoint) -> list[ir.Value]:
            return self.blocks(self.nest.levels, {}, {}, facts, first, context.moved(inside))

        return self.where(still, blocks, first, context.point)

    # -- blocks of steps -------------------------------------------------------------------------

    def blocks(
        self,
        levels: Sequence[Level],
        bound: Mapping[str, Affine],
        ranges: Mapping[str, int],
        facts: Domain,
        carried: list[ir.Value],
        context: Context,
    ) -> list[ir.Value]:
        """Loops over blocks of steps, outermost first; `ranges` has the steps of a block by variable."""
        if not levels:
            return self.block_of_steps(bound, ranges, facts, carried, context)
        level, low, point = levels[0], self.body.low, context.point
        count, name = self.counts[level.name], f"step{len(bound)}"
        shift = step_with(level.name, self.rows, sorted(self.apart))
        varying = {**self.apart, **ranges}
        start = self.end([b.ceil() for b in level.lower], bound, shift, varying, -1, point)
        stop = self.end([b.floor() + 1 for b in level.upper], bound, shift, varying, 1, point)
        number = (stop - start + (count - 1)).floordiv(count)
        inner_ranges = {**ranges, name: count} if count > 1 else dict(ranges)
        step = Affine.var(name) if count > 1 else ZERO

        def inside(
            block: Affine, values: list[ir.Value], at: ir.InsertionPoint, facts: Domain
        ) -> list[ir.Value]:
            inner = {**bound, level.name: start + block * count + step + shift}
            return self.blocks(levels[1:], inner, inner_ranges, facts, values, context.moved(at))

        if number == Affine.const(1):
            return inside(ZERO, carried, point, facts)
        ends = low.affine([ZERO], point), low.affine([number], point), 1

        def fill(block: Affine, values: list[ir.Value], at: ir.InsertionPoint) -> list[ir.Value]:
            rows = (Constraint(block), Constraint(number - 1 - block))
            return inside(block, values, at, (*facts, *rows))

        return self.one_loop(level.name, ends, carried, fill, point)

    def end(
        self,
        forms: Sequence[Affine],
        bound: Mapping[str, Affine],
        shift: Affine,
        ranges: Mapping[str, int],
        sign: int,
        point: ir.InsertionPoint,
    ) -> Affine:
        """The greatest lower or the least upper bound that no point of the block exceeds."""
        found = [extreme(form.substitute(bound) - shift, ranges, sign) for form in forms]
        if len(found) == 1:
            return found[0]
        return self.body.low.extreme("affine.max" if sign < 0 else "affine.min", found, point)

    def block_of_steps(
        self,
        bound: Mapping[str, Affine],
        ranges: Mapping[str, int],
        facts: Domain,
        carried: list[ir.Value],
        context: Context,
    ) -> list[ir.Value]:
        """Copy what a block of steps reads, and combine it."""
        low, point = self.body.low, context.point
        whole = {**self.apart, **ranges}
        here = (*facts, *within(ranges))
        rows = [row.substitute(bound) for row in dict.fromkeys(self.conditions())]
        rows = [row for row in rows if row.equality or not implied(row.form, here)]
        # A row that holds at the worst point of the block holds at all.
        tests = [Constraint(extreme(row.form, whole, -1)) for row in rows if not row.equality]
        over_copies = self.copied(bound, whole, here, context)

        def combined(masked: bool) -> Callable[[ir.InsertionPoint], list[ir.Value]]:
            def emit(at: ir.InsertionPoint) -> list[ir.Value]:
                inner = replace(context, point=at, in_part=True)
                tested = rows if masked else []
                return over_copies.each_step(list(ranges), ranges, bound, tested, carried, inner)

            return emit

        types = [value.type for value in carried]
        if not rows:
            made = combined(False)(point)
        elif any(row.equality for row in rows):
            made = combined(True)(point)
        else:
            all_hold = low.holds(tuple(dict.fromkeys(tests)), point)
            made = low.choose(all_hold, types, combined(False), combined(True), point)
        self.threads.meet(low, point)
        return made

    def each_step(
        self,
        names: Sequence[str],
        ranges: Mapping[str, int],
        bound: Mapping[str, Affine],
        rows: Sequence[Constraint],
        carried: list[ir.Value],
        context: Context,
    ) -> list[ir.Value]:
        """Loops over the steps of a block; the innermost one is unrolled."""
        if not names:
            return self.step(bound, rows, carried, context)
        name, count = names[0], ranges[names[0]]
        unroll = 1
        if len(names) == 1 and not rows:
            inside_each = math.prod(count for _, count in self.inner.values())
            fitting = max(1, UNROLLED // max(len(carried) * 2 * inside_each, 1))
            unroll = max(n for n in range(1, count + 1) if count % n == 0 and n <= fitting)

        def inside(index: Affine, values: list[ir.Value], at: ir.InsertionPoint) -> list[ir.Value]:
            for number in range(unroll):
                mapping = {name: index + number}
                inner = {key: form.substitute(mapping) for key, form in bound.items()}
                tested = [row.substitute(mapping) for row in rows]
                values = self.each_step(names[1:], ranges, inner, tested, values, context.moved(at))
            return values

        if unroll == count:
            return inside(ZERO, carried, context.point)
        low = self.body.low
        ends = low.affine([ZERO], context.point), low.affine([Affine.const(count)], context.point), unroll
        return self.one_loop(self.names[0], ends, carried, inside, context.point)

    def step(
        self,
        bound: Mapping[str, Affine],
        rows: Sequence[Constraint],
        carried: list[ir.Value],
        context: Context,
    ) -> list[ir.Value]:
        """Combine one element at each point, where rows hold."""
        forms = self.indices(bound)
        inside = context.with_forms(forms).moved(context.point, *(c.substitute(bound) for c in self.rows))
        still = tuple(row for row in rows if not self.moves([row.form]))
        moving = tuple(row for row in rows if self.moves([row.form]))

        def take(at: ir.InsertionPoint) -> list[ir.Value]:
            there = inside.moved(at)
            return self.under(moving, carried, there) if moving else self.take(carried, there)

        return self.where(still, take, carried, context.point)

    # -- copies ----------------------------------------------------------------------------------

    def copied(
        self, bound: Mapping[str, Affine], ranges: Mapping[str, int], facts: Domain, context: Context
    ) -> Self:
        """These folds over the boxes of loads for a block of steps, which are copied first."""
        forms = {**context.forms, **self.indices(bound)}
        forms |= {index: Affine.var(f"inner {index}") + first for index, (first, _) in self.inner.items()}
        inner = {f"inner {index}": count for index, (_, count) in self.inner.items()}
        copier, places = Copier(self.threads, self.body), dict[str, tuple[Affine, ...]]()
        for name, load in self.shared.items():
            place = [form.substitute(forms) for form in load.at]
            box = known_box(self.threads.gpu, name, load, place, {**ranges, **inner})
            order = self.layout(box, place)
            if name not in self.rooms:
                self.rooms[name] = copier.room(box, order)
            copier.copy_box(box, self.rooms[name], order, facts, context.point)
            places[name] = tuple(box.within(load.at)[d] for d in order)
        self.threads.meet(self.body.low, context.point)
        made = copying.copy(self)
        made.body = with_rooms(self.body, self.rooms)
        made.value = replace(self.value, body=reading_rooms(self.value.body, places))
        return made

    def layout(self, box: Box, forms: Sequence[Affine]) -> tuple[int, ...]:
        """The dimensions of a box in shared memory: last the one along which threads or copies run."""
        moving = [d for d, form in enumerate(forms) if form.variables & self.apart.keys()]
        last = max(moving, key=lambda d: (box.extents[d], d), default=len(forms) - 1)
        return (*(d for d in range(len(forms)) if d != last), last) if forms else ()


def copied_first(
    threads: BlockThreads, body: Lockstep, block: Block, names: Sequence[str], context: Context
) -> tuple[Lockstep, Block]:
    """Copy the boxes of loads; the walk and the block over these."""
    ranges = {**threads.ranges, **body.tile.copies}
    facts = (*context.facts, *within(ranges))
    copier, rooms = Copier(threads, body, has_vectors=False), dict[str, ir.Value]()
    places: dict[str, tuple[Affine, ...]] = {}
    for name, load in loads_of(block, names).items():
        if any(form.variables - context.forms.keys() for form in load.at):
            raise DoesNotFit(f"`{name}` moves with a reduction: share it in that one")
        box = known_box(threads.gpu, name, load, [form.substitute(context.forms) for form in load.at], ranges)
        order = range(len(box.extents))
        rooms[name], places[name] = copier.room(box, order), tuple(box.within(load.at))
        copier.copy_box(box, rooms[name], order, facts, context.point)
    threads.meet(body.low, context.point)
    return with_rooms(body, rooms), reading_rooms(block, places)


def known_box(gpu: Gpu, name: str, load: Load, forms: Sequence[Affine], ranges: Mapping[str, int]) -> Box:
    """The box of a load. Raises DoesNotFit where its size varies."""
    box = box_of(gpu, load, forms, ranges)
    if box is None:
        raise DoesNotFit(f"how much `{name}` reads is not known")
    return box


def loads_of(block: Block, names: Sequence[str]) -> dict[str, Load]:
    """The loads of these names, in the order of the block."""
    return {
        let.names[0]: let.value
        for let in block.all_lets()
        if isinstance(let.value, Load) and let.names[0] in names
    }


def room_of(load: str) -> str:
    """What the memory is called that has what a load reads."""
    return f"shared {load}"


def with_rooms(body: Lockstep, rooms: Mapping[str, ir.Value]) -> Lockstep:
    """A walk that finds what loads read in these buffers."""
    named = {room_of(name): room for name, room in rooms.items()}
    return replace(body, buffers={**body.buffers, **named}, held=body.held | named.keys())


def reading_rooms(block: Block, places: Mapping[str, tuple[Affine, ...]]) -> Block:
    """A block where loads read from the memory that has their boxes, at these places."""

    def one(let: Let) -> Let:
        if not isinstance(let.value, Load) or let.names[0] not in places:
            return let
        (name,) = let.names
        return replace(let, value=Load(room_of(name), places[name], let.value.type))

    return rewrite_lets(block, one)
