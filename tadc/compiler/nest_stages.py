"""What `--emit nest`, `schedule` and `scheduled-nest` show: plain loop nests, then the steps that lowering
takes, and the nests that it makes code of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING

from tadc.compiler.stages import Compilation, fuse, fuse_for_gpu, kernels_of, scheduled_loops

if TYPE_CHECKING:
    from tadc.passes.gpu.kernels import NestKernel
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


def _kernels(state: Compilation) -> Iterator[NestKernel]:
    """The kernels of a GPU."""
    return (kernel for each in kernels_of(state, fuse_for_gpu(state)) for kernel in each.all())


def make_nests(state: Compilation) -> None:
    """The plain loop nests of the maps that become kernels, as text."""
    from tadc.passes.gpu import row_chains
    from tadc.passes.nest import plain
    from tadc.passes.nest.nest_text import nest_text
    from tadc.passes.nest.windowed import windowed

    functions = _fused(state)
    of = row_chains if state.options.backend.launches_kernels else plain
    state.nests = "\n".join(
        nest_text(windowed(nest, function.windows))
        for function in functions
        for nest in of.plain_nests(function)
    )


def choose_schedule(state: Compilation) -> None:
    """The schedule of the maps that become kernels of this machine, as text, below the comments that one
    which is given begins with."""
    from tadc.passes.schedule.text import MapSchedule, function_text, schedule_text

    if state.options.backend.launches_kernels:
        maps = "\n".join(
            f"# {kernel.about()}\n{schedule_text([MapSchedule(kernel.tensors, kernel.made.steps)])}"
            for kernel in _kernels(state)
        )
    else:
        functions = scheduled_loops(state)
        maps = "\n".join(
            schedule_text(made.schedule for made in function if made.schedule) for function in functions
        )
    places = (function_text(name, where.made) for name, where in state.decisions.found.items())
    given = state.options.schedule
    lines: list[str] = given.text.splitlines() if given is not None else []
    head = takewhile(lambda line: line.startswith("#"), lines)
    state.schedule = "\n".join([*head, *places, maps])


def make_scheduled_nests(state: Compilation) -> None:
    """The loop nests that the steps of the schedule make of the plain ones, or those of chains, as text."""
    from tadc.passes.nest.nest_text import nest_text

    if state.options.backend.launches_kernels:
        nests = [replace(kernel.made.nest, name=kernel.name) for kernel in _kernels(state)]
    else:
        nests = [made.nest for function in scheduled_loops(state) for made in function]
    state.scheduled_nests = "\n".join(map(nest_text, nests))
