"""What is in the region of a map, for those who look at the dialect itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tadc.dialect.mlir import ir


def is_reduction(op: ir.Operation) -> bool:
    """Whether an operation reduces over a set."""
    return op.name in ("tad.sum", "tad.sums", "tad.reduce")


def region_operations(block: ir.Block) -> Iterator[ir.Operation]:
    """All operations in a block, those in regions after the one that holds them."""
    for operation in block.operations:
        op = operation.operation
        yield op
        for region in op.regions:
            yield from region_operations(region.blocks[0])


def yielded(block: ir.Block) -> ir.Value:
    """What a region yields, first of all."""
    return list(list(block.operations)[-1].operation.operands)[0]


def owner(value: ir.Value) -> Any:
    """The operation that makes a value, or None for a block's argument."""
    made = value.owner
    if isinstance(made, ir.Block):
        return None
    return getattr(made, "operation", made)
