"""Tensors in between of a chain of maps with another order of indices: rows come last, where lanes are rows.

    f[e, a, b] = sum{k: 3} (u[e, k, a]*rest[e, k, b])
    s[e, a, b] = sum{k: 3} (f[e, k, a]*f[e, k, b])

becomes

    f[a, b, e] = sum{k: 3} (u[e, k, a]*rest[e, k, b])
    s[a, b, e] = sum{k: 3} (f[k, a, e]*f[k, b, e])

Rows of a few elements fill no vector, so lanes are rows, and elements of one place in them are side by side in
memory then. What nobody but the maps of a chain reads may have any order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from tadc.lattice.affine import Affine
from tadc.passes.maps.blocks import blocks_of, with_blocks
from tadc.passes.maps.map import Block, Let, Load, Map, MapFunction
from tadc.passes.maps.memory_of_tensors import chains_in
from tadc.passes.schedule.cpu_machine import CpuMachine
from tadc.passes.schedule.plans import plan_in_chain
from tadc.passes.schedule.search import least_cost
from tadc.passes.terms.costs import ELEMENT


def with_rows_last(function: MapFunction, machine: CpuMachine) -> MapFunction:
    """The function, where chains compute their own tensors of short rows with rows last if that costs less."""
    if function.sizes or not machine.vector_bytes:
        return function
    for numbers in chains_in(function.maps):
        items = [function.maps[n] for n in numbers]
        own = _own(items, function, machine)
        if not own:
            continue
        after = _with_last(function, own)
        made = [after.maps[n] for n in numbers]
        if _cost(made, after, machine) < _cost(items, function, machine):
            function = after
    return function


def _own(items: Sequence[Map], function: MapFunction, machine: CpuMachine) -> set[str]:
    """The tensors that these maps alone use, in rows of fewer elements than a vector has."""
    inside = set(map(id, items))
    others = {load.tensor for item in function.maps if id(item) not in inside for load in item.loads()}
    used = others.union(function.results)
    return {
        tensor.name
        for item in items
        for tensor in item.tensors
        if _is_plain(item)
        and used.isdisjoint(tensor.name for tensor in item.tensors)
        and tensor.shape[-1].constant * ELEMENT[tensor.type] < machine.vector_bytes
    }


def _is_plain(item: Map) -> bool:
    """Whether a map runs in a chain, for rows of elements."""
    marks = item.marks
    has_rows = marks.chain is not None and not marks.blocks and marks.sweep is None and not marks.steps
    return has_rows and not marks.in_place and marks.row == 0 and len(item.extents) > 1


def _with_last(function: MapFunction, tensors: Collection[str]) -> MapFunction:
    """The function where the first index of some tensors comes last."""

    def read(block: Block) -> Block:
        return Block(tuple(map(of, block.lets)), block.gives)

    def of(let: Let) -> Let:
        value = with_blocks(let.value, [read(inner) for inner in blocks_of(let.value)])
        if isinstance(value, Load) and value.tensor in tensors:
            value = replace(value, at=_last(value.at))
        return replace(let, value=value)

    def one(item: Map) -> Map:
        item = replace(item, body=read(item.body))
        if item.tensors[0].name not in tensors:
            return item
        return replace(
            item,
            tensors=tuple(replace(tensor, shape=_last(tensor.shape)) for tensor in item.tensors),
            indices=(*item.indices[1:], item.indices[0]),
            extents=_last(item.extents),
            marks=replace(item.marks, row=len(item.indices) - 1),
        )

    return replace(function, maps=tuple(map(one, function.maps)))


def _last(forms: tuple[Affine, ...]) -> tuple[Affine, ...]:
    """The first form comes last."""
    return (*forms[1:], forms[0])


def _cost(items: Sequence[Map], function: MapFunction, machine: CpuMachine) -> float:
    """What a row of a chain costs."""
    return sum(_costs(items, function, machine))


def _costs(items: Sequence[Map], function: MapFunction, machine: CpuMachine) -> Iterator[float]:
    """What a row of each map of a chain costs."""
    for item in items:
        plan = plan_in_chain(item, function, machine)
        row, rows, elements = item.marks.row, item.marks.rows, 1
        for extent in (*item.extents[:row], *item.extents[row + 1 :]):
            elements *= extent.constant
        if plan is None:
            yield elements * least_cost(item, function, item.extents, [], machine)[0]
            continue
        extents = (*item.extents[:row], Affine.const(rows), *item.extents[row + 1 :])
        yield elements * least_cost(item, function, extents, plan.parts, machine)[0]
