"""One workload in one element type: all contenders are made ready, checked against each other, and timed."""

from __future__ import annotations

import gc
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from bench.contenders import COMPILED, TADC, Contender, UnavailableError, names_of, prepare
from bench.interleave import interleaved
from bench.results import Cell
from bench.workloads.workload import Arrays, Workload

#: The largest error that counts as agreement.
TOLERANCE = {"f32": 1e-4, "f64": 1e-10}
DTYPES = {"f32": np.float32, "f64": np.float64}


def measure(
    workload: Workload,
    sizes: Mapping[str, int],
    dtype: str,
    threads: int,
    budget: float,
    quick: bool = False,
) -> Cell:
    """Time a workload for about `budget` seconds; `threads` is what the process has been started with.

    A quick run leaves out what compiles for long, and plain forms where there is a tuned one.
    """
    given = workload.inputs(sizes)
    heat = _Heat(workload, sizes, tuple(array.astype(DTYPES[dtype]) for array in given))
    heat.expected = workload.reference(given)
    cell = Cell(workload.name, dtype, threads)
    cell.arrays = sum(array.size for array in (*given, *heat.expected)) * np.dtype(DTYPES[dtype]).itemsize
    for name in names_of(workload):
        if not quick or (name != COMPILED and f"{name}, tuned" not in workload.peers):
            heat.enter(name, cell)
        gc.collect()
    if heat.ready:
        calls = {name: contender.call for name, contender in heat.ready.items()}
        cell.seconds = interleaved(calls, budget, heat.first, always=TADC)
    return cell


@dataclass
class _Heat:
    """The contenders that agree, and the seconds of their first calls."""

    workload: Workload
    sizes: Mapping[str, int]
    inputs: Arrays
    expected: Arrays = ()
    ready: dict[str, Contender] = field(default_factory=dict[str, Contender])
    first: dict[str, float] = field(default_factory=dict[str, float])

    def enter(self, name: str, cell: Cell) -> None:
        """Make a contender ready and check it; why not is noted in the cell."""
        try:
            contender = prepare(name, self.workload, self.sizes, self.inputs)
            begin = time.perf_counter()
            found = contender.results()
            first = time.perf_counter() - begin
        except UnavailableError as why:
            cell.skipped[name] = str(why)
            return
        except Exception as problem:  # of any library: the others are timed all the same
            cell.skipped[name] = f"{type(problem).__name__}: {problem}"[:300]
            return
        cell.errors[name] = error = worst_error(found, self.expected)
        if not error <= TOLERANCE[cell.dtype]:
            cell.skipped[name] = f"is wrong by {error:.1e}"
            return
        self.ready[name], self.first[name] = contender, first
        cell.compile_seconds[name] = contender.compile_seconds
        if contender.temporaries is not None:
            cell.temporaries[name] = contender.temporaries


def worst_error(found: list[np.ndarray], expected: Arrays) -> float:
    """The largest error of all arrays, each relative to its largest element; infinite for a wrong shape."""
    if [a.shape for a in found] != [a.shape for a in expected]:
        return float("inf")
    errors = [
        np.abs(a - b).max(initial=0) / (np.abs(b).max(initial=0) or 1)
        for a, b in zip(found, expected, strict=True)
    ]
    return float(np.max(errors))
