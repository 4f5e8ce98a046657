"""Nests as code that runs here: each tensor is an argument, then the sizes and ranges."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tadc.backend.base import Settings
from tadc.backend.cpu.jit import load
from tadc.backend.llvm_ir import complete
from tadc.backend.object_code import assembly, object_code
from tadc.backend.pipelines import translate
from tadc.backend.target import CPU, backend_of
from tadc.backend.to_llvm_dialect import lower_to_llvm_dialect
from tadc.dialect.mlir import ir
from tadc.lattice.affine import Affine
from tadc.passes.maps.buffers import in_shape
from tadc.passes.maps.lower_body import BodyLowering, IndexArrayBuffer
from tadc.passes.maps.map import Map, MapFunction
from tadc.passes.nest.emit import EmitScope, emit_body
from tadc.passes.nest.nest import Compute, For, Nest
from tadc.passes.nest.primitives.apply import apply_steps
from tadc.passes.nest.steps import Steps
from tadc.passes.numpy_types import numpy_type

Array = NDArray[Any]


def llvm_of(nest: Nest) -> str:
    """LLVM IR of a function `k` over the tensors, sizes and ranges of a nest."""
    names = (*nest.sizes, *nest.ranges)
    types = [f"memref<1x{t.type}> {{llvm.noalias}}" for t in nest.tensors] + ["index"] * len(names)
    arguments = ", ".join(f"%a{n}: {type}" for n, type in enumerate(types))
    with ir.Context() as context, ir.Location.unknown(context):
        module = ir.Module.parse(f"func.func @k({arguments}) {{ func.return }}")
        block = module.body.operations[0].regions[0].blocks[0]
        low, point = BodyLowering(context), ir.InsertionPoint.at_block_begin(block)
        given = list(block.arguments)
        forms = {name: low.variable(v) for name, v in zip(names, given[len(nest.tensors) :], strict=True)}
        low.known = tuple(row.substitute(forms) for row in nest.known)
        shapes = {t.name: tuple(e.substitute(forms) for e in t.shape) for t in nest.tensors}
        views = {
            t.name: (in_shape(buffer, shapes[t.name], low, point),)
            for t, buffer in zip(nest.tensors, given, strict=False)
        }
        low.arrays = {
            t.name: IndexArrayBuffer(views[t.name][0], shapes[t.name])
            for t in nest.tensors
            if t.type == "i32"
        }
        emit_body(nest.body, low, EmitScope(point, forms, low.known, views))
        lower_to_llvm_dialect(module, Settings(CPU))
        return complete(translate(module, backend_of(CPU).dialect[0]))


def compiled(nest: Nest) -> Callable[[Mapping[str, Array], Mapping[str, int]], dict[str, Array]]:
    """A function that runs the code of a nest: of arrays by name, and sizes and ranges, what it computes."""
    library = load(object_code(llvm_of(nest)), ["k"])
    count = len(nest.tensors) + len(nest.sizes) + len(nest.ranges)
    call: Any = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * count)(library["k"])

    def run(arrays: Mapping[str, Array], values: Mapping[str, int]) -> dict[str, Array]:
        found: dict[str, Array] = {}
        for tensor in nest.tensors:
            if tensor.name in nest.computed and tensor.name not in arrays:
                shape = tuple(extent.evaluate(values) for extent in tensor.shape)
                found[tensor.name] = np.full(shape, np.nan, numpy_type(tensor.type))
            else:
                found[tensor.name] = np.ascontiguousarray(arrays[tensor.name], numpy_type(tensor.type))
        addresses = [found[t.name].ctypes.data for t in nest.tensors]
        call(*addresses, *(values[name] for name in (*nest.sizes, *nest.ranges)))
        assert library
        return {name: found[name] for name in nest.computed}

    return run


def assembly_of(nest: Nest) -> str:
    """The assembly of a nest."""
    return assembly(llvm_of(nest))


def loops_of(nest: Nest) -> list[For]:
    """The loops of a plain nest, outermost first."""
    found, (statement,) = list[For](), nest.body
    while isinstance(statement, For):
        found.append(statement)
        (statement,) = statement.body
    return found


def map_of(nest: Nest) -> tuple[Map, MapFunction]:
    """The map that a plain nest is, and a function of it alone."""
    loops = loops_of(nest)
    (compute,) = loops[-1].body
    assert isinstance(compute, Compute)
    tensors = {tensor.name: tensor for tensor in nest.tensors}
    extents = tuple(loop.stop for loop in loops if isinstance(loop.stop, Affine))
    made = tuple(tensors[name] for name in nest.computed)
    item = Map(made, tuple(loop.index for loop in loops), extents, compute.block)
    arguments = tuple(t for t in nest.tensors if t.name not in nest.computed)
    return item, MapFunction(nest.name, arguments, nest.sizes, (item,), nest.computed, nest.known)


def scheduled(nest: Nest, steps: Steps) -> Nest:
    """A plain nest after steps."""
    return apply_steps(nest, steps)
