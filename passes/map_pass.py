"""Passes that rewrite maps: one core, `MapFunction -> MapFunction`, run in memory or on a module.

The stages of the compiler read the maps of a function once, hand them from pass to pass and write them once.
Under MLIR's pass manager each pass reads and writes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Never

from tadc.dialect.program_reader import tad_functions
from tadc.lattice.late_dataclasses import dataclass
from tadc.passes.maps.map import MapFunction
from tadc.passes.maps.read_maps import read_maps
from tadc.passes.maps.write_maps import write_maps
from tadc.passes.registry import Pass, made_pass, register
from tadc.passes.where import Decisions, Where


@dataclass
class MapPass(Pass):
    """A pass on maps: subclasses give `rewrite`, and note in `decisions` where they have tensors computed."""

    def __post_init__(self) -> None:
        self.decisions = Decisions()

    def where(self, function: MapFunction) -> Where:
        """Where the tensors of a function are computed."""
        return self.decisions.of(function.name.removeprefix("tad_"))

    def rewrite(self, function: MapFunction) -> MapFunction:
        """The function with other maps, or the same one."""
        raise NotImplementedError

    def run(self, module: Any) -> None:
        """Rewrite every function of a module; raises UnsupportedIR for operations that maps do not have."""
        for function in tad_functions(module):
            before = read_maps(function)
            write_maps(function, before, self.rewrite(before))


Steps = Callable[[MapFunction, Where], MapFunction] | Callable[[MapFunction, Where, Never], MapFunction]
"""What makes maps of maps, by where tensors are computed and by options, which it names as they are named."""


def map_pass_of(
    argument: str, description: str, steps: Steps | Callable[..., MapFunction], **options: Any
) -> Callable[..., MapPass]:
    """Register a pass that is functions of maps: their modules say what it does."""

    by_name: Callable[..., MapFunction] = steps

    def rewrite(self: MapPass, function: MapFunction) -> MapFunction:
        return by_name(function, self.where(function), **{name: getattr(self, name) for name in options})

    return register(argument, description)(made_pass(MapPass, argument, rewrite, options))
