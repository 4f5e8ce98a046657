"""`tad` functions to kernels of the gpu dialect: a `gpu.func` for each nest."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from tadc.dialect.locations import unnamed
from tadc.dialect.mlir import ir
from tadc.lattice.affine import Affine
from tadc.passes.gpu.kernels import Kernel, Kernels, KernelSteps
from tadc.passes.gpu.launch import GridAxis, Launch
from tadc.passes.gpu.occupancy import VECTOR_BYTES
from tadc.passes.gpu.thread_loops import Thread, grid_of, launch_counts, launch_loops
from tadc.passes.maps.blocks import index_arrays
from tadc.passes.maps.buffers import BufferViews, in_shape, product, symbol_of
from tadc.passes.maps.lower_body import BodyLowering, IndexArray
from tadc.passes.maps.machine import Gpu
from tadc.passes.nest.emit import Scope
from tadc.passes.nest.nest import Nest
from tadc.passes.nest.tile import Tile


def lower_to_gpu(module: ir.Operation, function: ir.Operation, gpu: Gpu, given: KernelSteps) -> list[Launch]:
    """Replace a `tad` function by a `gpu.module` of its name, for a GPU like this one.

    Maps whose steps are `given` get these.
    """
    context = module.context
    with context, ir.Location.unknown(context):
        module.operation.attributes["gpu.container_module"] = ir.UnitAttr.get()
        kernels = ir.Operation.create(
            "gpu.module", attributes={"sym_name": ir.StringAttr.get(symbol_of(function))}, regions=1,
            loc=function.location, ip=ir.InsertionPoint(function),
        )  # fmt: skip
        point = ir.InsertionPoint(ir.Block.create_at_start(kernels.regions[0], []))
        of = Kernels(function, gpu, given)
        launches = [_Function(of, kernel).launch(point) for kernel in of.all()]
    function.erase()
    return launches


def shared_bytes(of: Kernels, kernel: Kernel) -> int:
    """The bytes of memory that the threads of a block of a kernel share.

    Raises DoesNotFit where it is not known how much a read that they share reads.
    """
    with of.function.context, ir.Location.unknown():
        module = ir.Module.create()
        _Function(of, kernel).launch(ir.InsertionPoint(module.body))
        (made,) = module.body.operations
        types = [value.type for value in made.regions[0].blocks[0].arguments]
        shared = [ir.MemRefType(type) for type in types if "workgroup" in str(type)]
        return sum(math.prod(type.shape) * type.element_type.width // 8 for type in shared)


@dataclass(frozen=True)
class _Function:
    """The function of a kernel on its way."""

    of: Kernels
    kernel: Kernel

    @cached_property
    def used(self) -> list[int]:
        """The buffers that it takes, by their places: what is read, then what is stored."""
        buffers, names = self.of.buffers, self.of.names
        reads = {load.tensor for item in self.kernel.maps for load in item.loads()}
        reads.update(*(index_arrays(item.body) for item in self.kernel.maps))
        made = {tensor.name for item in self.kernel.maps for tensor in item.tensors}
        kept = made & {*self.of.places, *(tensor.name for tensor in self.nest.tensors)}
        whole = {buffers.replaced.get(v, v) for v, name in names.items() if name in kept}
        stored = [n for n, v in enumerate(buffers.tensors) if v in whole]
        tensors = enumerate(buffers.tensors)
        read = [n for n, v in tensors if names[v] in reads - made and v not in buffers.tensors[:n]]
        return [*(n for n in read if n not in stored), *stored]

    @property
    def nest(self) -> Nest:
        """What it runs."""
        return self.kernel.made.nest

    def launch(self, point: ir.InsertionPoint) -> Launch:
        """Make the function; how it is launched."""
        function, low = self.function(point)
        inside = ir.InsertionPoint(function.regions[0].blocks[0])
        grid = self.fill(function, low, inside)
        low.location = unnamed(function.location)
        low.create("gpu.return", [], [], inside)
        if all(extent.is_constant for extent in grid.extents):
            blocks = [max(grid.blocks(()), 1), 1, 1]
            function.attributes["known_grid_size"] = ir.DenseI32ArrayAttr.get(blocks)
        kernel, block = self.kernel, (self.nest.block, 1, 1)
        sizes = {name: Affine.var(f"s{n}") for n, name in enumerate(self.of.maps.sizes)}
        steps = tuple(extent.substitute(sizes) for extent in launch_counts(self.nest))
        return Launch(
            kernel.name, (grid,), block, tuple(self.used), kernel.when, kernel.unless, steps=steps
        )  # fmt: skip

    def function(self, point: ir.InsertionPoint) -> tuple[ir.Operation, BodyLowering]:
        """A function without code over the buffers and the sizes, and what makes code in it."""
        buffers = self.of.buffers
        tensors, sizes = [buffers.tensors[n] for n in self.used], buffers.sizes
        own = [ir.IndexType.get()] * bool(launch_loops(self.nest))
        types = [*(buffers.type_of(v) for v in tensors), *(v.type for v in sizes), *own]
        aligned = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), VECTOR_BYTES)
        unique = ir.DictAttr.get({"llvm.noalias": ir.UnitAttr.get(), "llvm.align": aligned})
        attributes = {
            "sym_name": ir.StringAttr.get(self.kernel.name),
            "function_type": ir.TypeAttr.get(ir.FunctionType.get(types, [])),
            "gpu.kernel": ir.UnitAttr.get(),
            "arg_attrs": ir.ArrayAttr.get(
                [unique] * len(tensors) + [ir.DictAttr.get({})] * (len(types) - len(tensors))
            ),
            "known_block_size": ir.DenseI32ArrayAttr.get([self.nest.block, 1, 1]),
        }
        place = self.of.location(self.kernel)
        made = ir.Operation.create("gpu.func", attributes=attributes, regions=1, loc=place, ip=point)
        places = [*(v.location for v in (*tensors, *sizes)), *[place] * len(own)]
        block = ir.Block.create_at_start(made.regions[0], types, places)
        given, inside, low = list(block.arguments), ir.InsertionPoint(block), BodyLowering(made.context)
        low.location = unnamed(place)
        shapes = BufferViews(buffers, given[len(tensors) : len(tensors) + len(sizes)], low)
        views = [shapes.view(t, buffer, inside) for t, buffer in zip(tensors, given, strict=False)]
        low.memrefs, low.copies = buffers.by_tensor(tensors, views)
        return made, low

    def fill(self, function: ir.Operation, low: BodyLowering, point: ir.InsertionPoint) -> GridAxis:
        """Fill the function with the code of the nest; its grid."""
        made, names, sizes_of = self.kernel.made, self.of.names, self.of.buffers.sizes
        given = {names[size]: Affine.var(f"s{n}") for n, size in enumerate(sizes_of)}
        products: dict[str, tuple[Affine, ...]] = {name: (form,) for name, form in given.items()}
        sizes = {names[size]: low.forms[size] for size in sizes_of}
        if made.total:
            products[made.total] = tuple(extent.substitute(given) for extent in made.extents)
            extents = [extent.substitute(sizes) for extent in made.extents]
            sizes[made.total] = low.variable(product(low, extents, point))
        shapes = {t.name: tuple(form.substitute(sizes) for form in t.shape) for t in self.nest.tensors}
        buffers: dict[str, tuple[ir.Value, ...]] = {}
        for value, buffer in low.memrefs.items():
            if (shape := shapes.get(names[value])) is not None:
                each = (buffer, *low.copies.get(value, ()))
                buffers[names[value]] = tuple(in_shape(one, shape, low, point) for one in each)
        low.arrays = {
            t.name: IndexArray(buffers[t.name][0], shapes[t.name])
            for t in self.nest.tensors
            if t.type == "i32" and t.name in buffers
        }
        target = Thread(self.of.gpu, low, function, self.nest.block)
        indices = self.kernel.made.item.indices
        target.kernel(self.nest, Scope(point, sizes, low.known, buffers, Tile(), indices, target, shapes))
        return grid_of(self.nest, products)
