"""Memory that the threads of a block share, and that each of them has."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tadc.dialect.locations import unnamed
from tadc.dialect.mlir import ir
from tadc.lattice.polyhedron import implied
from tadc.passes.maps.lower_body import BodyLowering
from tadc.passes.maps.map import Load
from tadc.passes.nest.nest import Nest, Stage
from tadc.passes.nest.primitives.carried import ranges_inside
from tadc.passes.nest.primitives.rewriting import lets_in, named_values, statements_in
from tadc.passes.nest.vector_lanes import extreme


def shared_buffer(function: ir.Operation, shape: Sequence[int], element: ir.Type) -> ir.Value:
    """A buffer that the threads of a block of a `gpu.func` share, aligned for vectors."""
    space = ir.Attribute.parse("#gpu.address_space<workgroup>")
    type = ir.MemRefType.get([*shape], element, memory_space=space)
    attributes, key = function.attributes, "workgroup_attributions"
    whole = ir.IntegerType.get_signless(64)
    count = ir.IntegerAttr(attributes[key]).value if key in attributes else 0
    attributes[key] = ir.IntegerAttr.get(whole, count + 1)
    aligned = ir.DictAttr.get({"llvm.align": ir.IntegerAttr.get(whole, 16)})
    attributes["workgroup_attrib_attrs"] = ir.ArrayAttr.get([aligned] * (count + 1))
    return function.regions[0].blocks[0].add_argument(type, unnamed(function.location))


def held_rooms(nest: Nest) -> frozenset[str]:
    """The rooms that are read where they have an element, whatever conditions around say."""
    rooms = {s.tensor.name: s.tensor.shape for s in statements_in(nest.body) if isinstance(s, Stage)}
    values, (moved, ranges) = named_values(nest.body), ranges_inside(nest.body)
    for load in (let.value for let in lets_in(nest.body) if isinstance(let.value, Load)):
        for form, extent in zip(load.at, rooms.get(load.tensor, ()), strict=False):
            here = form.substitute(values).substitute(moved)
            ends = extreme(here, ranges, -1), extent - 1 - extreme(here, ranges, 1)
            if not all(implied(end, ()) for end in ends):
                rooms.pop(load.tensor, ())
    return frozenset(rooms)


def registers(function: ir.Operation, shape: Sequence[int], element: ir.Type, low: BodyLowering) -> ir.Value:
    """A buffer whose last index numbers threads, each of which has the elements of its own alone.

    Where all subscripts are numbers it is registers.
    """
    *own, threads = shape
    sizes = {"operandSegmentSizes": ir.DenseI32ArrayAttr.get([0, 0])}
    start = ir.InsertionPoint.at_block_begin(function.regions[0].blocks[0])
    room = low.create("memref.alloca", [ir.MemRefType.get(own, element)], [], start, sizes).results[0]
    strides = [math.prod(own[n + 1 :]) for n in range(len(own))]
    type = ir.MemRefType.get([*own, threads], element, ir.StridedLayoutAttr.get(0, [*strides, 0]))
    attributes = {
        "static_offsets": ir.DenseI64ArrayAttr.get([0]),
        "static_sizes": ir.DenseI64ArrayAttr.get([*own, threads]),
        "static_strides": ir.DenseI64ArrayAttr.get([*strides, 0]),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 0, 0, 0]),
    }
    return low.create("memref.reinterpret_cast", [type], [room], start, attributes).results[0]
