"""`python -m bench everyday`: programs that no schedule was chosen for by hand, against the best of others.

`python -m bench sparse`: the same of programs with index arrays. What is made of index arrays once is no part
of any time. What that takes tadc is the column `inspector`: to make a relation of each (`tadc.relation`), and
the time of the first call with these over that of others.

Value and all gradients, f32 (or `--f64`), on as many threads as `TADC_NUM_THREADS` says; libraries take those
that they like, or as many as the processors that the process may run on (`taskset`).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

import numpy as np
from rich.console import Console
from rich.table import Table

from bench.contenders import COMPILED, TADC, Contender, UnavailableError, names_of, prepare
from bench.everyday import EVERYDAY
from bench.interleave import interleaved
from bench.timing import seconds
from bench.workloads.workload import Workload, in_type

#: Seconds for the calls of a row, in turns.
BUDGET = 1.5


def contenders(workload: Workload, dtype: str, *, small: bool = False) -> dict[str, Contender]:
    """Value and all gradients by tadc and its peers; all have run once, and agree."""
    sizes = workload.small if small else workload.sizes
    given = in_type(workload.inputs(sizes), dtype)
    made: dict[str, Contender] = {}
    results: dict[str, list[np.ndarray]] = {}
    for name in names_of(workload):
        if name == COMPILED:
            continue
        try:
            made[name] = prepare(name, workload, sizes, given)
            results[name] = made[name].results()
        except UnavailableError:
            continue
        except (RuntimeError, MemoryError):
            if name == TADC:
                raise
            del made[name]  # PyTorch's gradient by a sparse matrix of 2e6 values takes 160 GB
    limit = 1e-9 if dtype == "f64" else 2e-3
    for name, found in results.items():
        for one, other in zip(results[TADC], found, strict=True):
            scale = float(np.abs(other).max(initial=1e-30))
            message = f"{workload.name}: tadc and {name}"
            np.testing.assert_allclose(one, other, rtol=limit, atol=limit * scale, err_msg=message)
    return made


def inspector(contender: Contender, own: float) -> str:
    """Milliseconds of relations and of a first call with them over those of others; empty without any."""
    if contender.anew is None:
        return ""
    return f"{max(0.0, 1e3 * min(seconds(contender.anew) for _ in range(3)) - own):.2f}"


def main(words: list[str]) -> None:
    """Print the table of everyday programs."""
    show(EVERYDAY, words)


def show(workloads: Sequence[Workload], words: list[str]) -> None:
    """Print the table, of the programs that are named or of all, and the geometric mean."""
    dtype = "f64" if "--f64" in words else "f32"
    named = [word for word in words if word != "--f64"]
    table = Table(title=f"value and all gradients, {dtype}, ms; medians in turns")
    for column in ("program", "tadc", "best peer", "its ms", "ratio", "inspector"):
        table.add_column(column, justify="left" if column in ("program", "best peer") else "right")
    ratios: list[float] = []
    for workload in workloads:
        if named and workload.name not in named:
            continue
        made = contenders(workload, dtype)
        calls = {name: contender.call for name, contender in made.items()}
        times = interleaved(calls, BUDGET, {name: seconds(call) for name, call in calls.items()}, TADC)
        median = {name: 1e3 * statistics.median(found) for name, found in times.items()}
        own = median.pop(TADC)
        best = min(median, key=lambda name: median[name])
        ratios.append(median[best] / own)
        row = (workload.name, f"{own:.2f}", best, f"{median[best]:.2f}", f"{ratios[-1]:.2f}")
        table.add_row(*row, inspector(made[TADC], own))
    if ratios:
        below = sum(ratio < 0.9 for ratio in ratios)
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        table.add_row("geometric mean", "", f"{below} of {len(ratios)} below 0.9", "", f"{mean:.2f}")
    Console().print(table)
