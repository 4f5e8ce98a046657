"""`tad` functions to kernels of the gpu dialect: a `gpu.func` for each nest."""

from __future__ import annotations

import math
from functools import cached_property

from tadc.dialect.locations import ProgramLocations, labelled, unnamed
from tadc.dialect.mlir import ir
from tadc.frontend.dtypes import INDEX_TYPE
from tadc.lattice.affine import Affine
from tadc.lattice.late_dataclasses import dataclass
from tadc.passes.gpu.block_memory import held_rooms
from tadc.passes.gpu.kernel_wrappers import wrap_kernels
from tadc.passes.gpu.kernels import Kernels, KernelSteps, NestKernel
from tadc.passes.gpu.launch import GridAxis, Launch
from tadc.passes.gpu.occupancy import VECTOR_BYTES
from tadc.passes.gpu.thread_loops import Thread, grid_of, launch_counts, launch_loops
from tadc.passes.maps.blocks import index_arrays
from tadc.passes.maps.buffers import buffer_type, in_shape, product, rooms_of, sizes_in, symbol_of, views_of
from tadc.passes.maps.lower_body import BodyLowering, IndexArrayBuffer
from tadc.passes.maps.machine import Gpu
from tadc.passes.maps.map import TensorDecl
from tadc.passes.nest.emit import EmitScope
from tadc.passes.nest.nest import Nest
from tadc.passes.nest.tile import Tile


def lower_to_gpu(
    module: ir.Operation, function: ir.Operation, gpu: Gpu, given: KernelSteps, *, is_called: bool = False
) -> list[Launch]:
    """Replace a `tad` function by a `gpu.module` of its name, for a GPU like this one.

    One that others of the module call stays as a function that launches the kernels. Maps whose steps are
    `given` get these.
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
        launches = [_KernelFunction(of, kernel).launch(point) for kernel in of.all()]
        if is_called:
            wrap_kernels(function, of.maps, of.memory, launches, symbol_of(function))
        else:
            function.erase()
    return launches


def shared_bytes(of: Kernels, kernel: NestKernel) -> int:
    """The bytes of memory that the threads of a block of a kernel share.

    Raises DoesNotFit where it is not known how much a read that they share reads.
    """
    with of.function.context, ir.Location.unknown():
        module = ir.Module.create()
        _KernelFunction(of, kernel).launch(ir.InsertionPoint(module.body))
        (made,) = module.body.operations
        types = [value.type for value in made.regions[0].blocks[0].arguments]
        shared = [ir.MemRefType(type) for type in types if "workgroup" in str(type)]
        return sum(math.prod(type.shape) * type.element_type.width // 8 for type in shared)


@dataclass(frozen=True)
class _KernelFunction:
    """The function of a kernel on its way."""

    of: Kernels
    kernel: NestKernel

    @cached_property
    def used(self) -> list[int]:
        """The buffers that it takes, by their places: what is read, then what is stored."""
        memory = self.of.memory
        reads = {name for item in self.kernel.maps for name in item.read}
        reads.update(*(index_arrays(item.body) for item in self.kernel.maps))
        made = {name for item in self.kernel.maps for name in item.names}
        kept = made & {*self.of.places, *(tensor.name for tensor in self.nest.tensors)}
        whole, names = {memory.replaced.get(name, name) for name in kept}, [t.name for t in memory.tensors]
        stored = [n for n, name in enumerate(names) if name in whole]
        read = [n for n, name in enumerate(names) if name in reads - made and name not in names[:n]]
        return [*(n for n in read if n not in stored), *stored]

    @property
    def nest(self) -> Nest:
        return self.kernel.made.nest

    def launch(self, point: ir.InsertionPoint) -> Launch:
        """Make the function; how it is launched."""
        function = self.function(point)
        inside, low = ir.InsertionPoint(function.regions[0].blocks[0]), BodyLowering(function.context)
        low.location = unnamed(function.location)
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

    @property
    def tensors(self) -> list[TensorDecl]:
        """The tensors whose buffers it takes."""
        return [self.of.memory.tensors[n] for n in self.used]

    def function(self, point: ir.InsertionPoint) -> ir.Operation:
        """A function without code over the buffers and the sizes."""
        tensors, sizes, own = self.tensors, self.of.maps.sizes, bool(launch_loops(self.nest))
        types = [*map(buffer_type, tensors), *[ir.IndexType.get()] * (len(sizes) + own)]
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
        located = ProgramLocations(made.context)
        places = [labelled(tensor.label, located[tensor.place]) for tensor in tensors]
        places += [*map(ir.Location.name, sizes), *[place] * own]
        ir.Block.create_at_start(made.regions[0], types, places)
        return made

    def fill(self, function: ir.Operation, low: BodyLowering, point: ir.InsertionPoint) -> GridAxis:
        """Fill the function with the code of the nest; its grid."""
        made, maps, tensors = self.kernel.made, self.of.maps, self.tensors
        given = {size: Affine.var(f"s{n}") for n, size in enumerate(maps.sizes)}
        products: dict[str, tuple[Affine, ...]] = {name: (form,) for name, form in given.items()}
        values, last = list(function.regions[0].blocks[0].arguments), len(tensors) + len(maps.sizes)
        sizes = sizes_in(low, maps, values[len(tensors) : last])
        rooms = rooms_of(self.of.memory, tensors, views_of(tensors, values, sizes, low, point))
        if made.total:
            products[made.total] = tuple(extent.substitute(given) for extent in made.extents)
            extents = [extent.substitute(sizes) for extent in made.extents]
            sizes[made.total] = low.variable(product(low, extents, point))
        shapes = {t.name: tuple(form.substitute(sizes) for form in t.shape) for t in self.nest.tensors}
        buffers = {
            name: tuple(in_shape(each, shapes[name], low, point) for each in room)
            for name, room in rooms.items()
            if name in shapes
        }
        low.arrays = {
            t.name: IndexArrayBuffer(buffers[t.name][0], shapes[t.name])
            for t in self.nest.tensors
            if t.type == INDEX_TYPE and t.name in buffers
        }
        target = Thread(self.of.gpu, low, function, self.nest.block, held=held_rooms(self.nest))
        scope = EmitScope(point, sizes, low.known, buffers, Tile(), made.indices, target, shapes)
        target.kernel(self.nest, scope)
        return grid_of(self.nest, products)
