"""`tad` functions to loops over memrefs, for the CPU.

Every tensor becomes a buffer that the caller owns: the arguments, then the results, then the
tensors in between, in the order of the text, then the sizes; no buffers overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tadc.dialect.locations import unnamed
from tadc.dialect.mlir import ir
from tadc.lattice.affine import Affine
from tadc.passes.buffers import BufferViews, buffers_of, maps_of, memref_of, symbol_of
from tadc.passes.element_loops import element_loops
from tadc.passes.lower_body import BodyLowering
from tadc.passes.machine import Machine


def lower_to_loops(module: Any, function: Any, machine: Machine) -> None:
    """Replace a `tad` function by one over buffers, without results."""
    context = module.context
    buffers = buffers_of(function)
    with context, ir.Location.unknown(context):
        tensors, sizes = buffers.tensors, buffers.sizes
        types = [*(memref_of(v.type) for v in tensors), *(v.type for v in sizes)]
        unique = ir.DictAttr.get({"llvm.noalias": ir.UnitAttr.get()})
        attributes = {
            "sym_name": ir.StringAttr.get(symbol_of(function)),
            "function_type": ir.TypeAttr.get(ir.FunctionType.get(types, [])),
            "arg_attrs": ir.ArrayAttr.get([unique] * len(tensors) + [ir.DictAttr.get({})] * len(sizes)),
        }
        made = ir.Operation.create(
            "func.func", attributes=attributes, regions=1, loc=function.location,
            ip=ir.InsertionPoint(function),
        )  # fmt: skip
        places = [v.location for v in (*tensors, *sizes)]
        block = ir.Block.create_at_start(made.regions[0], types, places)
        given = list(block.arguments)
        lowering = BodyLowering(context, machine=machine)
        point = ir.InsertionPoint(block)
        shapes = BufferViews(buffers, given[len(tensors) :], lowering)
        views = [shapes.view(t, buffer, point) for t, buffer in zip(tensors, given, strict=False)]
        lowering.memrefs, lowering.copies = buffers.by_tensor(tensors, views)
        scalars_above(function, lowering, point)
        for op in maps_of(function):
            _lower_map(op, shapes.of(op.results[0]), lowering, point)
        lowering.create("func.return", [], [], point)
    function.erase()


def scalars_above(function: Any, lowering: BodyLowering, point: Any) -> None:
    """Constants that canonicalisation moved out of bodies."""
    for op in function.regions[0].blocks[0].operations:
        if op.operation.name == "arith.constant":
            lowering.location = unnamed(op.operation.location)
            lowering.copy(op.operation, point)


def _lower_map(op: Any, shape: Sequence[Affine], lowering: BodyLowering, point: Any) -> None:
    """Nested loops over the box of a map, stores in the innermost."""
    lowering.location = unnamed(op.location)
    element_loops(op, shape, lowering, point)
