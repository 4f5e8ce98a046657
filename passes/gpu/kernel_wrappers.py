"""Functions of tensors that launch kernels: what a host calls is what it was.

func.func @f(%x: tensor<8xf64>) -> tensor<12xf64> {
  %0 = bufferization.to_buffer %x read_only : tensor<8xf64> to memref<8xf64>
  %1 = gpu.alloc () : memref<8xf64>
  gpu.memcpy %1, %0 : memref<8xf64>, memref<8xf64>
  %2 = gpu.alloc () : memref<12xf64>
  gpu.launch_func @tad_f::@tad_f_0 blocks in (%c1, %c1, %c1) threads in (%c256, %c1, %c1) args(%1, %2)
  %3 = memref.alloc() : memref<12xf64>
  gpu.memcpy %3, %2 : memref<12xf64>, memref<12xf64>
  gpu.dealloc …
  return …
}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from tadc.dialect.mlir import ir
from tadc.lattice.affine import ZERO, Affine, Constraint
from tadc.passes.gpu.launch import Launch
from tadc.passes.maps.map import MapFunction
from tadc.passes.maps.memory_of_tensors import Memory
from tadc.passes.maps.size_tests import SizeTest
from tadc.passes.wrappers import BufferWrapper

_DIMENSIONS = 3


def wrap_kernels(
    function: ir.Operation, maps: MapFunction, memory: Memory, launches: Sequence[Launch], kernels: str
) -> None:
    """Have a function of tensors launch its kernels, which are in the `gpu.module` called `kernels`.

    Arrays are copied to the GPU, results back; what is in between is there alone.
    """
    wrapper = _LaunchWrapper(function)
    forms = dict(zip(maps.sizes, wrapper.forms, strict=True))
    wrapper.expect_shapes(memory.arguments, forms)
    rooms = [wrapper.room(tensor, forms, "gpu.alloc") for tensor in memory.tensors]
    for room, tensor in zip(rooms, wrapper.tensors, strict=False):
        given = wrapper.buffer_of(tensor)
        wrapper.copy(room, wrapper.as_type(given, room.type))
    passed = [wrapper.passed(room, tensor) for room, tensor in zip(rooms, memory.tensors, strict=True)]
    for launch in launches:
        wrapper.launch(launch, f"@{kernels}::@{launch.kernel}", [passed[n] for n in launch.buffers])
    results: list[ir.Value] = []
    for tensor, room in zip(memory.results, rooms[len(memory.arguments) :], strict=False):
        results.append(wrapper.room(tensor, forms))
        wrapper.copy(results[-1], room)
    for room in rooms:
        wrapper.made("gpu.dealloc", [], [room])
    wrapper.finish([wrapper.tensor_of(b, t) for b, t in zip(results, wrapper.results, strict=True)])


class _LaunchWrapper(BufferWrapper):
    """A wrapper that launches kernels."""

    def copy(self, to: ir.Value, source: ir.Value) -> None:
        """Copy a buffer between the host and the GPU."""
        self.made("gpu.memcpy", [], [to, source])

    def as_type(self, buffer: ir.Value, type: ir.Type) -> ir.Value:
        """A buffer as one of another type, of which more or less is known."""
        return buffer if buffer.type == type else self.made("memref.cast", [type], [buffer])[0]

    def product(self, extents: Sequence[Affine]) -> Affine:
        """The product of extents over sizes, 0 where one is below 1."""
        names = {f"s{n}": form for n, form in enumerate(self.forms)}
        found = Affine.const(1)
        for extent in extents:
            form = self.extreme("affine.max", [extent.substitute(names), ZERO], self.point)
            if found.is_constant:
                found = form * found.constant
            elif form.is_constant:
                found *= form.constant
            else:
                factors = [self.affine([each], self.point) for each in (found, form)]
                found = self.variable(self.made("arith.muli", [self.index_type], factors)[0])
        return found

    def rows(self, tests: Sequence[SizeTest]) -> list[Constraint]:
        """What tests of sizes say."""
        found: list[Constraint] = []
        for test in tests:
            count = self.product(test.extents)
            found.append(Constraint(count - test.least))
            if test.most is not None:
                found.append(Constraint(test.most - count))
        return found

    def launch(self, launch: Launch, kernel: str, buffers: Sequence[ir.Value]) -> None:
        """Launch a kernel where it applies, as often as it says."""
        each = [(self.product(axis.extents) + axis.each - 1).floordiv(axis.each) for axis in launch.grid]
        grid = [*each, *[Affine.const(1)] * (_DIMENSIONS - len(each))]
        rows = [*self.rows(launch.when), *(Constraint(blocks - 1) for blocks in grid)]
        others = [self.rows(tests) for tests in launch.unless]
        if any(_never(row) for row in rows) or any(all(map(_always, other)) for other in others):
            return
        applies = [row for row in rows if not _always(row)]
        others = [other for other in others if not any(map(_never, other))]
        go = partial(self._turns, launch, kernel, buffers, grid)
        if not applies and not others:
            go()
            return
        condition = self.holds(tuple(applies), self.point)
        for other in others:
            yes, another = self.constant(condition.type, 1, self.point), self.holds(tuple(other), self.point)
            no = self.made("arith.xori", [condition.type], [another, yes])[0]
            condition = self.made("arith.andi", [condition.type], [condition, no])[0]
        self.choose(condition, [], partial(self._inside, go), None, self.point)

    def _inside(self, fill: Callable[[], None], point: ir.InsertionPoint) -> list[ir.Value]:
        outside, self.point = self.point, point
        fill()
        self.point = outside
        return []

    def _turns(
        self, launch: Launch, kernel: str, buffers: Sequence[ir.Value], grid: Sequence[Affine]
    ) -> None:
        once = partial(self._launch, launch, kernel, buffers, grid)
        if not launch.steps:
            once()
            return
        turns = self.affine([self.product(launch.steps)], self.point)

        def turn(number: Affine, _: list[ir.Value], point: ir.InsertionPoint) -> list[ir.Value]:
            return self._inside(lambda: once(number), point)

        self.loop("turn", (self.index(0, self.point), turns, 1), [], turn, self.point)

    def _launch(
        self,
        launch: Launch,
        kernel: str,
        buffers: Sequence[ir.Value],
        grid: Sequence[Affine],
        number: Affine | None = None,
    ) -> None:
        shape = [*grid, *map(Affine.const, launch.block)]
        numbers = [] if number is None else [self.affine([number], self.point)]
        given = [*buffers, *self.sizes, *numbers]
        attributes: Mapping[str, ir.Attribute] = {
            "kernel": ir.Attribute.parse(kernel, self.context),
            # Dependencies, blocks, threads, clusters, shared memory, arguments, the token of another.
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get(
                [0, *[1] * 2 * _DIMENSIONS, *[0] * _DIMENSIONS, 0, len(given), 0], self.context
            ),
        }
        operands = [self.affine([form], self.point) for form in shape]
        self.made("gpu.launch_func", [], [*operands, *given], **attributes)


def _always(row: Constraint) -> bool:
    return row.form.is_constant and row.holds({})


def _never(row: Constraint) -> bool:
    return row.form.is_constant and not row.holds({})
