"""The tensors of a function as buffers that the caller owns, all row-major.

The buffer of a tensor whose shape depends on sizes is passed as the address of its first element,
with the type of a buffer of one: upstream's bare-pointer convention needs a static type. A view of
its true shape is made from the sizes, which are the last arguments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from tadc.dialect.locations import ProgramLocations, UnsupportedIR, labelled
from tadc.dialect.mlir import ir
from tadc.dialect.ops import MAPS
from tadc.lattice.affine import Affine
from tadc.passes.maps.lower_body import BodyLowering
from tadc.passes.maps.map import Map, MapFunction, TensorDecl
from tadc.passes.maps.memory_of_tensors import Memory


def buffer_type(tensor: TensorDecl) -> ir.Type:
    """The type in which the buffer of a tensor is passed."""
    # Upstream does not lower buffers of two or more dimensions without elements; nothing is
    # ever read from one or written to it, so its type may say 1 for 0.
    shape = [max(extent.constant, 1) for extent in tensor.shape if extent.is_constant]
    return ir.MemRefType.get(shape if len(shape) == len(tensor.shape) else [1], ir.Type.parse(tensor.type))


def maps_of(function: ir.Operation) -> list[ir.Operation]:
    """The maps of a function in order; anything else there has no lowering."""
    operations = [op.operation for op in function.regions[0].blocks[0].operations]
    maps = [op for op in operations if op.name in MAPS]
    for op in operations[:-1]:
        if op.name not in MAPS and not op.name.startswith(("arith.constant", "math.")):
            raise UnsupportedIR(f"'{op.name}' has no lowering", op.location)
    return maps


def symbol_of(function: ir.Operation) -> str:
    """The symbol of the lowered function: no tensor's name can hide one of libc's."""
    return "tad_" + ir.StringAttr(function.attributes["sym_name"]).value


def location_of(item: Map, places: ProgramLocations) -> ir.Location:
    """Where the tensors of a map were defined, with their names."""
    each = [labelled(tensor.label, places[tensor.place]) for tensor in item.tensors]
    return ir.Location.fused(each) if each[1:] else each[0]


def sizes_in(low: BodyLowering, maps: MapFunction, values: Sequence[ir.Value]) -> dict[str, Affine]:
    """The forms of the sizes, which are these values, by name; `low` is told what holds of them."""
    forms = dict(zip(maps.sizes, map(low.variable, values), strict=True))
    low.known = tuple(row.substitute(forms) for row in maps.known)
    return forms


def rooms_of(
    memory: Memory, tensors: Sequence[TensorDecl], buffers: Sequence[ir.Value]
) -> dict[str, tuple[ir.Value, ...]]:
    """The buffers that tensors are stored to, by name; what is read comes from the first."""
    found: dict[str, tuple[ir.Value, ...]] = {}
    for tensor, buffer in zip(tensors, buffers, strict=True):
        found[tensor.name] = *found.get(tensor.name, ()), buffer
    return found | {name: found[whole] for name, whole in memory.replaced.items() if whole in found}


def views_of(
    tensors: Sequence[TensorDecl],
    buffers: Sequence[ir.Value],
    sizes: Mapping[str, Affine],
    low: BodyLowering,
    point: ir.InsertionPoint,
) -> list[ir.Value]:
    """Buffers, the first values of some, in the shapes of tensors."""
    shapes = ([extent.substitute(sizes) for extent in tensor.shape] for tensor in tensors)
    return [in_shape(buffer, shape, low, point) for buffer, shape in zip(buffers, shapes, strict=False)]


def in_shape(
    buffer: ir.Value, shape: Sequence[Affine], low: BodyLowering, point: ir.InsertionPoint
) -> ir.Value:
    """A row-major buffer in a shape of as many elements, if it does not have as many dimensions."""
    dynamic, old = ir.ShapedType.get_dynamic_size(), buffer.type
    if old.rank == len(shape) and (old.has_static_shape and all(e.is_constant for e in shape)):
        return buffer
    sizes = [max(e.constant, 1) if e.is_constant else dynamic for e in shape]
    size_values = [low.affine([e], point) for e in shape if not e.is_constant]
    strides: list[int] = []
    stride_values: list[ir.Value] = []
    for dimension in range(len(shape)):
        inner = shape[dimension + 1 :]
        if all(e.is_constant for e in inner):
            strides.append(prod(max(e.constant, 1) for e in inner))
        else:
            strides.append(dynamic)
            stride_values.append(product(low, inner, point))
    type = ir.MemRefType.get(sizes, old.element_type, ir.StridedLayoutAttr.get(0, strides))
    attributes = {
        "static_offsets": ir.DenseI64ArrayAttr.get([0]),
        "static_sizes": ir.DenseI64ArrayAttr.get(sizes),
        "static_strides": ir.DenseI64ArrayAttr.get(strides),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 0, len(size_values), len(stride_values)]),
    }
    operands = [buffer, *size_values, *stride_values]
    return low.create("memref.reinterpret_cast", [type], operands, point, attributes).results[0]


def product(lowering: BodyLowering, extents: Sequence[Affine], point: ir.InsertionPoint) -> ir.Value:
    """The product of extents as an index value; sizes below 1 count as they are."""
    known = prod(e.constant for e in extents if e.is_constant)
    value = lowering.constant(lowering.index_type, known, point)
    for extent in extents:
        if not extent.is_constant:
            operands = [value, lowering.affine([extent], point)]
            value = lowering.create("arith.muli", [lowering.index_type], operands, point).results[0]
    return value
