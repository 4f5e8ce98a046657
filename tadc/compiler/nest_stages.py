"""What `--emit nest`, `schedule` and `scheduled-nest` show: loop nests, of which code is made, and steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from tadc.compiler.stages import Compilation, fuse, fuse_for_gpu, kernels_of, machine_facts

if TYPE_CHECKING:
    from tadc.passes.gpu.kernels import Kernel
    from tadc.passes.maps.map import Map, MapFunction
    from tadc.passes.schedule.text import MapSchedule, Schedule


def _fused(state: Compilation) -> Iterator[MapFunction]:
    """The functions of maps that become kernels."""
    from tadc.dialect.program_reader import tad_functions
    from tadc.passes.maps.read_maps import read_maps

    if state.options.backend.launches_kernels:
        fuse_for_gpu(state)
    else:
        fuse(state)
    return (read_maps(function) for function in tad_functions(state.module.operation))


def _kernels(state: Compilation) -> Iterator[Kernel]:
    """The kernels of a GPU."""
    return (kernel for each in kernels_of(state, fuse_for_gpu(state)) for kernel in each.all())


def make_nests(state: Compilation) -> None:
    """The plain loop nests of the maps that become kernels, as text."""
    from tadc.passes.nest.nest_text import nest_text
    from tadc.passes.nest.plain import plain_nests
    from tadc.passes.nest.windowed import windowed

    functions = _fused(state)
    state.nests = "\n".join(
        nest_text(windowed(nest, function.windows))
        for function in functions
        for nest in plain_nests(function)
    )


def choose_schedule(state: Compilation) -> None:
    """The schedule of the maps that become kernels of this machine, as text."""
    from tadc.passes.schedule.text import MapSchedule, schedule_text

    if state.options.backend.launches_kernels:
        state.schedule = "\n".join(
            f"# {kernel.about()}\n{schedule_text([MapSchedule(kernel.tensors, kernel.made.steps)])}"
            for kernel in _kernels(state)
        )
        return
    state.schedule = "\n".join(schedule_text(schedule) for _, schedule in _schedules(state))


def make_scheduled_nests(state: Compilation) -> None:
    """The loop nests that the steps of the schedule make of the plain ones, or those of chains, as text."""
    from tadc.passes.nest.along import nest_with
    from tadc.passes.nest.nest_text import nest_text
    from tadc.passes.nest.primitives.apply import apply_steps
    from tadc.passes.nest.windowed import windowed

    if state.options.backend.launches_kernels:
        nests = (replace(kernel.made.nest, name=kernel.name) for kernel in _kernels(state))
        state.scheduled_nests = "\n".join(map(nest_text, nests))
        return
    state.scheduled_nests = "\n".join(
        nest_text(windowed(apply_steps(nest_with(function, item, made.steps), made.steps), function.windows))
        for function, schedule in _schedules(state)
        for item, made in _scheduled(function, schedule)
    )


def _scheduled(function: MapFunction, schedule: Schedule) -> Iterator[tuple[Map, MapSchedule]]:
    """The maps of a function that have steps, but for those that run along with others."""
    maps = {tuple(tensor.name for tensor in item.tensors): item for item in function.maps}
    return ((maps[made.tensors], made) for made in schedule)


def _schedules(state: Compilation) -> Iterator[tuple[MapFunction, Schedule]]:
    """The functions of maps, each with its schedule: steps that are given, those chosen for other maps."""
    from tadc.passes.schedule.choose import chosen_schedule
    from tadc.passes.schedule.cpu_machine import CpuMachine
    from tadc.passes.schedule.given import given_schedule

    functions, machine = tuple(_fused(state)), CpuMachine(**machine_facts(state))
    given = given_schedule(state.options.schedule, functions)
    for function in functions:
        chosen = chosen_schedule(function, machine)
        yield function, tuple(replace(made, steps=given.get(made.tensors[0], made.steps)) for made in chosen)
