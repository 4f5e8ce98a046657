"""Reductions that the threads of a warp or a block share: for few elements and long sums.

A thread takes every so many values of each index; the results of threads are joined by halves within a warp,
through registers, and then warp by warp, through shared memory. That order is fixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce

from tadc.dialect.mlir import ir
from tadc.lattice.affine import Affine, Constraint, equals_zero
from tadc.lattice.late_dataclasses import dataclass
from tadc.passes.gpu.block_memory import shared_buffer
from tadc.passes.maps.lower_body import BodyLowering
from tadc.passes.maps.map import Fold, Let
from tadc.passes.maps.scalar_lowering import Scalars
from tadc.passes.nest.joins import JOIN, Join
from tadc.passes.nest.lockstep import Lockstep, LockstepContext
from tadc.passes.nest.primitives.boxes import row_major


@dataclass(frozen=True)
class Group:
    """The threads that compute an element: `number` is that of a thread among them.

    Where they are apart, `column` is the number of their element among those that a warp has, of which there
    are `columns`.
    """

    low: BodyLowering
    function: ir.Operation
    fold: Fold
    number: Affine
    column: Affine | None = None
    columns: int = 1

    def reduce(self, body: Lockstep, let: Let, context: LockstepContext) -> None:
        """Give the names of the reduction their values: that of the point of this thread, joined."""
        fold, point, forms, rows = self.fold, context.point, dict[str, Affine](), list[Constraint]()
        places = row_major(self.number, fold.counts)
        for index, count, place in zip(fold.indices, fold.counts, places, strict=True):
            forms[index] = self.low.variable(self.low.affine([place], point))
            rows += [Constraint(forms[index]), Constraint(count - 1 - forms[index])]
        body.block(fold.body, context.with_forms(forms).moved(point, *rows))
        copies = list(body.tile.points(body.names(let.names[0], context)))
        values = [body.value(name, copy) for name in fold.body.gives for copy in copies]
        made = self.joined(values, JOIN[fold.kind], point)
        for name in let.names:
            names = body.names(name, context)
            body.values.put(name, names, [made.pop(0) for _ in copies])

    def joined(self, values: Sequence[ir.Value], join: Join, point: ir.InsertionPoint) -> list[ir.Value]:
        """For each value that of all threads together, in each of them: the same bits everywhere."""
        if self.column is not None:
            place = [self.low.affine([form], point) for form in (self.number, self.column)]
            buffer = shared_buffer(
                self.function, [len(values), self.fold.count, self.columns], values[0].type
            )
            self.store(values, buffer, place, point)
            return self.in_order(buffer, place[1:], values, self.fold.count, join, point)
        values = [self.of_warp(value, join, point) for value in values]
        warps = self.fold.count // self.fold.warp
        return self.of_block(values, warps, join, point) if warps > 1 else values

    def of_warp(self, value: ir.Value, join: Join, point: ir.InsertionPoint) -> ir.Value:
        """The values of a warp in one: the upper half to the lower, until one is left, which all take."""
        distance = self.fold.warp // 2
        while distance:
            other = self.shuffled("down", value, distance, point)
            value = join(Scalars(self.low, point, value.type), value, other)
            distance //= 2
        return self.shuffled("idx", value, 0, point)

    def shuffled(self, mode: str, value: ir.Value, offset: int, point: ir.InsertionPoint) -> ir.Value:
        """The value of another thread of the warp."""
        whole, truth = ir.IntegerType.get_signless(32), ir.IntegerType.get_signless(1)
        numbers: list[ir.Value] = []
        for n in (offset, self.fold.warp):
            attribute = {"value": ir.IntegerAttr.get(whole, n)}
            numbers += self.low.create("arith.constant", [whole], [], point, attribute).results
        attribute = {"mode": ir.Attribute.parse(f"#gpu<shuffle_mode {mode}>")}
        made = self.low.create("gpu.shuffle", [value.type, truth], [value, *numbers], point, attribute)
        return made.results[0]

    def of_block(
        self, values: Sequence[ir.Value], warps: int, join: Join, point: ir.InsertionPoint
    ) -> list[ir.Value]:
        """The values of warps in one, in their order."""
        low, warp = self.low, self.fold.warp
        buffer = shared_buffer(self.function, [len(values), warps], values[0].type)
        own = low.affine([self.number.floordiv(warp)], point)
        first = low.holds((equals_zero(self.number.mod(warp)),), point)

        def keep(inside: ir.InsertionPoint) -> list[ir.Value]:
            self.store(values, buffer, [own], inside)
            return []

        low.choose(first, [], keep, None, point)
        return self.in_order(buffer, (), values, warps, join, point)

    def store(
        self,
        values: Sequence[ir.Value],
        buffer: ir.Value,
        place: Sequence[ir.Value],
        point: ir.InsertionPoint,
    ) -> None:
        """Keep each value at a place of its part of a buffer."""
        for number, value in enumerate(values):
            part = self.low.index(number, point)
            self.low.create("memref.store", [], [value, buffer, part, *place], point)

    def in_order(
        self,
        buffer: ir.Value,
        place: Sequence[ir.Value],
        values: Sequence[ir.Value],
        count: int,
        join: Join,
        point: ir.InsertionPoint,
    ) -> list[ir.Value]:
        """For each value the `count` stored ones in one, first to last."""
        low, totals = self.low, list[ir.Value]()
        low.create("gpu.barrier", [], [], point)
        for number, value in enumerate(values):
            part, scalars = low.index(number, point), Scalars(low, point, value.type)
            places = ([buffer, part, low.index(step, point), *place] for step in range(count))
            ones = (low.create("memref.load", [value.type], at, point).results[0] for at in places)
            totals.append(reduce(partial(join, scalars), ones))
        # The buffer may be written again, in a loop around this.
        low.create("gpu.barrier", [], [], point)
        return totals
