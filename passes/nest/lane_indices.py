"""Indices and conditions that differ between the lanes of a vector.

An index form may hold the variable LANE, which runs from 0 to the width less one. A value is a
scalar where its form has no lane in it, and a vector of `width` elements where it has.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from tadc.dialect.mlir import ir
from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine, Constraint, Floor, Lookup
from tadc.lattice.late_dataclasses import dataclass
from tadc.passes.maps.lower_body import PREDICATES, BodyLowering, box_rows
from tadc.passes.nest.joins import Made, Point
from tadc.passes.nest.tile import LANE, without

_FAR = 1 << 30
"""A number of 32 bits beyond what is compared with it."""


def is_vector(value: ir.Value) -> bool:
    """Whether an SSA value is a vector."""
    return isinstance(value.type, ir.VectorType)


@dataclass(frozen=True)
class LaneIndices:
    """Makes vectors of one width from forms, by the builder of scalar code."""

    low: BodyLowering
    width: int

    def make(
        self, name: str, type: ir.Type, operands: Sequence[ir.Value], point: Point,
        attributes: dict[str, ir.Attribute] | None = None,
    ) -> ir.Value:  # fmt: skip
        """The one result of an operation."""
        return self.low.create(name, [type], operands, point, attributes).results[0]

    # -- types and plain vectors ---------------------------------------------------------------

    def type(self, scalar: ir.Type) -> ir.Type:
        """The vector type over a scalar type."""
        return ir.VectorType.get([self.width], scalar)

    @property
    def truth(self) -> ir.Type:
        """The type of a condition by lane."""
        return self.type(ir.IntegerType.get_signless(1, self.low.context))

    def spread(self, value: ir.Value, point: Point) -> ir.Value:
        """A value as a vector: a scalar in all lanes."""
        if is_vector(value):
            return value
        return self.make("vector.broadcast", self.type(value.type), [value], point)

    def spread_to(self, value: ir.Value, type: ir.Type, point: Point) -> ir.Value:
        """A value as a vector where a type is one."""
        return self.spread(value, point) if isinstance(type, ir.VectorType) else value

    def together(self, values: Sequence[ir.Value], point: Point) -> Made:
        """The values, all vectors if one is."""
        if not any(map(is_vector, values)):
            return list(values)
        return [self.spread(value, point) for value in values]

    # -- indices -------------------------------------------------------------------------------

    def index_vector(self, form: Affine, point: Point, *, checked: bool = False) -> ir.Value:
        """The values of a form in the lanes, as a vector of indices.

        Elements of index arrays in it are loaded; `checked`, where a subscript may be out of range.
        """
        rest = without(form, {LANE})
        if rest == Affine.const(0):
            return self._by_lane(form, point, checked)
        start = self.spread(self.low.affine([rest], point, checked=checked), point)
        moving = form - rest
        if not moving.terms:
            return start
        return self._op("arith.addi", start, self._by_lane(moving, point, checked), point)

    def _by_lane(self, form: Affine, point: Point, checked: bool) -> ir.Value:
        """The sum of terms that hold the lane."""
        total: Any = None
        for atom, k in form.terms:
            match atom:
                case Floor():
                    term = self._times(self._floor(atom, point, checked), k, point)
                case Lookup():
                    term = self._times(self._elements_once(atom, point, checked), k, point)
                case _:
                    term = self._numbers([k * lane for lane in range(self.width)], point)
            total = term if total is None else self._op("arith.addi", total, term, point)
        return self._number(0, point) if total is None else total

    def _times(self, vector: ir.Value, k: int, point: Point) -> ir.Value:
        """A multiple of a vector of indices."""
        return vector if k == 1 else self._op("arith.muli", vector, self._number(k, point), point)

    def _elements_once(self, lookup: Lookup, point: Point, checked: bool) -> ir.Value:
        key = lookup, checked, self.width
        found = self.low.once(key, point, lambda: self.elements(lookup, checked, point))
        return self.low.variables[str(found)]

    def elements(self, lookup: Lookup, checked: bool, point: Point) -> ir.Value:
        """The elements of an index array that the lanes have; where they are `checked`, 0 beyond it."""
        array, forms = self.low.arrays[lookup.array], list(lookup.at)
        checked = checked or self.low.checks
        mask = self.holds(box_rows(forms, array.shape), point, checked=True) if checked else None
        found = self.load(array.buffer, forms, mask, point)
        return self.make("arith.index_cast", self.type(self.low.index_type), [found], point)

    def load(
        self, buffer: ir.Value, forms: Sequence[Affine], mask: ir.Value | None, point: Point
    ) -> ir.Value:
        """Elements of a buffer at subscripts; nothing is read in lanes where the mask does not hold."""
        raise NotImplementedError

    def _floor(self, atom: Floor, point: Point, checked: bool) -> ir.Value:
        """A floor division in each lane: `arith.divsi` rounds towards zero."""
        numerator = self.index_vector(atom.numerator, point, checked=checked)
        denominator = self._number(atom.denominator, point)
        quotient = self._op("arith.divsi", numerator, denominator, point)
        rest = self._op("arith.remsi", numerator, denominator, point)
        below = self._compare("slt", rest, self._number(0, point), point)
        one_less = self._op("arith.addi", quotient, self._number(-1, point), point)
        return self.select(below, one_less, quotient, point)

    def _constant(self, type: ir.Type, value: ir.Attribute, point: Point) -> ir.Value:
        return self.make("arith.constant", type, [], point, {"value": value})

    def _numbers(self, values: Sequence[int], point: Point, element: ir.Type | None = None) -> ir.Value:
        """A vector of numbers, of indices where no other type is given."""
        element = element or self.low.index_type
        numbers = [ir.IntegerAttr.get(element, value) for value in values]
        type = self.type(element)
        return self._constant(type, ir.DenseElementsAttr.get(numbers, type), point)

    def _number(self, value: int, point: Point) -> ir.Value:
        return self._numbers([value] * self.width, point)

    def _op(self, name: str, x: ir.Value, y: ir.Value, point: Point) -> ir.Value:
        return self.make(name, x.type, [x, y], point)

    def _compare(self, predicate: str, x: ir.Value, y: ir.Value, point: Point) -> ir.Value:
        number = ir.IntegerAttr.get(ir.IntegerType.get_signless(64, self.low.context), PREDICATES[predicate])
        return self.make("arith.cmpi", self.truth, [x, y], point, {"predicate": number})

    def index(self, form: Affine, point: Point, *, checked: bool = False) -> ir.Value:
        """A form as an index, or as a vector of indices; elements of index arrays `checked` as above."""
        if LANE in form.variables:
            return self.index_vector(form, point, checked=checked)
        return self.low.affine([form], point, checked=checked)

    def as_float(self, form: Affine, type: ir.Type, point: Point, *, checked: bool = False) -> ir.Value:
        """A form as a number of a float type."""
        whole = ir.IntegerType.get_signless(64, self.low.context)
        index = self.index(form, point, checked=checked)
        if is_vector(index):
            whole, type = self.type(whole), self.type(type)
        cast = self.make("arith.index_cast", whole, [index], point)
        return self.make("arith.sitofp", type, [cast], point)

    # -- conditions ----------------------------------------------------------------------------

    def holds(self, rows: Domain, point: Point, *, checked: bool = False) -> ir.Value:
        """Whether all rows hold: an i1, or one for each lane where a row moves with the lane.

        Elements of index arrays are `checked` where points may be beyond what reads them.
        """
        moving = [row for row in rows if LANE in row.form.variables]
        still = tuple(row for row in rows if LANE not in row.form.variables)
        result = self.low.holds(still, point, checked=checked) if still or not moving else None
        for row in moving:
            made = self._in_short(row, point, checked)
            if made is None:
                predicate = "eq" if row.equality else "sge"
                form = self.index_vector(row.form, point, checked=checked)
                made = self._compare(predicate, form, self._number(0, point), point)
            result = self.both(result, made, point)
        assert result is not None  # rows that are not still move
        return result

    def _in_short(self, row: Constraint, point: Point, checked: bool) -> ir.Value | None:
        """A row in numbers of 32 bits; None where that is not possible.

        What moves with the lane is compared with the rest, which all lanes share, and which may as well be
        the least or the greatest number that is out of the reach of what moves.
        """
        k = row.form.coefficient(LANE)
        rest = row.form - Affine.var(LANE) * k - row.form.constant
        numbers = [-(row.form.constant + k * lane) for lane in range(self.width)]
        if LANE in rest.variables or max(map(abs, numbers)) >= _FAR:
            return None
        low, short = self.low, ir.IntegerType.get_signless(32, self.low.context)
        near = low.affine([rest, Affine.const(_FAR)], point, "affine.min", checked=checked)
        near = low.affine([low.variable(near), Affine.const(-_FAR)], point, "affine.max")
        near = self.make("arith.index_cast", short, [near], point)
        least = self._numbers(numbers, point, short)
        return self._compare("eq" if row.equality else "sge", self.spread(near, point), least, point)

    def both(self, x: ir.Value | None, y: ir.Value, point: Point) -> ir.Value:
        """The conjunction of two conditions; None is true."""
        if x is None:
            return y
        x, y = self.together([x, y], point)
        return self._op("arith.andi", x, y, point)

    def negated(self, x: ir.Value, point: Point) -> ir.Value:
        """The opposite of a condition."""
        return self._op("arith.xori", x, self.true(x.type, point), point)

    def true(self, type: ir.Type, point: Point) -> ir.Value:
        """The condition that always holds, by lane where the type is a vector."""
        if isinstance(type, ir.VectorType):
            return self._constant(type, ir.DenseElementsAttr.get_splat(type, ir.BoolAttr.get(True)), point)
        return self._constant(type, ir.IntegerAttr.get(type, 1), point)

    def first(self, count: int, point: Point) -> ir.Value:
        """The condition that holds in so many lanes, the first."""
        bits = [ir.BoolAttr.get(n < count) for n in range(self.width)]
        return self._constant(self.truth, ir.DenseElementsAttr.get(bits, self.truth), point)

    def any(self, conditions: Sequence[ir.Value], point: Point) -> ir.Value:
        """Whether one of some conditions holds in some lane, as an i1."""
        scalars = [c for c in conditions if not is_vector(c)]
        vectors = [c for c in conditions if is_vector(c)]

        def joined(values: Sequence[ir.Value]) -> ir.Value:
            return reduce(lambda x, y: self._op("arith.ori", x, y, point), values)

        if vectors:
            kind = {"kind": ir.Attribute.parse("#vector.kind<or>", self.low.context)}
            truth = self.truth.element_type
            scalars.append(self.make("vector.reduction", truth, [joined(vectors)], point, kind))
        return joined(scalars)

    def chosen(self, condition: ir.Value, x: ir.Value, y: ir.Value, point: Point) -> ir.Value:
        """`x` where a comparison of values holds, else `y`.

        One that all lanes share chooses by bits: LLVM makes a branch of it else, which values do not follow.
        """
        if is_vector(condition) or not (is_vector(x) or is_vector(y)):
            return self.select(condition, x, y, point)
        x, y = self.spread(x, point), self.spread(y, point)
        width = x.type.element_type.width
        whole = ir.IntegerType.get_signless(width, self.low.context)
        all_or_none = self.make("arith.extsi", whole, [condition], point)
        mask, bits = self.spread(all_or_none, point), self.type(whole)
        first, second = (self.make("arith.bitcast", bits, [value], point) for value in (x, y))
        differ = self._op("arith.xori", first, second, point)
        made = self._op("arith.xori", self._op("arith.andi", differ, mask, point), second, point)
        return self.make("arith.bitcast", x.type, [made], point)

    def select(self, condition: ir.Value, x: ir.Value, y: ir.Value, point: Point) -> ir.Value:
        """`x` in lanes where a condition holds, else `y`."""
        condition, x, y = self.together([condition, x, y], point)
        return self.make("arith.select", x.type, [condition, x, y], point)
