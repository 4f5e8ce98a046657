"""What nests become on a GPU: loops that are divided among blocks and threads, and accesses of a thread."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tadc.dialect.mlir import ir
from tadc.lattice.affine import Affine, Constraint
from tadc.passes.gpu.copies import Team
from tadc.passes.gpu.positions import unravel
from tadc.passes.gpu.run_stores import RunStores
from tadc.passes.gpu.staged_folds import StagedFold, copied_first
from tadc.passes.gpu.thread_lanes import ThreadLanes
from tadc.passes.maps.buffers import product
from tadc.passes.maps.lower_body import BodyLowering
from tadc.passes.maps.machine import Gpu
from tadc.passes.maps.map import Block, Fold, Let
from tadc.passes.nest.emit import Scope, Target, emit_body, facts_of
from tadc.passes.nest.fold_kinds import put_results
from tadc.passes.nest.lanes import Lanes
from tadc.passes.nest.lockstep import Context, Lockstep
from tadc.passes.nest.nest import At, Compute, For, Kind, Know
from tadc.passes.nest.primitives.rewriting import bound_forms
from tadc.passes.nest.stores import Place, TileStores


@dataclass(frozen=True)
class Thread(Target):
    """A thread of a kernel, whose code is for a GPU; `function` is its `gpu.func`, `block` the threads of a
    block."""

    gpu: Gpu
    function: ir.Operation
    block: int
    team: Team | None = None

    def lanes(self, low: BodyLowering, width: int) -> Lanes:
        """What makes vectors of a width."""
        return ThreadLanes(low, width)

    def stores(self, compute: Compute, low: BodyLowering, places: list[Place], scope: Scope) -> TileStores:
        """Vectors along copies, where they are aligned."""
        made = super().stores(compute, low, places, scope)
        return RunStores(made.lanes, made.tile, places, made.context, within=made.within)

    def fold(self, body: Lockstep, let: Let, fold: Fold, context: Context) -> None:
        """A reduction whose operands a block copies, or that each thread runs alone."""
        if self.team is None or not fold.takes.steps:
            super().fold(body, let, fold, context)
        else:
            put_results(StagedFold(body, let, fold, context, self.team))

    def shared(self, compute: Compute, body: Lockstep, context: Context) -> tuple[Lockstep, Block]:
        """Copy what the threads of a block share; what then computes a block, and the block over that."""
        if self.team is None or not compute.shared:
            return body, compute.block
        return copied_first(self.team, body, compute.block, compute.shared, context)

    def registers(self, low: BodyLowering) -> tuple[Affine, Affine]:
        """The number of a thread in its block, and that of the block."""
        attribute = {"dimension": ir.Attribute.parse("#gpu<dim x>")}
        start = ir.InsertionPoint.at_block_begin(self.function.regions[0].blocks[0])
        thread, block = (
            low.variable(low.create(name, [low.index_type], [], start, attribute).results[0])
            for name in ("gpu.thread_id", "gpu.block_id")
        )
        return thread, block

    def divided(self, loop: For, low: BodyLowering, scope: Scope) -> None:
        """Loops directly in each other whose points are numbered, the innermost loop's fastest; each number
        goes to one thread of the grid."""
        loops, ends = _nested(loop), list[tuple[Affine, Affine]]()
        counts: list[Affine] = []
        for one in loops:
            start, stop = one.start, one.stop
            assert isinstance(start, Affine)
            assert isinstance(stop, Affine)
            ends.append((scope.form(start), scope.form(stop)))
            counts.append(trips(ends[-1], one.step))
        number = self.number(loop.kind, low, scope)
        total = extent_of(counts, low, scope.point)

        whole = self.is_whole(loop.kind, total)

        def point(inside: Any) -> list[Any]:
            inner = replace(scope, point=inside)
            places = unravel(number, counts, low, inside)
            if whole and loop.kind == "thread":
                ranges = {
                    name: n.constant
                    for place, n in zip(places, counts, strict=True)
                    for name in place.variables
                }
                team = Team(self.gpu, self.function, self.block, number, ranges)
                inner = replace(inner, target=replace(self, team=team))
            for one, place, count, (start, stop) in zip(loops, places, counts, ends, strict=True):
                index = start + place * one.step
                inner = inner.naming(one.index, index).knowing(
                    Constraint(place), Constraint(count - 1 - place)
                )
                inner = inner.knowing(*facts_of(one, index, (start, stop), scope))
            emit_body(loops[-1].body, low, inner)
            return []

        if whole:
            point(scope.point)
        else:
            rows = (Constraint(total - 1 - number),)
            low.choose(low.holds(rows, scope.point), [], point, None, scope.point)

    def number(self, kind: Kind, low: BodyLowering, scope: Scope) -> Affine:
        """The number of a thread among those that a loop is divided among."""
        thread, block = self.registers(low)
        form = {"grid": block * self.block + thread, "block": block, "thread": thread}[kind]
        return low.variable(low.affine([form], scope.point))

    def is_whole(self, kind: Kind, total: Affine) -> bool:
        """Whether every thread has a point; a block always has one."""
        if kind == "block":
            return True
        return total.is_constant and total.constant > 0 and total.constant % self.block == 0


def _nested(loop: For) -> list[For]:
    """A loop and those of its kind that are directly in each other; what is named in between is named in
    the innermost one."""
    loops, own = [loop], {loop.index}
    while True:
        *names, last = loops[-1].body
        own |= {item.index for item in names if isinstance(item, At)}
        if not (isinstance(last, For) and last.kind == loop.kind):
            return loops
        ends = (*bound_forms(last.start), *bound_forms(last.stop))
        if not all(isinstance(item, At | Know) for item in names) or any(f.variables & own for f in ends):
            return loops
        loops.append(replace(last, body=(*names, *last.body)))
        own.add(last.index)


def trips(ends: tuple[Affine, Affine], step: int) -> Affine:
    """The number of values of a loop."""
    span = ends[1] - ends[0]
    return (span + (step - 1)).floordiv(step) if step > 1 else span


def extent_of(counts: Sequence[Affine], low: BodyLowering, point: Any) -> Affine:
    """The product of numbers of values."""
    if all(count.is_constant for count in counts):
        return Affine.const(math.prod(count.constant for count in counts))
    return low.variable(product(low, counts, point))
