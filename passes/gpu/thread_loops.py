"""What nests become on a GPU: loops that are divided among blocks and threads, and accesses of a thread."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property

from tadc.dialect.mlir import ir
from tadc.frontend.terms import Domain
from tadc.lattice.affine import ZERO, Affine, Constraint
from tadc.lattice.late_dataclasses import dataclass, field, replace
from tadc.lattice.polyhedron import implied
from tadc.passes.gpu.block_memory import registers, shared_buffer
from tadc.passes.gpu.group_folds import Group
from tadc.passes.gpu.launch import GridAxis
from tadc.passes.gpu.positions import unravel
from tadc.passes.gpu.run_stores import RunStores
from tadc.passes.gpu.teams import TeamLoop, ThreadTeam
from tadc.passes.gpu.thread_lanes import ThreadLanes
from tadc.passes.maps.buffers import product
from tadc.passes.maps.lower_body import BodyLowering
from tadc.passes.maps.machine import Gpu
from tadc.passes.maps.map import Fold, Let
from tadc.passes.nest.emit import EmitScope, EmitTarget, emit_body, facts_of
from tadc.passes.nest.lockstep import Lockstep, LockstepContext
from tadc.passes.nest.loop_bounds import bound_forms
from tadc.passes.nest.nest import (
    DIVIDED,
    At,
    Body,
    Bound,
    Compute,
    For,
    If,
    Kind,
    Know,
    Nest,
    Stage,
    Statement,
)
from tadc.passes.nest.primitives.rewriting import computes_in, loops_in, shared_folds
from tadc.passes.nest.stores import StorePlace, TileStores
from tadc.passes.nest.vector_lanes import Lanes


@dataclass(frozen=True)
class Thread(EmitTarget):
    """A thread of a kernel, whose code is for a GPU; `function` is its `gpu.func`, `block` the threads of a
    block.

    `together` are the threads that run a statement together; with `columns` they are apart, and compute the
    element that `column` numbers. `unseen` are tensors that others may have written since all threads met,
    `used` are rooms that others may still read; those that are `private` have other elements for each thread,
    and `rooms` are those of stages. `held` have an element for each point of a tile, active or not;
    `launches` are loops of which a launch has one point.
    """

    gpu: Gpu
    low: BodyLowering
    function: ir.Operation
    block: int
    together: ThreadTeam | None = None
    column: Affine | None = None
    columns: int = 1
    unseen: set[str] = field(default_factory=set[str])
    used: set[str] = field(default_factory=set[str])
    private: set[str] = field(default_factory=set[str])
    rooms: dict[Stage, ir.Value] = field(default_factory=dict[Stage, ir.Value])
    held: frozenset[str] = frozenset()
    launches: Sequence[For] = ()

    def lanes(self, low: BodyLowering, width: int) -> Lanes:
        """What makes vectors of a width."""
        return ThreadLanes(low, width)

    def fold(self, body: Lockstep, let: Let, fold: Fold, context: LockstepContext) -> None:
        """A reduction that a group shares, or that a thread runs alone."""
        if self.together is not None and fold.loop == "thread":
            number = self.together.number
            group = Group(self.low, self.function, fold, number, self.column, self.columns)
            group.reduce(body, let, context)
        else:
            super().fold(body, let, fold, context)

    def stores(
        self, compute: Compute, low: BodyLowering, places: list[StorePlace], scope: EmitScope
    ) -> TileStores:
        """What stores the values of a computation: the first of the threads that have them does."""
        made = super().stores(compute, low, places, scope)
        # What is no one else's is stored beyond all elements too: no thread has to ask.
        within = () if {store.tensor for store in compute.stores} <= self.private else made.within
        if self.together is not None and self.together.count > 1:
            within = (*within, Constraint(self.together.number, equality=True))
        return RunStores(made.lanes, made.tile, places, made.context, within=within)

    def room(self, stage: Stage, low: BodyLowering, scope: EmitScope) -> ir.Value:
        """Memory of a block, or of a thread: of a tensor in registers each thread has every so many."""
        shape = [extent.constant for extent in stage.tensor.shape]
        element = low.scalar_type(stage.tensor.type)
        if stage.space != "shared":
            self.private.add(stage.tensor.name)
            return registers(self.function, shape, element, low)
        if stage not in self.rooms:
            self.rooms[stage] = shared_buffer(self.function, shape, element)
        return self.rooms[stage]

    def before(self, statement: Statement, scope: EmitScope) -> None:
        """All threads of a block meet where some read what others wrote."""
        if self.together is None or self.together.count < self.block:
            return
        if not isinstance(statement, Compute | If) and getattr(statement, "kind", "") != "thread":
            return
        computes = list(computes_in((statement,)))
        reads = {load.tensor for one in computes for load in one.block.loads()}
        writes = {store.tensor for one in computes for store in one.stores} - self.private
        if not (reads.isdisjoint(self.unseen) and writes.isdisjoint(self.used)):
            self.meet(scope)
        self.used.update(reads & {stage.tensor.name for stage in self.rooms})
        if not isinstance(statement, If):
            self.unseen.update(writes)

    def after_turn(self, loop: For, scope: EmitScope) -> None:
        """All threads meet before what they read is written again."""
        written = {store.tensor for one in computes_in(loop.body) for store in one.stores}
        is_whole = self.together is not None and self.together.count == self.block
        if is_whole and written - self.private:
            self.meet(scope)

    def meet(self, scope: EmitScope) -> None:
        """All threads of a block meet."""
        self.low.create("gpu.barrier", [], [], scope.point)
        self.unseen.clear()
        self.used.clear()

    @cached_property
    def registers(self) -> tuple[Affine, Affine]:
        """The number of a thread in its block, and that of the block."""
        attribute = {"dimension": ir.Attribute.parse("#gpu<dim x>")}
        start = ir.InsertionPoint.at_block_begin(self.function.regions[0].blocks[0])
        thread, block = (
            self.low.variable(self.low.create(name, [self.low.index_type], [], start, attribute).results[0])
            for name in ("gpu.thread_id", "gpu.block_id")
        )
        return thread, block

    def kernel(self, nest: Nest, scope: EmitScope) -> None:
        """The code of a nest: without loops that are divided, it is one point for the first who has one."""
        body, scope = self.launched(nest, scope)
        outer = next((loop for loop in loops_in(body) if loop.kind in DIVIDED), None)
        if outer is None:
            self.points((), body, "grid", scope)
        elif outer.kind == "thread":
            self.points((), body, "block", scope)
        else:
            emit_body(body, self.low, scope)

    def launched(self, nest: Nest, scope: EmitScope) -> tuple[Body, EmitScope]:
        """What a launch runs, where loops over launches have the values of its number, the last argument."""
        loops = launch_loops(nest)
        if not loops:
            return nest.body, scope
        number = self.low.variable(list(self.function.regions[0].blocks[0].arguments)[-1])
        ends = [(scope.form(start), scope.form(stop)) for start, stop in boxed(loops)[0]]
        counts = [stop - start for start, stop in ends]
        places = unravel(number, counts, self.low, scope.point)
        for loop, place, (start, stop) in zip(loops, places, ends, strict=True):
            index = start + place
            scope = scope.naming(loop.index, index).knowing(Constraint(place), Constraint(stop - 1 - index))
        return loops[-1].body, replace(scope, target=replace(self, launches=loops))

    def divided(self, loop: For, low: BodyLowering, scope: EmitScope) -> None:
        """Loops directly in each other whose points are numbered, the innermost loop's fastest; each number
        goes to one thread of the grid, or to one group of threads."""
        loops = nested(loop)
        if not loop.teams:
            self.points(loops, loops[-1].body, loop.kind, scope)
            return
        assert self.together is not None

        def fill(inner: EmitScope, together: ThreadTeam) -> None:
            emit_body(loops[-1].body, low, replace(inner, target=replace(self, together=together)))

        TeamLoop(loops, low, fill).emit(self.together, scope)

    def points(self, loops: Sequence[For], body: Body, kind: Kind, scope: EmitScope) -> None:
        """A body at the point of this thread, if it has one."""
        ends, inside_of = boxed(loops, self.launches)
        ends = [(scope.form(start), scope.form(stop)) for start, stop in ends]
        counts = [trips(each, one.step) for each, one in zip(ends, loops, strict=True)]
        own = self.own(kind, body, scope)
        is_idle = len(loops) == 1 and is_idle_beyond(loops[0])
        number, only = own.number, scope.only
        rows = () if is_idle else self.within(own, counts, scope)
        if rows and own.column is not None:
            # All threads meet: those without an element of their own help with the last one.
            last, only, rows = number + rows[0].form, (*rows, *only), ()
            number = self.low.extreme("affine.min", [number, last], scope.point)

        def fill(inside: ir.InsertionPoint) -> list[ir.Value]:
            places = unravel(number, counts, self.low, inside)
            target = replace(self, together=own.together, column=own.column, columns=own.each)
            inner = replace(scope, point=inside, target=target, only=only)
            for one, place, count, (start, stop) in zip(loops, places, counts, ends, strict=True):
                index = start + place * one.step
                known = (Constraint(place), Constraint(count - 1 - place))
                inner = inner.naming(one.index, index)
                facts = facts_of(one, index, (start, stop), scope)
                inner = inner.knowing(*known, *facts) if not is_idle else inner.knowing(*facts[:1])
            emit_body((If(inside_of, body),) if inside_of else body, self.low, inner)
            return []

        if rows:
            self.low.choose(self.low.holds(rows, scope.point), [], fill, None, scope.point)
        else:
            fill(scope.point)

    def within(self, own: Own, counts: Sequence[Affine], scope: EmitScope) -> Domain:
        """What holds of threads that have one of so many points; nothing where all have one."""
        if own.each == 1:
            return ()
        total = extent_of(counts, self.low, scope.point)
        if total.is_constant and total.constant > 0 and total.constant % own.each == 0:
            return ()
        return (Constraint(total - 1 - own.number),)

    def own(self, kind: Kind, body: Body, scope: EmitScope) -> Own:
        """Which point a thread has of loops of a kind around a body."""
        thread, block = self.registers
        fold = next(shared_folds(body), None) if kind == "grid" else None
        if fold is None:
            form = {"grid": block * self.block + thread, "block": block, "thread": thread}[kind]
            together = ThreadTeam(thread, self.block) if kind == "block" else None
            return Own(self.named(form, scope.point), 1 if kind == "block" else self.block, together)
        size, each, column = fold.count, self.block // fold.count, None
        if fold.warp == 1:
            number, column = thread.floordiv(each), thread.mod(each)
            form = block * each + column
        elif each == 1:
            number, form = thread, block
        else:
            number, form = thread.mod(size), block * each + thread.floordiv(size)
        return Own(self.named(form, scope.point), each, ThreadTeam(number, size), column)

    def named(self, form: Affine, point: ir.InsertionPoint) -> Affine:
        """A variable that stands for a form."""
        return self.low.variable(self.low.affine([form], point))


@dataclass(frozen=True)
class Own:
    """The number of the point of a thread, of which a block has `each`; the threads that have it too, and the
    number of a column of theirs, where threads that meet compute different elements."""

    number: Affine
    each: int
    together: ThreadTeam | None = None
    column: Affine | None = None


def grid_of(nest: Nest, extents: Mapping[str, Sequence[Affine]]) -> GridAxis:
    """The blocks that run a nest: each has so many points of its outermost loops that are divided.

    `extents` has for each size those that it is the product of, over the sizes of the function.
    """
    outer = next((loop for loop in loops_in(nest.body) if loop.kind in DIVIDED), None)
    loops = () if outer is None or outer.kind == "thread" else nested(outer)
    fold = next(shared_folds(nest.body), None)
    each = 1 if outer and outer.kind == "block" else nest.block // (fold.count if fold else 1)
    found: list[Affine] = []
    for loop, (start, stop) in zip(loops, boxed(loops, launch_loops(nest))[0], strict=True):
        span = stop - start
        factors = next((extents[name] for name in span.variables if span == Affine.var(name)), ())
        if factors and len(loops) == 1:
            return GridAxis(tuple(factors), each * loop.step)
        forms = {name: factor for name, (factor, *_) in extents.items()}
        found.append(trips((ZERO, span.substitute(forms)), loop.step))
    return GridAxis(tuple(found), each)


def launch_loops(nest: Nest) -> list[For]:
    """The outermost loops of a nest, each of whose points is a launch."""
    match nest.body:
        case (For(kind="launch") as loop,):
            return nested(loop)
        case _:
            return []


def launch_counts(nest: Nest) -> list[Affine]:
    """The numbers of values of these loops: their product counts the launches."""
    return [stop - start for start, stop in boxed(launch_loops(nest))[0]]


def boxed(loops: Sequence[For], around: Sequence[For] = ()) -> tuple[list[tuple[Affine, Affine]], Domain]:
    """The ends of loops that are divided together, forms without the indices of the others and of loops
    around, and the rows that hold where all loops have a point."""
    found = dict(zip((loop.index for loop in around), boxed(around)[0], strict=True)) if around else {}
    rows: list[Constraint] = []
    for loop in loops:
        first, stop = (_hull(bound, found, sign) for bound, sign in ((loop.start, 1), (loop.stop, -1)))
        index, found[loop.index] = Affine.var(loop.index), (first, stop)
        rows += [Constraint(index - form) for form in bound_forms(loop.start) if form != first]
        rows += [Constraint(form - 1 - index) for form in bound_forms(loop.stop) if form != stop]
    return [found[loop.index] for loop in loops], tuple(rows)


def _hull(bound: Bound, around: Mapping[str, tuple[Affine, Affine]], sign: int) -> Affine:
    """The closest form without the indices of loops around that no value of an end is below, or for -1 above:
    that of the forms which the end is the greatest of, or the least."""
    found: list[Affine] = []
    for form in bound_forms(bound):
        moved = form
        for name, (first, stop) in around.items():
            k = form.coefficient(name)
            moved = moved.substitute({name: first if k * sign > 0 else stop - 1})
        found.append(moved)
    known = [form.constant for form in found if form.is_constant]
    if len(known) < len(found):
        return next(form for form in found if not form.is_constant)
    return Affine.const(max(known) if sign > 0 else min(known))


def nested(loop: For) -> list[For]:
    """A loop and those of its kind that are directly in each other; what is named in between is named in
    the innermost one."""
    loops, own = [loop], set[str]()
    while True:
        *names, last = loops[-1].body
        own |= {item.index for item in names if isinstance(item, At)}
        if not (isinstance(last, For) and last.kind == loop.kind and not last.teams):
            return loops
        ends = (*bound_forms(last.start), *bound_forms(last.stop))
        if not all(isinstance(item, At | Know) for item in names) or any(f.variables & own for f in ends):
            return loops
        loops.append(replace(last, body=(*names, *last.body)))


def trips(ends: tuple[Affine, Affine], step: int) -> Affine:
    """The number of values of a loop."""
    span = ends[1] - ends[0]
    return (span + (step - 1)).floordiv(step) if step > 1 else span


def is_idle_beyond(loop: For) -> bool:
    """Whether the body of a loop does nothing where its index is at the stop or beyond."""
    match loop.body:
        case (If(rows=rows, otherwise=(For(start=start, stop=stop),)),):
            if not isinstance(stop, Affine) or (start, stop) != (Affine.var(loop.index), loop.stop):
                return False
            return implied(stop - 1 - Affine.var(loop.index), rows)
        case _:
            return False


def extent_of(counts: Sequence[Affine], low: BodyLowering, point: ir.InsertionPoint) -> Affine:
    """The product of numbers of values."""
    if all(count.is_constant for count in counts):
        return Affine.const(math.prod(count.constant for count in counts))
    return low.variable(product(low, counts, point))
