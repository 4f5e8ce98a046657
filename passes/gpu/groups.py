"""Reductions that the threads of a warp or a block share: gather form for few elements and long sums.

A thread takes every so many elements along each index; the results of threads are joined by halves
within a warp, through registers, and then warp by warp, through shared memory. That order is fixed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tadc.dialect.mlir import ir
from tadc.lattice.affine import Affine, equals_zero
from tadc.passes.cpu.tile_reductions import Combine, TileReduction
from tadc.passes.maps.reduction_nests import Join
from tadc.passes.maps.scalar_lowering import Scalars

if TYPE_CHECKING:
    from tadc.passes.cpu.tile_body import Context
    from tadc.passes.gpu.kernel import Kernel, ThreadBody


@dataclass
class Group:
    """The threads that compute one element: `number` is that of a thread among them.

    `lanes` has for reductions how many threads are laid along each index, with `size` as their product.
    Where threads of one warp compute different elements, `element` is the number of one in the block.
    """

    kernel: Kernel
    size: int
    number: Affine
    lanes: Mapping[Any, tuple[int, ...]]
    element: Affine | None = None

    @property
    def warp(self) -> int:
        """The threads of a warp."""
        return self.kernel.gpu.warp

    def joined(self, values: Sequence[Any], join: Join, point: Any) -> list[Any]:
        """For each value that of all threads together, in each of them: the same bits everywhere."""
        if self.element is not None:
            return self.of_column(values, join, point)
        values = [self.of_warp(value, join, point) for value in values]
        return values if self.size == self.warp else self.of_block(values, join, point)

    def of_warp(self, value: Any, join: Join, point: Any) -> Any:
        """The values of a warp in one: the upper half to the lower, until one is left, which all take."""
        distance = self.warp // 2
        while distance:
            other = self.shuffled("down", value, distance, point)
            value = join(Scalars(self.kernel.low, point, value.type), value, other)
            distance //= 2
        return self.shuffled("idx", value, 0, point)

    def shuffled(self, mode: str, value: Any, offset: int, point: Any) -> Any:
        """The value of another thread of the warp."""
        low = self.kernel.low
        whole, truth = ir.IntegerType.get_signless(32), ir.IntegerType.get_signless(1)
        numbers: list[Any] = []
        for n in (offset, self.warp):
            attribute = {"value": ir.IntegerAttr.get(whole, n)}
            numbers += low.create("arith.constant", [whole], [], point, attribute).results
        attribute = {"mode": ir.Attribute.parse(f"#gpu<shuffle_mode {mode}>")}
        return low.create("gpu.shuffle", [value.type, truth], [value, *numbers], point, attribute).results[0]

    def of_block(self, values: Sequence[Any], join: Join, point: Any) -> list[Any]:
        """The values of warps in one, in their order."""
        low = self.kernel.low
        warps = self.size // self.warp
        buffer = self.kernel.shared([len(values), warps], values[0].type)
        own = low.affine([self.number.floordiv(self.warp)], point)
        first = low.holds((equals_zero(self.number.mod(self.warp)),), point)

        def keep(inside: Any) -> list[Any]:
            self.store(values, buffer, [own], inside)
            return []

        low.choose(first, [], keep, None, point)
        return self.in_order(buffer, (), values, warps, join, point)

    def of_column(self, values: Sequence[Any], join: Join, point: Any) -> list[Any]:
        """The values of the warps of a block in one, for the element of each of their threads."""
        assert self.element is not None
        low = self.kernel.low
        buffer = self.kernel.shared([len(values), self.size, self.warp], values[0].type)
        place = [low.affine([form], point) for form in (self.number, self.element)]
        self.store(values, buffer, place, point)
        return self.in_order(buffer, place[1:], values, self.size, join, point)

    def store(self, values: Sequence[Any], buffer: Any, place: Sequence[Any], point: Any) -> None:
        """Keep each value at a place of its part of a buffer."""
        low = self.kernel.low
        for number, value in enumerate(values):
            part = low.constant(low.index_type, number, point)
            low.create("memref.store", [], [value, buffer, part, *place], point)

    def in_order(
        self, buffer: Any, place: Sequence[Any], values: Sequence[Any], count: int, join: Join, point: Any
    ) -> list[Any]:
        """For each value the `count` stored ones in one, first to last."""
        kernel, low = self.kernel, self.kernel.low
        kernel.barrier(point)
        totals: list[Any] = []
        for number, value in enumerate(values):
            part = low.constant(low.index_type, number, point)
            total: Any = None
            for step in range(count):
                index = low.constant(low.index_type, step, point)
                one = low.create("memref.load", [value.type], [buffer, part, index, *place], point).results[0]
                total = one if total is None else join(Scalars(low, point, value.type), total, one)
            totals.append(total)
        # The buffer may be written again, in a loop around this.
        kernel.barrier(point)
        return totals


class GroupReduction(TileReduction):
    """The loops of a reduction, of which a thread runs every so many steps."""

    body: ThreadBody

    def __init__(
        self, body: ThreadBody, op: Any, context: Context, group: Group, lanes: tuple[int, ...]
    ) -> None:
        super().__init__(body, op, context)
        self.group, self.lanes = group, dict(zip(self.names, lanes, strict=True))

    def fold(self, combine: Combine, join: Join, start: float, context: Context) -> list[Any]:
        """What is left of `start` after every element, the same in all threads of the group."""
        # What is inside a loop that threads share is run by one thread.
        self.body.group = None
        results = super().fold(combine, join, start, context)
        self.body.group = self.group
        return self.group.joined(results, join, context.point)

    def one_loop(
        self,
        name: str,
        ends: tuple[Any, Any, int],
        carried: list[Any],
        fill: Callable[[Affine, list[Any], Any], list[Any]],
        point: Any,
    ) -> list[Any]:
        """A loop from the first step of this thread, over as many steps as there are threads along it."""
        count = self.lanes[name]
        if count > 1:
            start, stop, _ = ends
            low = self.body.low
            place = self.place(name)
            ends = (low.affine([low.variable(start) + place], point), stop, count)
        return super().one_loop(name, ends, carried, fill, point)

    def place(self, name: str) -> Affine:
        """The position of the thread along an index; the last index runs fastest."""
        number = self.group.number
        for other in reversed(self.names):
            if other == name:
                return number if name == self.names[0] else number.mod(self.lanes[name])
            number = number.floordiv(self.lanes[other])
        raise KeyError(name)


def lanes_along(trips: Sequence[int], threads: int) -> tuple[int, ...]:
    """Threads along each index of a reduction, powers of two: the fewest steps, then most along the last."""
    best: tuple[int, tuple[int, ...]] | None = None
    for lanes in _powers(len(trips), threads):
        steps = 1
        for count, lane in zip(trips, lanes, strict=True):
            steps *= -(-max(count, 1) // lane)
        if best is None or steps < best[0] or (steps == best[0] and lanes[::-1] > best[1][::-1]):
            best = steps, lanes
    assert best is not None
    return best[1]


def _powers(count: int, product: int) -> list[tuple[int, ...]]:
    """All ways to write a power of two as a product of powers of two."""
    if count == 1:
        return [(product,)]
    found: list[tuple[int, ...]] = []
    first = 1
    while first <= product:
        found += [(first, *rest) for rest in _powers(count - 1, product // first)]
        first *= 2
    return found
