"""Values that differ between the lanes of a vector: arithmetic, loads and stores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tadc.dialect.index_reader import maker
from tadc.dialect.mlir import ir
from tadc.lattice.affine import ZERO, Affine, Floor, Lookup
from tadc.lattice.late_dataclasses import dataclass
from tadc.passes.maps.scalar_lowering import Scalars
from tadc.passes.nest.joins import Join, Made, Point
from tadc.passes.nest.lane_indices import LaneIndices, is_vector
from tadc.passes.nest.shuffles import shuffled
from tadc.passes.nest.tile import LANE, Copy, Tile, at, without


@dataclass(frozen=True)
class Lanes(LaneIndices):
    """Makes vectors of one width, and moves them to and from memory."""

    # -- plain vectors -------------------------------------------------------------------------

    def folded(self, vector: ir.Value, join: Join, point: Point) -> ir.Value:
        """All lanes joined: the upper half to the lower, until one is left."""
        element = vector.type.element_type
        width = self.width
        while width > 1:
            width //= 2
            type = ir.VectorType.get([width], element)
            halves = [
                shuffled(self.low, vector, vector, range(first, first + width), point) for first in (0, width)
            ]
            vector = join(Scalars(self.low, point, type), *halves)
        static = {"static_position": ir.DenseI64ArrayAttr.get([0])}
        return self.make("vector.extract", element, [vector], point, static)

    def operation(
        self,
        name: str,
        scalar: ir.Type,
        operands: Sequence[ir.Value],
        point: Point,
        attributes: dict[str, ir.Attribute] | None = None,
    ) -> ir.Value:
        """An upstream operation that gives a scalar type, over scalars, or in each lane."""
        values = self.together(operands, point)
        result = self.type(scalar) if values and is_vector(values[0]) else scalar
        return self.make(name, result, values, point, attributes)

    # -- memory --------------------------------------------------------------------------------

    def load(
        self, buffer: ir.Value, forms: Sequence[Affine], mask: ir.Value | None, point: Point
    ) -> ir.Value:
        """Elements of a buffer at subscripts; nothing is read in lanes where the mask does not hold."""
        if not any(LANE in form.variables for form in forms):
            return self._one(buffer, forms, mask, point)
        vector = self.type(buffer.type.element_type)
        stride = last_stride(forms)
        if stride in (1, -1):
            return self._run(buffer, forms, stride, mask, point)
        base, offsets = self._addresses(buffer, forms, point, checked=mask is not None)
        mask = self._all(point) if mask is None else self.spread(mask, point)
        zero = self.low.constant(vector, 0.0, point)
        return self.make("vector.gather", vector, [buffer, *base, offsets, mask, zero], point)

    def held(
        self, buffer: ir.Value, forms: Sequence[Affine], tile: Tile, point: Point
    ) -> Callable[[Copy], ir.Value]:
        """A function that loads from a buffer that has an element for each point of a tile, active or not."""
        return lambda copy: self.load(buffer, [at(form, copy) for form in forms], None, point)

    def _one(
        self, buffer: ir.Value, forms: Sequence[Affine], mask: ir.Value | None, point: Point
    ) -> ir.Value:
        """One element; where no lane reads it, the first of the buffer, which then has some."""
        indices = self._place(forms, point, checked=mask is not None)
        if mask is not None and indices:
            indices = self._wanted(indices, self.any([mask], point), point)
        return self.make("memref.load", buffer.type.element_type, [buffer, *indices], point)

    def _wanted(self, indices: Made, asked: ir.Value, point: Point) -> Made:
        """Subscripts of what is read where this holds; of the first element elsewhere."""
        zero = self.low.index(0, point)
        return [self.make("arith.select", zero.type, [asked, i, zero], point) for i in indices]

    def _run(
        self, buffer: ir.Value, forms: Sequence[Affine], stride: int, mask: ir.Value | None, point: Point
    ) -> ir.Value:
        """Consecutive elements, reversed for a stride of -1."""
        vector = self.type(buffer.type.element_type)
        first = 0 if stride == 1 else self.width - 1
        indices = self._place(forms, point, first, checked=mask is not None)
        if mask is not None:
            # A load whose lanes are all masked reads nothing, but where its page is not mapped, as before an
            # array and after it, a processor takes hundreds of cycles to find out. Few rows are next to one.
            rows, asked = slice(max(len(indices) - 2, 0), max(len(indices) - 1, 1)), shared(mask)
            if asked is not None:
                indices[rows] = self._wanted(indices[rows], asked, point)
            zero = self.low.constant(vector, 0.0, point)
            operands = [buffer, *indices, self._along(self.spread(mask, point), stride, point), zero]
            made = self.make("vector.maskedload", vector, operands, point)
        else:
            made = self.loaded_run(vector, [buffer, *indices], forms, point)
        return self._along(made, stride, point)

    def _along(self, vector: ir.Value, stride: int, point: Point) -> ir.Value:
        """A vector of what lanes have, in the order of memory, or the other way round."""
        if stride == 1:
            return vector
        return shuffled(self.low, vector, vector, range(self.width - 1, -1, -1), point)

    def load_run(
        self, buffer: ir.Value, forms: Sequence[Affine], mask: ir.Value | None, point: Point
    ) -> ir.Value:
        """Consecutive elements, which are there wherever the mask holds."""
        vector, operands = self.type(buffer.type.element_type), [buffer, *self._place(forms, point)]
        if mask is None:
            return self.loaded_run(vector, operands, forms, point)
        zero = self.low.constant(vector, 0.0, point)
        return self.make("vector.maskedload", vector, [*operands, mask, zero], point)

    def loaded_run(
        self, vector: ir.Type, operands: Sequence[ir.Value], forms: Sequence[Affine], point: Point
    ) -> ir.Value:
        """Consecutive elements of a buffer from an element on, whose subscripts have these forms."""
        return self.make("vector.load", vector, operands, point)

    def prefetch(self, buffer: ir.Value, forms: Sequence[Affine], point: Point) -> None:
        """Ask for the line of an element, that of the first lane; it may be outside of the buffer."""
        indices = self._place(forms, point, checked=True)
        true = ir.BoolAttr.get(True)
        hint = ir.IntegerAttr.get(ir.IntegerType.get_signless(32, self.low.context), 3)
        attributes = {"isWrite": ir.BoolAttr.get(False), "localityHint": hint, "isDataCache": true}
        self.low.create("memref.prefetch", [], [buffer, *indices], point, attributes)

    def store(self, value: ir.Value, buffer: ir.Value, forms: Sequence[Affine], point: Point) -> None:
        """Store a value at subscripts, in each lane where they move with the lane."""
        if not any(LANE in form.variables for form in forms):
            self.low.create("memref.store", [], [value, buffer, *self._place(forms, point)], point)
            return
        value = self.spread(value, point)
        if last_stride(forms) == 1:
            self.store_run(value, buffer, forms, point)
            return
        base, offsets = self._addresses(buffer, forms, point)
        operands = [buffer, *base, offsets, self._all(point), value]
        self.low.create("vector.scatter", [], operands, point)

    def store_run(
        self,
        vector: ir.Value,
        buffer: ir.Value,
        forms: Sequence[Affine],
        point: Point,
        line: int | None = None,
    ) -> None:
        """Store a vector to consecutive elements, the first at the subscripts of the first lane.

        Where a multiple of `line` bytes is there, it goes past the caches.
        """
        made = self.low.create("vector.store", [], [vector, buffer, *self._place(forms, point)], point)
        if line is not None:
            whole = ir.IntegerType.get_signless(64, self.low.context)
            made.attributes["nontemporal"] = ir.BoolAttr.get(True, self.low.context)
            made.attributes["alignment"] = ir.IntegerAttr.get(whole, line)

    def store_first(
        self, count: int, vector: ir.Value, buffer: ir.Value, forms: Sequence[Affine], point: Point
    ) -> None:
        """Store so many elements of a vector to consecutive elements."""
        if count == self.width:
            self.store_run(vector, buffer, forms, point)
            return
        operands = [buffer, *self._place(forms, point), self.first(count, point), vector]
        self.low.create("vector.maskedstore", [], operands, point)

    def interleaved(self, vectors: Sequence[ir.Value], point: Point) -> ir.Value:
        """The elements of vectors in turn: the first of each, then the second of each."""
        if len(vectors) == 1:
            return self.spread(vectors[0], point)
        if len(vectors) % 2:
            return self._shuffled_together(vectors, point)
        even, odd = self.interleaved(vectors[::2], point), self.interleaved(vectors[1::2], point)
        type = ir.VectorType.get([2 * even.type.shape[0]], even.type.element_type)
        return self.make("vector.interleave", type, [even, odd], point)

    def _shuffled_together(self, vectors: Sequence[ir.Value], point: Point) -> ir.Value:
        """The elements of any number of vectors in turn, by one shuffle of all."""
        width = vectors[0].type.shape[0] if is_vector(vectors[0]) else self.width
        whole = self.spread(vectors[0], point)
        for number, vector in enumerate(vectors[1:], 1):
            order = range((number + 1) * width)
            whole = shuffled(self.low, whole, self.spread(vector, point), order, point)
        order = [n % len(vectors) * width + n // len(vectors) for n in range(len(vectors) * width)]
        return shuffled(self.low, whole, whole, order, point)

    def _all(self, point: Point) -> ir.Value:
        return self.true(self.truth, point)

    def _place(self, forms: Sequence[Affine], point: Point, lane: int = 0, *, checked: bool = False) -> Made:
        there = {LANE: Affine.const(lane)}
        return [self.low.affine([form.substitute(there)], point, checked=checked) for form in forms]

    def _addresses(
        self, buffer: ir.Value, forms: Sequence[Affine], point: Point, *, checked: bool = False
    ) -> tuple[Made, ir.Value]:
        """Subscripts that do not move with the lane, and the distance of each lane from there in elements."""
        base: Made = []
        total: Any = None
        for form, stride in zip(forms, self._strides(buffer), strict=True):
            rest = without(form, {LANE})
            base.append(self.low.affine([rest], point, checked=checked))
            moving = form - rest
            if not moving.terms:
                continue
            steps = stride if isinstance(stride, int) else 1
            moved = self.index_vector(moving * steps, point, checked=checked)
            if not isinstance(stride, int):
                moved = self._op("arith.muli", moved, self.spread(stride, point), point)
            total = moved if total is None else self._op("arith.addi", total, moved, point)
        return base, total

    def _strides(self, buffer: ir.Value) -> Made:
        """The strides of a row-major buffer: numbers, or values that sizes give."""
        strides, _ = buffer.type.get_strides_and_offset()
        dynamic = ir.ShapedType.get_dynamic_stride_or_offset()
        if dynamic not in strides:
            return list(strides)
        made = buffer.owner
        made = getattr(made, "operation", made)
        values = iter(list(made.operands)[-sum(s == dynamic for s in strides) :])
        return [next(values) if s == dynamic else s for s in strides]


def shared(mask: ir.Value) -> ir.Value | None:
    """The condition that all lanes share without which a mask holds in none, if it was made of one."""
    if not is_vector(mask):
        return mask
    made = maker(mask, "arith.andi") or maker(mask, "vector.broadcast")
    operands = () if made is None else made.operands
    return next((found for each in operands if (found := shared(each)) is not None), None)


def last_stride(forms: Sequence[Affine]) -> int:
    """How far a lane moves the last subscript, where it moves this one alone, and linearly; else 0."""
    *others, last = forms
    k = last.coefficient(LANE)
    return 0 if any(LANE in form.variables for form in (*others, last - Affine.var(LANE) * k)) else k


def extreme(form: Affine, ranges: Mapping[str, int], sign: int) -> Affine:
    """A form without the variables of ranges 0 to n - 1: no value is below it, for a sign of 1 above it."""
    total = Affine.const(form.constant)
    for atom, k in form.terms:
        upwards = sign * k
        if isinstance(atom, Floor):
            inner = extreme(atom.numerator, ranges, 1 if upwards > 0 else -1)
            total += inner.floordiv(atom.denominator) * k
        elif isinstance(atom, Lookup):
            moves = not atom.variables.isdisjoint(ranges)
            bound = (atom.below - 1 if upwards > 0 else ZERO) if moves else Affine.atom(atom)
            total += bound * k
        elif atom in ranges:
            total += k * (ranges[atom] - 1) if upwards > 0 else 0
        else:
            total += Affine.var(atom) * k
    return total
