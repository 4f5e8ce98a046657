"""The schedule that is chosen for the maps of a function."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tadc.passes.maps.map import Map, MapFunction
from tadc.passes.maps.memory_of_tensors import chains_in
from tadc.passes.nest.steps import Rows
from tadc.passes.schedule.cpu_machine import CpuMachine
from tadc.passes.schedule.given import Given, rows_of
from tadc.passes.schedule.joined_maps import as_joined, joins_of
from tadc.passes.schedule.plans import Plan, plan_in_chain, plan_in_sweep, plan_of
from tadc.passes.schedule.steps_of_plan import steps_of_plan
from tadc.passes.schedule.text import MapSchedule, Schedule

Together = Sequence[tuple[int, Plan | None]]
"""The numbers of maps that run together and their plans; without one where a map runs by itself."""


def chosen_schedule(function: MapFunction, machine: CpuMachine) -> Schedule:
    """The steps for each map, in order."""
    plans = plans_of(function, machine)
    return tuple(
        MapSchedule(
            tuple(tensor.name for tensor in item.tensors), steps_of_plan(item, function, plan, machine)
        )
        for item, plan in zip(function.maps, plans, strict=True)
    )


def plans_of(function: MapFunction, machine: CpuMachine, given: Given | None = None) -> list[Plan]:
    """The plan of each map, where those of a chain run row by row if they can."""
    found = {
        number: plan or plan_alone(function.maps[number], function, machine, given or {})
        for together in runs_together(function, machine, given or {})
        for number, plan in together
    }
    return [found[number] for number in range(len(function.maps))]


def runs_together(function: MapFunction, machine: CpuMachine, given: Given) -> Iterator[Together]:
    """The maps in the order in which they run; those together with their plans that run row by row.

    One that cannot comes after those that do not wait for it, and those that do come after it: they form the
    next chain.
    """
    maps = function.maps
    for waiting in chains_in(maps):
        if maps[waiting[0]].marks.sweep is not None:
            yield [(n, _plan_in_sweep(maps[n], function, machine, given)) for n in waiting]
            continue
        plans = dict[int, Plan | None].fromkeys(waiting)
        if len(waiting) > 1:
            plans = {n: _plan_in_rows(maps[n], function, machine, given) for n in waiting}
        while waiting:
            chain: list[tuple[int, Plan | None]] = []
            left: set[str] = set()
            for n in waiting:
                if plans[n] is None or any(load.tensor in left for load in maps[n].loads()):
                    left |= {tensor.name for tensor in maps[n].tensors}
                else:
                    chain.append((n, plans[n]))
            if len(chain) == 1 or all(maps[n].marks.steps for n, _ in chain):
                chain = [(waiting[0], None)]
            yield chain
            done = dict(chain)
            waiting = [n for n in waiting if n not in done]


def plan_alone(item: Map, function: MapFunction, machine: CpuMachine, given: Given) -> Plan:
    """The plan of a map that runs by itself."""
    steps = given.get(item.tensors[0].name)
    if steps is not None:
        return plan_of(item, function, machine).with_steps(steps)
    joins = joins_of(item, function)
    return replace(plan_of(*as_joined(item, function, joins), machine), joins=joins)


def _plan_in_sweep(item: Map, function: MapFunction, machine: CpuMachine, given: Given) -> Plan:
    """The plan of a map in a sweep."""
    plan, steps = plan_in_sweep(item, function, machine), given.get(item.tensors[0].name)
    if steps is None:
        return plan
    rows = rows_of(item)
    if rows is not None and rows not in steps:
        steps = (rows, *steps)
    return replace(plan.with_steps(steps), axes=plan.axes)


def _plan_in_rows(item: Map, function: MapFunction, machine: CpuMachine, given: Given) -> Plan | None:
    """The plan of a map in a chain; None where it is computed by itself."""
    steps = given.get(item.tensors[0].name)
    if steps is None:
        return plan_in_chain(item, function, machine)
    in_rows = any(isinstance(step, Rows) for step in steps)
    return plan_of(item, function, machine).with_steps(steps) if in_rows else None
