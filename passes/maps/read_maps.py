"""Reads the maps of a function off the dialect: the only place that looks into the region of a `tad.map`."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import replace

from tadc.dialect.declarations import Declarations, indices_of
from tadc.dialect.index_maps import extents_over, parse_over
from tadc.dialect.index_reader import IndexReader, exponent_of, kind_of
from tadc.dialect.locations import UnsupportedIR, name_of, place_of
from tadc.dialect.mlir import ir
from tadc.dialect.ops import own_tensor
from tadc.dialect.scalar_ops import FUNCTION_OF, INTEGER_POWER, RELATION_OF
from tadc.frontend.extents import as_form
from tadc.frontend.program import allowed
from tadc.lattice.affine import Affine, Constraint
from tadc.passes.maps.blocks import BlockNames
from tadc.passes.maps.buffers import maps_of, symbol_of
from tadc.passes.maps.map import (
    Applied,
    Block,
    Choice,
    Constant,
    Fold,
    IndexNumber,
    Let,
    Load,
    Map,
    MapFunction,
    TensorDecl,
    Value,
)
from tadc.passes.maps.marks import marks_of


def read_maps(function: ir.Operation) -> MapFunction:
    """The maps of a `tad` function. Raises UnsupportedIR for operations that maps do not have."""
    return _MapReader(function).read()


class _MapReader(IndexReader):
    """A function on its way to maps; `values` has the names of scalars."""

    def __init__(self, function: ir.Operation) -> None:
        super().__init__()
        self.function = function
        self.names = BlockNames()
        self.tensors: dict[ir.Value, TensorDecl] = {}
        self.values: dict[ir.Value, str] = {}
        self.numbers = itertools.count()
        self.constants: dict[ir.Value, Value] = {}
        self.above: list[Let] = []

    def read(self) -> MapFunction:
        """The whole function."""
        function, sizes = self.function, indices_of(self.function)
        block = function.regions[0].blocks[0]
        names = [self.names.new(name_of(size.location) or "n") for size in sizes]
        self.indices = {value: Affine.var(name) for value, name in zip(sizes, names, strict=True)}
        declared = Declarations(function, names)
        arguments: list[TensorDecl] = []
        for argument in block.arguments:
            if not isinstance(argument.type, ir.IndexType):
                said = declared.argument(argument, "")
                found = self.tensor(argument, tuple(map(as_form, said.shape)))
                if said.below is not None:
                    made_of = said.inspected
                    owner = made_of.of[0] if made_of is not None and made_of.kind == "owner" else ""
                    below, rises = as_form(said.below), said.increasing
                    found = replace(found, below=below, increasing=rises, owner_of=owner)
                    self.tensors[argument], self.arrays[argument] = found, (found.name, below)
                arguments.append(found)
        maps, end = maps_of(function), list(block.operations)[-1].operation
        for operation in block.operations:
            op = operation.operation
            if op.name == "arith.constant" and isinstance(op.attributes["value"], ir.FloatAttr):
                self.constants[op.results[0]] = _number(op)
        made = tuple(self.map(op) for op in maps)
        inner = {value for op in maps for value in op.results}
        results = list(end.operands)
        if not inner.issuperset(results):
            raise UnsupportedIR("a result must be the value of a 'tad.map'", function.location)
        extents = {extent for tensor in self.tensors.values() for extent in tensor.shape}
        known = (*(Constraint(Affine.var(name)) for name in names), *allowed(declared.excluded(), extents))
        given = tuple(self.tensors[result].name for result in results)
        return MapFunction(symbol_of(function), tuple(arguments), tuple(names), made, given, known)

    def tensor(self, value: ir.Value, shape: tuple[Affine, ...]) -> TensorDecl:
        """A tensor of the function."""
        location = _location_of(value)
        label = name_of(location)
        type = str(value.type.element_type)
        found = TensorDecl(self.names.new(label or "t"), type, shape, label, place_of(location))
        self.tensors[value] = found
        return found

    def map(self, op: ir.Operation) -> Map:
        """One map; names of indices and values are used again in the next one."""
        block, before = op.regions[0].blocks[0], set(self.names.taken)
        indices = self.named(indices_of(op))
        self.indices |= zip(indices_of(op), map(Affine.var, indices), strict=True)
        shape = extents_over(str(op.attributes["domain"]), self.over(op, op.operands))
        tensors = tuple(self.tensor(result, shape) for result in op.results)
        before |= {tensor.name for tensor in tensors}
        order: Affine | None = None
        if op.name == "tad.scan":
            own = own_tensor(op)
            self.tensors[own] = tensors[0]
            (order,) = parse_over(str(op.attributes["order"]), tuple(map(Affine.var, indices))).forms
        self.numbers, self.values, self.above = itertools.count(), {}, []
        body = self.block(block)
        body = Block((*self.above, *body.lets), body.gives)
        self.names.taken = before
        return Map(
            tensors, tuple(indices), tensors[0].shape, body, order, marks_of(op), place_of(op.location)
        )

    def named(self, arguments: Iterable[ir.Value]) -> list[str]:
        """Names for indices that a region binds."""
        return [self.names.new(name_of(argument.location) or "i") for argument in arguments]

    def value(self, made: ir.Value) -> str:
        """A name for a value of the body."""
        self.values[made] = f"%{next(self.numbers)}"
        return self.values[made]

    def block(self, block: ir.Block) -> Block:
        """A region."""
        found: list[Let] = []
        operations = [operation.operation for operation in block.operations]
        for op in operations[:-1]:
            name, results = op.name, op.results
            if self.makes_index(op):
                continue
            made = self.operation(op, name, str(results[0].type))
            found.append(Let(tuple(map(self.value, results)), made, place_of(op.location)))
        return Block(tuple(found), tuple(self.given(value) for value in operations[-1].operands))

    def given(self, value: ir.Value) -> str:
        """The name of a value that is used; constants of the function are the first values of the body."""
        found = self.values.get(value)
        if found is not None:
            return found
        if value not in self.constants:
            raise UnsupportedIR("a region may use indices and scalars only", value.location)
        self.above.append(Let((self.value(value),), self.constants[value]))
        return self.values[value]

    def operation(self, op: ir.Operation, name: str, type: str) -> Value:
        """What an operation of a region computes."""
        match name:
            case "tad.read":
                tensor, *operands = op.operands
                return Load(self.tensors[tensor].name, self.at(op, operands), type)
            case "tad.value_of":
                return IndexNumber(self.over(op, op.operands)[0], type)
            case "tad.guard":
                rows = self.conditions(op)
                then, otherwise = (self.block(region.blocks[0]) for region in op.regions)
                return Choice(rows, then, otherwise, type)
            case "tad.sum" | "tad.reduce":
                block = op.regions[0].blocks[0]
                names = self.named(block.arguments)
                rows = self.domain(op, names)
                return Fold(kind_of(op), tuple(names), rows, self.block(block), type)
            case "arith.constant":
                return _number(op)
            case _:
                return self.apply(op, name, type)

    def apply(self, op: ir.Operation, name: str, type: str) -> Applied:
        """A scalar operation."""
        operands = list(op.operands)
        if name == INTEGER_POWER:
            return Applied("powi", (self.given(operands[0]),), type, exponent_of(op))
        if not name.startswith(("arith.", "math.")) and name != "tad.apply":
            raise UnsupportedIR(f"'{name}' has no lowering", op.location)
        given = tuple(self.given(value) for value in operands)
        if name == "tad.apply":
            return Applied(ir.StringAttr(op.attributes["fn"]).value, given, type)
        if name == "arith.cmpf":
            number = ir.IntegerAttr(op.attributes["predicate"]).value
            return Applied(RELATION_OF.get(number, f"cmpf {number}"), given, type)
        function = _SPELT.get(name) or FUNCTION_OF.get(name)
        return Applied(function or str(name), given, type)


#: Operations that the language does not write.
_SPELT = {"arith.select": "choose", "arith.extf": "convert", "arith.truncf": "convert"}


def _location_of(tensor: ir.Value) -> ir.Location:
    """Where a tensor was defined, with its name."""
    place = tensor.location
    if isinstance(tensor, ir.OpResult) and isinstance(place, ir.FusedLoc):
        places = list(place.locations)
        # Equal ones are kept once.
        return places[tensor.result_number] if len(places) == len(tensor.owner.results) else places[0]
    return place


def _number(op: ir.Operation) -> Constant:
    return Constant(ir.FloatAttr(op.attributes["value"]).value, str(op.results[0].type))
