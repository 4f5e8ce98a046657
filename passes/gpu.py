"""`tad` functions to kernels of the gpu dialect: one kernel a tensor, one thread an element.

Gather form needs no atomics: a thread computes its element alone and stores it once. The
kernels of a function run in the order of the text.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tadc.dialect.locations import unnamed
from tadc.dialect.mlir import ir
from tadc.lattice.affine import Affine
from tadc.passes.element_loops import store_element
from tadc.passes.loops import buffers_of, maps_of, memref_of, scalars_above, symbol_of
from tadc.passes.lower_body import BodyLowering

BLOCK_SIZE = 256


@dataclass(frozen=True)
class Launch:
    """How to run a kernel: its threads, and the buffers it takes by position."""

    kernel: str
    threads: int
    buffers: tuple[int, ...]


def lower_to_gpu(module: Any, function: Any) -> list[Launch]:
    """Replace a `tad` function by a `gpu.module` of its name."""
    context = module.context
    tensors = buffers_of(function).tensors
    name = symbol_of(function)
    launches: list[Launch] = []
    with context, ir.Location.unknown(context):
        module.operation.attributes["gpu.container_module"] = ir.UnitAttr.get()
        kernels = ir.Operation.create(
            "gpu.module", attributes={"sym_name": ir.StringAttr.get(name)}, regions=1,
            loc=function.location, ip=ir.InsertionPoint(function),
        )  # fmt: skip
        block = ir.Block.create_at_start(kernels.regions[0], [])
        for number, op in enumerate(maps_of(function)):
            stored = [n for n, v in enumerate(tensors) if v == op.results[0]]
            read = [n for n, v in enumerate(tensors) if _reads(op, v) and v not in tensors[:n]]
            kernel = f"{name}_{number}"
            used = [*read, *stored]
            _lower_kernel(function, op, [tensors[n] for n in used], kernel, ir.InsertionPoint(block))
            threads = math.prod(op.results[0].type.shape)
            launches.append(Launch(kernel, threads, tuple(used)))
    function.erase()
    return launches


def _reads(op: Any, tensor: Any) -> bool:
    """Whether a map reads a tensor."""
    for use in tensor.uses:
        owner = use.owner.operation
        while owner is not None and owner.name != "func.func":
            if owner == op:
                return True
            owner = owner.parent
    return False


def _lower_kernel(function: Any, op: Any, used: list[Any], name: str, point: Any) -> None:
    context = op.context
    types = [memref_of(v.type) for v in used]
    unique = ir.DictAttr.get({"llvm.noalias": ir.UnitAttr.get()})
    attributes = {
        "sym_name": ir.StringAttr.get(name),
        "function_type": ir.TypeAttr.get(ir.FunctionType.get(types, [])),
        "gpu.kernel": ir.UnitAttr.get(),
        "arg_attrs": ir.ArrayAttr.get([unique] * len(types)),
        "known_block_size": ir.DenseI32ArrayAttr.get([BLOCK_SIZE, 1, 1]),
    }
    made = ir.Operation.create("gpu.func", attributes=attributes, regions=1, loc=op.location, ip=point)
    block = ir.Block.create_at_start(made.regions[0], types, [v.location for v in used])
    first: dict[Any, Any] = {}
    copies: list[Any] = []
    for tensor, buffer in zip(used, block.arguments, strict=True):
        if tensor in first:
            copies.append(buffer)
        else:
            first[tensor] = buffer
    lowering = BodyLowering(context, first, {op.results[0]: copies})
    inside = ir.InsertionPoint(block)
    lowering.location = unnamed(op.location)
    scalars_above(function, lowering, inside)
    dimension = {"dimension": ir.Attribute.parse("#gpu<dim x>")}
    thread, group = (
        lowering.variable(lowering.create(n, [lowering.index_type], [], inside, dimension).results[0])
        for n in ("gpu.thread_id", "gpu.block_id")
    )
    shape = list(op.results[0].type.shape)
    flat = lowering.variable(lowering.affine([group * BLOCK_SIZE + thread], inside))
    count = lowering.constant(lowering.index_type, math.prod(shape), inside)
    truth = ir.IntegerType.get_signless(1, context)
    less = {"predicate": ir.IntegerAttr.get(ir.IntegerType.get_signless(64, context), 2)}
    operands = [lowering.affine([flat], inside), count]
    in_range = lowering.create("arith.cmpi", [truth], operands, inside, less).results[0]

    def element(at: Any) -> list[Any]:
        indices = [lowering.affine([form], at) for form in _unravel(flat, shape)]
        store_element(op, [lowering.variable(i) for i in indices], indices, lowering, at)
        return []

    lowering.choose(in_range, [], element, None, inside)
    lowering.create("gpu.return", [], [], inside)


def _unravel(flat: Affine, shape: list[int]) -> list[Affine]:
    """The indices of a row-major position."""
    forms: list[Affine] = []
    stride = math.prod(shape)
    for size in shape:
        stride //= max(size, 1)
        index = flat.floordiv(max(stride, 1))
        forms.append(index.mod(max(size, 1)) if forms else index)
    return forms
