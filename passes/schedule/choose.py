"""The schedule that is chosen for the maps of a function."""

from __future__ import annotations

from tadc.passes.maps.map import Map, MapFunction
from tadc.passes.schedule.cpu_machine import CpuMachine
from tadc.passes.schedule.plans import Plan, plan_in_chain, plan_of
from tadc.passes.schedule.steps_of_plan import steps_of_plan
from tadc.passes.schedule.text import MapSchedule, Schedule


def chosen_schedule(function: MapFunction, machine: CpuMachine) -> Schedule:
    """The steps for each map, in order."""
    plans = plans_of(function, machine)
    return tuple(
        MapSchedule(
            tuple(tensor.name for tensor in item.tensors), steps_of_plan(item, function, plan, machine)
        )
        for item, plan in zip(function.maps, plans, strict=True)
    )


def plans_of(function: MapFunction, machine: CpuMachine) -> list[Plan]:
    """The plan of each map, where those of a chain run row by row if they can."""
    found: list[Plan] = []
    for together in runs_together(function.maps):
        in_chain = _in_chain(together, function, machine)
        found += [in_chain.get(item.tensors) or plan_of(item, function, machine) for item in together]
    return found


def _in_chain(maps: list[Map], function: MapFunction, machine: CpuMachine) -> dict[object, Plan]:
    """The plans of those maps of a chain that run together, by their tensors.

    One that cannot comes after those that do not wait for it, and those that do come after it: they form the
    next chain.
    """
    found: dict[object, Plan] = {}
    if len(maps) < 2:
        return found
    plans = [(item, plan_in_chain(item, function, machine)) for item in maps]
    waiting = list(plans)
    while waiting:
        chain: list[tuple[Map, Plan]] = []
        left: set[str] = set()
        for item, plan in waiting:
            reads = {load.tensor for load in item.loads()}
            if plan is None or not left.isdisjoint(reads):
                left |= {tensor.name for tensor in item.tensors}
            else:
                chain.append((item, plan))
        if len(chain) == 1 or all(item.marks.steps for item, _ in chain):
            waiting.pop(0)
        else:
            found |= {item.tensors: plan for item, plan in chain}
            waiting = [pair for pair in waiting if pair[0].tensors not in found]
    return found


def runs_together(maps: tuple[Map, ...]) -> list[list[Map]]:
    """The maps in order, those of one chain together."""
    found: list[list[Map]] = []
    for item in maps:
        before = found[-1][-1] if found else None
        if before is not None and item.marks.chain is not None and before.marks.chain == item.marks.chain:
            found[-1].append(item)
        else:
            found.append([item])
    return found
