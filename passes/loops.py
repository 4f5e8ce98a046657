"""`tad` functions to loops over memrefs, for the CPU.

Every tensor becomes a buffer that the caller owns: the arguments, then the results, then the
tensors in between, in the order of the text; all are row-major and none overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tadc.dialect.locations import unnamed
from tadc.dialect.mlir import ir
from tadc.dialect.reader import UnsupportedIR
from tadc.lattice.affine import Affine
from tadc.passes.element_loops import element_loops
from tadc.passes.lower_body import BodyLowering


def memref_of(tensor: Any) -> Any:
    """The row-major buffer type of a tensor type."""
    # Upstream does not lower buffers of two or more dimensions without elements; nothing is
    # ever read from one or written to it, so its type may say 1 for 0.
    return ir.MemRefType.get([max(size, 1) for size in tensor.shape], tensor.element_type)


def maps_of(function: Any) -> list[Any]:
    """The `tad.map`s of a function in order; anything else there has no lowering."""
    operations = [op.operation for op in function.regions[0].blocks[0].operations]
    maps = [op for op in operations if op.name == "tad.map"]
    for op in operations[:-1]:
        if op.name != "tad.map" and not op.name.startswith(("arith.constant", "math.")):
            raise UnsupportedIR(f"'{op.name}' has no lowering", op.location)
    return maps


@dataclass(frozen=True)
class Buffers:
    """The tensors of a function by role; a tensor that is returned twice is two results."""

    arguments: list[Any]
    results: list[Any]
    temporaries: list[Any]

    @property
    def tensors(self) -> list[Any]:
        """All, in the order of the lowered function's arguments."""
        return [*self.arguments, *self.results, *self.temporaries]

    def by_tensor(self, values: Sequence[Any]) -> tuple[dict[Any, Any], dict[Any, list[Any]]]:
        """The buffer to read each tensor from, and further buffers to store it to."""
        first: dict[Any, Any] = {}
        more: dict[Any, list[Any]] = {}
        for tensor, value in zip(self.tensors, values, strict=True):
            if tensor in first:
                more.setdefault(tensor, []).append(value)
            else:
                first[tensor] = value
        return first, more


def buffers_of(function: Any) -> Buffers:
    """The tensors of a function by role."""
    block = function.regions[0].blocks[0]
    results = list(list(block.operations)[-1].operation.operands)
    made = [op.results[0] for op in maps_of(function)]
    for value in results:
        if value not in made:
            raise UnsupportedIR("a result must be the value of a 'tad.map'", function.location)
    return Buffers(list(block.arguments), results, [v for v in made if v not in results])


def symbol_of(function: Any) -> str:
    """The symbol of the lowered function: no tensor's name can hide one of libc's."""
    return "tad_" + ir.StringAttr(function.attributes["sym_name"]).value


def lower_to_loops(module: Any, function: Any) -> None:
    """Replace a `tad` function by one over buffers, without results."""
    context = module.context
    buffers = buffers_of(function)
    with context, ir.Location.unknown(context):
        types = [memref_of(v.type) for v in buffers.tensors]
        unique = ir.DictAttr.get({"llvm.noalias": ir.UnitAttr.get()})
        attributes = {
            "sym_name": ir.StringAttr.get(symbol_of(function)),
            "function_type": ir.TypeAttr.get(ir.FunctionType.get(types, [])),
            "arg_attrs": ir.ArrayAttr.get([unique] * len(types)),
        }
        made = ir.Operation.create(
            "func.func", attributes=attributes, regions=1, loc=function.location,
            ip=ir.InsertionPoint(function),
        )  # fmt: skip
        places = [v.location for v in buffers.tensors]
        block = ir.Block.create_at_start(made.regions[0], types, places)
        first, more = buffers.by_tensor(list(block.arguments))
        lowering = BodyLowering(context, first, more)
        point = ir.InsertionPoint(block)
        scalars_above(function, lowering, point)
        for op in maps_of(function):
            _lower_map(op, lowering, point)
        lowering.create("func.return", [], [], point)
    function.erase()


def scalars_above(function: Any, lowering: BodyLowering, point: Any) -> None:
    """Constants that canonicalisation moved out of bodies."""
    for op in function.regions[0].blocks[0].operations:
        if op.operation.name == "arith.constant":
            lowering.location = unnamed(op.operation.location)
            lowering.copy(op.operation, point)


def _lower_map(op: Any, lowering: BodyLowering, point: Any) -> None:
    """Nested loops over the box of a map, stores in the innermost."""
    lowering.location = unnamed(op.location)
    sizes = [Affine.const(size) for size in op.results[0].type.shape]
    element_loops(op, sizes, lowering, point)
