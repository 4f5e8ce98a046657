"""`python -m bench.worker JSON`: times workloads in this process; a line of JSON for each on stdout.

Numbers of threads are set for the process before it starts, since most libraries read them once.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import warnings
from dataclasses import asdict
from typing import Any

import numpy as np

import tadc
from bench.contenders import COMPILED, TADC, Contender, UnavailableError, names_of, prepare
from bench.interleave import interleaved
from bench.results import Cell
from bench.workloads import WORKLOADS
from bench.workloads.workload import Arrays, Workload

#: The largest error that counts as agreement.
TOLERANCE = {"f32": 1e-3, "f64": 1e-9}
DTYPES = {"f32": np.float32, "f64": np.float64}


def measure(
    workload: Workload, dtype: str, threads: int, budget: float, quick: bool, small: bool = False
) -> Cell:
    """Prepare all contenders, check that they agree, time them."""
    sizes = workload.small if small else workload.sizes
    given = workload.inputs(sizes)
    expected = workload.reference(given)
    inputs = tuple(array.astype(DTYPES[dtype]) for array in given)
    cell = Cell(workload.name, dtype, threads)
    cell.arrays = sum(array.size for array in (*inputs, *expected)) * inputs[0].itemsize
    ready: dict[str, Contender] = {}
    for name in names_of(workload):
        if quick and name == COMPILED:
            cell.skipped[name] = "left out of a quick run"
            continue
        try:
            contender = prepare(name, workload, sizes, inputs)
            cell.errors[name] = _error(contender.results(), expected)
        except UnavailableError as why:
            cell.skipped[name] = str(why)
        except Exception as problem:  # of any library: the others are timed all the same
            cell.skipped[name] = f"{type(problem).__name__}: {problem}"[:300]
        else:
            if cell.errors[name] > TOLERANCE[dtype]:
                cell.skipped[name] = f"is wrong by {cell.errors[name]:.1e}"
                continue
            ready[name] = contender
            cell.compile_seconds[name] = contender.compile_seconds
            if contender.temporaries is not None:
                cell.temporaries[name] = contender.temporaries
        gc.collect()
    if ready:
        cell.seconds = interleaved({name: c.call for name, c in ready.items()}, budget, always=TADC)
    return cell


def _error(found: list[np.ndarray], expected: Arrays) -> float:
    if [a.shape for a in found] != [a.shape for a in expected]:
        return float("inf")
    pairs = zip(found, expected, strict=True)
    return max(float(np.abs(a - b).max() / max(np.abs(b).max(), 1e-30)) for a, b in pairs)


def main(job: dict[str, Any]) -> None:
    """Do a job: names of workloads with element types, threads, seconds for each."""
    # Libraries write to stdout when they compile; results have a channel of their own.
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    set_num_threads = getattr(tadc, "set_num_threads", None)
    if set_num_threads:
        set_num_threads(job["threads"])
    workloads = {workload.name: workload for workload in WORKLOADS}
    for name, dtype in job["cells"]:
        cell = measure(workloads[name], dtype, job["threads"], job["budget"], job["quick"])
        print(json.dumps(asdict(cell)), file=channel, flush=True)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
