"""Functions of tensors that call loops over buffers: what upstream's bufferization joins with the host's own.

func.func @f(%x: tensor<8xf64>) -> tensor<3x4xf64> {
  %0 = bufferization.to_buffer %x : tensor<8xf64> to memref<8xf64>
  %1 = memref.alloc() : memref<3x4xf64>
  call @tad_f(%0, %1) : (memref<8xf64>, memref<3x4xf64>) -> ()
  %2 = bufferization.to_tensor %1 restrict writable : memref<3x4xf64> to tensor<3x4xf64>
  return %2 : tensor<3x4xf64>
}
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from tadc.dialect.mlir import ir
from tadc.lattice.affine import Affine
from tadc.passes.maps.buffers import buffer_type
from tadc.passes.maps.map import MapFunction, TensorDecl
from tadc.passes.maps.memory_of_tensors import Memory
from tadc.passes.wrappers import Wrapper, symbol_name


def wrap_buffers(function: ir.Operation, maps: MapFunction, memory: Memory) -> None:
    """Have a function of tensors call its loops, over new buffers for results, and for what is in between.

    Upstream's `buffer-deallocation-pipeline` frees these as it does the host's own.
    """
    wrapper = _BufferWrapper(function)
    forms = dict(zip(maps.sizes, wrapper.forms, strict=True))
    for tensor, value in zip(memory.arguments, wrapper.tensors, strict=True):
        for n, extent in enumerate(tensor.shape):
            if value.type.is_dynamic_dim(n):
                wrapper.expect(value, n, extent.substitute(forms))
    given = [wrapper.buffer_of(value) for value in wrapper.tensors]
    results = [wrapper.room(tensor, forms) for tensor in memory.results]
    between = [wrapper.room(tensor, forms) for tensor in memory.temporaries]
    declared = (*memory.arguments, *memory.results, *memory.temporaries)
    buffers = zip((*given, *results, *between), declared, strict=True)
    operands = [wrapper.passed(buffer, tensor) for buffer, tensor in buffers]
    wrapper.call(maps.name, [], [*operands, *wrapper.sizes])
    wrapper.finish([wrapper.tensor_of(b, t) for b, t in zip(results, wrapper.results, strict=True)])


class _BufferWrapper(Wrapper):
    """A wrapper that makes buffers."""

    def buffer_of(self, tensor: ir.Value) -> ir.Value:
        """A tensor that is read."""
        type = ir.MemRefType.get(list(tensor.type.shape), tensor.type.element_type)
        return self.made(
            "bufferization.to_buffer", [type], [tensor], read_only=ir.UnitAttr.get(self.context)
        )[0]

    def tensor_of(self, buffer: ir.Value, type: ir.Type) -> ir.Value:
        """A buffer that nothing else holds."""
        unit = ir.UnitAttr.get(self.context)
        shaped = ir.RankedTensorType.get(list(buffer.type.shape), type.element_type)
        return self.made("bufferization.to_tensor", [shaped], [buffer], restrict=unit, writable=unit)[0]

    def room(self, tensor: TensorDecl, forms: Mapping[str, Affine]) -> ir.Value:
        """A new buffer for a tensor; where an extent is negative, for none of its elements."""
        sizes, values = self.extents([extent.substitute(forms) for extent in tensor.shape])
        type = ir.MemRefType.get(sizes, ir.Type.parse(tensor.type, self.context))
        segments = ir.DenseI32ArrayAttr.get([len(values), 0], self.context)
        return self.made("memref.alloc", [type], values, operandSegmentSizes=segments)[0]

    def passed(self, buffer: ir.Value, tensor: TensorDecl) -> ir.Value:
        """A buffer as loops take it: in a static type, from its first element on."""
        type = buffer_type(tensor)
        if buffer.type == type:
            return buffer
        sizes = list(type.shape)
        strides = [prod(sizes[n + 1 :]) for n in range(len(sizes))]
        numbers = {"static_offsets": [0], "static_sizes": sizes, "static_strides": strides}
        attributes: dict[str, ir.Attribute] = {
            name: ir.DenseI64ArrayAttr.get(listed, self.context) for name, listed in numbers.items()
        }
        attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get([1, 0, 0, 0], self.context)
        return self.made("memref.reinterpret_cast", [type], [buffer], **attributes)[0]


#: What a part is called with where one thread computes all of it, by how `backend/splitting.py` divides it
#: among several: which operand of `tad_f.0.split`, from the end, says how many elements there are, and what
#: stands around this as the last operands of `tad_f.0`.
_WHOLE = {"split": (-3, (0,), ()), "spread": (-4, (0,), ()), "turns": (-3, (0,), (0, 1))}


def run_alone(split: ir.Operation) -> None:
    """Define a function that calls another by several threads as one that calls it in its own."""
    called, _, kind = symbol_name(split).rpartition(".")
    last, before, after = _WHOLE[kind]
    types = ir.FunctionType(ir.TypeAttr(split.attributes["function_type"]).value).inputs
    split.regions[0].blocks.append(*types, arg_locs=[split.location] * len(types))
    body = Wrapper(split)
    first, second = ([body.index(n, body.point) for n in each] for each in (before, after))
    operands = body.arguments
    body.call(called, [], [*operands[:last], *first, operands[last], *second])
    body.finish([])
