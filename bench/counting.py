"""Operations of the workloads: of the program as written, and of what tadc compiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from bench.workloads.workload import Workload
from tadc.analysis.statistics import compiled_work, cost_of

Counts = dict[str, int]


def counts(workload: Workload, dtype: str, sizes: Mapping[str, int]) -> Counts:
    """By kind, and `written`, the weighted operations of the value as written."""
    written = cost_of(workload.function(dtype, sizes).program)
    program, mode, wrt = workload.differentiated(dtype, sizes)
    compiled = compiled_work(program.program, mode, wrt)
    return {**asdict(compiled), "written": written.work.weighted}
