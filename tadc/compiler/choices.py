"""What else the schedule of a program could be: other steps for its maps, and other places for its
tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tadc.compiler.all_stages import compile_until
from tadc.compiler.stages import Compilation, fuse, machine_facts
from tadc.lattice.late_dataclasses import dataclass

if TYPE_CHECKING:
    from tadc.passes.schedule.alternatives import MapChoices
    from tadc.passes.schedule.where_moves import Places


@dataclass(frozen=True)
class FunctionChoices:
    """A function by its name, where its tensors are computed, what that could be, and the choices of maps."""

    name: str
    places: Places
    moves: tuple[Places, ...]
    maps: tuple[MapChoices, ...]


def choices_of(state: Compilation) -> Iterator[FunctionChoices]:
    """The choices of the functions of a program for a CPU, by what its options give.

    Raises CompileError as the stages do.
    """
    from tadc.dialect.mlir import LOCK
    from tadc.dialect.program_reader import tad_functions
    from tadc.passes.maps.read_maps import read_maps
    from tadc.passes.schedule.alternatives import choices
    from tadc.passes.schedule.cpu_machine import CpuMachine
    from tadc.passes.schedule.where_moves import moves

    compile_until(state, "hoist", first="tad")
    with LOCK:
        fuse(state)
    machine = CpuMachine(**machine_facts(state))
    for each in tad_functions(state.module.operation):
        function = read_maps(each)
        name = function.name.removeprefix("tad_")
        made = tuple(state.decisions.of(name).made)
        yield FunctionChoices(name, made, tuple(moves(made, function)), tuple(choices(function, machine)))
