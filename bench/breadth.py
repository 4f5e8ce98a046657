"""`python -m bench everyday`: programs that no schedule was chosen for by hand, against the best of others.

Value and all gradients, f32 (or `--f64`), on as many threads as `TADC_NUM_THREADS` says; libraries take those
that they like, or as many as the processors that the process may run on (`taskset`).
"""

from __future__ import annotations

import math
import statistics

import numpy as np
from rich.console import Console
from rich.table import Table

from bench.contenders import COMPILED, TADC, Contender, UnavailableError, names_of, prepare
from bench.everyday import EVERYDAY
from bench.interleave import interleaved
from bench.timing import seconds
from bench.workloads.workload import Workload

#: Seconds for the calls of a row, in turns.
BUDGET = 1.5


def contenders(workload: Workload, dtype: str, *, small: bool = False) -> dict[str, Contender]:
    """Value and all gradients by tadc and its peers; all have run once, and agree."""
    sizes = workload.small if small else workload.sizes
    given = tuple(x.astype(dtype.replace("f", "float")) for x in workload.inputs(sizes))
    made: dict[str, Contender] = {}
    for name in names_of(workload):
        if name == COMPILED:
            continue
        try:
            made[name] = prepare(name, workload, sizes, given)
        except UnavailableError:
            continue
    limit = 1e-9 if dtype == "f64" else 2e-3
    expected = made[TADC].results()
    for name, contender in made.items():
        for one, other in zip(expected, contender.results(), strict=True):
            scale = float(np.abs(other).max(initial=1e-30))
            message = f"{workload.name}: tadc and {name}"
            np.testing.assert_allclose(one, other, rtol=limit, atol=limit * scale, err_msg=message)
    return made


def main(words: list[str]) -> None:
    """Print the table, of the programs that are named or of all, and the geometric mean."""
    dtype = "f64" if "--f64" in words else "f32"
    named = [word for word in words if word != "--f64"]
    table = Table(title=f"value and all gradients, {dtype}, ms; medians in turns")
    for column in ("program", "tadc", "best peer", "its ms", "ratio"):
        table.add_column(column, justify="left" if column in ("program", "best peer") else "right")
    ratios: list[float] = []
    for workload in EVERYDAY:
        if named and workload.name not in named:
            continue
        calls = {name: made.call for name, made in contenders(workload, dtype).items()}
        times = interleaved(calls, BUDGET, {name: seconds(call) for name, call in calls.items()}, TADC)
        median = {name: 1e3 * statistics.median(found) for name, found in times.items()}
        own = median.pop(TADC)
        best = min(median, key=lambda name: median[name])
        ratios.append(median[best] / own)
        table.add_row(workload.name, f"{own:.2f}", best, f"{median[best]:.2f}", f"{ratios[-1]:.2f}")
    if ratios:
        below = sum(ratio < 0.9 for ratio in ratios)
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        table.add_row("geometric mean", "", f"{below} of {len(ratios)} below 0.9", "", f"{mean:.2f}")
    Console().print(table)
