"""Stages of loop nests: shown, and not on the way to code yet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tadc.compiler.stages import Compilation, fuse, fuse_for_gpu, machine_facts

if TYPE_CHECKING:
    from tadc.passes.maps.map import MapFunction


def _fused(state: Compilation) -> Iterator[MapFunction]:
    """The functions of maps that become kernels."""
    from tadc.dialect.program_reader import tad_functions
    from tadc.passes.maps.read_maps import read_maps

    if state.options.backend.launches_kernels:
        fuse_for_gpu(state)
    else:
        fuse(state)
    return (read_maps(function) for function in tad_functions(state.module.operation))


def make_nests(state: Compilation) -> None:
    """The plain loop nests of the maps that become kernels, as text."""
    from tadc.passes.nest.plain import plain_nests
    from tadc.passes.nest.text import nest_text

    functions = _fused(state)
    state.nests = "\n".join(nest_text(nest) for function in functions for nest in plain_nests(function))


def choose_schedule(state: Compilation) -> None:
    """The schedule of the maps that become kernels of this machine, as text."""
    from tadc.passes.schedule.choose import chosen_schedule
    from tadc.passes.schedule.cpu_machine import CpuMachine
    from tadc.passes.schedule.text import schedule_text

    machine = CpuMachine(**machine_facts(state))
    state.schedule = "\n".join(schedule_text(chosen_schedule(each, machine)) for each in _fused(state))
