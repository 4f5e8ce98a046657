"""`python -m bench drawn`: programs that are drawn when they are timed, against the best of others.

The seed is the commit, so that what is published was not looked at; `--seed` draws others. Each setting runs
in processes of its own: on one thread and on two, on this processor and, with `--avx2`, as on one without
AVX-512. A program whose process ends, for it has no memory left or compiles for ever, is a row without time.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.progress import track

import tadc
from bench.breadth import contenders
from bench.contenders import TADC
from bench.drawn import CLASSES, drawn
from bench.drawn.rows import Row, Rows, pages, shown, told
from bench.interleave import interleaved
from bench.machine import describe
from bench.processes import AVX2, command, environment
from bench.publish import replaced
from bench.timing import seconds
from bench.workloads.workload import Workload

ROOT = Path(__file__).parents[2]
FILE = ROOT / "docs" / "drawn.json"

#: Seconds for the turns of a program.
BUDGET = 1.0
#: Columns of the tables.
WIDTH = 130
#: Seconds for a program, its compilation by all libraries included.
PATIENCE = 60
#: What writes the pages.
COMMAND = "python -m bench drawn --publish"


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser("python -m bench drawn", description=str(__doc__).split("\n\n")[0])
    made.add_argument("classes", nargs="*", metavar="CLASS", help=f"of {', '.join(CLASSES)}; default: all")
    made.add_argument("--seed", type=int, help="default: the commit")
    made.add_argument("--each", type=int, default=6, metavar="N", help="programs of a class; default: 6")
    made.add_argument("--threads", action="append", type=int, metavar="N", help="default: 1 and 2")
    made.add_argument("--dtype", choices=("f32", "f64"), default="f32")
    made.add_argument("--avx2", action="store_true", help="as on a processor without AVX-512")
    made.add_argument("--publish", action="store_true", help="write docs/drawn.json and the pages")
    return made


def main(words: list[str]) -> None:
    """Time what is drawn, and show or publish it."""
    made = parser()
    options = made.parse_args(words)
    unknown = [name for name in options.classes if name not in CLASSES]
    if unknown:
        made.error(f"no class {', '.join(unknown)}; there are {', '.join(CLASSES)}")
    if options.each < 1 or any(threads < 1 for threads in options.threads or []):
        made.error("--each and --threads take numbers from 1")
    if options.publish and (options.classes or options.seed is not None):
        made.error("--publish takes all classes and the seed of the commit")
    machine = describe()
    seed = int(str(machine["commit"] or "0"), 16) if options.seed is None else options.seed
    kinds = (False, True) if options.publish else (options.avx2,)
    rows = [
        row
        for avx2 in kinds
        for threads in options.threads or [1, 2]
        for row in _timed(options, seed, threads, avx2)
    ]
    found = Rows(machine, seed, rows)
    Console(width=WIDTH).print(*shown(found))
    if options.publish:
        FILE.write_text(json.dumps(asdict(found), indent=1) + "\n", encoding="utf-8")
        for name, mark, text in pages(found):
            page = ROOT / name
            whole = replaced(page.read_text(encoding="utf-8"), mark, text, COMMAND)
            page.write_text(whole, encoding="utf-8")


def _timed(options: argparse.Namespace, seed: int, threads: int, avx2: bool) -> Iterator[Row]:
    """The rows of a setting, a process for each class: it is begun anew behind a program that ends it."""
    variables = environment(threads) | (AVX2 if avx2 else {})
    names = [name for name in CLASSES if name in (options.classes or CLASSES)]
    for name in track(names, told((threads, avx2)), console=Console(stderr=True)):
        first = 0
        while first < options.each:
            task = json.dumps([seed, name, first, options.each, options.dtype, threads, avx2])
            run = command("from bench.drawn.table import some; some()", threads, task)
            found, failed = _lines(run, variables, PATIENCE * (options.each - first))
            yield from (Row(**json.loads(line)) for line in found)
            first += len(found)
            if failed:
                yield Row(name, f"{name}-{first}", "", threads, avx2, failed=failed)
                first += 1


def _lines(run: list[str], variables: dict[str, str], patience: float) -> tuple[list[str], str]:
    """What a process prints, and why it did not come to its end."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as log:
        try:
            code = subprocess.run(
                run, stdout=out, stderr=log, env=variables, timeout=patience, check=False
            ).returncode
            log.seek(0)
            failed = f"the process ended with {code}: {log.read()[-200:]}" if code else ""
        except subprocess.TimeoutExpired:
            failed = f"took more than {patience:.0f} s"
        out.seek(0)
        return out.read().splitlines(), failed


def some() -> None:
    """Time the programs of a class that the arguments name, and print a row of each as JSON."""
    seed, name, first, end, *setting = json.loads(sys.argv[1])
    warnings.simplefilter("ignore")
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for workload in drawn(seed, end)[name][first:]:
        print(json.dumps(asdict(_row(name, workload, *setting))), file=channel, flush=True)
        gc.collect()


def _row(kind: str, workload: Workload, dtype: str, threads: int, avx2: bool) -> Row:
    tadc.set_num_threads(threads)
    row = Row(kind, workload.name, workload.title, threads, avx2, workload.program, dict(workload.sizes))
    try:
        made = contenders(workload, dtype)
        calls = {contender: found.call for contender, found in made.items()}
        first = {contender: seconds(call) for contender, call in calls.items()}
        times = interleaved(calls, BUDGET, first, TADC)
        row.ms = {contender: 1e3 * statistics.median(found) for contender, found in times.items()}
    except Exception as problem:  # of any library, and ours: a row that fails is shown
        row.failed = f"{type(problem).__name__}: {problem}"[:300]
    return row
