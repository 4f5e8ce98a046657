"""Tensors in between of a chain of maps with another order of indices: rows come last, where lanes are rows.

    f[e, a, b] = sum{k: 3} (u[e, k, a]*rest[e, k, b])
    s[e, a, b] = sum{k: 3} (f[e, k, a]*f[e, k, b])

becomes

    f[a, b, e] = sum{k: 3} (u[e, k, a]*rest[e, k, b])
    s[a, b, e] = sum{k: 3} (f[k, a, e]*f[k, b, e])

Rows of a few elements fill no vector, so lanes are rows, and elements of one place in them are side by side
in memory then. What nobody but the maps of a chain reads may have any order; of what others have, a chain may
read a copy.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property

from tadc.lattice.affine import Affine
from tadc.passes.maps.blocks import Names, Renaming, blocks_of, with_blocks
from tadc.passes.maps.map import Block, Let, Load, Map, MapFunction, Tensor
from tadc.passes.schedule.accesses import Accesses
from tadc.passes.schedule.cpu_machine import CpuMachine
from tadc.passes.schedule.plans import plan_in_chain
from tadc.passes.schedule.search import least_cost
from tadc.passes.terms.costs import ELEMENT
from tadc.passes.where import LEAVE_OUT, Copied, RowsLast, Where


def with_rows_last(function: MapFunction, machine: CpuMachine, where: Where) -> MapFunction:
    """The function, where chains have their own tensors of short rows with rows last if that is cheaper, or
    those that steps name. Raises CompileError for a step that does not fit."""
    if where.given is not None:
        return _as_given(function, machine, where)
    if function.sizes or not machine.vector_bytes:
        return function
    for number in dict.fromkeys(item.marks.chain for item in function.maps):
        chain = None if number is None else _Chain(function, number, machine)
        if chain is None or not chain.has_rows:
            continue
        if (own := chain.own()) and (made := chain.having(_with_last(function, own))).cost() < chain.cost():
            chain = made
            for item in chain.items:
                for tensor in item.tensors if item.tensors[0].name in own else ():
                    where.note(RowsLast(tensor.name, item.indices))
        for tensor in chain.read_in_rows():
            if (made := chain.with_copy(tensor)).cost() < chain.cost():
                where.note(Copied(tensor, 0, chain.readers(tensor)))
                chain = made
        function = chain.function
    return function


def _as_given(function: MapFunction, machine: CpuMachine, where: Where) -> MapFunction:
    """The function where tensors of chains have the orders that steps say."""
    steps, copies, tensors = where.wanted(RowsLast) or (), where.wanted(Copied) or (), function.tensors()
    for step in steps:
        where.check_known(step, [step.tensor], tensors)
    for step in copies:
        where.check_known(step, (step.tensor, *step.tensors), tensors)
    numbers = dict.fromkeys(item.marks.chain for item in function.maps if item.marks.chain is not None)
    fitting = set[RowsLast | Copied]()
    for chain in (_Chain(function, number, machine) for number in numbers):
        chain = chain.having(function)
        if not chain.has_rows:
            continue
        own = chain.own(is_short=False)
        wanted = {step.tensor: step for step in steps if step.tensor in own}
        for item in chain.items:
            for step in (wanted[t.name] for t in item.tensors if t.name in wanted):
                order = (*item.indices[1:], item.indices[0])
                if step.indices != order:
                    help = f"write `order {step.tensor} {', '.join(order)}`"
                    where.refuse(step, "rows, the first index, come last", help)
                fitting.add(step)
        own = {t.name for m in chain.items if any(t.name in wanted for t in m.tensors) for t in m.tensors}
        chain = chain.having(_with_last(function, own))
        for step in copies:
            if step.axis == 0 and step.tensor in chain.read_in_rows(is_short=False):
                if chain.readers(step.tensor) == step.tensors:
                    chain = chain.with_copy(step.tensor)
                    fitting.add(step)
        function = chain.function
    for step in (*steps, *copies):
        if step not in fitting and step.tensor not in where.formulas:
            text = f"no maps that run together alone have rows of `{step.tensor}`, or read it in their rows"
            where.refuse(step, text, LEAVE_OUT)
        where.note(step)
    return function


@dataclass(frozen=True)
class _Chain:
    """The maps of a function that are in the chain of a number."""

    function: MapFunction
    number: int
    machine: CpuMachine

    @cached_property
    def items(self) -> list[Map]:
        """Its maps, in order."""
        return [item for item in self.function.maps if item.marks.chain == self.number]

    @property
    def has_rows(self) -> bool:
        """Whether its maps run for some rows at a time."""
        marks = [item.marks for item in self.items]
        return all(mark.sweep is None and not mark.at_sum and not mark.blocks for mark in marks)

    def readers(self, name: str) -> tuple[str, ...]:
        """The tensors of the maps that read one."""
        found = (item for item in self.items if any(load.tensor == name for load in item.loads()))
        return tuple(tensor.name for item in found for tensor in item.tensors)

    def own(self, *, is_short: bool = True) -> set[str]:
        """The tensors that these maps alone use, in rows that are short if that `is_short`."""
        others = (item for item in self.function.maps if item.marks.chain != self.number)
        used = {*self.function.results, *(load.tensor for item in others for load in item.loads())}
        return {
            tensor.name
            for item in self.items
            if not item.marks.steps and not item.marks.in_place
            for tensor in item.tensors
            if (not is_short or self.is_short(tensor)) and used.isdisjoint(each.name for each in item.tensors)
        }

    def read_in_rows(self, *, is_short: bool = True) -> list[str]:
        """Other tensors that the maps read in their rows alone, which are short if that `is_short`."""
        made = {tensor.name for item in self.items for tensor in item.tensors}
        tensors, far, near = self.function.tensors(), set[str](), dict[str, None]()
        for item in self.items:
            row = Affine.var(item.indices[item.marks.row])
            for load in item.loads():
                if load.at[:1] == (row,) and not item.marks.steps:
                    near[load.tensor] = None
                else:
                    far.add(load.tensor)
        found = [name for name in near if name not in far | made]
        return [name for name in found if not is_short or self.is_short(tensors[name])]

    def is_short(self, tensor: Tensor) -> bool:
        """Whether a tensor has rows that fill no vector."""
        *others, last = (extent.constant for extent in tensor.shape or (Affine.const(0),))
        return bool(others) and last * ELEMENT[tensor.type] < self.machine.vector_bytes

    def having(self, function: MapFunction) -> _Chain:
        """The chain of another function."""
        return _Chain(function, self.number, self.machine)

    def with_copy(self, name: str) -> _Chain:
        """The chain where it reads a copy of a tensor that has rows last."""
        tensor, first = self.function.tensors()[name], self.items[0]
        copy = replace(tensor, name=Names(set(self.function.tensors())).like(name))
        indices = tuple(f"i{n}" for n in range(len(tensor.shape)))
        load = Let(("%0",), Load(name, tuple(map(Affine.var, indices)), tensor.type))
        marks = replace(first.marks, row=0, steps=False)
        made = Map((copy,), indices, copy.shape, Block((load,), ("%0",)), marks=marks)
        reading, maps = Renaming(tensors={name: copy.name}), list[Map]()
        for item in self.function.maps:
            maps += [made] if item is first else []
            is_inside = item.marks.chain == self.number
            maps.append(replace(item, body=reading.block(item.body)) if is_inside else item)
        return self.having(_with_last(replace(self.function, maps=tuple(maps)), {copy.name}))

    def cost(self) -> float:
        """What a row costs."""
        return sum(map(self.cost_of, self.items))

    def cost_of(self, item: Map) -> float:
        """What a row of a map costs."""
        plan, row = plan_in_chain(item, self.function, self.machine), item.marks.row
        rows = item.extents[row] if plan is None else Affine.const(item.marks.rows)
        before, after = item.extents[:row], item.extents[row + 1 :]
        parts = () if plan is None else plan.parts
        each, _ = least_cost(Accesses(item, self.function, (*before, rows, *after), parts), self.machine)
        return each * math.prod(extent.constant for extent in (*before, *after))


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
