"""Sums over the rows of a chain, cut into parts: one for the rows of each step.

    c[j] = sum i: e[i, j]

reads all rows of e for each element, after the chain that computes them. Where that runs over C rows at a
time, it becomes

    c_rows[p, j] = sum i where 0 <= i < C: e[C*p + i, j]
    c[j] = sum p: c_rows[p, j]

and the parts are computed in the chain, of rows that are near. The rows of a step do not depend on threads,
so results have the same bits for any number of them.
"""

from __future__ import annotations

from dataclasses import replace

from tadc.lattice.affine import Affine, Constraint, box
from tadc.passes.maps.blocks import BlockNames, Renaming, indices_bound, numbered, used_by, without_unused
from tadc.passes.maps.map import Block, Constant, Fold, Let, Load, Map, Marks, TensorDecl


def row_sum(item: Map, rows: int) -> Fold | None:
    """The sum over so many rows, and nothing else, that a map computes once for each of its points; None
    where there is none, or where it needs other values of the map."""
    folds = [let.value for let in item.body.lets if isinstance(let.value, Fold)]
    sums = [fold for fold in folds if fold.kind == "sum" and len(fold.body.gives) == 1]
    if item.order is not None or len(sums) != 1 or len((found := sums[0]).indices) != 1:
        return None
    if set(found.rows) != set(box(found.indices, [rows])):
        return None
    outside = {name for let in item.body.lets if not isinstance(let.value, Constant) for name in let.names}
    return None if any(name in outside for name in used_by(found)) else found


def cut_into_parts(item: Map, rows: int, each: int, name: str) -> tuple[Map, Map]:
    """The map of the parts, each of so many rows, a tensor of this name, and the map that sums them."""
    found = row_sum(item, rows)
    assert found is not None
    steps = -(-rows // each)
    step = BlockNames({*item.indices, *indices_bound(item.body)}).new("step")
    (own,) = [let for let in item.body.lets if let.value is found]
    shape = (Affine.const(steps), *item.extents)
    tensor = replace(item.tensors[0], name=name, shape=shape, type=found.type)
    read = Load(name, tuple(map(Affine.var, (step, *item.indices))), found.type)
    total = Fold(
        "sum", (step,), box([step], [steps]), Block((Let(("%part",), read),), ("%part",)), found.type
    )
    lets = tuple(Let(own.names, total, own.place) if let is own else let for let in item.body.lets)
    rest = replace(item, body=without_unused(Block(lets, item.body.gives)))
    return _parts(item, found, own, tensor, step, (rows, each)), numbered(rest)


def _parts(item: Map, found: Fold, own: Let, tensor: TensorDecl, step: str, cut: tuple[int, int]) -> Map:
    """The map of the parts, which `step` numbers; `cut` says how many rows there are, and in each part."""
    rows, each = cut
    (row,) = found.indices
    first, form = Affine.var(step) * each, Affine.var(row)
    domain = box([row], [each])
    if rows % each:
        domain += (Constraint(Affine.const(rows - 1) - first - form),)
    body = Renaming(forms={row: first + form}).block(found.body)
    part = Let(own.names, Fold("sum", (row,), domain, body, found.type), own.place)
    numbers = [let for let in item.body.lets if isinstance(let.value, Constant)]
    block = without_unused(Block((*numbers, part), own.names))
    return numbered(
        Map((tensor,), (step, *item.indices), tensor.shape, block, marks=Marks(steps=True), place=item.place)
    )
