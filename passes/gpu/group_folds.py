"""Reductions that the threads of a warp or a block share: for few elements and long sums.

A thread takes every so many values of each index; the results of threads are joined by halves within a warp,
through registers, and then warp by warp, through shared memory. That order is fixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tadc.dialect.mlir import ir
from tadc.lattice.affine import Affine, equals_zero
from tadc.passes.gpu.block_memory import shared_buffer
from tadc.passes.maps.lower_body import BodyLowering
from tadc.passes.maps.map import Fold, Let, Takes
from tadc.passes.maps.scalar_lowering import Scalars
from tadc.passes.nest.fold_loops import Combine, Fill, FoldLoops
from tadc.passes.nest.joins import Join
from tadc.passes.nest.lockstep import Context, Lockstep


@dataclass(frozen=True)
class Group:
    """The threads that compute an element: `number` is that of a thread among them.

    Where they are apart, `column` is the number of their element among those that a warp has, of which there
    are `columns`.
    """

    low: BodyLowering
    function: ir.Operation
    takes: Takes
    number: Affine
    column: Affine | None = None
    columns: int = 1

    def joined(self, values: Sequence[ir.Value], join: Join, point: ir.InsertionPoint) -> list[ir.Value]:
        """For each value that of all threads together, in each of them: the same bits everywhere."""
        if self.column is not None:
            place = [self.low.affine([form], point) for form in (self.number, self.column)]
            buffer = self.shared([len(values), self.takes.together, self.columns], values[0].type)
            self.store(values, buffer, place, point)
            return self.in_order(buffer, place[1:], values, self.takes.together, join, point)
        values = [self.of_warp(value, join, point) for value in values]
        warps = self.takes.together // self.takes.warp
        return self.of_block(values, warps, join, point) if warps > 1 else values

    def of_warp(self, value: ir.Value, join: Join, point: ir.InsertionPoint) -> ir.Value:
        """The values of a warp in one: the upper half to the lower, until one is left, which all take."""
        distance = self.takes.warp // 2
        while distance:
            other = self.shuffled("down", value, distance, point)
            value = join(Scalars(self.low, point, value.type), value, other)
            distance //= 2
        return self.shuffled("idx", value, 0, point)

    def shuffled(self, mode: str, value: ir.Value, offset: int, point: ir.InsertionPoint) -> ir.Value:
        """The value of another thread of the warp."""
        whole, truth = ir.IntegerType.get_signless(32), ir.IntegerType.get_signless(1)
        numbers: list[ir.Value] = []
        for n in (offset, self.takes.warp):
            attribute = {"value": ir.IntegerAttr.get(whole, n)}
            numbers += self.low.create("arith.constant", [whole], [], point, attribute).results
        attribute = {"mode": ir.Attribute.parse(f"#gpu<shuffle_mode {mode}>")}
        made = self.low.create("gpu.shuffle", [value.type, truth], [value, *numbers], point, attribute)
        return made.results[0]

    def of_block(
        self, values: Sequence[ir.Value], warps: int, join: Join, point: ir.InsertionPoint
    ) -> list[ir.Value]:
        """The values of warps in one, in their order."""
        low, warp = self.low, self.takes.warp
        buffer = self.shared([len(values), warps], values[0].type)
        own = low.affine([self.number.floordiv(warp)], point)
        first = low.holds((equals_zero(self.number.mod(warp)),), point)

        def keep(inside: ir.InsertionPoint) -> list[ir.Value]:
            self.store(values, buffer, [own], inside)
            return []

        low.choose(first, [], keep, None, point)
        return self.in_order(buffer, (), values, warps, join, point)

    def shared(self, shape: Sequence[int], element: ir.Type) -> ir.Value:
        """Memory for values of the threads of a block."""
        return shared_buffer(self.function, shape, element)

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
        low = self.low
        low.create("gpu.barrier", [], [], point)
        totals: list[ir.Value] = []
        for number, value in enumerate(values):
            part = low.index(number, point)
            found: list[ir.Value] = []
            for step in range(count):
                operands = [buffer, part, low.index(step, point), *place]
                one = low.create("memref.load", [value.type], operands, point).results[0]
                found = [join(Scalars(low, point, value.type), found[0], one) if found else one]
            totals += found
        # The buffer may be written again, in a loop around this.
        low.create("gpu.barrier", [], [], point)
        return totals


class GroupFold(FoldLoops):
    """The loops of a reduction, of which a thread runs every so many steps."""

    def __init__(self, body: Lockstep, let: Let, fold: Fold, context: Context, group: Group) -> None:
        super().__init__(body, let, fold, context)
        self.group = group

    def fold(self, combine: Combine, join: Join, start: float) -> list[ir.Value]:
        """What is left of `start` after every element, the same in all threads of the group."""
        return self.group.joined(super().fold(combine, join, start), join, self.context.point)

    def one_loop(
        self,
        name: str,
        ends: tuple[ir.Value, ir.Value, int],
        carried: list[ir.Value],
        fill: Fill,
        point: ir.InsertionPoint,
    ) -> list[ir.Value]:
        """A loop from the first step of this thread, over as many steps as there are threads along it."""
        place, count = self.place(self.names.index(name))
        if count > 1:
            low = self.body.low
            ends = (low.affine([low.variable(ends[0]) + place], point), ends[1], count)
        return super().one_loop(name, ends, carried, fill, point)

    def place(self, along: int) -> tuple[Affine, int]:
        """The position of the thread along an index, and the threads there; the last index runs fastest."""
        threads, number = self.value.takes.threads, self.group.number
        for count in threads[:along:-1]:
            number = number.floordiv(count)
        return number.mod(threads[along]) if along else number, threads[along]
