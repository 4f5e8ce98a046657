"""Sums over one set in one loop, where their bodies share something dear.

    %a = tad.sum (%j) in D { e = exp …, yield e }
    %b = tad.sum (%j) in D { e = exp …, yield e * x[%j] }

become one `tad.sums`, whose body computes e once for each point of D.

Side conditions: the sums stand in one region, and none needs the result of another.
"""

from __future__ import annotations

from itertools import takewhile
from typing import Any

from tadc.dialect.mlir import ir
from tadc.passes.maps.share_values import Key, key_of, share_values
from tadc.passes.maps.tile_values import all_yielded, is_reduction, owner, region_operations
from tadc.passes.maps.work import FREE, weight_of
from tadc.passes.terms.costs import DEAR

SUMS = ("tad.sum", "tad.sums")

MOST_SUMS = 16
"""The most sums together: more results at once do not fit in registers."""


def merge_sums(block: Any) -> None:
    """Merge the sums of a block, and of its regions; equal values of the block are shared already."""
    waiting = sums_of(block)
    while waiting:
        first, rest = waiting[0], waiting[1:]
        other = next((op for op in rest if _belong(first, op)), None)
        if other is None:
            waiting = rest
            continue
        rest.remove(other)
        waiting = [_merged(first, other), *rest]
    for operation in block.operations:
        for region in operation.operation.regions:
            merge_sums(region.blocks[0])


def sums_of(block: Any) -> list[Any]:
    """The sums that stand in a block, those in regions apart."""
    return [op.operation for op in block.operations if op.operation.name in SUMS]


def holds_dear_values(op: Any) -> bool:
    """Whether something dear is in the body of a reduction."""
    return any(is_dear(inner.operation) for inner in op.regions[0].blocks[0].operations)


def is_dear(op: Any) -> bool:
    """Whether an operation is a reduction or worth sharing."""
    return is_reduction(op) or (not op.regions and op.name not in FREE and weight_of(op) >= DEAR)


def _belong(first: Any, other: Any) -> bool:
    """Whether two sums of a block are better one."""
    same = (
        first.attributes["domain"] == other.attributes["domain"]
        and list(first.operands) == list(other.operands)
        and first.results[0].type == other.results[0].type
        and len(first.results) + len(other.results) <= MOST_SUMS
    )
    return same and share_dear_values(first, other) and first not in _needed(other)


def share_dear_values(first: Any, other: Any) -> bool:
    """Whether something dear is in the bodies of both sums, their indices being the same."""
    numbers: dict[Key, int] = {}
    return not _dear_values(first, numbers).isdisjoint(_dear_values(other, numbers))


def _dear_values(op: Any, numbers: dict[Key, int]) -> set[int]:
    """The numbers of what is dear in the body of a reduction; equal values get equal numbers below 0."""
    block = op.regions[0].blocks[0]
    known: dict[Any, int] = {value: -1 - n for n, value in enumerate(block.arguments)}
    first = -1 - len(known)
    found: set[int] = set()
    for operation in list(block.operations)[:-1]:
        inner = operation.operation
        used = [value for value in _used(inner) if value in known]
        key = key_of(inner, {value: known[value] for value in used})
        number = numbers.setdefault(key, first - len(numbers))
        known |= dict.fromkeys(inner.results, number)
        if is_dear(inner):
            found.add(number)
    return found


def _used(op: Any) -> list[Any]:
    """The operands of an operation and of all in its regions, each once."""
    inside = [inner for region in op.regions for inner in region_operations(region.blocks[0])]
    return list(dict.fromkeys(value for each in (op, *inside) for value in each.operands))


def _needed(op: Any) -> list[Any]:
    """The operations of the same block that an operation needs, directly or not, in order."""
    found: set[Any] = set()
    stack = [op]
    while stack:
        for value in _used(stack.pop()):
            made = owner(value)
            if made is not None and made.block == op.block and made not in found:
                found.add(made)
                stack.append(made)
    return [inner.operation for inner in op.block.operations if inner.operation in found]


def _merged(first: Any, other: Any) -> Any:
    """One operation for both sums, in the place of the first."""
    before = {operation.operation for operation in takewhile(lambda op: op.operation != first, first.block)}
    for needed in _needed(other):
        if needed not in before:
            needed.move_before(first)
    results = [*first.results, *other.results]
    made = ir.Operation.create(
        "tad.sums", results=[value.type for value in results], operands=list(first.operands),
        attributes={"domain": first.attributes["domain"]}, regions=1, loc=first.location,
        ip=ir.InsertionPoint(first),
    )  # fmt: skip
    given = first.regions[0].blocks[0].arguments
    block = ir.Block.create_at_start(made.regions[0], [v.type for v in given], [v.location for v in given])
    values: list[Any] = []
    for op in (first, other):
        inner = op.regions[0].blocks[0]
        for index, at in zip(inner.arguments, block.arguments, strict=True):
            index.replace_all_uses_with(at)
        values += all_yielded(inner)
        for operation in [operation.operation for operation in inner.operations][:-1]:
            block.append(operation)
    ir.Operation.create("tad.yields", operands=values, loc=first.location, ip=ir.InsertionPoint(block))
    for old, new in zip(results, made.results, strict=True):
        old.replace_all_uses_with(new)
    other.erase()
    first.erase()
    share_values(block)
    return made
