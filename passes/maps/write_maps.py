"""Writes maps to a function of the dialect, in the place of those that it was read from.

What a map computes is written anew only where it is another one than before: passes that look at everything,
and change little, write little.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Sequence

from tadc.dialect import scalar_ops
from tadc.dialect.declarations import sizes_of
from tadc.dialect.index_maps import Name, in_order, map_attribute, set_attribute
from tadc.dialect.lookups import own_lookups
from tadc.dialect.mlir import ir
from tadc.frontend.source import Place
from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine, Lookup, box
from tadc.passes.maps.blocks import Names, used_by
from tadc.passes.maps.buffers import maps_of
from tadc.passes.maps.map import (
    Apply,
    Ask,
    Block,
    Choice,
    Fold,
    IndexNumber,
    Let,
    Load,
    Map,
    MapFunction,
    Number,
    Tensor,
)
from tadc.passes.maps.marks import CHAIN, IN_PLACE, JOINED, KEPT, PARTS, ROW, STEPS, SWEEP, TAPE, WINDOW


def write_maps(function: ir.Operation, before: MapFunction, after: MapFunction) -> None:
    """Let a `tad` function, whose maps were `before`, compute other ones for the same arguments.

    Maps of `before` that `after` has too, the very objects, keep their operations. Raises TypeError for
    values that the dialect does not have.
    """
    if list(map(id, after.maps)) == list(map(id, before.maps)) and after.results == before.results:
        return
    with function.context, ir.Location.unknown(function.context):
        writer = MapWriter(function, before)
        operations, end = maps_of(function), writer.end
        kept = {id(item): op for item, op in zip(before.maps, operations, strict=True)}
        old = {tensor: writer.tensors[tensor] for item in before.maps for tensor in _names(item)}
        for item in after.maps:
            op = kept.pop(id(item), None)
            if op is None:
                op = writer.map(item)
            else:
                op.move_before(end)
            for name, value in zip(_names(item), op.results, strict=True):
                if name in old and old[name] != value:
                    old[name].replace_all_uses_with(value)
                writer.tensors[name] = value
            writer.names.taken.update(_names(item))
        results = [writer.tensors[name] for name in after.results]
        if results != list(end.operands):
            ir.Operation.create("func.return", operands=results, loc=end.location, ip=ir.InsertionPoint(end))
            end.erase()
        for op in reversed([op for op in operations if op in kept.values()]):
            op.erase()


def _names(item: Map) -> list[str]:
    return [tensor.name for tensor in item.tensors]


def _rounds(body: Block) -> bool:
    """Whether values are rounded that are not stored: only `tad.maps` may do so."""
    rounded = {
        let.names[0]
        for let in body.all_lets()
        if isinstance(let.value, Apply) and (let.value.function, let.value.type) == ("convert", "f32")
    }
    return bool(rounded) and not rounded.isdisjoint(name for let in body.lets for name in used_by(let.value))


class MapWriter:
    """Writes maps at the end of a function; `tensors` and `sizes` are its values by name."""

    def __init__(self, function: ir.Operation, known: MapFunction) -> None:
        """`known` is what the function was read as."""
        self.context = function.context
        block = function.regions[0].blocks[0]
        operations = [op.operation for op in block.operations]
        self.end = operations[-1]
        self.sizes = dict[Name, ir.Value](zip(known.sizes, sizes_of(function), strict=True))
        arguments = [value for value in block.arguments if not isinstance(value.type, ir.IndexType)]
        self.tensors = dict(zip((a.name for a in known.arguments), arguments, strict=True))
        for item, op in zip(known.maps, maps_of(function), strict=True):
            self.tensors.update(zip(_names(item), op.results, strict=True))
        self.numbers: dict[Number, ir.Value] = {}
        self.exponents: dict[int, ir.Value] = {}
        for op in operations:
            if op.name == "arith.constant" and isinstance(op.attributes["value"], ir.FloatAttr):
                value, type = ir.FloatAttr(op.attributes["value"]).value, str(op.results[0].type)
                self.numbers[Number(value, type)] = op.results[0]
            elif op.name == "arith.constant":
                self.exponents[ir.IntegerAttr(op.attributes["value"]).value] = op.results[0]
        self.names = Names(set(known.sizes) | {tensor.name for tensor in known.arguments})
        self.types = {"f32": ir.F32Type.get(), "f64": ir.F64Type.get(), "i1": ir.IntegerType.get_signless(1)}
        self.index_type = ir.IndexType.get()
        self.unknown = ir.Location.unknown(self.context)
        self.attributes: dict[object, ir.Attribute] = {}
        self.values: dict[str, ir.Value] = {}
        self.indices: ChainMap[Name, ir.Value] = ChainMap()
        """Indices, and the lookups of the block that is written and of those around it."""

    def map(self, item: Map) -> ir.Operation:
        """The operation of a map, before the end of the function."""
        taken, place = set(self.names.taken), self.place(item.place)
        own, *others = _names(item)
        self.values, self.indices = {}, ChainMap(dict(self.sizes))
        rows = box(item.indices, item.extents)
        sizes = [name for name in in_order(row.form for row in rows) if name not in item.indices]
        attributes = {"domain": self.set(rows, item.indices, sizes)} | self.marks(item)
        many = bool(others) or _rounds(item.body)
        kind = "tad.maps" if many else "tad.map"
        if item.order is not None:
            kind, attributes["order"] = "tad.scan", map_attribute([item.order], item.indices, self.context)
        places = [self.labelled(tensor.label, tensor.place) for tensor in item.tensors]
        made = ir.Operation.create(
            kind, results=[self.tensor_type(tensor) for tensor in item.tensors],
            operands=[self.sizes[name] for name in sizes], attributes=attributes, regions=1,
            loc=ir.Location.fused(places) if many else places[0], ip=ir.InsertionPoint(self.end),
        )  # fmt: skip
        block = self.open(made, 0, item.indices, place)
        outside = self.tensors
        self.tensors = dict(outside)
        if item.order is not None:
            self.tensors[own] = block.add_argument(made.results[0].type, self.labelled("own", item.place))
        self.names.taken.update((own, *others))
        self.fill(block, item.body, place, many=many, above=True)
        self.tensors, self.names.taken = outside, taken | {own, *others}
        return made

    def marks(self, item: Map) -> dict[str, ir.Attribute]:
        """The attributes of the marks of a map."""
        marks, unit = item.marks, ir.UnitAttr.get(self.context)
        flags = {
            STEPS: marks.steps,
            IN_PLACE: marks.in_place,
            PARTS: marks.parts,
            JOINED: marks.joined,
            KEPT: marks.kept,
        }
        found = {name: unit for name, is_set in flags.items() if is_set}
        if marks.window is not None:
            found[WINDOW] = ir.DenseI64ArrayAttr.get([marks.window.rows, *marks.window.weights])
        if (sweep := marks.sweep) is not None:
            numbers = [sweep.index, sweep.scale, sweep.offset, int(sweep.down)]
            found[SWEEP] = ir.DenseI64ArrayAttr.get(numbers)
        if (tape := marks.tape) is not None:
            numbers = [tape.back, tape.slots, tape.depth, tape.ahead, tape.fresh, tape.block]
            found[TAPE] = ir.DenseI64ArrayAttr.get(numbers)
        if marks.chain is not None:
            if marks.row:
                found[ROW] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64, self.context), marks.row)
            found[CHAIN] = ir.DenseI64ArrayAttr.get([marks.chain, marks.rows, *marks.blocks])
        return found

    def tensor_type(self, tensor: Tensor) -> ir.Type:
        """The type of a tensor."""
        dynamic = ir.ShapedType.get_dynamic_size()
        shape = [extent.constant if extent.is_constant else dynamic for extent in tensor.shape]
        return ir.RankedTensorType.get(shape, self.types[tensor.type])

    # -- regions -------------------------------------------------------------------------------

    def open(self, op: ir.Operation, number: int, indices: Sequence[str], place: ir.Location) -> ir.Block:
        """The block of a region, which binds indices."""
        places = [ir.Location.name(self.names.label(name), place, context=self.context) for name in indices]
        block = ir.Block.create_at_start(op.regions[number], [self.index_type] * len(indices), places)
        self.indices.update(zip(indices, block.arguments, strict=True))
        return block

    def fill(
        self,
        block: ir.Block,
        body: Block,
        place: ir.Location,
        *,
        many: bool = False,
        above: bool = False,
        lookups: Sequence[Lookup] = (),
    ) -> None:
        """Write lookups, the values of a block, and what it gives; numbers `above` all maps stay there."""
        point = ir.InsertionPoint(block)
        self.indices = self.indices.new_child()
        for lookup in lookups:
            self.index(lookup, point, place)
        for let in body.lets:
            above = above and isinstance(let.value, Number)
            if above and let.value in self.numbers:
                self.values[let.names[0]] = self.numbers[let.value]
            else:
                results = self.let(let, point, self.place(let.place) if let.place else place)
                self.values.update(zip(let.names, results, strict=True))
        self.indices = self.indices.parents
        given = [self.values[name] for name in body.gives]
        ir.Operation.create("tad.yields" if many else "tad.yield", operands=given, loc=place, ip=point)

    def let(self, let: Let, point: ir.InsertionPoint, place: ir.Location) -> Sequence[ir.Value]:
        """The results of one value."""
        value = let.value
        if isinstance(value, Ask):
            raise TypeError(f"the dialect has no {value}")
        type = self.types[value.type]

        def create(
            name: str,
            operands: Sequence[ir.Value],
            attributes: dict[str, ir.Attribute],
            regions: int = 0,
            result: ir.Type | None = None,
        ) -> ir.Operation:
            return ir.Operation.create(
                name, results=[result or type] * len(let.names), operands=operands, attributes=attributes,
                regions=regions, loc=place, ip=point,
            )  # fmt: skip

        match value:
            case Number(number):
                return create("arith.constant", [], {"value": ir.FloatAttr.get(type, number)}).results
            case IndexNumber(form):
                names = in_order([form])
                operands = [self.index(name, point, place) for name in names]
                at = self.forms([form], names)
                index = create("tad.index", operands, {"at": at}, result=self.index_type).results[0]
                return create("tad.value_of", [index], {}).results
            case Load(tensor, forms):
                names = in_order(forms)
                operands = [self.tensors[tensor], *(self.index(name, point, place) for name in names)]
                return create("tad.read", operands, {"at": self.forms(forms, names)}).results
            case Apply():
                return self.apply(value, create, point, place).results
            case Choice(rows, then, otherwise):
                names = in_order(row.form for row in rows)
                operands = [self.index(name, point, place) for name in names]
                made = create("tad.guard", operands, {"where": self.set(rows, names, ())}, 2)
                for number, inner in enumerate((then, otherwise)):
                    self.fill(self.open(made, number, (), place), inner, place)
                return made.results
            case Fold():
                return self.fold(value, create, point, place).results

    def index(self, name: Name, point: ir.InsertionPoint, place: ir.Location) -> ir.Value:
        """The value of an index, or of a lookup, which is written if it is not there."""
        found = self.indices.get(name)
        if found is None:
            if isinstance(name, str):
                raise KeyError(name)
            names = in_order(name.at)
            operands = [self.tensors[name.array], *(self.index(each, point, place) for each in names)]
            found = self.indices[name] = ir.Operation.create(
                "tad.lookup", results=[self.index_type], operands=operands,
                attributes={"at": self.forms(name.at, names)},
                loc=ir.Location.name("t", place, context=self.context), ip=point,
            ).results[0]  # fmt: skip
        return found

    def fold(
        self,
        fold: Fold,
        create: Callable[..., ir.Operation],
        point: ir.InsertionPoint,
        place: ir.Location,
    ) -> ir.Operation:
        """The operation of a reduction."""
        own, outer, needed = own_lookups(fold.rows, fold.indices)
        attributes = {"domain": self.set(fold.rows, [*fold.indices, *own], outer)}
        many = len(fold.body.gives) > 1
        name = "tad.sums" if many else "tad.sum"
        if fold.kind != "sum":
            name, attributes = "tad.reduce", {"kind": ir.StringAttr.get(fold.kind), **attributes}
        operands = [self.index(each, point, place) for each in (*outer, *needed)][: len(outer)]
        made = create(name, operands, attributes, 1)
        self.fill(self.open(made, 0, fold.indices, place), fold.body, place, many=many, lookups=own)
        return made

    def apply(
        self,
        value: Apply,
        create: Callable[..., ir.Operation],
        point: ir.InsertionPoint,
        place: ir.Location,
    ) -> ir.Operation:
        """The operation of a function."""
        function, operands = value.function, [self.values[name] for name in value.operands]
        if function == "powi":
            exponent = self.exponents.get(value.exponent)
            if exponent is None:
                whole = ir.IntegerType.get_signless(64)
                attributes = {"value": ir.IntegerAttr.get(whole, value.exponent)}
                exponent = ir.Operation.create(
                    "arith.constant", results=[whole], attributes=attributes, loc=place, ip=point
                ).results[0]
            return create(scalar_ops.INTEGER_POWER, [*operands, exponent], {})
        if function in scalar_ops.UPSTREAM:
            return create(scalar_ops.UPSTREAM[function], operands, {})
        if function in scalar_ops.SCALAR_FUNCTIONS:
            return create("tad.apply", operands, {"fn": ir.StringAttr.get(function)})
        if function in scalar_ops.PREDICATES or function.startswith("cmpf "):
            number = scalar_ops.PREDICATES.get(function)
            number = int(function.removeprefix("cmpf ")) if number is None else number
            predicate = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), number)
            return create("arith.cmpf", operands, {"predicate": predicate})
        if function == "convert":
            return create("arith.extf" if value.type == "f64" else "arith.truncf", operands, {})
        return create("arith.select" if function == "choose" else function, operands, {})

    # -- attributes and places -----------------------------------------------------------------

    def forms(self, forms: Iterable[Affine], names: Sequence[Name]) -> ir.Attribute:
        """The affine map of forms over named indices; the same one is read once."""
        key = (tuple(forms), tuple(names))
        if key not in self.attributes:
            self.attributes[key] = map_attribute(key[0], names, self.context)
        return self.attributes[key]

    def set(self, rows: Domain, names: Sequence[Name], outer: Sequence[Name]) -> ir.Attribute:
        """The integer set of rows."""
        key = (rows, tuple(names), tuple(outer))
        if key not in self.attributes:
            self.attributes[key] = set_attribute(rows, names, self.context, outer)
        return self.attributes[key]

    def place(self, place: Place | None) -> ir.Location:
        """The location of a place."""
        if place is None:
            return self.unknown
        if place not in self.attributes:
            self.attributes[place] = ir.Location.file(
                place.file, place.line, place.column, context=self.context
            )
        return self.attributes[place]

    def labelled(self, label: str, place: Place | None) -> ir.Location:
        """The location of a place, with a name that a person reads."""
        where = self.place(place)
        return ir.Location.name(label, where, context=self.context) if label else where
