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
from tadc.passes.gpu.chain_nests import ChainNest
from tadc.passes.gpu.elements import emit_tiles, tile_grid, view_of
from tadc.passes.gpu.interleaved import Place, places_of
from tadc.passes.gpu.kernel import Kernel
from tadc.passes.gpu.launch import Condition, GridAxis, Launch
from tadc.passes.gpu.nests import KernelNest, kernel_nest
from tadc.passes.gpu.plan import BLOCK_SIZE, VECTOR_BYTES, TilePlan, Variant
from tadc.passes.gpu.row_chains import RowChain, is_inner, near_tensors
from tadc.passes.gpu.schedule import variants_of
from tadc.passes.gpu.thread_plans import can_be_vector
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
from tadc.passes.maps.tile_values import region_operations
from tadc.passes.nest.emit import Scope
from tadc.passes.schedule.accesses import Accesses


@dataclass(frozen=True)
class _Lowering:
    """What kernels of a function share; `places` has the tensors that are stored in the rows of others, by
    name."""

    gpu: Gpu
    function: Any
    buffers: Buffers
    places: dict[str, Place]
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
    maps, names = read_maps_and_names(function)
    places, values = places_of(maps), {name: value for value, name in names.items()}
    wholes = {values[name]: values[place.whole.name] for name, place in places.items()}
    buffers = replace(buffers, replaced=buffers.replaced | wholes)
    lowering = _Lowering(gpu, function, buffers, places, maps, names)
    name = symbol_of(function)
    launches: list[Launch] = []
    with context, ir.Location.unknown(context):
        module.operation.attributes["gpu.container_module"] = ir.UnitAttr.get()
        kernels = ir.Operation.create(
            "gpu.module", attributes={"sym_name": ir.StringAttr.get(name)}, regions=1,
            loc=function.location, ip=ir.InsertionPoint(function),
        )  # fmt: skip
        block = ir.Block.create_at_start(kernels.regions[0], [])
        ops_in_order = maps_of(function)
        for together in chains_in(ops_in_order):
            ops, kernel = [ops_in_order[n] for n in together], f"{name}_{together[0]}"
            if CHAIN in ops[0].attributes:
                launches.append(_lower_chain(lowering, ops, kernel, ir.InsertionPoint(block)))
            elif ops[0].results[0] in wholes.values():
                continue
            else:
                launches += _lower_map(lowering, ops[0], kernel, ir.InsertionPoint(block))
    function.erase()
    return launches


def _lower_map(of: _Lowering, op: Any, name: str, point: Any) -> list[Launch]:
    """The kernels of a map."""
    buffers, tensors = of.buffers, of.buffers.tensors
    stored = _stored(op.results, buffers)
    used = [n for n, v in enumerate(tensors) if _reads(op, v) and v not in tensors[:n] and n not in stored]
    used += stored
    launches: list[Launch] = []
    if IN_PLACE in op.attributes:
        variants = [Variant(None)]
    else:
        variants = variants_of(of.gpu, of.map_of(op), of.maps)
    for number, variant in enumerate(variants):
        kernel = f"{name}_{number}" if number else name
        made, grid = _lower_kernel(of, op, [tensors[n] for n in used], kernel, variant, point)
        if all(extent.is_constant for axis in grid for extent in axis.extents):
            blocks = [*(max(axis.blocks(()), 1) for axis in grid), 1, 1]
            made.attributes["known_grid_size"] = ir.DenseI32ArrayAttr.get(blocks[:3])
        before = tuple(launch.when for launch in launches)
        threads = variant.plan.block if variant.plan else BLOCK_SIZE
        launches.append(Launch(kernel, grid, (threads, 1, 1), tuple(used), variant.when, before))
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
    tensors, items = buffers.tensors, [of.map_of(op) for op in ops]
    chain = RowChain.of(items[0])
    near = near_tensors(items, chain, gpu)
    inner = frozenset(tensor.name for tensor in near if is_inner(tensor.name, items, of.maps))
    made = {value for op in ops for value in op.results}
    read = [n for n, v in enumerate(tensors) if v not in tensors[:n] and any(_reads(op, v) for op in ops)]
    used = [n for n in read if tensors[n] not in made]
    used += _stored([value for value in made if of.names[value] not in inner], buffers)
    func, low, _ = _function(of, ops[0], [tensors[n] for n in used], name, chain.block, point)
    widths = {item.tensors[0].name: _width(item, of.maps) for item in items}
    nest = ChainNest(of.maps, items, chain, near, inner, widths, gpu.warp).nest()
    grid = _emit(of, KernelNest(of.maps, items[0], (), nest), func, low)
    low.location = unnamed(ops[0].location)
    low.create("gpu.return", [], [], ir.InsertionPoint(func.regions[0].blocks[0]))
    func.attributes["known_grid_size"] = ir.DenseI32ArrayAttr.get([max(grid.blocks(()), 1), 1, 1])
    return Launch(name, (grid,), (chain.block, 1, 1), tuple(used))


def _width(item: Map, function: MapFunction) -> int:
    """The most elements of a vector of a map of a chain."""
    sizes = item.extents
    accesses = Accesses(item, function, sizes, [1] * len(sizes))
    return next((width for width in (4, 2) if can_be_vector(accesses, range(len(sizes)), width)), 1)


def _lower_kernel(
    of: _Lowering, op: Any, used: Sequence[Any], name: str, variant: Variant, point: Any
) -> tuple[Any, tuple[GridAxis, ...]]:
    """One kernel of a map, over the buffers of these tensors and the sizes; its grid."""
    plan = variant.plan
    made, lowering, shapes = _function(of, op, used, name, plan.block if plan else BLOCK_SIZE, point)
    inside = ir.InsertionPoint(made.regions[0].blocks[0])
    if isinstance(plan, TilePlan):
        place = of.places.get(of.names[op.results[0]])
        if place is not None:
            tensor = op.results[0]
            lowering.memrefs[tensor] = view_of(place, lowering.memrefs[tensor], lowering, inside)
            lowering.copies[tensor] = [
                view_of(place, one, lowering, inside) for one in lowering.copies.get(tensor, ())
            ]
        ops: Any = {
            of.names[o.results[0]]: o
            for o in region_operations(op.regions[0].blocks[0])
            if o.results and o.results[0] in of.names
        }
        emitted = replace(
            plan, over=ops.get(plan.over), staged=frozenset(ops[name] for name in plan.staged),
            inner={ops[name]: spans for name, spans in plan.inner.items()},
        )  # fmt: skip
        emit_tiles(Kernel(of.gpu, op, shapes, lowering, made), emitted, inside)
        grid = tile_grid(plan, of.buffers.shapes[op.results[0]])
    else:
        nest = kernel_nest(of.maps, of.map_of(op), plan, of.places, of.gpu.warp)
        grid = (_emit(of, nest, made, lowering),)
    lowering.location = unnamed(op.location)
    lowering.create("gpu.return", [], [], inside)
    return made, grid


def _emit(of: _Lowering, made: KernelNest, function: ir.Operation, low: BodyLowering) -> GridAxis:
    """Fill a kernel's function with the code of a nest; its grid."""
    nest, names, point = made.nest, of.names, ir.InsertionPoint(function.regions[0].blocks[0])
    given = {names[size]: Affine.var(f"s{n}") for n, size in enumerate(of.buffers.sizes)}
    products: dict[str, tuple[Affine, ...]] = {name: (form,) for name, form in given.items()}
    sizes = {names[size]: low.forms[size] for size in of.buffers.sizes}
    if made.total:
        products[made.total] = tuple(extent.substitute(given) for extent in made.extents)
        extents = [extent.substitute(sizes) for extent in made.extents]
        sizes[made.total] = low.variable(product(low, extents, point))
    shapes = {t.name: tuple(form.substitute(sizes) for form in t.shape) for t in nest.tensors}
    buffers = {
        names[value]: tuple(
            in_shape(one, shapes[names[value]], low, point) for one in (buffer, *low.copies.get(value, ()))
        )
        for value, buffer in low.memrefs.items()
        if names[value] in shapes
    }
    target = Thread(low, function, nest.block)
    scope = Scope(point, sizes, low.known, buffers, indices=made.item.indices, target=target, shapes=shapes)
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
    scalars_above(of.function, lowering, inside)
    return made, lowering, shapes


__all__ = ["Condition", "GridAxis", "Launch", "lower_to_gpu"]
