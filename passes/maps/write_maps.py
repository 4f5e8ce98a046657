"""Writes maps to a function of the dialect, in the place of those that it was read from.

What a map computes is written anew only where it is another one than before: passes that look at everything,
and change little, write little.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Sequence

from tadc.dialect.declarations import indices_of
from tadc.dialect.locations import labelled
from tadc.dialect.mlir import ir
from tadc.dialect.op_writer import OpWriter
from tadc.passes.maps.blocks import BlockNames
from tadc.passes.maps.buffers import location_of, maps_of
from tadc.passes.maps.map import (
    Applied,
    Ask,
    Block,
    Choice,
    Constant,
    Fold,
    IndexNumber,
    Let,
    Load,
    Map,
    MapFunction,
)
from tadc.passes.maps.marks import attributes_of


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
        old = {tensor: writer.tensors[tensor] for item in before.maps for tensor in item.names}
        for item in after.maps:
            op = kept.pop(id(item), None)
            if op is None:
                op = writer.map_of(item)
            else:
                op.move_before(end)
            for name, value in zip(item.names, op.results, strict=True):
                if name in old and old[name] != value:
                    old[name].replace_all_uses_with(value)
                writer.tensors[name] = value
            writer.names.taken.update(item.names)
        results = [writer.tensors[name] for name in after.results]
        if results != list(end.operands):
            ir.Operation.create("func.return", operands=results, loc=end.location, ip=ir.InsertionPoint(end))
            end.erase()
        for op in reversed([op for op in operations if op in kept.values()]):
            op.erase()


class MapWriter(OpWriter):
    """Writes maps at the end of a function; `tensors` and `sizes` are its values by name."""

    def __init__(self, function: ir.Operation, known: MapFunction) -> None:
        """`known` is what the function was read as."""
        super().__init__(function.context)
        block = function.regions[0].blocks[0]
        operations = [op.operation for op in block.operations]
        self.end = operations[-1]
        self.point = ir.InsertionPoint(self.end)
        self.indices = ChainMap(dict(zip(known.sizes, indices_of(function), strict=True)))
        arguments = [value for value in block.arguments if not isinstance(value.type, ir.IndexType)]
        self.tensors = dict(zip((a.name for a in known.arguments), arguments, strict=True))
        for item, op in zip(known.maps, maps_of(function), strict=True):
            self.tensors.update(zip(item.names, op.results, strict=True))
        self.numbers: dict[Constant, ir.Value] = {}
        for op in operations:
            if op.name == "arith.constant" and isinstance(op.attributes["value"], ir.FloatAttr):
                value, type = ir.FloatAttr(op.attributes["value"]).value, str(op.results[0].type)
                self.numbers[Constant(value, type)] = op.results[0]
            elif op.name == "arith.constant":
                self.exponents[ir.IntegerAttr(op.attributes["value"]).value] = op.results[0]
        self.names = BlockNames(set(known.sizes) | {tensor.name for tensor in known.arguments})
        self.values: dict[str, ir.Value] = {}

    def map_of(self, item: Map) -> ir.Operation:
        """The operation of a map, before the end of the function."""
        taken, outside = set(self.names.taken), self.tensors
        self.location, self.values, self.tensors = self.places[item.place], {}, dict(self.tensors)
        own, *others = item.names
        place = location_of(item, self.places)
        types = [self.tensor_type(tensor.type, tensor.shape) for tensor in item.tensors]
        made = self.map(types, item.indices, item.extents, item.order, place, attributes_of(item.marks))
        with self.region(made, 0, item.indices, self.named(item.indices)) as block:
            if item.order is not None:
                self.tensors[own] = block.add_argument(types[0], labelled("own", self.location))
            self.names.taken.update((own, *others))
            self.fill(item.body, above=True)
        self.tensors, self.names.taken = outside, taken | {own, *others}
        return made

    def named(self, indices: Sequence[str]) -> list[ir.Location]:
        """The places of indices that a region binds, with the names that a person reads."""
        return [labelled(self.names.label(name), self.location) for name in indices]

    # -- regions -------------------------------------------------------------------------------

    def fill(self, body: Block, *, above: bool = False) -> None:
        """Write the values of a block, and what it gives; numbers `above` all maps stay there."""
        place = self.location
        for let in body.lets:
            above = above and isinstance(let.value, Constant)
            if above and let.value in self.numbers:
                self.values[let.names[0]] = self.numbers[let.value]
            else:
                self.location = self.places[let.place] if let.place else place
                self.values.update(zip(let.names, self.let(let).results, strict=True))
        self.location = place
        self.create("tad.yield", [], [self.values[name] for name in body.gives])

    def let(self, let: Let) -> ir.Operation:
        """The operation of a value."""
        value = let.value
        if isinstance(value, Ask):
            raise TypeError(f"the dialect has no {value}")
        type = self.types[value.type]
        match value:
            case Constant(number):
                return self.constant(number, type)
            case IndexNumber(form):
                return self.number(form, type)
            case Load(tensor, forms):
                return self.element("tad.read", type, tensor, forms)
            case Applied(function, names):
                return self.apply(function, [self.values[name] for name in names], type, value.exponent)
            case Choice(rows, then, otherwise):
                made = self.guard(rows, type)
                for number, inner in enumerate((then, otherwise)):
                    with self.region(made, number):
                        self.fill(inner)
                return made
            case Fold(kind, indices, rows, body):
                places = self.named(indices)
                with self.reduction(kind, rows, indices, places, [type] * len(let.names)) as made:
                    self.fill(body)
                return made
