"""`python -m tests.guards [SOURCE …] [--code]`: run programs between guard pages, or look at their code."""

from __future__ import annotations

import argparse
import itertools

from tadc.frontend.dtypes import FLOATS
from tests.guards.machines import MACHINES, has_masks, runs_here
from tests.guards.programs import RANDOM, SOURCES
from tests.guards.run import run

parser = argparse.ArgumentParser(prog="python -m tests.guards", description=__doc__)
parser.add_argument(
    "sources", nargs="*", metavar="SOURCE", help=f"{', '.join([*SOURCES, *RANDOM])}; default: all"
)
parser.add_argument("--machine", action="append", choices=MACHINES, help="default: all that can be")
parser.add_argument("--dtype", action="append", choices=FLOATS, help="default: f32 and f64")
parser.add_argument("--first", type=int, default=1, help="the first seed of random programs")
parser.add_argument("--count", type=int, default=100, help="of seeds")
parser.add_argument("--code", action="store_true", help="whether machine code keeps masks; runs nothing")
given = parser.parse_args()
kind, counted = ("code", "masked loads") if given.code else ("pages", "kernels")
able = has_masks if given.code else runs_here
machines = [name for name in given.machine or MACHINES if able(name)]
failed = False
for source, machine, dtype in itertools.product(
    given.sources or [*SOURCES, *RANDOM], machines, given.dtype or ("f32", "f64")
):
    report = run(kind, source, machine, dtype, given.first, given.count)
    left_out = f"{len(report.refused)} refused, {len(report.slow)} too slow"
    print(
        f"{source:12} {machine:10} {dtype}: {report.programs} programs, {report.count} {counted}, "
        f"{left_out}, {len(report.failures)} failed",
        flush=True,
    )
    for found in report.failures:
        print("   ", found.replace(" | ", "\n        "), flush=True)
    failed |= bool(report.failures)
raise SystemExit(failed)
