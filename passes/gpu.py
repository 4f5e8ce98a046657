"""`tad` functions to kernels of the gpu dialect: one kernel a tensor, one thread an element.

Gather form needs no atomics: a thread computes its element alone and stores it once. The
kernels of a function run in the order of the text.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tadc.dialect.locations import unnamed
from tadc.dialect.mlir import ir
from tadc.lattice.affine import Affine
from tadc.passes.buffers import Buffers, BufferViews, buffers_of, maps_of, memref_of, product, symbol_of
from tadc.passes.loops import scalars_above
from tadc.passes.lower_body import BodyLowering, box_rows

BLOCK_SIZE = 256


@dataclass(frozen=True)
class GridAxis:
    """Blocks along a dimension of a grid: each has so many of a product of extents, the last fewer."""

    extents: tuple[Affine, ...]
    """Forms over `s0, s1, …`, the sizes of the function."""
    each: int

    def blocks(self, sizes: Sequence[int]) -> int:
        """The number of blocks for sizes of the function, in order."""
        point = {f"s{n}": size for n, size in enumerate(sizes)}
        return -(-math.prod(max(extent.evaluate(point), 0) for extent in self.extents) // self.each)


@dataclass(frozen=True)
class Launch:
    """How to launch a kernel: grid, threads of a block in x, y and z, and the buffers it takes, by position.

    The sizes of the function are its last arguments. A grid without blocks is not to be launched.
    """

    kernel: str
    grid: tuple[GridAxis, ...]
    block: tuple[int, int, int]
    buffers: tuple[int, ...]


def lower_to_gpu(module: Any, function: Any) -> list[Launch]:
    """Replace a `tad` function by a `gpu.module` of its name."""
    context = module.context
    buffers = buffers_of(function)
    tensors = buffers.tensors
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
            _lower_kernel(function, op, buffers, [tensors[n] for n in used], kernel, ir.InsertionPoint(block))
            threads = GridAxis(buffers.shapes[op.results[0]], BLOCK_SIZE)
            launches.append(Launch(kernel, (threads,), (BLOCK_SIZE, 1, 1), tuple(used)))
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


def _lower_kernel(function: Any, op: Any, buffers: Buffers, used: list[Any], name: str, point: Any) -> None:
    context, sizes = op.context, buffers.sizes
    types = [*(memref_of(v.type) for v in used), *(v.type for v in sizes)]
    unique = ir.DictAttr.get({"llvm.noalias": ir.UnitAttr.get()})
    attributes = {
        "sym_name": ir.StringAttr.get(name),
        "function_type": ir.TypeAttr.get(ir.FunctionType.get(types, [])),
        "gpu.kernel": ir.UnitAttr.get(),
        "arg_attrs": ir.ArrayAttr.get([unique] * len(used) + [ir.DictAttr.get({})] * len(sizes)),
        "known_block_size": ir.DenseI32ArrayAttr.get([BLOCK_SIZE, 1, 1]),
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
    scalars_above(function, lowering, inside)
    _lower_threads(op, shapes.of(op.results[0]), lowering, inside)
    lowering.create("gpu.return", [], [], inside)


def _lower_threads(op: Any, shape: Sequence[Affine], lowering: BodyLowering, point: Any) -> None:
    """One element of a map by the thread that has its row-major position."""
    dimension = {"dimension": ir.Attribute.parse("#gpu<dim x>")}
    thread, group = (
        lowering.variable(lowering.create(n, [lowering.index_type], [], point, dimension).results[0])
        for n in ("gpu.thread_id", "gpu.block_id")
    )
    flat = lowering.variable(lowering.affine([group * BLOCK_SIZE + thread], point))
    truth = ir.IntegerType.get_signless(1, lowering.context)
    less = {"predicate": ir.IntegerAttr.get(ir.IntegerType.get_signless(64, lowering.context), 2)}
    operands = [lowering.affine([flat], point), product(lowering, shape, point)]
    in_range = lowering.create("arith.cmpi", [truth], operands, point, less).results[0]

    def element(at: Any) -> list[Any]:
        indices = _unravel(flat, shape, lowering, at)
        _store_element(op, shape, indices, lowering, at)
        return []

    lowering.choose(in_range, [], element, None, point)


def _store_element(
    op: Any, shape: Sequence[Affine], indices: Sequence[Any], lowering: BodyLowering, point: Any
) -> None:
    """Evaluate the body of a map of this shape at indices; store its value."""
    block = op.regions[0].blocks[0]
    forms = [lowering.variable(index) for index in indices]
    lowering.forms.update(zip(block.arguments, forms, strict=True))
    value = lowering.region(block, (*box_rows(forms, shape), *lowering.known), point)
    tensor = op.results[0]
    for buffer in (lowering.memrefs[tensor], *lowering.copies.get(tensor, ())):
        lowering.create("memref.store", [], [value, buffer, *indices], point)


def _unravel(flat: Affine, shape: Sequence[Affine], lowering: BodyLowering, point: Any) -> list[Any]:
    """The indices of a row-major position."""
    if all(extent.is_constant for extent in shape):
        return [lowering.affine([form], point) for form in _static(flat, [e.constant for e in shape])]
    indices: list[Any] = []
    left = lowering.affine([flat], point)
    for extent in reversed(shape[1:]):
        operands = [left, lowering.affine([extent], point)]
        whole, rest = (
            lowering.create(f"arith.{n}", [lowering.index_type], operands, point).results[0]
            for n in ("divui", "remui")
        )
        indices.append(rest)
        left = whole
    return [left, *reversed(indices)]


def _static(flat: Affine, shape: Sequence[int]) -> list[Affine]:
    """The same as forms, for extents that are known."""
    forms: list[Affine] = []
    stride = math.prod(shape)
    for size in shape:
        stride //= max(size, 1)
        index = flat.floordiv(max(stride, 1))
        forms.append(index.mod(max(size, 1)) if forms else index)
    return forms
