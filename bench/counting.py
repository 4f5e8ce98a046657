"""Operations of the workloads: of the program as written, and of what tadc compiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from fractions import Fraction

from bench.workloads.workload import Workload
from tadc.counts import compiled_form, cost_of

Counts = dict[str, int]

#: Counts are polynomials of at most this degree in a size that grows alone.
DEGREE = 2


def counts(workload: Workload, dtype: str, sizes: Mapping[str, int]) -> Counts:
    """By kind, and `written`, the weighted operations of the value as written.

    Where bounds differ from element to element, counting walks them. Then `workload.growing` names a size
    in which the counts are a polynomial from a value on: they are taken at small values, and continued.
    """
    if not workload.growing:
        return counted(workload, dtype, sizes)
    name, first = workload.growing
    points = [first * n for n in range(1, DEGREE + 2)]
    if sizes[name] <= points[-1]:
        return counted(workload, dtype, sizes)
    found = [counted(workload, dtype, {**sizes, name: value}) for value in points]
    return {kind: continued(points, [one[kind] for one in found], sizes[name]) for kind in found[0]}


def counted(workload: Workload, dtype: str, sizes: Mapping[str, int]) -> Counts:
    """The counts at sizes, one by one."""
    written = cost_of(workload.function(dtype, sizes).program)
    program, mode, wrt = workload.differentiated(dtype, sizes)
    compiled = cost_of(compiled_form(program.program, mode, wrt))
    return {**asdict(compiled.work), "written": written.work.weighted}


def continued(points: list[int], values: list[int], at: int) -> int:
    """The polynomial through the values at the points, elsewhere (Lagrange)."""
    total = Fraction(0)
    for n, (point, value) in enumerate(zip(points, values, strict=True)):
        term = Fraction(value)
        for m, other in enumerate(points):
            if m != n:
                term *= Fraction(at - other, point - other)
        total += term
    return int(total)
