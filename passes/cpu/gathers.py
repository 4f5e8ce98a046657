"""What all rows of a map read, apart in memory, gathered once.

    %e[i, j] = exp(%a[i, j] - %a[j, j])

becomes

    %g[j] = %a[j, j]
    %e[i, j] = exp(%a[i, j] - %g[j])

whose vectors of neighbours in j are loaded whole.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tadc.dialect.index_maps import map_attribute, set_attribute
from tadc.dialect.mlir import ir
from tadc.dialect.ops import indices_of
from tadc.lattice.affine import Affine, box
from tadc.passes.maps.operand_forms import subscripts


def gather_apart(op: Any, before: Any) -> None:
    """Let a map read a tensor of its own, made before another, in the place of elements that do not depend on
    its first index and are no neighbours where those of its last index are."""
    block = op.regions[0].blocks[0]
    forms = {value: Affine.var(f"d{n}") for n, value in enumerate(indices_of(op))}
    lane = f"d{len(forms) - 1}"
    for operation in list(block.operations):
        read = operation.operation
        if read.name != "tad.read" or any(value not in forms for value in list(read.operands)[1:]):
            continue
        at = subscripts(read, list(read.operands)[1:], forms)
        used = frozenset[str]().union(*(form.variables for form in at))
        if "d0" in used or any(list(form.floors()) for form in at):
            continue
        shape = read.operands[0].type.shape
        step = sum(form.coefficient(lane) * math.prod(shape[n + 1 :]) for n, form in enumerate(at))
        if abs(step) > 1:
            _gather(op, read, at, sorted(used, key=lambda name: int(name[1:])), before)


def _gather(op: Any, read: Any, at: Sequence[Affine], names: Sequence[str], before: Any) -> None:
    """Read along these indices of the map what is gathered along them."""
    values = [indices_of(op)[int(name[1:])] for name in names]
    shape = [op.results[0].type.shape[int(name[1:])] for name in names]
    type, index = read.results[0].type, ir.IndexType.get(op.context)
    extents = [Affine.const(n) for n in shape]
    made = ir.Operation.create(
        "tad.map", results=[ir.RankedTensorType.get(shape, type)], regions=1,
        attributes={"domain": set_attribute(box(names, extents), names, op.context)},
        loc=read.location, ip=ir.InsertionPoint(before),
    )  # fmt: skip
    block = ir.Block.create_at_start(
        made.regions[0], [index] * len(names), [value.location for value in values]
    )
    value = _read(read, [read.operands[0], *block.arguments], at, names, ir.InsertionPoint(block))
    ir.Operation.create("tad.yield", operands=[value], loc=read.location, ip=ir.InsertionPoint(block))
    own = [Affine.var(name) for name in names]
    found = _read(read, [made.results[0], *values], own, names, ir.InsertionPoint(read))
    read.results[0].replace_all_uses_with(found)
    read.erase()


def _read(like: Any, operands: Sequence[Any], at: Sequence[Affine], names: Sequence[str], point: Any) -> Any:
    """A read of the same type as another at forms over named indices."""
    attributes = {"at": map_attribute(at, names, like.context)}
    return ir.Operation.create(
        "tad.read", results=[like.results[0].type], operands=list(operands), attributes=attributes,
        loc=like.location, ip=point,
    ).results[0]  # fmt: skip
