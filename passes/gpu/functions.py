"""`tad` functions to kernels of the gpu dialect: one a tensor, or a few for sizes that are not known.

Gather form needs no atomics: each element is computed by one thread, or by a group of threads that join
their results in a fixed order, and stored once. The kernels of a function run in the order of the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tadc.dialect.locations import unnamed
from tadc.dialect.mlir import ir
from tadc.lattice.affine import Affine
from tadc.passes.cpu.loops import scalars_above
from tadc.passes.gpu.elements import emit_groups, emit_threads, emit_tiles, grid_of
from tadc.passes.gpu.kernel import Kernel
from tadc.passes.gpu.launch import Condition, GridAxis, Launch
from tadc.passes.gpu.plan import VECTOR_BYTES, GroupPlan, ThreadPlan, TilePlan, Variant
from tadc.passes.gpu.schedule import variants_of
from tadc.passes.maps.buffers import Buffers, BufferViews, buffers_of, maps_of, memref_of, symbol_of
from tadc.passes.maps.lower_body import BodyLowering
from tadc.passes.maps.machine import Gpu


def lower_to_gpu(module: Any, function: Any, gpu: Gpu) -> list[Launch]:
    """Replace a `tad` function by a `gpu.module` of its name, for a GPU like this one."""
    context = module.context
    buffers = buffers_of(function)
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
            launches += _lower_map(gpu, function, op, buffers, f"{name}_{number}", ir.InsertionPoint(block))
    function.erase()
    return launches


def _lower_map(gpu: Gpu, function: Any, op: Any, buffers: Buffers, name: str, point: Any) -> list[Launch]:
    """The kernels of a map."""
    tensors = buffers.tensors
    stored = [n for n, v in enumerate(tensors) if v in op.results]
    read = [n for n, v in enumerate(tensors) if _reads(op, v) and v not in tensors[:n]]
    used = [*read, *stored]
    shape = buffers.shapes[op.results[0]]
    sizes = {size: Affine.var(f"s{n}") for n, size in enumerate(buffers.sizes)}
    launches: list[Launch] = []
    for number, variant in enumerate(variants_of(gpu, op, shape, sizes, buffers.shapes)):
        kernel = f"{name}_{number}" if number else name
        grid, block = grid_of(variant.plan, shape), (variant.plan.block, 1, 1)
        made = _lower_kernel(gpu, function, op, buffers, [tensors[n] for n in used], kernel, variant, point)
        if all(extent.is_constant for axis in grid for extent in axis.extents):
            blocks = [*(max(axis.blocks(()), 1) for axis in grid), 1, 1]
            made.attributes["known_grid_size"] = ir.DenseI32ArrayAttr.get(blocks[:3])
        before = tuple(launch.when for launch in launches)
        launches.append(Launch(kernel, grid, block, tuple(used), variant.when, before))
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


def _lower_kernel(
    gpu: Gpu,
    function: Any,
    op: Any,
    buffers: Buffers,
    used: Sequence[Any],
    name: str,
    variant: Variant,
    point: Any,
) -> Any:
    """One kernel of a map, over the buffers of these tensors and the sizes."""
    context, sizes = op.context, buffers.sizes
    types = [*(memref_of(v.type) for v in used), *(v.type for v in sizes)]
    aligned = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), VECTOR_BYTES)
    unique = ir.DictAttr.get({"llvm.noalias": ir.UnitAttr.get(), "llvm.align": aligned})
    attributes = {
        "sym_name": ir.StringAttr.get(name),
        "function_type": ir.TypeAttr.get(ir.FunctionType.get(types, [])),
        "gpu.kernel": ir.UnitAttr.get(),
        "arg_attrs": ir.ArrayAttr.get([unique] * len(used) + [ir.DictAttr.get({})] * len(sizes)),
        "known_block_size": ir.DenseI32ArrayAttr.get([variant.plan.block, 1, 1]),
    }
    if isinstance(variant.plan, TilePlan):
        # Without it ptxas spills a little to fit more blocks than the plan reckons with.
        attributes["nvvm.minctasm"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 1)
    made = ir.Operation.create("gpu.func", attributes=attributes, regions=1, loc=op.location, ip=point)
    block = ir.Block.create_at_start(made.regions[0], types, [v.location for v in (*used, *sizes)])
    given = list(block.arguments)
    lowering = BodyLowering(context)
    inside = ir.InsertionPoint(block)
    lowering.location = unnamed(op.location)
    shapes = BufferViews(buffers, given[len(used) :], lowering)
    views = [shapes.view(t, buffer, inside) for t, buffer in zip(used, given, strict=False)]
    lowering.memrefs, lowering.copies = buffers.by_tensor(used, views)
    scalars_above(function, lowering, inside)
    kernel = Kernel(gpu, op, shapes, lowering, made)
    match variant.plan:
        case ThreadPlan() as plan:
            emit_threads(kernel, plan, inside)
        case GroupPlan() as plan:
            emit_groups(kernel, plan, inside)
        case TilePlan() as plan:
            emit_tiles(kernel, plan, inside)
    lowering.location = unnamed(op.location)
    lowering.create("gpu.return", [], [], inside)
    return made


__all__ = ["Condition", "GridAxis", "Launch", "lower_to_gpu"]
