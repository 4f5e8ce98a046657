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

from tadc.dialect.mlir import ir
from tadc.passes.maps.map import MapFunction
from tadc.passes.maps.memory_of_tensors import Memory
from tadc.passes.wrappers import BufferWrapper, Wrapper, symbol_name


def wrap_buffers(function: ir.Operation, maps: MapFunction, memory: Memory) -> None:
    """Have a function of tensors call its loops, over new buffers for results, and for what is in between.

    Upstream's `buffer-deallocation-pipeline` frees these as it does the host's own.
    """
    wrapper = BufferWrapper(function)
    forms = dict(zip(maps.sizes, wrapper.forms, strict=True))
    wrapper.expect_shapes(memory.arguments, forms)
    given = [wrapper.buffer_of(value) for value in wrapper.tensors]
    results = [wrapper.room(tensor, forms) for tensor in memory.results]
    between = [wrapper.room(tensor, forms) for tensor in memory.temporaries]
    declared = (*memory.arguments, *memory.results, *memory.temporaries)
    buffers = zip((*given, *results, *between), declared, strict=True)
    operands = [wrapper.passed(buffer, tensor) for buffer, tensor in buffers]
    wrapper.call(maps.name, [], [*operands, *wrapper.sizes])
    wrapper.finish([wrapper.tensor_of(b, t) for b, t in zip(results, wrapper.results, strict=True)])


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
