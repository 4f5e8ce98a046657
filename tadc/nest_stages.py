"""Stages of loop nests: shown, and not on the way to code yet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from tadc.stages import Compilation, fuse, fuse_for_gpu, machine_facts

if TYPE_CHECKING:
    from tadc.passes.gpu.kernels import Kernel
    from tadc.passes.maps.map import MapFunction


def _fused(state: Compilation) -> Iterator[MapFunction]:
    """The functions of maps that become loops of a CPU."""
    from tadc.dialect.reader import tad_functions
    from tadc.passes.maps.read_maps import read_maps

    fuse(state)
    return (read_maps(function) for function in tad_functions(state.module.operation))


def _kernels(state: Compilation) -> Iterator[Kernel]:
    """The kernels of a GPU."""
    from tadc.dialect.reader import tad_functions
    from tadc.passes.gpu.kernels import Kernels
    from tadc.passes.maps.machine import gpu_of

    gpu = gpu_of(fuse_for_gpu(state))
    return (kernel for each in tad_functions(state.module.operation) for kernel in Kernels(each, gpu).all())


def make_nests(state: Compilation) -> None:
    """The plain loop nests of the maps that become loops, or those of the kernels of a GPU, as text."""
    from tadc.passes.nest.plain import plain_nests
    from tadc.passes.nest.text import nest_text

    if state.options.backend.launches_kernels:
        nests = [replace(kernel.made.nest, name=kernel.name) for kernel in _kernels(state)]
    else:
        nests = [nest for function in _fused(state) for nest in plain_nests(function)]
    state.nests = "\n".join(map(nest_text, nests))


def choose_schedule(state: Compilation) -> None:
    """The schedule of the maps that become loops or kernels of this machine, as text."""
    from tadc.passes.schedule.choose import chosen_schedule
    from tadc.passes.schedule.cpu_machine import CpuMachine
    from tadc.passes.schedule.text import MapSchedule, schedule_text

    if state.options.backend.launches_kernels:
        state.schedule = "\n".join(
            f"# {kernel.about()}\n{schedule_text([MapSchedule(kernel.tensors, kernel.made.steps)])}"
            for kernel in _kernels(state)
        )
        return
    machine = CpuMachine(**machine_facts(state))
    state.schedule = "\n".join(schedule_text(chosen_schedule(each, machine)) for each in _fused(state))
