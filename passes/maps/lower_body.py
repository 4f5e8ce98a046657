"""Scalar code in scf and affine: what the lowerings to loops and to the GPU build with.

An index is known by a form over loop variables, so that every subscript is one `affine.apply`. Elements of
index arrays in a form are loaded where its value is made.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from tadc.dialect.element_types import types_in
from tadc.dialect.index_maps import index_attribute
from tadc.dialect.locations import ProgramLocations, unnamed
from tadc.dialect.mlir import ir
from tadc.frontend.dtypes import INDEX_TYPE
from tadc.frontend.limits import LOOP_WORK
from tadc.frontend.source import Place
from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine, Constraint, Floor, Lookup
from tadc.lattice.effort import work
from tadc.lattice.late_dataclasses import dataclass, field
from tadc.lattice.polyhedron import implied

#: Of comparisons of indices, which are signed.
PREDICATES = {"eq": 0, "ne": 1, "slt": 2, "sgt": 4, "sge": 5}


@dataclass(frozen=True)
class IndexArrayBuffer:
    """The buffer of an index array, and its extents as forms of index values."""

    buffer: ir.Value
    shape: tuple[Affine, ...]


@dataclass
class BodyLowering:
    """What is known of a lowered function.

    `known` is what holds of the sizes; `arrays` are the index arrays that forms have elements of, by name.
    """

    context: ir.Context
    variables: dict[str, ir.Value] = field(default_factory=dict[str, ir.Value])
    known: Domain = ()
    arrays: dict[str, IndexArrayBuffer] = field(default_factory=dict[str, IndexArrayBuffer])
    shared: dict[Hashable, Affine] = field(default_factory=dict[Hashable, Affine])

    def __post_init__(self) -> None:
        self.checks = False
        """Whether elements of index arrays are checked wherever they are loaded: points may be beyond."""
        self.index_type = ir.IndexType.get(self.context)
        self.places = ProgramLocations(self.context)
        self.location = self.places[None]
        self.types = types_in(self.context)

    def locate(self, place: Place | None) -> None:
        """What follows is made for a place in a program."""
        self.location = self.places[place]

    def scalar_type(self, name: str) -> ir.Type:
        """The type of scalars: `f32`, `f64`, `i1`, or `i32` of index arrays."""
        return self.types[name]

    # -- building ------------------------------------------------------------------------------

    def create(
        self,
        name: str,
        results: Sequence[ir.Type],
        operands: Sequence[ir.Value],
        point: ir.InsertionPoint,
        attributes: dict[str, ir.Attribute] | None = None,
        regions: int = 0,
    ) -> ir.Operation:
        """Make an operation at a point, at the current location. Raises WorkLimit."""
        work(LOOP_WORK)
        return ir.Operation.create(
            name, results=list(results), operands=list(operands), attributes=attributes or {},
            regions=regions, loc=self.location, ip=point,
        )  # fmt: skip

    def constant(self, type: ir.Type, value: int | float, point: ir.InsertionPoint) -> ir.Value:
        """A constant of a float, an integer or the index type, or of a vector of these."""
        of_vector = isinstance(type, ir.VectorType)
        scalar = type.element_type if of_vector else type
        if scalar == self.index_type or isinstance(scalar, ir.IntegerType):
            attribute = ir.IntegerAttr.get(scalar, int(value))
        else:
            attribute = ir.FloatAttr.get(scalar, float(value), loc=self.location)
        if of_vector:
            attribute = ir.DenseElementsAttr.get_splat(type, attribute)
        # Constants take no name of a tensor or an index.
        return ir.Operation.create(
            "arith.constant", results=[type], attributes={"value": attribute},
            loc=unnamed(self.location), ip=point,
        ).results[0]  # fmt: skip

    def variable(self, value: ir.Value) -> Affine:
        """Name an index value; the form that stands for it."""
        name = f"v{len(self.variables)}"
        self.variables[name] = value
        return Affine.var(name)

    def affine(
        self,
        forms: Sequence[Affine],
        point: ir.InsertionPoint,
        operation: str = "affine.apply",
        *,
        checked: bool = False,
    ) -> ir.Value:
        """The value of a form, or the least or greatest of several.

        Elements of index arrays in them are loaded; `checked`, where a subscript may be out of range.
        """
        distinct = list(dict.fromkeys(self.looked_up(form, point, checked) for form in forms))
        if len(distinct) == 1:
            form = distinct[0]
            if form.is_constant:
                return self.constant(self.index_type, form.constant, point)
            atom = form.terms[0][0]
            if isinstance(atom, str) and form == Affine.var(atom):
                return self.variables[atom]
            operation = "affine.apply"
        names = sorted({n for form in distinct for n in form.variables}, key=lambda n: int(n[1:]))
        attributes = {"map": index_attribute("map", distinct, names, self.context)}
        operands = [self.variables[n] for n in names]
        return self.create(operation, [self.index_type], operands, point, attributes).results[0]

    def looked_up(self, form: Affine, point: ir.InsertionPoint, checked: bool = False) -> Affine:
        """A form with a name for each element of an index array in it, which is loaded here."""

        def value(atom: str | Floor | Lookup) -> Affine | None:
            if not isinstance(atom, Lookup):
                return None
            return self.once((atom, checked), point, lambda: self.element(atom, point, checked))

        return form.replace(value) if form.has_lookups else form

    def once(self, what: Hashable, point: ir.InsertionPoint, make: Callable[[], ir.Value]) -> Affine:
        """A name for what is made where it is asked for first at a point, which is at the end of a block."""
        key = point, what, self.checks
        if key not in self.shared:
            self.shared[key] = self.variable(make())
        return self.shared[key]

    def element(self, lookup: Lookup, point: ir.InsertionPoint, checked: bool) -> ir.Value:
        """An element of an index array as an index; where it is `checked`, 0 beyond the array."""
        array = self.arrays[lookup.array]
        at = [self.looked_up(form, point, checked) for form in lookup.at]

        def load(inside: ir.InsertionPoint) -> list[ir.Value]:
            operands = [array.buffer, *(self.affine([form], inside) for form in at)]
            found = self.create("memref.load", [self.types[INDEX_TYPE]], operands, inside).results[0]
            # No element is negative: the load itself extends it with zeros.
            return list(self.create("arith.index_castui", [self.index_type], [found], inside).results)

        if not (checked or self.checks):
            return load(point)[0]
        holds = self.holds(box_rows(at, array.shape), point)
        return self.choose(holds, [self.index_type], load, lambda p: [self.index(0, p)], point)[0]

    def is_inside(self, lookup: Lookup, facts: Domain) -> bool:
        """Whether an element is in its array, and so are those in its subscripts, where facts hold."""
        rows = box_rows(lookup.at, self.arrays[lookup.array].shape)
        inner = (each for form in lookup.at for each in form.lookups())
        return all(implied(row.form, facts) for row in rows) and all(self.is_inside(i, facts) for i in inner)

    def extreme(self, operation: str, forms: Sequence[Affine], point: ir.InsertionPoint) -> Affine:
        """The least of forms by `affine.min`, or the greatest by `affine.max`."""
        if all(form.is_constant for form in forms):
            values = [form.constant for form in forms]
            return Affine.const(min(values) if operation == "affine.min" else max(values))
        return self.variable(self.affine(forms, point, operation))

    def index(self, value: int, point: ir.InsertionPoint) -> ir.Value:
        """A constant index."""
        return self.constant(self.index_type, value, point)

    def compare(self, predicate: str, x: ir.Value, y: ir.Value, point: ir.InsertionPoint) -> ir.Value:
        """A comparison of two indices, by a predicate of `arith.cmpi`."""
        truth, whole = (ir.IntegerType.get_signless(bits, self.context) for bits in (1, 64))
        number = {"predicate": ir.IntegerAttr.get(whole, PREDICATES[predicate])}
        return self.create("arith.cmpi", [truth], [x, y], point, number).results[0]

    def select(self, condition: ir.Value, x: ir.Value, y: ir.Value, point: ir.InsertionPoint) -> ir.Value:
        """The first of two values where a condition holds."""
        return self.create("arith.select", [x.type], [condition, x, y], point).results[0]

    # -- loops and branches --------------------------------------------------------------------

    def loop(
        self,
        name: str,
        ends: tuple[ir.Value, ir.Value, int],
        carried: Sequence[ir.Value],
        fill: Callable[[Affine, list[ir.Value], ir.InsertionPoint], list[ir.Value]],
        point: ir.InsertionPoint,
    ) -> list[ir.Value]:
        """An `scf.for` from a start below a stop by a step, which carries values; `fill` makes what is
        inside."""
        start, stop, by = ends
        step = self.constant(self.index_type, by, point)
        types = [value.type for value in carried]
        made = self.create("scf.for", types, [start, stop, step, *carried], point, regions=1)
        place = unnamed(self.location)
        locations = [ir.Location.name(name, place), *(place for _ in carried)]
        block = ir.Block.create_at_start(made.regions[0], [self.index_type, *types], locations)
        inside = ir.InsertionPoint(block)
        index, *values = block.arguments
        results = fill(self.variable(index), values, inside)
        self.create("scf.yield", [], results, inside)
        return list(made.results)

    def choose(
        self,
        condition: ir.Value,
        types: Sequence[ir.Type],
        then: Callable[[ir.InsertionPoint], list[ir.Value]],
        otherwise: Callable[[ir.InsertionPoint], list[ir.Value]] | None,
        point: ir.InsertionPoint,
    ) -> list[ir.Value]:
        """An `scf.if` whose regions are filled by functions of their insertion point."""
        made = self.create("scf.if", types, [condition], point, regions=2)
        for region, fill in zip(made.regions, (then, otherwise), strict=True):
            if fill is not None:
                inside = ir.InsertionPoint(ir.Block.create_at_start(region, []))
                self.create("scf.yield", [], fill(inside), inside)
        return list(made.results)

    def holds(self, rows: Domain, point: ir.InsertionPoint, *, checked: bool = False) -> ir.Value:
        """Whether all rows hold, as an i1; elements of index arrays `checked` as in `affine`."""
        truth = ir.IntegerType.get_signless(1, self.context)
        zero = self.constant(self.index_type, 0, point)
        result: Any = None
        for row in rows:
            form = self.affine([row.form], point, checked=checked)
            test = self.compare("eq" if row.equality else "sge", form, zero, point)
            if result is None:
                result = test
            else:
                result = self.create("arith.andi", [truth], [result, test], point).results[0]
        if result is None:
            value = {"value": ir.IntegerAttr.get(truth, 1)}
            result = self.create("arith.constant", [truth], [], point, value).results[0]
        return result


def box_rows(forms: Sequence[Affine], shape: Sequence[Affine]) -> Domain:
    """`0 <= form <= size - 1` for each dimension."""
    rows: list[Constraint] = []
    for form, size in zip(forms, shape, strict=True):
        rows += [Constraint(form), Constraint(size - 1 - form)]
    return tuple(rows)
