"""Tensors in another order of their indices, computed once, where columns would be packed by all threads.

    c[i, j] = sum{k} (a[k, i] * b[k, j])

becomes

    a_2[i, k] = a[k, i]
    c[i, j] = sum{k} (a_2[i, k] * b[k, j])

Elements of a column of `a` are far apart in memory, so they would be packed for the rows of tiles
(`packing.py`), again in each range of j that a thread takes. A copy is divided among threads, and takes less
time than such a panel: it is made of squares that are transposed in registers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tadc.lattice.affine import ZERO, Affine
from tadc.passes.maps.blocks import Names, blocks_of, with_blocks
from tadc.passes.maps.map import Block, Fold, Let, Load, Map, MapFunction, Marks, Tensor
from tadc.passes.schedule.cpu_machine import CpuMachine
from tadc.passes.schedule.packing import Panels
from tadc.passes.schedule.plans import Plan, plan_of
from tadc.passes.schedule.search import SLACK, least_cost
from tadc.passes.schedule.work_counts import operations_of
from tadc.passes.where import COMPILE_FOR_SIZES, LEAVE_OUT, SIZES_UNKNOWN, Copied, Where

OFTEN = 64
"""A map does so many operations at least for each element of a copy."""

LEAST_WORK = 1 << 24
"""A map of fewer operations takes hardly longer than another dispatch to threads."""


@dataclass(frozen=True)
class _Order:
    """An order of the indices of a tensor: the one of number `last` comes last."""

    tensor: str
    last: int

    def of(self, forms: tuple[Affine, ...]) -> tuple[Affine, ...]:
        """What there is for each index, in this order."""
        return (*forms[: self.last], *forms[self.last + 1 :], forms[self.last])


def laid_out(function: MapFunction, machine: CpuMachine, where: Where) -> MapFunction:
    """The function, where maps read copies of what their ranges would pack for rows, or what steps say; a
    copy stands before the first map that reads it. Raises CompileError for a step that does not fit."""
    steps = where.wanted(Copied)
    for step in steps or ():
        _check(step, function, where)
    if function.sizes or not machine.vector_bytes:
        return function
    names, copies, maps = Names(set(function.tensors())), dict[_Order, Map](), list[Map]()
    for item in function.maps:
        orders = _orders(item, function, machine) if _reads_columns(item) else {}
        if steps is not None:
            orders = _given_orders(item, orders, steps)
        used = {order: copies.get(order) or _copy(order, function, names) for order in orders.values()}
        read = _reading(item, {name: (order, used[order]) for name, order in orders.items()})
        made = [copy for order, copy in used.items() if order not in copies]
        after = replace(function, maps=(*maps, *made, read))
        is_given = steps is not None
        if orders and (is_given or _pays(item, read, made, function, after, machine)):
            for order in used:
                where.note(Copied(order.tensor, order.last, tuple(tensor.name for tensor in item.tensors)))
            copies |= used
            maps += made
            item = read
        maps.append(item)
    return replace(function, maps=tuple(maps)) if copies else function


def _check(step: Copied, function: MapFunction, where: Where) -> None:
    """Raises CompileError for a copy that is given and cannot be, whatever reads it."""
    tensors = function.tensors()
    where.check_known(step, (step.tensor, *step.tensors), tensors)
    if function.sizes:
        where.refuse(step, SIZES_UNKNOWN, COMPILE_FOR_SIZES)
    found = tensors.get(step.tensor)
    readers = [item for item in function.maps if any(t.name in step.tensors for t in item.tensors)]
    if found is None:
        return
    if step.axis >= len(found.shape) or step.tensor in function.windows or found.type == "i32":
        where.refuse(step, f"`{step.tensor}` has no such dimension, or not all of it is in memory", LEAVE_OUT)
    for item in readers:
        name, marks = item.tensors[0].name, item.marks
        reads_own = step.tensor in {tensor.name for tensor in item.tensors}
        if reads_own or marks.sweep is not None or marks.in_place:
            where.refuse(step, f"`{name}` reads it while it is computed, or runs step by step", LEAVE_OUT)
        if all(load.tensor != step.tensor for load in item.loads()):
            where.refuse(step, f"`{name}` does not read `{step.tensor}`", "leave it out")


def _given_orders(item: Map, found: Mapping[str, _Order], steps: Sequence[Copied]) -> dict[str, _Order]:
    """The orders that steps say, by the names of the reads that ranges would pack, or of all of a tensor."""
    made: dict[str, _Order] = {}
    for step in steps:
        order = _Order(step.tensor, step.axis)
        if item.marks.chain is None and any(tensor.name in step.tensors for tensor in item.tensors):
            reads = {let.names[0]: let.value for let in item.body.all_lets() if let.names}
            packed = [name for name, own in found.items() if own == order]
            every = [n for n, v in reads.items() if isinstance(v, Load) and v.tensor == step.tensor]
            made |= dict.fromkeys(packed or every, order)
    return made


def _reads_columns(item: Map) -> bool:
    """Whether a map runs by itself, has much to do, and a sum of it reads two elements or more by columns:
    one of them is for lanes, another one for rows of tiles."""
    work = operations_of(item).count
    if item.marks != Marks() or item.order is not None or not isinstance(work, int) or work < LEAST_WORK:
        return False
    return any(
        sum(isinstance(let.value, Load) and _is_column(let.value, fold) for let in fold.body.lets) > 1
        for outer in item.body.lets
        if isinstance(fold := outer.value, Fold)
    )


def _is_column(load: Load, fold: Fold) -> bool:
    """Whether the indices of a reduction move a load, and not in its last subscript."""
    *others, last = (not form.variables.isdisjoint(fold.indices) for form in load.at or (ZERO,))
    return any(others) and not last


def _orders(item: Map, function: MapFunction, machine: CpuMachine) -> dict[str, _Order]:
    """The orders of tensors, by the names of reads that the ranges of a map would pack for rows: the
    innermost index of the reduction is to move the last index."""
    plan, found = plan_of(item, function, machine), dict[str, _Order]()
    packed = _row_panels(plan)
    if packed is None or packed.rows is None or plan.work is None:
        return {}
    loads = {let.names[0]: let.value for let in item.body.all_lets()}
    for read in packed.rows.reads:
        load, shape = loads[read.name], function.tensors()[read.tensor].shape
        assert isinstance(load, Load)
        index = next(name for name in reversed(packed.loop.binders) if name in read.names)
        last = next((n for n, form in enumerate(load.at) if form.coefficient(index) == 1), None)
        is_often = plan.work >= OFTEN * math.prod(extent.constant for extent in shape)
        if last is not None and is_often and read.tensor not in function.windows:
            found[read.name] = _Order(read.tensor, last)
    return found


def _row_panels(plan: Plan) -> Panels | None:
    """The panels of a map, if some are for rows."""
    packed = plan.tiling.packed if plan.tiling is not None else None
    return packed if packed is not None and packed.rows is not None else None


def _copy(order: _Order, function: MapFunction, names: Names) -> Map:
    """The map that computes a tensor in an order."""
    tensor = function.tensors()[order.tensor]
    indices = tuple(f"i{n}" for n in range(len(tensor.shape)))
    load = Load(tensor.name, tuple(map(Affine.var, indices)), tensor.type)
    made = Tensor(names.like(tensor.name), tensor.type, order.of(tensor.shape))
    own = (*indices[: order.last], *indices[order.last + 1 :], indices[order.last])
    return Map((made,), own, made.shape, Block((Let(("%0",), load),), ("%0",)))


def _reading(item: Map, copies: Mapping[str, tuple[_Order, Map]]) -> Map:
    """A map whose reads of these names are of copies."""

    def within(block: Block) -> Block:
        lets: list[Let] = []
        for let in block.lets:
            value = with_blocks(let.value, [within(inner) for inner in blocks_of(let.value)])
            if isinstance(value, Load) and let.names[0] in copies:
                order, copy = copies[let.names[0]]
                value = Load(copy.tensors[0].name, order.of(value.at), value.type)
            lets.append(replace(let, value=value))
        return Block(tuple(lets), block.gives)

    return replace(item, body=within(item.body))


def _pays(
    item: Map,
    read: Map,
    made: Sequence[Map],
    before: MapFunction,
    after: MapFunction,
    machine: CpuMachine,
) -> bool:
    """Whether a map that reads copies packs no rows and costs hardly more than the one without, and those
    that are made are large enough to have vectors."""
    plan = plan_of(read, after, machine)
    if _row_panels(plan) or any(plan_of(copy, after, machine).tiling is None for copy in made):
        return False
    old = least_cost(item, before, item.extents, plan.parts, machine)
    new = least_cost(read, after, read.extents, plan.parts, machine)
    return new[0] <= SLACK * old[0]
