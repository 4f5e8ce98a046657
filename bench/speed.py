"""`python -m bench [WORKLOAD …]`: value and all gradients against the peers."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from rich.console import Console

from bench.counting import counts
from bench.machine import describe
from bench.processes import Job, run
from bench.publish import publish
from bench.report import absences, all_times, summary
from bench.results import Cell, Results, read
from bench.workloads import WORKLOADS

ROOT = Path(__file__).parents[1]

#: Columns of a table that goes to a file.
WIDTH = 150
#: Seconds for the turns of a workload in one setting.
BUDGET, QUICK_BUDGET = 1.5, 0.5


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(
        "python -m bench",
        description="Time value and all gradients against JAX, PyTorch, NumPy, numba and KeOps.",
        epilog="Other benchmarks, as `python -m bench compile -h`, stand at the top of `bench/__main__.py`.",
    )
    names = [workload.name for workload in WORKLOADS]
    made.add_argument("workloads", nargs="*", metavar="WORKLOAD", help=f"of {', '.join(names)}; default: all")
    made.add_argument("--dtype", action="append", choices=("f32", "f64"), help="default: both")
    made.add_argument("--threads", action="append", type=int, metavar="N", help="default: 1 and 2")
    made.add_argument("--quick", action="store_true", help="f32, 2 threads, without slow peers: 2 minutes")
    made.add_argument("--json", type=Path, metavar="FILE", help="write all that is found, as it is found")
    made.add_argument("--read", type=Path, metavar="FILE", help="show what --json wrote, time nothing")
    made.add_argument(
        "--publish", action="store_true", help="write docs/benchmark.* and what pages show of it"
    )
    return made


def main(words: list[str]) -> None:
    """Measure, or read, and show."""
    made = parser()
    options = made.parse_args(words)
    names = [workload.name for workload in WORKLOADS]
    unknown = [name for name in options.workloads if name not in names]
    if unknown:
        made.error(f"no workload {', '.join(unknown)}; there are {', '.join(names)}")
    if any(threads < 1 for threads in options.threads or []):
        made.error("--threads takes a number from 1")
    if options.publish and options.workloads:
        made.error("--publish takes all workloads, so name none")
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH)
    results = read(options.read) if options.read else _measure(options, console)
    for setting in results.settings():
        console.print(summary(results, *setting))
        console.print(all_times(results, *setting))
        for line in absences(results, *setting):
            console.print(line, style="dim")
    if options.publish:
        publish(results, ROOT)


def _measure(options: argparse.Namespace, console: Console) -> Results:
    chosen = [w for w in WORKLOADS if not options.workloads or w.name in options.workloads]
    dtypes = list(dict.fromkeys(options.dtype or (["f32"] if options.quick else ["f32", "f64"])))
    most = min(2, os.cpu_count() or 1)
    threads = dict.fromkeys(options.threads or ([most] if options.quick else [1, most]))
    results = Results(describe())
    with console.status("counting operations") as status:
        for workload in chosen:
            results.counts[workload.name] = counts(workload, "f32", workload.sizes)
        for count in threads:
            cells = [(workload.name, dtype) for workload in chosen for dtype in dtypes]
            budget = QUICK_BUDGET if options.quick else BUDGET
            job = Job(cells, list(dtypes), count, budget, options.quick)
            for found in run(job, lambda name, n=count: status.update(f"{name[0]}, {name[1]}, threads: {n}")):
                if isinstance(found, Cell):
                    results.cells.append(found)
                    _note(found, console)
                else:
                    results.rooflines.append(found)
                if options.json:
                    results.write(options.json)  # an interrupted run keeps what it has
    return results


def _note(cell: Cell, console: Console) -> None:
    """A line for a workload that is done."""
    ratio = cell.ratio()
    said = f"ratio {ratio:.2g}" if ratio else "no ratio"
    console.print(f"{cell.workload}, {cell.dtype}, threads: {cell.threads}: {said}", style="dim")
