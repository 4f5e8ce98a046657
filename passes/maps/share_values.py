"""Equal values of a body computed once, regions included.

MLIR's `cse` looks at a whole function, and compares a map with all others of its shape: its hash leaves out
what a region computes.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from typing import Any

Key = tuple[Any, ...]


def share_values(block: Any, known: ChainMap[Key, Any] | None = None) -> None:
    """Replace each value of a block that was computed before, in it or around it."""
    found = ChainMap[Key, Any]() if known is None else known
    for operation in list(block.operations)[:-1]:
        op = operation.operation
        for region in op.regions:
            share_values(region.blocks[0], found.new_child())
        key = key_of(op, {})
        first = found.get(key)
        if first is None:
            found[key] = list(op.results)
        else:
            for result, value in zip(op.results, first, strict=True):
                result.replace_all_uses_with(value)
            op.erase()


def key_of(op: Any, inside: Mapping[Any, int]) -> Key:
    """What an operation computes: equal for two with equal operands; `inside` numbers values of regions."""
    operands = tuple(inside.get(value, value) for value in op.operands)
    attributes = tuple((name, op.attributes[name]) for name in op.attributes)
    types = tuple(value.type for value in op.results)
    if not op.regions:
        return (op.name, operands, attributes, types)
    regions: list[Key] = []
    for region in op.regions:
        block, numbers = region.blocks[0], dict(inside)
        for value in block.arguments:
            numbers[value] = len(numbers)
        keys: list[Key] = []
        for inner in block.operations:
            keys.append(key_of(inner.operation, numbers))
            for value in inner.operation.results:
                numbers[value] = len(numbers)
        regions.append((len(block.arguments), *keys))
    return (op.name, operands, attributes, types, *regions)
