"""Runs the workloads in processes of their own, a number of threads each."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence

from bench.results import Cell

Name = tuple[str, str]
"""A workload and an element type."""

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "TADC_NUM_THREADS",
)


def run(
    names: Sequence[Name], threads: int, budget: float, quick: bool, starting: Callable[[Name], None]
) -> Iterator[Cell]:
    """The cells, in order, as they are found; `starting` hears of each before.

    A process that dies is begun anew behind the workload that killed it.
    """
    left = list(names)
    while left:
        starting(left[0])
        with tempfile.TemporaryFile("w+") as log:
            process = _start({"cells": left, "threads": threads, "budget": budget, "quick": quick}, log)
            assert process.stdout is not None
            try:
                for line in process.stdout:
                    left.pop(0)
                    yield Cell(**json.loads(line))
                    if left:
                        starting(left[0])
                code = process.wait()
            except BaseException:
                process.kill()
                process.wait()
                raise
            if left:
                log.seek(0)
                why = f"the process ended with {code}: {log.read()[-300:]}"
                workload, dtype = left.pop(0)
                yield Cell(workload, dtype, threads, skipped={"all": why})


def _start(job: dict[str, object], log: object) -> subprocess.Popen[str]:
    threads = job["threads"]
    assert isinstance(threads, int)
    environment = {**os.environ, **dict.fromkeys(THREAD_VARIABLES, str(threads))}
    # XLA has no setting for its threads: it starts one for each processor that the process may use.
    bind = "import os; "
    if hasattr(os, "sched_setaffinity"):
        bind += f"os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-{threads}:]); "
    code = bind + "import sys, json; from bench.worker import main; main(json.loads(sys.argv[1]))"
    command = [sys.executable, "-c", code, json.dumps(job)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment)  # pyright: ignore
