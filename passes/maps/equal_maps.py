"""Maps that are equal but for the tensors and sizes they use, as those of a network's layers: their loops are
lowered and compiled once, and called for each.

Two maps are equal where one becomes the other as the tensors and sizes of the first are renamed to those of
the second, and what is known of the sizes becomes what is known of those. Loops depend on two more things:
which tensors the caller gives, which may start anywhere in a line of the cache, and which results only the
caller reads.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tadc.dialect.mlir import ir
from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine, Constraint
from tadc.passes.maps.buffers import Buffers, is_for_caller

Key = tuple[Any, ...]


@dataclass(frozen=True)
class Renamed:
    """A map where what it uses is numbered in the order of use: `key` is the same for equal maps.

    `tensors` and the positions of its `sizes` are in that order; the map's results are the last tensors.
    """

    key: Key
    tensors: tuple[ir.Value, ...]
    sizes: tuple[int, ...]

    def tensors_of(self, other: Renamed) -> dict[ir.Value, ir.Value]:
        """By each tensor of this map that of an equal one."""
        return dict(zip(self.tensors, other.tensors, strict=True))

    def sizes_of(self, other: Renamed) -> dict[int, int]:
        """By each size of this map that of an equal one."""
        return dict(zip(self.sizes, other.sizes, strict=True))


def alike(op: ir.Operation, sizes: Collection[ir.Value]) -> Key:
    """What maps have in common that are equal but for the tensors, of equal types, and sizes that they use.

    `sizes` are those of the function.
    """
    return _alike(op, values_used(op), sizes)


def _alike(op: ir.Operation, used: Sequence[ir.Value], sizes: Collection[ir.Value]) -> Key:
    """The same by the values that the map uses: tensors, sizes and constants that are not made in it."""
    constants = {value: above for value in used if (above := constant_above(value)) is not None}
    outside = [v for v in used if v in sizes or v in constants or is_tensor(v)]
    return (
        key_of(op, {value: -1 - n for n, value in enumerate(outside)}),
        tuple(value.type for value in outside),
        tuple(above.attributes["value"] for above in constants.values()),
        tuple(isinstance(value.owner, ir.Block) for value in outside),
    )


def renamed(op: ir.Operation, buffers: Buffers) -> Renamed:
    """A map of a function with these buffers, renamed."""
    used = values_used(op)
    positions = {value: n for n, value in enumerate(buffers.sizes)}
    tensors = (*(value for value in used if value in buffers.shapes), *op.results)
    shapes = [buffers.shapes[tensor] for tensor in tensors]
    sizes = dict.fromkeys(positions[value] for value in used if value in positions)
    for form in (form for shape in shapes for form in shape):
        sizes |= dict.fromkeys(sorted(int(name[1:]) for name in form.variables))
    names = {f"s{size}": Affine.var(f"u{n}") for n, size in enumerate(sizes)}
    key = (
        _alike(op, used, positions),
        tuple(tuple(form.substitute(names) for form in shape) for shape in shapes),
        tuple(is_for_caller(result) for result in op.results),
        tuple(buffers.tensors.count(buffers.replaced.get(result, result)) for result in op.results),
        frozenset(row.substitute(names) for row in _about(names, buffers.known)),
    )
    return Renamed(key, tensors, tuple(sizes))


def _about(names: Iterable[str], rows: Domain) -> list[Constraint]:
    """The rows with one of these variables, or with one of a row that is found."""
    reached, found, waiting = set(names), list[Constraint](), list(rows)
    while True:
        new = [row for row in waiting if not reached.isdisjoint(row.form.variables)]
        if not new:
            return found
        found += new
        waiting = [row for row in waiting if reached.isdisjoint(row.form.variables)]
        reached.update(name for row in new for name in row.form.variables)


def values_used(op: ir.Operation) -> list[ir.Value]:
    """The operands of all operations in a map, each once."""
    found: dict[ir.Value, None] = {}

    def visit(inner: Any) -> Any:
        found.update(dict.fromkeys(inner.operands))
        return ir.WalkResult.ADVANCE

    op.walk(visit, ir.WalkOrder.PRE_ORDER)
    return list(found)


def constant_above(value: ir.Value) -> Any:
    """The constant of the function that a value is; None where it is another value."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != "arith.constant" or owner.parent.name != "func.func":
        return None
    return owner


def is_tensor(value: ir.Value) -> bool:
    """Whether a value is a tensor."""
    return isinstance(value.type, ir.RankedTensorType)


def key_of(op: ir.Operation, inside: Mapping[ir.Value, int]) -> Key:
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
