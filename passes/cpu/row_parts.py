"""Sums over the rows of a chain, cut into parts: one for the rows of each step.

    %c[j] = sum{i} (%e[i, j])

reads all rows of %e for each element, after the chain that computes them. Where that runs over C rows at a
time, it becomes

    %c_rows[p, j] = sum{i}_0^(C - 1) (%e[C*p + i, j])
    %c[j] = sum{p} (%c_rows[p, j])

and the parts are computed in the chain, of rows that are near. The rows of a step do not depend on threads,
so results have the same bits for any number of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tadc.dialect.index_maps import map_attribute, parse_set, set_attribute
from tadc.dialect.mlir import ir
from tadc.lattice.affine import Affine, Constraint, box
from tadc.passes.maps.marks import STEPS
from tadc.passes.maps.tile_values import region_operations
from tadc.passes.maps.unused import erase_unused


def row_sum(op: Any, rows: int) -> Any:
    """The sum over so many rows, and nothing else, that a map computes once for each of its points; None
    where there is none, or where it needs other values of the map."""
    if op.name == "tad.scan":
        return None
    block = op.regions[0].blocks[0]
    sums = [o.operation for o in block.operations if o.operation.name == "tad.sum"]
    if len(sums) != 1 or sums[0].operands:
        return None
    found = parse_set(str(sums[0].attributes["domain"]))
    if found.dims != 1 or set(found.constraints) != set(box(["d0"], [Affine.const(rows)])):
        return None
    inside = {result for inner in region_operations(sums[0].regions[0].blocks[0]) for result in inner.results}
    outside = {result for o in block.operations for result in o.operation.results} - inside
    used = (v for inner in region_operations(sums[0].regions[0].blocks[0]) for v in inner.operands)
    return None if any(value in outside for value in used) else sums[0]


def cut_into_parts(op: Any, rows: int, each: int) -> Any:
    """The map of the parts, each of so many rows, before the map, which sums them from now on."""
    steps = -(-rows // each)
    parts = _parts(op, rows, each, steps)
    block, whole = op.regions[0].blocks[0], row_sum(op, rows)
    made, inner = _sum(whole, box(["d0"], [Affine.const(steps)]), [])
    names = [f"d{n}" for n in range(len(block.arguments) + 1)]
    read = ir.Operation.create(
        "tad.read", results=[whole.results[0].type],
        operands=[parts.results[0], inner.arguments[0], *block.arguments],
        attributes={"at": map_attribute([Affine.var(name) for name in names], names, op.context)},
        loc=op.location, ip=ir.InsertionPoint(inner),
    )  # fmt: skip
    _yield(read.results[0], inner)
    whole.results[0].replace_all_uses_with(made.results[0])
    whole.erase()
    erase_unused(block)
    return parts


def _parts(op: Any, rows: int, each: int, steps: int) -> Any:
    """The map of the parts."""
    type, arguments = op.results[0].type, op.regions[0].blocks[0].arguments
    shape = [steps, *type.shape]
    names = [f"d{n}" for n in range(len(shape))]
    domain = set_attribute(box(names, [Affine.const(n) for n in shape]), names, op.context)
    element = row_sum(op, rows).results[0].type
    parts = ir.Operation.create(
        "tad.map", results=[ir.RankedTensorType.get(shape, element)], regions=1,
        attributes={"domain": domain, STEPS: ir.UnitAttr.get(op.context)},
        loc=op.location, ip=ir.InsertionPoint(op),
    )  # fmt: skip
    places = [op.location, *(v.location for v in arguments)]
    block = ir.Block.create_at_start(parts.regions[0], [ir.IndexType.get(op.context)] * len(shape), places)
    copy = op.clone(ip=ir.InsertionPoint(op)).operation
    inner = copy.regions[0].blocks[0]
    step, *own = block.arguments
    for given, value in zip(inner.arguments, own, strict=True):
        given.replace_all_uses_with(value)
    made = _cut(row_sum(copy, rows), step, rows, each)
    for operation in list(inner.operations)[:-1]:
        block.append(operation.operation)
    copy.erase()
    _yield(made.results[0], block)
    erase_unused(block)
    return parts


def _cut(whole: Any, step: Any, rows: int, each: int) -> Any:
    """The sum over the rows of one step, in the place of one over all."""
    form, first = Affine.var("d0"), Affine.var("p") * each
    domain = box(["d0"], [Affine.const(each)])
    if rows % each:
        domain += (Constraint(Affine.const(rows - 1) - first - form),)
    made, inner = _sum(whole, domain, [step] if rows % each else [])
    at = map_attribute([Affine.var("d0") * each + Affine.var("d1")], ["d0", "d1"], whole.context)
    row = ir.Operation.create(
        "tad.index", results=[inner.arguments[0].type], operands=[step, inner.arguments[0]],
        attributes={"at": at}, loc=whole.location, ip=ir.InsertionPoint(inner),
    )  # fmt: skip
    block = whole.regions[0].blocks[0]
    block.arguments[0].replace_all_uses_with(row.results[0])
    for operation in list(block.operations):
        inner.append(operation.operation)
    return made


def _sum(whole: Any, domain: Sequence[Constraint], operands: Sequence[Any]) -> tuple[Any, Any]:
    """A sum over one index, before another, and the block that its body goes in; `p` is what the domain
    says of the operand."""
    names = ["p"] * len(operands)
    made = ir.Operation.create(
        "tad.sum", results=[whole.results[0].type], operands=list(operands), regions=1,
        attributes={"domain": set_attribute(domain, ["d0"], whole.context, names)},
        loc=whole.location, ip=ir.InsertionPoint(whole),
    )  # fmt: skip
    index = whole.regions[0].blocks[0].arguments[0]
    return made, ir.Block.create_at_start(made.regions[0], [index.type], [index.location])


def _yield(value: Any, block: Any) -> None:
    ir.Operation.create("tad.yield", operands=[value], loc=value.location, ip=ir.InsertionPoint(block))
