"""Reductions whose operands go through shared memory: read once by a block, used by many of its threads.

The loops run in blocks of steps. For each, the threads of a block copy the box of each tensor that the
block reads, in the order of memory; after a barrier each thread combines what its own elements read.
Where bounds move with the elements, the loops move with them; a block of steps tests its bounds only
where not all of them hold at all of its points.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tadc.dialect.locations import unnamed
from tadc.frontend.terms import Domain
from tadc.lattice.affine import ZERO, Affine, Constraint
from tadc.lattice.bounds import Level
from tadc.lattice.polyhedron import implied
from tadc.passes.cpu.packing import Panels
from tadc.passes.cpu.tile_reductions import Combine, TileReduction
from tadc.passes.gpu.boxes import Box, Copier, Stage, box_of, padded, within
from tadc.passes.gpu.plan import TilePlan
from tadc.passes.maps.accesses import shift_of
from tadc.passes.maps.operand_forms import subscripts
from tadc.passes.maps.reduction_nests import Join
from tadc.passes.maps.tile_values import region_operations
from tadc.passes.nest.lanes import extreme

if TYPE_CHECKING:
    from tadc.passes.cpu.tile_body import Context
    from tadc.passes.gpu.kernel import Kernel, ThreadBody

UNROLLED = 256
"""The most operations of the body of an innermost loop."""


@dataclass
class StagedLoops:
    """What a block of threads shares: its plan, the number of a thread, and what varies within a block.

    `ranges` has the variables of threads and copies, each from 0 to its number less one; `known` holds of
    the block.
    """

    plan: TilePlan
    thread: Affine
    ranges: Mapping[str, int]
    known: Domain
    beyond: Domain | None = None
    """What holds of points that may be beyond the map; None if none is."""
    buffers: dict[Any, Any] = field(default_factory=dict[Any, Any])

    @property
    def facts(self) -> Domain:
        """What holds of all variables."""
        return (*self.known, *within(self.ranges))


class StagedReduction(TileReduction):
    """The loops of a reduction in blocks of steps."""

    body: ThreadBody

    def __init__(self, body: ThreadBody, op: Any, context: Context, staged: StagedLoops) -> None:
        super().__init__(body, op, context)
        self.staged = staged
        self.kernel: Kernel = body.kernel
        self.steps = dict(zip(self.names, staged.plan.steps, strict=True))
        self.reads = [inner for inner in region_operations(self.block) if inner in staged.plan.staged]

    def fold(self, combine: Combine, join: Join, start: float, context: Context) -> list[Any]:
        """What is left of `start` after every element, for each copy along `kept`, result by result."""
        low, point = self.body.low, context.point
        low.location = self.location
        self.combine = combine
        copies = list(self.body.tile.points(self.kept))
        first = [low.constant(self.type, start, point)] * (len(copies) * len(self.elements))
        still = tuple(row for row in self.nest.outside if not row.form.variables & self.staged.ranges.keys())

        def blocks(inside: Any) -> list[Any]:
            facts = (*self.staged.facts, *still)
            return self.blocks(self.nest.levels, {}, {}, facts, first, context.moved(inside))

        return self.where(still, blocks, first, point)

    # -- blocks of steps -------------------------------------------------------------------------

    def blocks(
        self,
        levels: Sequence[Level],
        bound: Mapping[str, Affine],
        ranges: Mapping[str, int],
        facts: Domain,
        carried: list[Any],
        context: Context,
    ) -> list[Any]:
        """Loops over blocks of steps, outermost first; `ranges` has the steps of a block by variable."""
        if not levels:
            return self.block_of_steps(bound, ranges, facts, carried, context)
        level, low, point = levels[0], self.body.low, context.point
        count, name = self.steps[level.name], f"step{len(bound)}"
        shift = shift_of(level.name, self.rows, sorted(self.staged.ranges))
        varying = {**self.staged.ranges, **ranges}
        start = self.ends([b.ceil() for b in level.lower], bound, shift, varying, -1, point)
        stop = self.ends([b.floor() + 1 for b in level.upper], bound, shift, varying, 1, point)
        number = (stop - start + (count - 1)).floordiv(count)
        inner_ranges = {**ranges, name: count} if count > 1 else dict(ranges)
        step = Affine.var(name) if count > 1 else ZERO

        def inside(block: Affine, values: list[Any], at: Any, facts: Domain) -> list[Any]:
            inner = {**bound, level.name: start + block * count + step + shift}
            return self.blocks(levels[1:], inner, inner_ranges, facts, values, context.moved(at))

        if number == Affine.const(1):
            return inside(ZERO, carried, point, facts)
        low.location = self.location
        ends = low.affine([ZERO], point), low.affine([number], point), 1

        def fill(block: Affine, values: list[Any], at: Any) -> list[Any]:
            rows = (Constraint(block), Constraint(number - 1 - block))
            return inside(block, values, at, (*facts, *rows))

        return self.one_loop(level.name, ends, carried, fill, point)

    def ends(
        self,
        forms: Sequence[Affine],
        bound: Mapping[str, Affine],
        shift: Affine,
        ranges: Mapping[str, int],
        sign: int,
        point: Any,
    ) -> Affine:
        """The greatest lower or the least upper bound that no point of the block exceeds."""
        found = [extreme(form.substitute(bound) - shift, ranges, sign) for form in forms]
        if all(form.is_constant for form in found):
            values = [form.constant for form in found]
            return Affine.const(max(values) if sign < 0 else min(values))
        if len(found) == 1:
            return found[0]
        operation = "affine.max" if sign < 0 else "affine.min"
        return self.kernel.named(self.body.low.affine(found, point, operation))

    def block_of_steps(
        self,
        bound: Mapping[str, Affine],
        ranges: Mapping[str, int],
        facts: Domain,
        carried: list[Any],
        context: Context,
    ) -> list[Any]:
        """Copy what a block of steps reads, and combine it."""
        low, point = self.body.low, context.point
        whole = {**self.staged.ranges, **ranges}
        here = (*facts, *within(ranges))
        rows = [row.substitute(bound) for row in dict.fromkeys(self.conditions())]
        rows = [row for row in rows if row.equality or not implied(row.form, here)]
        # A row that holds at the worst point of the block holds at all.
        tests = [Constraint(extreme(row.form, whole, -1)) for row in rows if not row.equality]

        def combined(masked: bool) -> Callable[[Any], list[Any]]:
            def emit(at: Any) -> list[Any]:
                names = list(ranges)
                inner = replace(context, point=at, in_part=True)
                return self.each_step(names, ranges, bound, rows if masked else [], carried, inner)

            return emit

        self.copy(bound, whole, here, point)
        self.kernel.barrier(point)
        types = [value.type for value in carried]
        if not rows:
            made = combined(False)(point)
        elif any(row.equality for row in rows):
            made = combined(True)(point)
        else:
            low.location = self.location
            all_hold = low.holds(tuple(dict.fromkeys(tests)), point)
            made = low.choose(all_hold, types, combined(False), combined(True), point)
        low.location = unnamed(self.location)
        self.kernel.barrier(point)
        return made

    def each_step(
        self,
        names: Sequence[str],
        ranges: Mapping[str, int],
        bound: Mapping[str, Affine],
        rows: Sequence[Constraint],
        carried: list[Any],
        context: Context,
    ) -> list[Any]:
        """Loops over the steps of a block; the innermost one is unrolled."""
        if not names:
            return self.step(bound, rows, carried, context)
        name, count = names[0], ranges[names[0]]
        unroll = 1
        if len(names) == 1 and not rows:
            inside_each = math.prod(n for spans in self.staged.plan.inner.values() for _, n in spans)
            fitting = max(1, UNROLLED // max(len(carried) * 2 * inside_each, 1))
            unroll = max(n for n in range(1, count + 1) if count % n == 0 and n <= fitting)

        def inside(index: Affine, values: list[Any], at: Any) -> list[Any]:
            for number in range(unroll):
                mapping = {name: index + number}
                inner = {key: form.substitute(mapping) for key, form in bound.items()}
                tested = [row.substitute(mapping) for row in rows]
                values = self.each_step(names[1:], ranges, inner, tested, values, context.moved(at))
            return values

        if unroll == count:
            return inside(ZERO, carried, context.point)
        low = self.body.low
        low.location = self.location
        ends = low.affine([ZERO], context.point), low.affine([Affine.const(count)], context.point), unroll
        level = next(iter(self.places))
        return self.one_loop(level, ends, carried, inside, context.point)

    def step(
        self, bound: Mapping[str, Affine], rows: Sequence[Constraint], carried: list[Any], context: Context
    ) -> list[Any]:
        """Combine one element at each point, where rows hold."""
        forms = self.body.low.forms
        for argument, name in zip(self.block.arguments, self.names, strict=True):
            forms[argument] = bound[name]
        inside = context.moved(context.point, *(c.substitute(bound) for c in self.rows))
        still = tuple(row for row in rows if not self.moves([row.form]))
        moving = tuple(row for row in rows if self.moves([row.form]))

        def take(at: Any) -> list[Any]:
            there = inside.moved(at)
            return self.under(moving, carried, there) if moving else self.take(carried, there)

        return self.where(still, take, carried, context.point)

    # -- copies ----------------------------------------------------------------------------------

    def copy(self, bound: Mapping[str, Affine], ranges: Mapping[str, int], facts: Domain, point: Any) -> None:
        """Copy the boxes of all staged reads; later reads find their elements there."""
        low = self.body.low
        for argument, name in zip(self.block.arguments, self.names, strict=True):
            low.forms[argument] = bound[name]
        copier = Copier(self.kernel, self.staged.thread, self.staged.plan.block)
        inner = self.inner_ranges()
        found: dict[Any, Any] = {}
        for op in in_order(self.block, low.forms):
            if op not in self.staged.plan.staged:
                continue
            forms = subscripts(op, list(op.operands)[1:], low.forms)
            box = box_of(op, forms, {**ranges, **inner})
            assert box is not None
            order = self.layout(box, forms)
            if op not in self.staged.buffers:
                shape = [box.extents[d] for d in order]
                self.staged.buffers[op] = self.kernel.shared(
                    padded(self.kernel.gpu, shape, order[-1] != len(order) - 1), op.results[0].type
                )
            buffer = self.staged.buffers[op]
            copier.copy_box(box, buffer, order, facts, point)
            found[op] = Stage(box, buffer, order)
        self.body.panels = Panels(found)

    def inner_ranges(self) -> dict[str, int]:
        """Variables that stand for the indices of reductions inside, while boxes are found."""
        found: dict[str, int] = {}
        low = self.body.low
        for op in region_operations(self.block):
            if op.name in ("tad.sum", "tad.reduce"):
                for argument, (start, count) in zip(
                    op.regions[0].blocks[0].arguments, self.staged.plan.inner[op], strict=True
                ):
                    name = f"inner{len(found)}"
                    found[name] = count
                    low.forms[argument] = Affine.var(name) + start
        return found

    def layout(self, box: Box, forms: Sequence[Affine]) -> tuple[int, ...]:
        """The dimensions of a box in shared memory: last the one along which threads or copies run."""
        own = set(self.staged.ranges)
        moving = [d for d, form in enumerate(forms) if form.variables & own]
        last = max(moving, key=lambda d: (box.extents[d], d), default=len(forms) - 1)
        return (*(d for d in range(len(forms)) if d != last), last) if forms else ()


def in_order(block: Any, forms: dict[Any, Affine]) -> Iterator[Any]:
    """The reads of a block, with forms for the indices that are computed before them."""
    for op in region_operations(block):
        if op.name == "tad.index":
            forms[op.results[0]] = subscripts(op, op.operands, forms)[0]
        elif op.name == "tad.read":
            yield op
