"""The plans that are chosen for the maps of a function, and which maps run together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tadc.lattice.affine import Affine
from tadc.passes.maps.map import Map, MapFunction
from tadc.passes.maps.memory_of_tensors import chains_in
from tadc.passes.maps.recurrence import sweep_of
from tadc.passes.schedule.cpu_machine import CpuMachine
from tadc.passes.schedule.given import Given, rows_in, rows_of
from tadc.passes.schedule.joined_maps import as_joined, joins_of
from tadc.passes.schedule.plans import (
    NestPlan,
    in_steps,
    plan_at_sum,
    plan_in_chain,
    plan_in_groups,
    plan_in_sweep,
    plan_of,
)
from tadc.passes.schedule.search import Pick

Together = Sequence[tuple[int, NestPlan | None]]
"""The numbers of maps that run together and their plans; without one where a map runs by itself."""


def runs_together(function: MapFunction, machine: CpuMachine, given: Given) -> Iterator[Together]:
    """The maps in the order in which they run; those together with their plans that run row by row.

    One that cannot comes after those that do not wait for it, and those that do come after it: they form the
    next chain.
    """
    maps = function.maps
    for waiting in chains_in(maps):
        if maps[waiting[0]].marks.at_sum:
            over, item = waiting
            plan, steps = plan_at_sum(maps[over], maps[item], function), given.get(maps[over].name)
            yield [(over, plan if steps is None else plan.with_steps(steps)), (item, None)]
            continue
        if maps[waiting[0]].marks.sweep is not None:
            plans = [_plan_in_sweep(maps[n], function, machine, given) for n in waiting]
            plans = in_steps([maps[n] for n in waiting], plans, _steps_of(maps[waiting[0]]), machine)
            yield list(zip(waiting, plans, strict=True))
            continue
        if len(waiting) == 1 and (plan := _plan_by_steps(maps[waiting[0]], function, machine, given)):
            yield [(waiting[0], plan)]
            continue
        in_rows = dict[int, NestPlan | None].fromkeys(waiting)
        if len(waiting) > 1:
            in_rows = {n: _plan_in_rows(maps[n], function, machine, given) for n in waiting}
        while waiting:
            chain: list[tuple[int, NestPlan | None]] = []
            left: set[str] = set()
            for n in waiting:
                if in_rows[n] is None or not left.isdisjoint(maps[n].read):
                    left |= set(maps[n].names)
                else:
                    chain.append((n, in_rows[n]))
            if len(chain) == 1 or all(maps[n].marks.steps for n, _ in chain):
                chain = [(waiting[0], None)]
            yield chain
            done = dict(chain)
            waiting = [n for n in waiting if n not in done]


def plan_alone(
    item: Map, function: MapFunction, machine: CpuMachine, given: Given, pick: Pick | None = None
) -> NestPlan:
    """The plan of a map that runs by itself."""
    steps = given.get(item.name)
    if steps is not None:
        return plan_of(item, function, machine).with_steps(steps)
    if (plan := plan_in_groups(item, function)) is not None:
        return plan
    joins = joins_of(item, function)
    return replace(plan_of(*as_joined(item, function, joins), machine, pick=pick), joins=joins)


def _plan_in_sweep(item: Map, function: MapFunction, machine: CpuMachine, given: Given) -> NestPlan:
    """The plan of a map in a sweep."""
    plan, steps = plan_in_sweep(item, function, machine), given.get(item.name)
    if steps is None:
        return plan
    rows = rows_of(item)
    if rows is not None and rows not in steps:
        steps = (rows, *steps)
    return plan.with_steps(steps)


def _steps_of(item: Map) -> Affine:
    """The number of steps of a recurrence, or of one that a map follows step by step."""
    sweep = sweep_of(item)
    assert sweep is not None
    return item.extents[sweep.index]


def _plan_by_steps(item: Map, function: MapFunction, machine: CpuMachine, given: Given) -> NestPlan | None:
    """The plan of a recurrence that runs by itself, where threads divide each of its steps; None where a
    thread runs all steps of what it computes, or one thread all of it."""
    if item.order is None or sweep_of(item) is None or item.marks.kept:
        return None
    steps = given.get(item.name)
    if steps is not None:
        return _plan_in_sweep(item, function, machine, given) if rows_in(steps) else None
    if plan_of(item, function, machine).threads:
        return None
    (plan,) = in_steps([item], [plan_in_sweep(item, function, machine)], _steps_of(item), machine)
    return plan if plan.threads else None


def _plan_in_rows(item: Map, function: MapFunction, machine: CpuMachine, given: Given) -> NestPlan | None:
    """The plan of a map in a chain; None where it is computed by itself."""
    steps = given.get(item.name)
    if steps is None:
        return plan_in_chain(item, function, machine)
    return plan_of(item, function, machine).with_steps(steps) if rows_in(steps) else None
