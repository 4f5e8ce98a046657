"""Runs workloads in processes of their own: one for a number of threads, and a new one if it dies."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
from dataclasses import asdict, dataclass
from typing import IO

from bench.results import Cell, Roofline

Name = tuple[str, str]
"""A workload and an element type."""

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "TADC_NUM_THREADS",
)

#: Threads of libraries sleep where they wait: who comes next would have no second core otherwise.
PASSIVE = {"OMP_WAIT_POLICY": "passive", "KMP_BLOCKTIME": "0", "GOMP_SPINCOUNT": "0"}

#: Other libraries on a processor with AVX2 alone. (JAX's own products of matrices take what the machine has.)
AVX2 = {
    "TADC_BENCH_TARGET": "cpu:x86-64-v3",
    "XLA_FLAGS": "--xla_cpu_max_isa=AVX2",
    "ATEN_CPU_CAPABILITY": "avx2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "NUMBA_CPU_NAME": "haswell",
    "OPENBLAS_CORETYPE": "Haswell",
}


@dataclass
class Job:
    """What a process does."""

    cells: list[Name]
    rooflines: list[str]
    threads: int
    budget: float
    quick: bool


def run(job: Job, starting: Callable[[Name], None]) -> Iterator[Cell | Roofline]:
    """What is found, as soon as it is; `starting` hears of each workload before.

    A process that dies is begun anew behind the workload that killed it.
    """
    while job.cells:
        with tempfile.TemporaryFile("w+") as log:
            code = yield from _one_process(job, log, starting)
            if job.cells:
                log.seek(0)
                name, dtype = job.cells.pop(0)
                job.rooflines.clear()
                why = f"the process ended with {code}: {log.read()[-300:]}"
                yield Cell(name, dtype, job.threads, skipped={"all": why})


def _one_process(
    job: Job, log: IO[str], starting: Callable[[Name], None]
) -> Generator[Cell | Roofline, None, int]:
    """Take from the job what one process finds; return its exit code."""
    starting(job.cells[0])
    process = subprocess.Popen(
        _command(job), stdout=subprocess.PIPE, stderr=log, text=True, env=_uncached(job.threads)
    )
    assert process.stdout is not None
    try:
        for line in process.stdout:
            found = json.loads(line)
            if "roofline" in found:
                yield Roofline(**found["roofline"])
                continue
            job.cells.pop(0)
            yield Cell(**found["cell"])
            if job.cells:
                starting(job.cells[0])
        return process.wait()
    finally:
        process.kill()
        process.wait()


def _command(job: Job) -> list[str]:
    return command("from bench.worker import main; main()", job.threads, json.dumps(asdict(job)))


def command(code: str, threads: int, argument: str) -> list[str]:
    """What runs Python's code on so many processors."""
    if hasattr(os, "sched_setaffinity"):
        # XLA has no setting for its threads: it starts one for each processor that the process may use.
        bind = f"os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-{threads}:])"
        code = f"import os; {bind}; {code}"
    return [sys.executable, "-c", code, argument]


def environment(threads: int) -> dict[str, str]:
    """The variables of a process whose libraries have so many threads."""
    return {**os.environ, **dict.fromkeys(THREAD_VARIABLES, str(threads)), **PASSIVE}


def _uncached(threads: int) -> dict[str, str]:
    # Without tadc's cache on disk: compile times are those of a first compilation.
    return {**environment(threads), "TADC_CACHE": "0"}
