"""What sums of all elements of a map read at a distance, gathered once.

    %f[i] = sum{j} (exp(%a[i, j] - %a[j, j]))

becomes

    %g[j] = %a[j, j]
    %f[i] = sum{j} (exp(%a[i, j] - %g[j]))

whose neighbours in j are neighbours in memory (`gathers.py` has the same outside of sums).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from tadc.dialect.index_maps import map_attribute, parse_set, set_attribute
from tadc.dialect.mlir import ir
from tadc.lattice.affine import Affine, box
from tadc.passes.maps.operand_forms import subscripts

LINE = 128
"""Neighbours that are closer together are in one line of the cache."""


def gather_in_sums(op: Any) -> None:
    """Let the sums of a map, over one index from 0 on, read tensors of their own, made before it."""
    for operation in list(op.regions[0].blocks[0].operations):
        count = _count(operation.operation)
        if count:
            for read, form in _apart(operation.operation):
                _gather(op, operation.operation, read, form, count)


def _count(op: Any) -> int:
    """The number of values of the index of a sum that begins with 0; 0 of anything else."""
    if op.name not in ("tad.sum", "tad.sums") or op.operands:
        return 0
    found = parse_set(str(op.attributes["domain"]))
    if found.dims != 1:
        return 0
    ends = [row.form.constant for row in found.constraints if row.form.coefficient("d0") == -1]
    count = min(ends, default=-1) + 1
    return count if set(found.constraints) == set(box(["d0"], [Affine.const(count)])) else 0


def _apart(op: Any) -> Iterator[tuple[Any, list[Affine]]]:
    """The reads in a sum that depend on its index alone and lie apart, with their subscripts."""
    block = op.regions[0].blocks[0]
    for operation in list(block.operations):
        read = operation.operation
        operands = list(read.operands)[1:]
        if read.name != "tad.read" or not operands or any(v != block.arguments[0] for v in operands):
            continue
        at = subscripts(read, operands, {block.arguments[0]: Affine.var("d0")})
        shape = read.operands[0].type.shape
        step = sum(form.coefficient("d0") * math.prod(shape[n + 1 :]) for n, form in enumerate(at))
        if abs(step) * read.results[0].type.width // 8 >= LINE and not any(
            list(form.floors()) for form in at
        ):
            yield read, at


def _gather(op: Any, reduction: Any, read: Any, at: list[Affine], count: int) -> None:
    """Read what is gathered in the place of what is read."""
    type, place = read.results[0].type, ir.InsertionPoint(op)
    made = ir.Operation.create(
        "tad.map", results=[ir.RankedTensorType.get([count], type)], regions=1,
        attributes={"domain": set_attribute(box(["d0"], [Affine.const(count)]), ["d0"], op.context)},
        loc=read.location, ip=place,
    )  # fmt: skip
    index = reduction.regions[0].blocks[0].arguments[0]
    block = ir.Block.create_at_start(made.regions[0], [index.type], [index.location])
    value = _read(read, [read.operands[0], block.arguments[0]], at, ir.InsertionPoint(block))
    ir.Operation.create("tad.yield", operands=[value], loc=read.location, ip=ir.InsertionPoint(block))
    found = _read(read, [made.results[0], index], [Affine.var("d0")], ir.InsertionPoint(read))
    read.results[0].replace_all_uses_with(found)
    read.erase()


def _read(like: Any, operands: list[Any], at: list[Affine], point: Any) -> Any:
    """A read of the same type as another at forms over one index."""
    return ir.Operation.create(
        "tad.read", results=[like.results[0].type], operands=operands,
        attributes={"at": map_attribute(at, ["d0"], like.context)}, loc=like.location, ip=point,
    ).results[0]  # fmt: skip
