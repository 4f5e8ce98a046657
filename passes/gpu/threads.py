"""What nests become on a GPU: loops that are divided among blocks and threads, and accesses of a thread."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd
from typing import Any

from tadc.dialect.mlir import ir
from tadc.lattice.affine import Affine, Constraint
from tadc.passes.maps.buffers import product
from tadc.passes.maps.lower_body import BodyLowering
from tadc.passes.maps.machine import Gpu
from tadc.passes.maps.tile_values import LANE
from tadc.passes.nest.emit import Scope, Target, emit_body, facts_of
from tadc.passes.nest.lanes import Lanes
from tadc.passes.nest.nest import For, Kind


@dataclass(frozen=True)
class ThreadLanes(Lanes):
    """Lanes of one thread: a load of consecutive elements that are aligned is one instruction."""

    def aligned(self, made: Any, buffer: Any, forms: Sequence[Affine]) -> Any:
        """Note on an access that its address is aligned, if that is proven."""
        strides, _ = buffer.type.get_strides_and_offset()
        dynamic = ir.ShapedType.get_dynamic_stride_or_offset()
        offset = 0
        for form, stride in zip(forms, strides, strict=True):
            first = form.substitute({LANE: Affine.const(0)})
            offset = gcd(offset, divisor(first) * (1 if stride == dynamic else stride))
        if offset % self.width == 0:
            number = ir.IntegerType.get_signless(64, self.low.context)
            size = self.width * (buffer.type.element_type.width // 8)
            made.attributes["alignment"] = ir.IntegerAttr.get(number, size)
        return made

    def loaded_run(self, vector: Any, operands: Sequence[Any], forms: Sequence[Affine], point: Any) -> Any:
        """A `vector.load`."""
        made = super().loaded_run(vector, operands, forms, point)
        return self.aligned(made.owner, operands[0], forms).results[0]

    def store_run(
        self, vector: Any, buffer: Any, forms: Sequence[Affine], point: Any, line: int | None = None
    ) -> None:
        """A `vector.store`; lines are the hardware's affair."""
        first = {LANE: Affine.const(0)}
        indices = [self.low.affine([form.substitute(first)], point) for form in forms]
        made = self.low.create("vector.store", [], [vector, buffer, *indices], point)
        self.aligned(made, buffer, forms)


def divisor(form: Affine) -> int:
    """A number that divides all values of a form; 0 if that is 0."""
    total = form.constant
    for _, k in form.terms:
        total = gcd(total, k)
    return total


@dataclass(frozen=True)
class Thread(Target):
    """A thread of a kernel, whose code is for a GPU; `function` is its `gpu.func`, `block` the threads of a
    block."""

    gpu: Gpu
    function: Any
    block: int

    def lanes(self, low: BodyLowering, width: int) -> Lanes:
        """What makes vectors of a width."""
        return ThreadLanes(low, width)

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

        def point(inside: Any) -> list[Any]:
            inner = replace(scope, point=inside)
            places = unravel(number, counts, low, inside)
            for one, place, (start, stop) in zip(loops, places, ends, strict=True):
                index = start + place * one.step
                inner = inner.naming(one.index, index)
                inner = inner.knowing(*facts_of(one, index, (start, stop), scope))
            emit_body(loops[-1].body, low, inner)
            return []

        if self.is_whole(loop.kind, total):
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
        """Whether every thread has a point."""
        return total.is_constant and total.constant > 0 and total.constant % self.block == 0


def _nested(loop: For) -> list[For]:
    """A loop and those of its kind that are directly in each other."""
    loops = [loop]
    while (
        len(loops[-1].body) == 1 and isinstance(inner := loops[-1].body[0], For) and inner.kind == loop.kind
    ):
        loops.append(inner)
    return loops


def trips(ends: tuple[Affine, Affine], step: int) -> Affine:
    """The number of values of a loop."""
    span = ends[1] - ends[0]
    return (span + (step - 1)).floordiv(step) if step > 1 else span


def extent_of(counts: Sequence[Affine], low: BodyLowering, point: Any) -> Affine:
    """The product of numbers of values."""
    if all(count.is_constant for count in counts):
        return Affine.const(math.prod(count.constant for count in counts))
    return low.variable(product(low, counts, point))


def unravel(flat: Affine, shape: Sequence[Affine], low: BodyLowering, point: Any) -> list[Affine]:
    """The indices of a row-major position."""
    if all(extent.is_constant for extent in shape):
        forms = _static(flat, [extent.constant for extent in shape])
        return [form if form.is_linear else low.variable(low.affine([form], point)) for form in forms]
    indices: list[Affine] = []
    left = low.affine([flat], point)
    for extent in reversed(shape[1:]):
        operands = [left, low.affine([extent], point)]
        left, rest = (
            low.create(f"arith.{name}", [low.index_type], operands, point).results[0]
            for name in ("divui", "remui")
        )
        indices.append(low.variable(rest))
    return [low.variable(left), *reversed(indices)] if shape else []


def _static(flat: Affine, shape: Sequence[int]) -> list[Affine]:
    """The same as forms, for extents that are known."""
    forms: list[Affine] = []
    stride = math.prod(shape)
    for size in shape:
        stride //= max(size, 1)
        index = flat.floordiv(max(stride, 1))
        forms.append(index.mod(max(size, 1)) if forms else index)
    return forms
