"""The maps of programs, as they become kernels."""

from __future__ import annotations

from functools import cache

from bench.workloads import WORKLOADS
from tadc.compiler.all_stages import compile_until
from tadc.compiler.compile_options import Options
from tadc.compiler.stages import Compilation, fuse
from tadc.dialect.program_reader import tad_functions
from tadc.frontend.source import Source
from tadc.passes.maps.map import MapFunction
from tadc.passes.maps.read_maps import read_maps
from tadc.passes.schedule.choose import plan_alone, runs_together
from tadc.passes.schedule.cpu_machine import CpuMachine
from tadc.passes.schedule.plans import NestPlan
from tadc.passes.schedule.steps_of_plan import steps_of_plan
from tadc.passes.schedule.text import MapSchedule, Schedule
from tests.pages import ROOT

PROGRAMS: dict[str, str] = {
    **{path.stem: path.read_text(encoding="utf-8") for path in sorted((ROOT / "examples").glob("*.tad"))},
    **{workload.name: workload.program for workload in WORKLOADS},
}


@cache
def maps_of_program(
    text: str, mode: str = "value-and-vjp", sizes: tuple[tuple[str, int], ...] = ()
) -> MapFunction:
    """The maps of a program or a derivative, fused."""
    state = Compilation(Options(mode=mode, sizes=sizes), Source(text, "<test>"))
    compile_until(state, "hoist")
    fuse(state)
    (function,) = tad_functions(state.module.operation)
    return read_maps(function)


def plans_of(function: MapFunction, machine: CpuMachine) -> list[NestPlan]:
    """The plan of each map, where those of a chain run row by row if they can."""
    found = {
        number: plan or plan_alone(function.maps[number], function, machine, {})
        for together in runs_together(function, machine, {})
        for number, plan in together
    }
    return [found[number] for number in range(len(function.maps))]


def chosen_schedule(function: MapFunction, machine: CpuMachine) -> Schedule:
    """The steps for each map, in order."""
    return tuple(
        MapSchedule(
            tuple(tensor.name for tensor in item.tensors), steps_of_plan(item, function, plan, machine)
        )
        for item, plan in zip(function.maps, plans_of(function, machine), strict=True)
    )
