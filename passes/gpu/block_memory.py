"""Memory that the threads of a block share, and that each of them has."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tadc.dialect.locations import unnamed
from tadc.dialect.mlir import ir
from tadc.passes.maps.lower_body import BodyLowering


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
