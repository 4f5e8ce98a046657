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
