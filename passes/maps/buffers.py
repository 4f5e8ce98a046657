"""The tensors of a function as buffers that the caller owns, all row-major.

The buffer of a tensor whose shape depends on sizes is passed as the address of its first element,
with the type of a buffer of one: upstream's bare-pointer convention needs a static type. A view of
its true shape is made from the sizes, which are the last arguments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from tadc.dialect.mlir import ir
from tadc.dialect.ops import MAPS
from tadc.dialect.program_reader import UnsupportedIR
from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine
from tadc.passes.maps.lower_body import BodyLowering
from tadc.passes.maps.map import MapFunction
from tadc.passes.maps.memory_of_tensors import memory_of


def memref_of(tensor: ir.Type) -> ir.Type:
    """The type in which a buffer is passed."""
    if not tensor.has_static_shape:
        return ir.MemRefType.get([1], tensor.element_type)
    # Upstream does not lower buffers of two or more dimensions without elements; nothing is
    # ever read from one or written to it, so its type may say 1 for 0.
    return ir.MemRefType.get([max(size, 1) for size in tensor.shape], tensor.element_type)


def maps_of(function: ir.Operation) -> list[ir.Operation]:
    """The maps of a function in order; anything else there has no lowering."""
    operations = [op.operation for op in function.regions[0].blocks[0].operations]
    maps = [op for op in operations if op.name in MAPS]
    for op in operations[:-1]:
        if op.name not in MAPS and not op.name.startswith(("arith.constant", "math.")):
            raise UnsupportedIR(f"'{op.name}' has no lowering", op.location)
    return maps


def location_of(tensor: ir.Value) -> ir.Location:
    """Where a tensor was defined, with its name."""
    place = tensor.location
    if isinstance(tensor, ir.OpResult) and isinstance(place, ir.FusedLoc):
        places = list(place.locations)
        # Equal ones are kept once.
        return places[tensor.result_number] if len(places) == len(tensor.owner.results) else places[0]
    return place


@dataclass(frozen=True)
class Buffers:
    """The tensors of a function by role, and its sizes; a tensor that is returned twice is two results.

    `shapes` are those of memory, forms over `s0, s1, …`, the sizes in order.
    """

    arguments: list[ir.Value]
    results: list[ir.Value]
    temporaries: list[ir.Value]
    sizes: list[ir.Value]
    known: Domain
    """What holds of the sizes of every call."""
    shapes: dict[ir.Value, tuple[Affine, ...]] = field(repr=False)
    replaced: dict[ir.Value, ir.Value]
    """Tensors that are in the memory of another, which is computed from them in place."""
    kept: list[ir.Value]
    """Tensors that are kept from call to call, in memory of their own."""

    def type_of(self, tensor: ir.Value) -> ir.Type:
        """The type in which the buffer of a tensor is passed."""
        extents = self.shapes[tensor]
        if not all(extent.is_constant for extent in extents):
            return memref_of(tensor.type)
        shape = [extent.constant for extent in extents]
        return memref_of(ir.RankedTensorType.get(shape, tensor.type.element_type))

    @property
    def given(self) -> list[ir.Value]:
        """Those of the lowered function's arguments, in order."""
        return [*self.arguments, *self.results, *self.temporaries]

    @property
    def tensors(self) -> list[ir.Value]:
        """All: those that are given, then those that are kept."""
        return [*self.given, *self.kept]

    def by_tensor(
        self, tensors: Sequence[ir.Value], values: Sequence[ir.Value]
    ) -> tuple[dict[ir.Value, ir.Value], dict[ir.Value, list[ir.Value]]]:
        """The buffer to read each tensor from, and further buffers to store it to."""
        first: dict[ir.Value, ir.Value] = {}
        more: dict[ir.Value, list[ir.Value]] = {}
        for tensor, value in zip(tensors, values, strict=True):
            if tensor in first:
                more.setdefault(tensor, []).append(value)
            else:
                first[tensor] = value
        for tensor, last in self.replaced.items():
            if last in first:
                first[tensor], more[tensor] = first[last], more.get(last, [])
        return first, more


def buffers_of(maps: MapFunction, names: Mapping[ir.Value, str]) -> Buffers:
    """The tensors and sizes of a function, whose values have these names in its maps."""
    memory, values = memory_of(maps), dict[str, ir.Value]()
    for value, name in names.items():
        # In a recurrence the tensor has another value of the same name.
        values.setdefault(name, value)
    shapes = {name: tensor.shape for name, tensor in maps.tensors().items()}
    shapes |= {tensor.name: tensor.shape for tensor in memory.temporaries}
    position = {name: Affine.var(f"s{n}") for n, name in enumerate(maps.sizes)}
    return Buffers(
        [values[tensor.name] for tensor in memory.arguments],
        [values[tensor.name] for tensor in memory.results],
        [values[tensor.name] for tensor in memory.temporaries],
        [values[name] for name in maps.sizes],
        tuple(row.substitute(position) for row in maps.known),
        {values[n]: tuple(e.substitute(position) for e in s) for n, s in shapes.items()},
        {values[name]: values[whole] for name, whole in memory.replaced.items()},
        [values[tensor.name] for tensor in memory.kept],
    )


def symbol_of(function: ir.Operation) -> str:
    """The symbol of the lowered function: no tensor's name can hide one of libc's."""
    return "tad_" + ir.StringAttr(function.attributes["sym_name"]).value


class BufferViews:
    """The sizes of a lowered function as values, and the shapes that they make."""

    def __init__(self, buffers: Buffers, values: Sequence[ir.Value], lowering: BodyLowering) -> None:
        """`values` are the sizes in the lowered function, in order."""
        self.buffers = buffers
        self.lowering = lowering
        forms = [lowering.variable(value) for value in values]
        lowering.forms.update(zip(buffers.sizes, forms, strict=True))
        self.names = {f"s{n}": form for n, form in enumerate(forms)}
        lowering.known = tuple(row.substitute(self.names) for row in buffers.known)

    def by_name(self, sizes: Sequence[str]) -> dict[str, Affine]:
        """The forms of the sizes, which have these names in maps."""
        return dict(zip(sizes, self.names.values(), strict=True))

    def of(self, tensor: ir.Value) -> tuple[Affine, ...]:
        """The extents of a tensor as forms of index values."""
        return tuple(form.substitute(self.names) for form in self.buffers.shapes[tensor])

    def view(self, tensor: ir.Value, buffer: ir.Value, point: ir.InsertionPoint) -> ir.Value:
        """The buffer in the tensor's shape."""
        if tensor.type.has_static_shape:
            return buffer
        return in_shape(buffer, self.of(tensor), self.lowering, point)


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
