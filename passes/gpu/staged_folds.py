"""Reductions whose operands go through shared memory: read once by a block, used by many of its threads.

The outer loops run over blocks of steps. For each, the threads of a block copy the box of each tensor that
the block reads, in the order of memory; after a barrier each thread combines what its own elements read. All
threads have the same outer loops; a block of steps tests its bounds only where not all of them hold at all of
its points.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Self

from tadc.dialect.mlir import ir
from tadc.frontend.terms import Domain
from tadc.lattice.affine import ZERO, Affine, Constraint
from tadc.lattice.bounds import Level
from tadc.lattice.polyhedron import implied
from tadc.passes.gpu.block_copies import BlockThreads, Copier
from tadc.passes.gpu.boxes import Box, box_of, spans_inside, within
from tadc.passes.maps.machine import Gpu
from tadc.passes.maps.map import Block, Fold, Let, Load
from tadc.passes.nest.fold_blocks import FoldInBlocks, steps_of, whole_levels
from tadc.passes.nest.fold_loops import Inside
from tadc.passes.nest.joins import Emit, Made, Point
from tadc.passes.nest.lockstep import Context, Lockstep
from tadc.passes.nest.primitives.rewriting import DoesNotFit, rewrite_lets
from tadc.passes.nest.vector_lanes import extreme


class StagedFold(FoldInBlocks):
    """The loops of a reduction over blocks of steps, run by the threads of a block."""

    tested: Sequence[Constraint] = ()
    """What holds of the points of a block of steps, where it does not hold for all."""

    def __init__(self, body: Lockstep, let: Let, fold: Fold, context: Context, threads: BlockThreads) -> None:
        super().__init__(body, let, fold, context)
        self.threads = threads
        self.shared = copied_in(fold)
        self.depth = 1 + max(fold.indices.index(load.inside) for load in self.shared.values())
        """So many loops run over blocks of steps."""
        self.steps = {name: steps_of(name, self.rows) for name in self.names[self.depth :]}
        self.inner = spans_inside(fold.body)
        self.apart = {**threads.ranges, **body.tile.copies}
        """The variables in which elements of the block differ, with their numbers of values."""
        self.rooms: dict[str, ir.Value] = {}

    def all_steps(self, first: Made, context: Context) -> Made:
        """What is left of `first` after every element."""
        still = tuple(row for row in self.nest.outside if not row.form.variables & self.apart.keys())
        facts = (*context.facts, *within(self.apart), *still)
        here = Inside(context.point, facts, context.forms, context.names, context.masks)

        def blocks(inside: Point) -> Made:
            return self.loop(self.nest.levels, first, here.at(inside))

        return self.where(still, blocks, first, context.point)

    # -- blocks of steps -------------------------------------------------------------------------

    def loop(self, levels: Sequence[Level], carried: Made, here: Inside) -> Made:
        """Loops over levels, outermost first; what they carry at the end."""
        left = len(self.names) - self.depth
        if here.in_blocks or len(levels) < left:
            return super().loop(levels, carried, here)
        return self.outer(levels, carried, here) if len(levels) > left else self.block(levels, carried, here)

    def outer(self, levels: Sequence[Level], carried: Made, here: Inside) -> Made:
        """The loop over blocks of steps, the same for all points of the block of threads."""
        level, low, point = levels[0], self.body.low, here.point
        lower, upper = self.ends_of(level, here)
        start = self.end("affine.max", [extreme(form, self.apart, -1) for form in lower], point)
        stop = self.end("affine.min", [extreme(form, self.apart, 1) for form in upper], point)
        if stop - start == Affine.const(1):
            return self.loop(levels[1:], carried, here.binding(level.name, start, point))

        def inside(number: Affine, values: Made, point: Point) -> Made:
            there = here.binding(level.name, start + number, point)
            rows = Constraint(number), Constraint(stop - start - 1 - number)
            return self.loop(levels[1:], values, there.moved(point, *rows))

        ends = low.affine([ZERO], point), low.affine([stop - start], point), 1
        return self.one_loop(level.name, ends, carried, inside, point)

    def end(self, name: str, forms: Sequence[Affine], point: Point) -> Affine:
        """The least of forms, or the greatest."""
        forms = list(dict.fromkeys(forms))
        return forms[0] if len(forms) == 1 else self.body.low.extreme(name, forms, point)

    def block(self, levels: Sequence[Level], carried: Made, here: Inside) -> Made:
        """Copy what a block of steps reads, and combine it."""
        low, point = self.body.low, here.point
        facts, whole = (*here.facts, *within(self.steps)), {**self.apart, **self.steps}
        rows = [row.substitute(here.bound) for row in dict.fromkeys(self.conditions())]
        rows = [row for row in rows if row.equality or not implied(row.form, facts)]
        over_copies = self.copied(whole, facts, here)
        inner, closed = whole_levels(levels, self.steps), replace(here, in_part=True, in_blocks=True)

        def combined(masked: bool) -> Emit:
            made = over_copies.changed(tested=rows if masked else ())
            return lambda at: made.loop(inner, carried, replace(closed, point=at, masked=masked))

        types = [value.type for value in carried]
        if not rows or any(row.equality for row in rows):
            results = combined(bool(rows))(point)
        else:
            # A row that holds at the worst point of the block holds at all.
            tests = dict.fromkeys(Constraint(extreme(row.form, whole, -1)) for row in rows)
            results = low.choose(
                low.holds(tuple(tests), point), types, combined(False), combined(True), point
            )
        self.threads.meet(low, point)
        return results

    def innermost(self, carried: Made, here: Inside) -> Made:
        """Combine one element at each point, where rows hold."""
        rows = [row.substitute(here.bound) for row in self.tested]
        still = tuple(row for row in rows if not self.moves([row.form]))
        moving = tuple(row for row in rows if self.moves([row.form]))
        inside = self.inside(here)

        def take(at: Point) -> Made:
            there = inside.moved(at)
            return self.under(moving, carried, there) if moving else self.take(carried, there)

        return self.where(still, take, carried, here.point)

    # -- copies ----------------------------------------------------------------------------------

    def copied(self, ranges: Mapping[str, int], facts: Domain, here: Inside) -> Self:
        """These folds over the boxes of loads for a block of steps, which are copied first."""
        forms = {**here.forms, **self.indices(here.bound)}
        forms |= {index: Affine.var(f"inner {index}") + first for index, (first, _) in self.inner.items()}
        inner = {f"inner {index}": count for index, (_, count) in self.inner.items()}
        copier, places = Copier(self.threads, self.body), dict[str, tuple[Affine, ...]]()
        for name, load in self.shared.items():
            place = [form.substitute(forms) for form in load.at]
            box = known_box(self.threads.gpu, name, load, place, {**ranges, **inner})
            order = self.layout(box, place)
            if name not in self.rooms:
                self.rooms[name] = copier.room(box, order)
            copier.copy_box(box, self.rooms[name], order, facts, here.point)
            places[name] = tuple(box.within(load.at)[d] for d in order)
        self.threads.meet(self.body.low, here.point)
        value = replace(self.value, body=reading_rooms(self.value.body, places))
        return self.changed(body=with_rooms(self.body, self.rooms), value=value)

    def layout(self, box: Box, forms: Sequence[Affine]) -> tuple[int, ...]:
        """The dimensions of a box in shared memory: last the one along which threads or copies run."""
        moving = [d for d, form in enumerate(forms) if form.variables & self.apart.keys()]
        last = max(moving, key=lambda d: (box.extents[d], d), default=len(forms) - 1)
        return (*(d for d in range(len(forms)) if d != last), last) if forms else ()


def copied_in(fold: Fold) -> dict[str, Load]:
    """The loads in a fold whose boxes threads copy in its loops, in the order of its block."""
    return {name: load for name, load in shared_loads(fold.body).items() if load.inside in fold.indices}


def shared_loads(block: Block) -> dict[str, Load]:
    """The loads in a block that threads copy first, in its order."""
    loads = {let.names[0]: let.value for let in block.all_lets() if isinstance(let.value, Load)}
    return {name: load for name, load in loads.items() if load.shared}


def copied_first(
    threads: BlockThreads, body: Lockstep, block: Block, context: Context
) -> tuple[Lockstep, Block]:
    """Copy the boxes of loads; the walk and the block over these."""
    ranges = {**threads.ranges, **body.tile.copies}
    facts = (*context.facts, *within(ranges))
    copier, rooms = Copier(threads, body, has_vectors=False), dict[str, ir.Value]()
    places: dict[str, tuple[Affine, ...]] = {}
    for name, load in shared_loads(block).items():
        if load.inside:
            continue
        if any(form.variables - context.forms.keys() for form in load.at):
            raise DoesNotFit(f"`{name}` moves with a reduction: stage it inside of an index of that")
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
