"""Tensors that are places in the rows of another, and are stored there at once.

`tad-rows` makes of a tensor of short rows one for each place in a row, and a map that puts them together:

    %f[i, m] = if {m = 0} then %f_0[i] else (if {m = 1} then %f_1[i] else %f_2[i])

On a GPU, whose stores of neighbours may be apart, %f_0 is every third element of the memory of %f, and the
map is no launch.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from tadc.dialect.index_maps import parse_set
from tadc.dialect.mlir import ir
from tadc.lattice.affine import Affine
from tadc.passes.maps.buffers import maps_of
from tadc.passes.maps.lower_body import BodyLowering
from tadc.passes.maps.marks import CHAIN
from tadc.passes.maps.operand_forms import subscripts
from tadc.passes.maps.tile_values import owner, yielded


@dataclass(frozen=True)
class Place:
    """A tensor has the elements of `whole` where the last index is `number`."""

    whole: Any
    number: int


def places_of(function: Any) -> dict[Any, Place]:
    """The tensors of a function that are places in rows; all of each of these rows are."""
    found: dict[Any, Place] = {}
    for op in maps_of(function):
        if op.name == "tad.map" and CHAIN not in op.attributes:
            found |= _places(op)
    return found


def put_together(op: Any, places: dict[Any, Place]) -> bool:
    """Whether a map only puts tensors together that are places in its rows."""
    return any(place.whole == op.results[0] for place in places.values())


def _places(op: Any) -> dict[Any, Place]:
    """The tensors that a map puts together; none of another map."""
    type, block = op.results[0].type, op.regions[0].blocks[0]
    operations = [o.operation for o in block.operations]
    if type.rank < 2 or not type.has_static_shape or len(operations) != 2:
        return {}
    if not any(use.owner.name == "func.return" for use in op.results[0].uses):
        # The memory of a tensor in between is another's before its map runs.
        return {}
    found: dict[Any, Place] = {}
    number, value, region = 0, yielded(block), block
    while True:
        made = owner(value)
        if made is None or made.block != region:
            return {}
        if made.name == "tad.read":
            tensor = _part(made, block)
            if tensor is None or number != type.shape[-1] - 1:
                return {}
            return {**found, tensor: Place(op.results[0], number)}
        if made.name != "tad.guard" or not _says(made, block.arguments[type.rank - 1], number):
            return {}
        region = made.regions[0].blocks[0]
        read = owner(yielded(region))
        tensor = None if read is None or read.block != region else _part(read, block)
        if tensor is None:
            return {}
        found[tensor] = Place(op.results[0], number)
        number, region = number + 1, made.regions[1].blocks[0]
        value = yielded(region)


def _part(read: Any, block: Any) -> Any:
    """The tensor that is read at all indices of the map but the last, there alone; None otherwise."""
    if read.name != "tad.read" or any(v not in list(block.arguments) for v in list(read.operands)[1:]):
        return None
    forms = {value: Affine.var(f"d{n}") for n, value in enumerate(block.arguments)}
    own = [Affine.var(f"d{n}") for n in range(len(forms) - 1)]
    tensor = read.operands[0]
    is_made = not isinstance(tensor.owner, ir.Block) and CHAIN not in tensor.owner.attributes
    is_own = list(subscripts(read, list(read.operands)[1:], forms)) == own
    return tensor if is_made and is_own and len(list(tensor.uses)) == 1 else None


def _says(guard: Any, index: Any, number: int) -> bool:
    """Whether a guard is that an index is a number."""
    rows = parse_set(str(guard.attributes["where"])).constraints
    if len(rows) != 1 or not rows[0].equality or list(guard.operands) != [index]:
        return False
    return rows[0].form in (Affine.var("d0") - number, number - Affine.var("d0"))


def view_of(place: Place, buffer: Any, low: BodyLowering, point: Any) -> Any:
    """The elements of a place in the buffer of all rows."""
    shape = list(place.whole.type.shape)
    sizes = [max(n, 1) for n in shape[:-1]]
    strides = [prod(max(n, 1) for n in shape[d + 1 :]) for d in range(len(sizes))]
    layout = ir.StridedLayoutAttr.get(place.number, strides)
    attributes = {
        "static_offsets": ir.DenseI64ArrayAttr.get([place.number]),
        "static_sizes": ir.DenseI64ArrayAttr.get(sizes),
        "static_strides": ir.DenseI64ArrayAttr.get(strides),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 0, 0, 0]),
    }
    type = ir.MemRefType.get(sizes, place.whole.type.element_type, layout)
    return low.create("memref.reinterpret_cast", [type], [buffer], point, attributes).results[0]
