"""Maps that run step by step read copies of loop-invariant operands, made once before all steps.

    h[t, n, i] = tanh(x[t, n, i] + sum{j} (u[i, j]*h[t - 1, n, j]))

reads `u[i, j]` again in each step, and the elements for the i of a vector are not contiguous. A copy with i
last is read in vectors, aligned to cache lines. A matrix product packs panels of its operands for the same
reason; all steps of a recurrence share one copy.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from tadc.passes.maps.map import Map, MapFunction
from tadc.passes.maps.recurrence import recurrence_of, reversed_map
from tadc.passes.schedule.accesses import Accesses
from tadc.passes.schedule.cpu_machine import CpuMachine
from tadc.passes.schedule.rows_last import with_copy
from tadc.passes.schedule.search import least_cost
from tadc.passes.where import Copied, Where


def with_copies_for_steps(function: MapFunction, machine: CpuMachine, where: Where) -> MapFunction:
    """The function, where maps that run step by step read copies that cost less than they save."""
    if where.given is not None or not machine.vector_bytes:
        return function
    for name in [item.name for item in function.maps if recurrence_of(item) is not None]:
        for step in _copies(next(item for item in function.maps if item.name == name)):
            copied = with_copy(function, step)
            if copied is not None and _saved_by(copied, function, step, machine) > 0:
                where.note(step)
                function = copied
    return function


def _copies(item: Map) -> Iterator[Copied]:
    """Copies of tensors that are the same in all steps, whose last index is then one that a map has, and may
    make vectors of."""
    found = recurrence_of(item)
    if found is None or found.order is not None:
        return
    free, steps = found.tiled(item.indices), frozenset(found.ordered)
    axes: dict[tuple[str, int], None] = {}
    moving = {
        load.tensor for load in item.loads() for form in load.at if not steps.isdisjoint(form.variables)
    }
    for load in item.loads():
        names = [form.variables for form in load.at]
        if names and free.isdisjoint(names[-1]) and load.tensor not in moving:
            axes |= {(load.tensor, n): None for n, each in enumerate(names) if not free.isdisjoint(each)}
    yield from (Copied(tensor, axis, item.names) for tensor, axis in axes)


def _saved_by(copied: MapFunction, function: MapFunction, step: Copied, machine: CpuMachine) -> float:
    """What a copy saves its readers, less what it costs."""
    own = copied.tensors().keys() - function.tensors().keys()
    without, within = (
        sum(_cost_of(item, each, machine) for item in each.maps if not names.isdisjoint(item.names))
        for each, names in ((function, {*step.tensors}), (copied, {*step.tensors, *own}))
    )
    return without - within


def _cost_of(item: Map, function: MapFunction, machine: CpuMachine) -> float:
    """What a map costs."""
    found = recurrence_of(item)
    accesses = Accesses(item if found is None else reversed_map(item, found.down), function)
    return least_cost(accesses, machine)[0] * math.prod(map(accesses.extent, accesses.names))
