"""Updates of slices of sizes that are symbols, which MLIR leaves in StableHLO, as insertions."""

from __future__ import annotations

from tadc.dialect.mlir import ir
from tadc.passes.linalg.linalg_generic import inner_operations

_DYNAMIC = -(2**63)


def insert_slices(block: ir.Block) -> None:
    """Replace the updates in a block, and in those inside: a slice is moved to where all of it fits."""
    for op in list(inner_operations(block)):
        if op.name == "stablehlo.dynamic_update_slice":
            with ir.InsertionPoint(op), op.location:
                made = _insertion(op)
            op.results[0].replace_all_uses_with(made)
            op.erase()


def _insertion(op: ir.Operation) -> ir.Value:
    index = ir.IndexType.get()
    target, update, *starts = op.operands

    def make(name: str, type: ir.Type, operands: list[ir.Value], **attributes: ir.Attribute) -> ir.Value:
        return ir.Operation.create(name, [type], operands, attributes).results[0]

    def constant(value: int) -> ir.Value:
        return make("arith.constant", index, [], value=ir.IntegerAttr.get(index, value))

    def size(array: ir.Value, dimension: int) -> ir.Value:
        known = array.type.shape[dimension]
        return (
            constant(known) if known != _DYNAMIC else make("tensor.dim", index, [array, constant(dimension)])
        )

    places: list[ir.Value] = []
    for dimension, start in enumerate(starts):
        given = make("arith.index_cast", index, [make("tensor.extract", start.type.element_type, [start])])
        last = make("arith.subi", index, [size(target, dimension), size(update, dimension)])
        first = make("arith.maxsi", index, [given, constant(0)])
        places.append(make("arith.minsi", index, [first, last]))
    shape = list(update.type.shape)
    open_sizes = [size(update, d) for d, known in enumerate(shape) if known == _DYNAMIC]
    numbers = ir.DenseI64ArrayAttr.get
    return make(
        "tensor.insert_slice",
        op.results[0].type,
        [update, target, *places, *open_sizes],
        static_offsets=numbers([_DYNAMIC] * len(shape)),
        static_sizes=numbers(shape),
        static_strides=numbers([1] * len(shape)),
        operandSegmentSizes=ir.DenseI32ArrayAttr.get([1, 1, len(places), len(open_sizes), 0]),
    )
