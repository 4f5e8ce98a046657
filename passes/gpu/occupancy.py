"""How many threads a multiprocessor holds at a time, by a model of registers, and block sizes that follow."""

from __future__ import annotations

from tadc.passes.maps.machine import TYPICAL, Gpu
from tadc.passes.maps.map import TensorDecl
from tadc.passes.schedule.accesses import Accesses

BLOCK_SIZE, VECTOR_BYTES = TYPICAL.usual_block, TYPICAL.vector


def registers(gpu: Gpu, accesses: Accesses, results: int, operands: int) -> int:
    """About how many registers a thread needs that holds so many results and operands."""
    words = accesses.widest // 4
    loops = list(accesses.body.below())
    functions = any(o.name not in gpu.functions for loop in loops for o in loop.operations)
    return gpu.own_registers + words * (results + operands + (gpu.function_registers if functions else 0))


def registers_of_sizes(gpu: Gpu, accesses: Accesses) -> int:
    """About how many registers a thread needs for sizes that are not known: they, the strides that they make,
    and products of these with its places are numbers of 64 bits."""
    read = dict.fromkeys(load.tensor for load in accesses.map.loads())
    tensors = [*(accesses.tensors[name] for name in read), *accesses.map.tensors]
    sizes = {name for tensor in tensors for form in tensor.shape for name in form.variables}
    return gpu.size_registers * (len(sizes) + sum(map(unknown_strides, tensors)))


def unknown_strides(tensor: TensorDecl) -> int:
    """How many dimensions of a tensor have a stride that is not known."""
    unknown = [n for n, form in enumerate(tensor.shape) if not form.is_constant]
    return max(unknown, default=0)


def resident(gpu: Gpu, block: int, registers: int, shared: int) -> int:
    """The threads that a multiprocessor holds of blocks of this size; 0 where none fits."""
    each = -(-registers // 8) * 8 * block
    blocks = min(gpu.threads // block, gpu.registers // each)
    if shared:
        blocks = min(blocks, gpu.shared // shared)
    return blocks * block


def block_of(gpu: Gpu, threads: int | None, most: int) -> int:
    """The threads of a block, so that each multiprocessor gets two; all are equal in other respects."""
    block = most
    while threads is not None and block > gpu.least_block and threads < 2 * gpu.multiprocessors * block:
        block //= 2
    return block
