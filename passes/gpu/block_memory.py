"""What the threads of a block share: memory, and points of the code where all of them meet."""

from __future__ import annotations

from collections.abc import Sequence

from tadc.dialect.locations import unnamed
from tadc.dialect.mlir import ir


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
