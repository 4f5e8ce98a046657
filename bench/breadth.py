"""`python -m bench everyday`: programs that no schedule was chosen for by hand, against the best of others.

`python -m bench sparse`: the same of programs with index arrays. What is made of index arrays once is no part
of any time. What that takes tadc is the column `inspector`: to make a relation of each (`tadc.relation`), and
the time of the first call with these over that of others.

Each everyday program is timed in three spellings, as it is written and as `bench/spellings.py` writes it; its
ratio is that of the slowest of these, the mean is over all of them.

Value and all gradients, f32 (or `--f64`), on as many threads as `TADC_NUM_THREADS` says; libraries take those
that they like, or as many as the processors that the process may run on (`taskset`).
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from rich.console import Console
from rich.table import Table

from bench.contenders import COMPILED, TADC, Contender, UnavailableError, names_of, prepare
from bench.everyday import EVERYDAY
from bench.interleave import interleaved
from bench.spellings import FORMULAS, TENSORS, WRITTEN, spellings
from bench.timing import seconds
from bench.workloads.workload import Workload, in_type

#: Seconds for the calls of a row, in turns.
BUDGET = 1.5


def contenders(
    workload: Workload, dtype: str, *, small: bool = False, spelled: bool = False
) -> dict[str, Contender]:
    """What is asked for by tadc, in all spellings if wanted, and its peers; all have run once, and agree."""
    sizes = workload.small if small else workload.sizes
    given = in_type(workload.inputs(sizes), dtype)
    made: dict[str, Contender] = {}
    results: dict[str, list[np.ndarray]] = {}
    ways = {name: (workload, sizes) for name in names_of(workload) if name != COMPILED}
    for way, other in respelled(workload, sizes).items() if spelled else ():
        ways[f"{TADC}, {way}"] = other, {}
    for name, (own, known) in ways.items():
        try:
            made[name] = prepare(TADC if is_ours(name) else name, own, known, given)
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


def respelled(workload: Workload, sizes: Mapping[str, int]) -> dict[str, Workload]:
    """A workload as others would write it, at these sizes."""
    ways = spellings(workload.function("f64", sizes).program)
    return {way: replace(workload, program=text) for way, text in ways.items() if way != WRITTEN}


def is_ours(name: str) -> bool:
    """Whether a contender is tadc, in whatever spelling."""
    return name.split(",")[0] == TADC


def inspector(contender: Contender, own: float) -> str:
    """Milliseconds of relations and of a first call with them over those of others; empty without any."""
    if contender.anew is None:
        return ""
    return f"{max(0.0, 1e3 * min(seconds(contender.anew) for _ in range(3)) - own):.2f}"


def main(words: list[str]) -> None:
    """Print the table of everyday programs, in three spellings."""
    show(EVERYDAY, words, spelled=True)


def show(workloads: Sequence[Workload], words: list[str], *, spelled: bool = False) -> None:
    """Print the table, of the programs that are named or of all, and the mean over all spellings."""
    dtype = "f64" if "--f64" in words else "f32"
    named = [word for word in words if word != "--f64"]
    ours = (TADC, *(f"{TADC}, {way}" for way in (FORMULAS, TENSORS) if spelled))
    table = Table(title=f"value and all gradients, {dtype}, ms; medians in turns")
    for column in ("program", *(name.replace(f"{TADC}, ", "in ") for name in ours)):
        table.add_column(column, justify="left" if column == "program" else "right")
    for column in ("best peer", "its ms", "ratio", *(() if spelled else ("inspector",))):
        table.add_column(column, justify="left" if column == "best peer" else "right")
    ratios: list[float] = []
    for workload in workloads:
        if named and workload.name not in named:
            continue
        made = contenders(workload, dtype, spelled=spelled)
        calls = {name: contender.call for name, contender in made.items()}
        times = interleaved(calls, BUDGET, {name: seconds(call) for name, call in calls.items()}, TADC)
        median = {name: 1e3 * statistics.median(found) for name, found in times.items()}
        own = [median.pop(name) for name in ours]
        best = min(median, key=lambda name: median[name])
        ratios += (median[best] / each for each in own)
        row = (workload.name, *(f"{each:.2f}" for each in own), best, f"{median[best]:.2f}")
        more = () if spelled else (inspector(made[TADC], own[0]),)
        table.add_row(*row, f"{median[best] / max(own):.2f}", *more)
    if ratios:
        below = sum(ratio < 0.9 for ratio in ratios)
        mean = statistics.geometric_mean(ratios)
        table.add_row(
            "geometric mean", *[""] * len(ours), f"{below} of {len(ratios)} below 0.9", "", f"{mean:.2f}"
        )
    Console().print(table)
