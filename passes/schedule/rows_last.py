"""Intermediates of a chain of maps get another order of indices: rows last, if lanes are rows.

    f[e, a, b] = sum{k: 3} (u[e, k, a]*rest[e, k, b])
    s[e, a, b] = sum{k: 3} (f[e, k, a]*f[e, k, b])

becomes

    f[a, b, e] = sum{k: 3} (u[e, k, a]*rest[e, k, b])
    s[a, b, e] = sum{k: 3} (f[k, a, e]*f[k, b, e])

Rows of a few elements fill no vector, so lanes are rows, and the elements of all rows at one position are
contiguous. A tensor that only the maps of a chain read may have any order; of other tensors, a chain may read
a copy. The same holds for a recurrence `t[i, k]` along k, whose lanes are i: each step is a row, `t[k, i]`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TypeVar

from tadc.lattice.affine import Affine
from tadc.lattice.late_dataclasses import dataclass, replace
from tadc.passes.maps.blocks import BlockNames, Renaming, with_reads
from tadc.passes.maps.keyed_sums import keyed_map
from tadc.passes.maps.map import Block, Let, Load, Map, MapFunction, Marks, TensorDecl
from tadc.passes.maps.memory_of_tensors import chains_in
from tadc.passes.maps.recurrence import recurrence_of
from tadc.passes.schedule.accesses import Accesses
from tadc.passes.schedule.cpu_machine import CpuMachine
from tadc.passes.schedule.plans import plan_in_chain
from tadc.passes.schedule.search import least_cost
from tadc.passes.terms.costs import ELEMENT
from tadc.passes.where import LEAVE_OUT, Copied, RowsLast, Where

T = TypeVar("T")


def with_rows_last(function: MapFunction, machine: CpuMachine, where: Where) -> MapFunction:
    """The function, where chains have their own tensors of short rows with rows last if that is cheaper, or
    those that steps name. Raises CompileError for a step that does not fit."""
    if where.given is not None:
        return _as_given(function, where)
    if function.sizes or not machine.vector_bytes:
        return function
    function = _with_steps_first(function, machine, where)
    for number in dict.fromkeys(item.marks.chain for item in function.maps):
        chain = _Chain(function, number, machine)
        if not chain.has_rows:
            continue
        own = chain.own()
        last = function
        for item in own:
            last = turned(last, item, to_last(tuple(range(len(item.indices)))))
        if own and (made := chain.having(last)).cost < chain.cost:
            chain = made
            for item in own:
                where.note(RowsLast(item.name, to_last(item.indices)))
        for tensor in chain.read_in_rows():
            step = Copied(tensor, 0, chain.readers(tensor))
            copied = with_copy(chain.function, step)
            if copied is not None and (made := chain.having(copied)).cost < chain.cost:
                where.note(step)
                chain = made
        function = chain.function
    return function


def _with_steps_first(function: MapFunction, machine: CpuMachine, where: Where) -> MapFunction:
    """The function, where recurrences in between have the elements of a step side by side, if nothing that
    stands beside them has the steps of a row side by side."""
    orders = {
        item.name: (item, order)
        for item in function.maps
        if item.order is not None and _may_turn(item, function)
        if (order := _steps_first(item, machine)) is not None
    }
    while orders:
        beside = {name for item in function.maps for name in _beside_rows(item, orders)}
        if beside.isdisjoint(orders):
            break
        orders = {name: found for name, found in orders.items() if name not in beside}
    for item, order in orders.values():
        where.note(RowsLast(item.name, tuple(item.indices[n] for n in order)))
        now = next(each for each in function.maps if each.name == item.name)
        function = turned(function, now, order)
    return function


def _steps_first(item: Map, machine: CpuMachine) -> tuple[int, ...] | None:
    """The order of indices in which those of steps are in front, if the last is one and another fills a
    vector; None of another recurrence."""
    found = recurrence_of(item)
    if found is None or found.order is not None or item.indices[-1] not in found.ordered:
        return None
    rest = [n for n, index in enumerate(item.indices) if index not in found.ordered]
    lanes = machine.vector_bytes // min(ELEMENT[tensor.type] for tensor in item.tensors)
    if not rest or len(item.tensors) > 1 or item.extents[rest[-1]].constant < lanes:
        return None
    return (*map(item.indices.index, found.ordered), *rest)


def _beside_rows(item: Map, orders: Mapping[str, tuple[Map, tuple[int, ...]]]) -> Iterator[str]:
    """The recurrences that a map makes or reads beside other tensors with the same indices, in rows."""
    loads = [(load.tensor, load.at) for load in item.loads()]
    made = [(name, tuple(map(Affine.var, item.indices))) for name in item.names]
    for tensor, at in (*made, *loads) if item.indices else loads:
        if tensor in orders:
            *batch, step = (form.variables for form in at)
            others = (there for name, there in (*made, *loads) if name not in orders and len(there) > 1)
            if any(
                not step.isdisjoint(there[-1].variables)
                and any(not names.isdisjoint(form.variables) for names in batch for form in there[:-1])
                for there in others
            ):
                yield tensor


def _as_given(function: MapFunction, where: Where) -> MapFunction:
    """The function where tensors have the orders that steps say, and maps read the copies."""
    for step in where.wanted(RowsLast) or ():
        where.check_known(step, [step.tensor], function.tensors())
        item = next((m for m in function.maps if any(t.name == step.tensor for t in m.tensors)), None)
        if step.tensor in where.formulas:
            continue
        if item is None or not _may_turn(item, function):
            text = f"`{step.tensor}` is no tensor in between, or set in place"
            where.refuse(step, text, LEAVE_OUT)
        if sorted(step.indices) != sorted(item.indices):
            help = f"write `order {step.tensor} {', '.join(to_last(item.indices))}`"
            where.refuse(step, "a tensor has the indices of its definition", help)
        function = turned(function, item, tuple(map(item.indices.index, step.indices)))
        where.note(step)
    for step in where.wanted(Copied) or ():
        where.check_known(step, (step.tensor, *step.tensors), function.tensors())
        if step.tensor not in where.formulas and not where.formulas.issuperset(step.tensors):
            made = with_copy(function, step)
            if made is None:
                text = f"`{step.tensor}` is not there before these, or not read, or has no such index"
                where.refuse(step, text, LEAVE_OUT)
            function = made
            where.note(step)
    return function


def _may_turn(item: Map, function: MapFunction) -> bool:
    """Whether what a map computes may have another order of indices: nothing outside of the maps has it."""
    in_place = (name for m in function.maps if m.marks.in_place for name in m.read)
    marks = replace(item.marks, chain=None, rows=0, row=0, kept=False)
    is_plain = marks == Marks() and not item.marks.at_sum and keyed_map(item) is None
    return is_plain and {*function.results, *in_place}.isdisjoint(item.names)


def with_copy(function: MapFunction, step: Copied) -> MapFunction | None:
    """The function where maps read a copy of a tensor, made row by row if they run so and read their own.

    None where it is not there before they run, or not read."""
    tensor, maps = function.tensors()[step.tensor], function.maps
    readers = [m for m in maps if any(t.name in step.tensors for t in m.tensors)]
    begin = next(each[0] for each in chains_in(maps) if any(maps[n] in readers for n in each))
    late = {t.name for m in maps[begin:] for t in m.tensors} | function.windows.keys()
    is_read = all(tensor.name in m.read for m in readers)
    if not is_read or tensor.name in late or step.axis >= len(tensor.shape):
        return None
    chain = _Chain(function, maps[begin].marks.chain, CpuMachine())
    in_rows = chain.has_rows and tensor.name in chain.read_in_rows(is_short=False)
    marks = replace(maps[begin].marks, row=0, steps=False) if in_rows else Marks()
    copy = replace(tensor, name=BlockNames(set(function.tensors())).like(tensor.name))
    indices = tuple(f"i{n}" for n in range(len(tensor.shape)))
    load = Let(("%0",), Load(tensor.name, tuple(map(Affine.var, indices)), tensor.type))
    made = Map((copy,), indices, copy.shape, Block((load,), ("%0",)), marks=marks)
    reading = Renaming(tensors={tensor.name: copy.name})
    read = [replace(m, body=reading.block(m.body)) if m in readers else m for m in maps]
    order = sorted(range(len(indices)), key=lambda n: n == step.axis)
    return turned(replace(function, maps=(*read[:begin], made, *read[begin:])), made, order)


@dataclass(frozen=True)
class _Chain:
    """The maps of a function that are in the chain of a number."""

    function: MapFunction
    number: int | None
    machine: CpuMachine

    @cached_property
    def items(self) -> list[Map]:
        return [item for item in self.function.maps if item.marks.chain == self.number]

    @property
    def has_rows(self) -> bool:
        """Whether its maps run for some rows at a time."""
        marks = [item.marks for item in self.items]
        return all(mark.rows and mark.sweep is None and not mark.blocks for mark in marks)

    def readers(self, name: str) -> tuple[str, ...]:
        return tuple(tensor for item in self.items if name in item.read for tensor in item.names)

    def own(self) -> list[Map]:
        """The maps whose tensors these maps alone use, in rows that are short."""
        others = (item for item in self.function.maps if item.marks.chain != self.number)
        used = {*self.function.results, *(name for item in others for name in item.read)}
        plain = (item for item in self.items if not item.marks.steps and not item.marks.in_place)
        return [m for m in plain if all(self.is_short(t) and t.name not in used for t in m.tensors)]

    def read_in_rows(self, *, is_short: bool = True) -> list[str]:
        """Other tensors that the maps read in their rows alone, which are short if that `is_short`."""
        made = {name for item in self.items for name in item.names}
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

    def is_short(self, tensor: TensorDecl) -> bool:
        """Whether a tensor has rows that fill no vector."""
        *others, last = (extent.constant for extent in tensor.shape or (Affine.const(0),))
        return bool(others) and last * ELEMENT[tensor.type] < self.machine.vector_bytes

    def having(self, function: MapFunction) -> _Chain:
        return _Chain(function, self.number, self.machine)

    @cached_property
    def cost(self) -> float:
        return sum(map(self.cost_of, self.items))

    def cost_of(self, item: Map) -> float:
        """What a row of a map costs."""
        plan, row = plan_in_chain(item, self.function, self.machine), item.marks.row
        rows = item.extents[row] if plan is None else Affine.const(item.marks.rows)
        before, after = item.extents[:row], item.extents[row + 1 :]
        parts = () if plan is None else plan.parts
        each, _ = least_cost(Accesses(item, self.function, (*before, rows, *after), parts), self.machine)
        return each * math.prod(extent.constant for extent in (*before, *after))


def turned(function: MapFunction, item: Map, order: Sequence[int]) -> MapFunction:
    """The function where what a map computes has its indices in another order."""
    tensors = set(item.names)
    marks = item.marks if item.marks.chain is None else replace(item.marks, row=order.index(item.marks.row))

    def put(forms: Sequence[T]) -> tuple[T, ...]:
        return tuple(forms[n] for n in order)

    def place(tensor: str, at: tuple[Affine, ...]) -> tuple[str, tuple[Affine, ...]]:
        return tensor, put(at) if tensor in tensors else at

    def one(other: Map) -> Map:
        made = replace(other, body=with_reads(other.body, place))
        if other.tensors != item.tensors:
            return made
        return replace(
            made,
            tensors=tuple(replace(tensor, shape=put(tensor.shape)) for tensor in item.tensors),
            indices=put(item.indices),
            extents=put(item.extents),
            marks=marks,
        )

    return replace(function, maps=tuple(map(one, function.maps)))


def to_last(forms: Sequence[T]) -> tuple[T, ...]:
    """The first form comes last."""
    return (*forms[1:], forms[0])
