"""Accesses of one thread of a GPU: what is consecutive and aligned is one instruction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import gcd

from tadc.dialect.mlir import ir
from tadc.lattice.affine import ZERO, Affine
from tadc.lattice.late_dataclasses import dataclass
from tadc.passes.gpu.occupancy import VECTOR_BYTES
from tadc.passes.maps.lower_body import BodyLowering
from tadc.passes.nest.caches import element_bytes
from tadc.passes.nest.tile import LANE, Copy, Tile, at
from tadc.passes.nest.vector_lanes import Lanes, last_stride


@dataclass(frozen=True)
class ThreadLanes(Lanes):
    """Lanes of one thread: a load of consecutive elements that are aligned is one instruction."""

    def aligned(self, made: ir.Operation, buffer: ir.Value, forms: Sequence[Affine]) -> ir.Operation:
        """Note on an access that its address is aligned, if that is proven."""
        first = [form.substitute({LANE: ZERO}) for form in forms]
        if place_divisor(buffer, first) % self.width == 0:
            number = ir.IntegerType.get_signless(64, self.low.context)
            size = self.width * (buffer.type.element_type.width // 8)
            made.attributes["alignment"] = ir.IntegerAttr.get(number, size)
        return made

    def loaded_run(
        self, vector: ir.Type, operands: Sequence[ir.Value], forms: Sequence[Affine], point: ir.InsertionPoint
    ) -> ir.Value:
        """A `vector.load`."""
        made = super().loaded_run(vector, operands, forms, point)
        return self.aligned(made.owner, operands[0], forms).results[0]

    def store(
        self, value: ir.Value, buffer: ir.Value, forms: Sequence[Affine], point: ir.InsertionPoint
    ) -> None:
        """Lanes that are apart in memory are stored one by one."""
        if not any(LANE in form.variables for form in forms) or last_stride(forms) == 1:
            super().store(value, buffer, forms, point)
            return
        value = self.spread(value, point)
        for lane in range(self.width):
            here = [form.substitute({LANE: Affine.const(lane)}) for form in forms]
            super().store(element(self.low, value, lane, point), buffer, here, point)

    def store_run(
        self,
        vector: ir.Value,
        buffer: ir.Value,
        forms: Sequence[Affine],
        point: ir.InsertionPoint,
        line: int | None = None,
    ) -> None:
        """A `vector.store`; lines are the hardware's affair."""
        first = {LANE: Affine.const(0)}
        indices = [self.low.affine([form.substitute(first)], point) for form in forms]
        made = self.low.create("vector.store", [], [vector, buffer, *indices], point)
        self.aligned(made, buffer, forms)

    def held(
        self, buffer: ir.Value, forms: Sequence[Affine], tile: Tile, point: ir.InsertionPoint
    ) -> Callable[[Copy], ir.Value]:
        """Vectors along copies whose elements are consecutive, and start aligned."""
        name = run_of(buffer, forms, tile.copies)
        if name is None:
            return super().held(buffer, forms, tile, point)
        wide, loaded = ThreadLanes(self.low, tile.copies[name]), dict[tuple[int, ...], ir.Value]()

        def load(copy: Copy) -> ir.Value:
            first = {**copy, name: 0}
            key = tuple(first.values())
            if key not in loaded:
                place = [at(form, first) for form in forms]
                loaded[key] = wide.load(buffer, [*place[:-1], place[-1] + Affine.var(LANE)], None, point)
            return element(self.low, loaded[key], copy[name], point)

        return load


def run_of(buffer: ir.Value, forms: Sequence[Affine], copies: Mapping[str, int]) -> str | None:
    """The variable of copies along which elements at subscripts are consecutive, all of them a vector that
    starts aligned."""
    *others, last = forms or [ZERO]
    strides, _ = buffer.type.get_strides_and_offset()
    if not strides or strides[-1] != 1:
        return None
    for name, count in copies.items():
        rest = last - Affine.var(name)
        if count == 1 or any(name in form.variables for form in (*others, rest)):
            continue
        if count & (count - 1) or count * element_bytes(buffer.type) > VECTOR_BYTES:
            continue
        if place_divisor(buffer, [*others, rest]) % count == 0:
            return name
    return None


def place_divisor(buffer: ir.Value, forms: Sequence[Affine]) -> int:
    """A number that divides how far from the start of a buffer an element is; 0 if that is 0."""
    strides, total = buffer.type.get_strides_and_offset()
    dynamic = ir.ShapedType.get_dynamic_stride_or_offset()
    total = 1 if total == dynamic else total
    for form, stride in zip(forms, strides, strict=True):
        total = gcd(total, divisor(form) * (1 if stride == dynamic else stride))
    return total


def element(low: BodyLowering, vector: ir.Value, number: int, point: ir.InsertionPoint) -> ir.Value:
    """An element of a vector."""
    static = {"static_position": ir.DenseI64ArrayAttr.get([number])}
    return low.create("vector.extract", [vector.type.element_type], [vector], point, static).results[0]


def divisor(form: Affine) -> int:
    """A number that divides all values of a form; 0 if that is 0."""
    total = form.constant
    for _, k in form.terms:
        total = gcd(total, k)
    return total
