"""`tad` functions to kernels of the gpu dialect: one a tensor, or a few for sizes that are not known.

Gather form needs no atomics: each element is computed by one thread, or by a group of threads that join
their results in a fixed order, and stored once. The kernels of a function run in the order of the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tadc.dialect.locations import unnamed
from tadc.dialect.mlir import ir
from tadc.lattice.affine import Affine
from tadc.passes.cpu.loops import scalars_above
from tadc.passes.gpu.chain_kernels import ChainKernel
from tadc.passes.gpu.elements import emit_tiles, tile_grid
from tadc.passes.gpu.flat import flat_map
from tadc.passes.gpu.interleaved import Place, places_of, put_together, view_of
from tadc.passes.gpu.kernel import Kernel
from tadc.passes.gpu.launch import Condition, GridAxis, Launch
from tadc.passes.gpu.plan import BLOCK_SIZE, VECTOR_BYTES, GroupPlan, ThreadPlan, TilePlan, Variant
from tadc.passes.gpu.row_chains import RowChain, is_inner, near_tensors
from tadc.passes.gpu.schedule import variants_of
from tadc.passes.gpu.steps_of_plan import steps_of_group_plan, steps_of_thread_plan
from tadc.passes.gpu.thin_sets import emit_thin
from tadc.passes.gpu.threads import Thread, grid_of
from tadc.passes.maps.buffers import (
    Buffers,
    BufferViews,
    buffers_of,
    chains_in,
    in_shape,
    maps_of,
    memref_of,
    product,
    symbol_of,
)
from tadc.passes.maps.lower_body import BodyLowering
from tadc.passes.maps.machine import Gpu
from tadc.passes.maps.map import Map, MapFunction
from tadc.passes.maps.marks import CHAIN, IN_PLACE
from tadc.passes.maps.read_maps import read_maps_and_names
from tadc.passes.nest.emit import Scope
from tadc.passes.nest.plain import plain_nest
from tadc.passes.nest.primitives.apply import apply_steps


@dataclass(frozen=True)
class _Lowering:
    """What kernels of a function share; `places` has the tensors that are stored in the rows of others."""

    gpu: Gpu
    function: Any
    buffers: Buffers
    places: dict[Any, Place]
    maps: MapFunction
    names: dict[Any, str]

    def map_of(self, op: Any) -> Map:
        """The map as data."""
        name = self.names[op.results[0]]
        return next(item for item in self.maps.maps if item.tensors[0].name == name)


def lower_to_gpu(module: Any, function: Any, gpu: Gpu) -> list[Launch]:
    """Replace a `tad` function by a `gpu.module` of its name, for a GPU like this one."""
    context = module.context
    buffers = buffers_of(function)
    places = places_of(function)
    buffers = replace(buffers, replaced=buffers.replaced | {v: place.whole for v, place in places.items()})
    lowering = _Lowering(gpu, function, buffers, places, *read_maps_and_names(function))
    name = symbol_of(function)
    launches: list[Launch] = []
    with context, ir.Location.unknown(context):
        module.operation.attributes["gpu.container_module"] = ir.UnitAttr.get()
        kernels = ir.Operation.create(
            "gpu.module", attributes={"sym_name": ir.StringAttr.get(name)}, regions=1,
            loc=function.location, ip=ir.InsertionPoint(function),
        )  # fmt: skip
        block = ir.Block.create_at_start(kernels.regions[0], [])
        maps = maps_of(function)
        for together in chains_in(maps):
            ops, kernel = [maps[n] for n in together], f"{name}_{together[0]}"
            if CHAIN in ops[0].attributes:
                launches.append(_lower_chain(lowering, ops, kernel, ir.InsertionPoint(block)))
            elif put_together(ops[0], places):
                continue
            elif IN_PLACE in ops[0].attributes:
                launches.append(_lower_thin(lowering, ops[0], kernel, ir.InsertionPoint(block)))
            else:
                launches += _lower_map(lowering, ops[0], kernel, ir.InsertionPoint(block))
    function.erase()
    return launches


def _lower_map(of: _Lowering, op: Any, name: str, point: Any) -> list[Launch]:
    """The kernels of a map."""
    buffers, tensors = of.buffers, of.buffers.tensors
    stored = _stored(op.results, buffers)
    read = [n for n, v in enumerate(tensors) if _reads(op, v) and v not in tensors[:n]]
    used = [*read, *stored]
    shape = buffers.shapes[op.results[0]]
    sizes = {size: Affine.var(f"s{n}") for n, size in enumerate(buffers.sizes)}
    launches: list[Launch] = []
    for number, variant in enumerate(variants_of(of.gpu, op, shape, sizes, buffers.shapes)):
        kernel = f"{name}_{number}" if number else name
        block = (variant.plan.block, 1, 1)
        made, grid = _lower_kernel(of, op, [tensors[n] for n in used], kernel, variant, point)
        if all(extent.is_constant for axis in grid for extent in axis.extents):
            blocks = [*(max(axis.blocks(()), 1) for axis in grid), 1, 1]
            made.attributes["known_grid_size"] = ir.DenseI32ArrayAttr.get(blocks[:3])
        before = tuple(launch.when for launch in launches)
        launches.append(Launch(kernel, grid, block, tuple(used), variant.when, before))
    return launches


def _stored(results: Iterable[Any], buffers: Buffers) -> list[int]:
    """The places of the buffers that tensors are stored to."""
    found = [buffers.replaced.get(value, value) for value in results]
    return [n for n, value in enumerate(buffers.tensors) if value in found]


def _reads(op: Any, tensor: Any) -> bool:
    """Whether a map reads a tensor."""
    for use in tensor.uses:
        owner = use.owner.operation
        while owner is not None and owner.name != "func.func":
            if owner == op:
                return True
            owner = owner.parent
    return False


def _lower_chain(of: _Lowering, ops: Sequence[Any], name: str, point: Any) -> Launch:
    """The kernel of a chain."""
    buffers, gpu = of.buffers, of.gpu
    chain, tensors = RowChain.of(ops[0]), buffers.tensors
    near = near_tensors(ops, chain, gpu)
    inner = [value for value in near if is_inner(value, ops)]
    made = {value for op in ops for value in op.results}
    read = [n for n, v in enumerate(tensors) if v not in tensors[:n] and any(_reads(op, v) for op in ops)]
    used = [n for n in read if tensors[n] not in made]
    used += _stored([value for value in made if value not in inner], buffers)
    outside = [tensors[n] for n in used]
    func, low, shapes = _function(of, ops[0], outside, name, chain.block, point)
    inside = ir.InsertionPoint(func.regions[0].blocks[0])
    kernels = [Kernel(gpu, op, shapes, low, func) for op in ops]
    rows: dict[Any, Any] = {}
    for value in near:
        shape = [chain.near_rows, *value.type.shape[chain.depth :]]
        rows[value] = kernels[0].shared(shape, value.type.element_type)
    ChainKernel(chain, kernels, rows).emit(inside)
    low.location = unnamed(ops[0].location)
    low.create("gpu.return", [], [], inside)
    leading = tuple(buffers.shapes[ops[0].results[0]][: chain.depth])
    grid = (GridAxis(leading, chain.rows),)
    func.attributes["known_grid_size"] = ir.DenseI32ArrayAttr.get([max(grid[0].blocks(()), 1), 1, 1])
    return Launch(name, grid, (chain.block, 1, 1), tuple(used))


def _lower_thin(of: _Lowering, op: Any, name: str, point: Any) -> Launch:
    """The kernel of a map that completes another in its memory, on a thin set."""
    tensors, stored = of.buffers.tensors, _stored(op.results, of.buffers)
    used = [n for n, v in enumerate(tensors) if _reads(op, v) and v not in tensors[:n] and n not in stored]
    used += stored
    func, low, shapes = _function(of, op, [tensors[n] for n in used], name, BLOCK_SIZE, point)
    inside = ir.InsertionPoint(func.regions[0].blocks[0])
    extents = emit_thin(Kernel(of.gpu, op, shapes, low, func), BLOCK_SIZE, inside)
    low.location = unnamed(op.location)
    low.create("gpu.return", [], [], inside)
    return Launch(name, (GridAxis(extents, BLOCK_SIZE),), (BLOCK_SIZE, 1, 1), tuple(used))


def _lower_kernel(
    of: _Lowering, op: Any, used: Sequence[Any], name: str, variant: Variant, point: Any
) -> tuple[Any, tuple[GridAxis, ...]]:
    """One kernel of a map, over the buffers of these tensors and the sizes; its grid."""
    plan = variant.plan
    made, lowering, shapes = _function(of, op, used, name, plan.block, point)
    inside = ir.InsertionPoint(made.regions[0].blocks[0])
    if isinstance(plan, TilePlan):
        emit_tiles(Kernel(of.gpu, op, shapes, lowering, made), plan, inside)
        grid = tile_grid(plan, of.buffers.shapes[op.results[0]])
    else:
        grid = (_emit(of, of.map_of(op), plan, made, lowering),)
    lowering.location = unnamed(op.location)
    lowering.create("gpu.return", [], [], inside)
    return made, grid


def _emit(
    of: _Lowering, item: Map, plan: ThreadPlan | GroupPlan, function: ir.Operation, low: BodyLowering
) -> GridAxis:
    """Fill a kernel's function with the code of a map's nest; its grid."""
    maps, point = of.maps, ir.InsertionPoint(function.regions[0].blocks[0])
    products = {of.names[size]: (Affine.var(f"s{n}"),) for n, size in enumerate(of.buffers.sizes)}
    sizes = {of.names[size]: low.forms[size] for size in of.buffers.sizes}
    if isinstance(plan, GroupPlan):
        plan = replace(plan, lanes={of.names[o.results[0]]: lanes for o, lanes in plan.lanes.items()})
        steps = steps_of_group_plan(item, maps, plan, of.gpu.warp)
    else:
        if plan.flat:
            extents = item.extents
            maps, item, total = flat_map(maps, item)
            if total:
                sizes[total] = low.variable(product(low, [e.substitute(sizes) for e in extents], point))
                s = {name: form for name, (form,) in products.items()}
                products[total] = tuple(extent.substitute(s) for extent in extents)
        steps = steps_of_thread_plan(item, maps, plan)
    nest = apply_steps(plain_nest(maps, item), steps)
    shapes = {t.name: tuple(form.substitute(sizes) for form in t.shape) for t in nest.tensors}
    buffers: dict[str, tuple[ir.Value, ...]] = {}
    for value, buffer in low.memrefs.items():
        name = of.names[value]
        each = (buffer, *low.copies.get(value, ()))
        buffers[name] = tuple(in_shape(one, shapes[name], low, point) for one in each)
    target = Thread(low, function, nest.block)
    scope = Scope(point, sizes, low.known, buffers, indices=item.indices, target=target, shapes=shapes)
    target.kernel(nest, scope)
    return grid_of(nest, products)


def _function(
    of: _Lowering, op: Any, used: Sequence[Any], name: str, threads: int, point: Any
) -> tuple[Any, BodyLowering, BufferViews]:
    """A kernel's function without code, over the buffers of these tensors and the sizes."""
    context, buffers, sizes = op.context, of.buffers, of.buffers.sizes
    types = [*(memref_of(v.type) for v in used), *(v.type for v in sizes)]
    aligned = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), VECTOR_BYTES)
    unique = ir.DictAttr.get({"llvm.noalias": ir.UnitAttr.get(), "llvm.align": aligned})
    attributes = {
        "sym_name": ir.StringAttr.get(name),
        "function_type": ir.TypeAttr.get(ir.FunctionType.get(types, [])),
        "gpu.kernel": ir.UnitAttr.get(),
        "arg_attrs": ir.ArrayAttr.get([unique] * len(used) + [ir.DictAttr.get({})] * len(sizes)),
        "known_block_size": ir.DenseI32ArrayAttr.get([threads, 1, 1]),
    }
    made = ir.Operation.create("gpu.func", attributes=attributes, regions=1, loc=op.location, ip=point)
    block = ir.Block.create_at_start(made.regions[0], types, [v.location for v in (*used, *sizes)])
    given = list(block.arguments)
    lowering = BodyLowering(context)
    inside = ir.InsertionPoint(block)
    lowering.location = unnamed(op.location)
    shapes = BufferViews(buffers, given[len(used) :], lowering)
    views = [shapes.view(t, buffer, inside) for t, buffer in zip(used, given, strict=False)]
    lowering.memrefs, lowering.copies = buffers.by_tensor(used, views)
    for tensor in op.results:
        if (place := of.places.get(tensor)) is not None:
            buffers_of_rows = [lowering.memrefs[tensor], *lowering.copies.get(tensor, ())]
            first, *more = (view_of(place, one, lowering, inside) for one in buffers_of_rows)
            lowering.memrefs[tensor], lowering.copies[tensor] = first, more
    scalars_above(of.function, lowering, inside)
    return made, lowering, shapes


__all__ = ["Condition", "GridAxis", "Launch", "lower_to_gpu"]
