"""`python -m bench mechanisms`: what each mechanism of the code generator buys, by switching it off.

Each program of `bench`, `bench everyday` and `bench sparse`, value and all gradients, f32, on one thread.
Where its loops are others without a mechanism, both kernels are timed by turns. The table is in
`docs/measurements.md`.

    python -m bench mechanisms [MECHANISM …] [PROGRAM …] [--write]
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

import tadc
from bench.everyday import EVERYDAY
from bench.machine import describe, headline
from bench.measure import TOLERANCE, worst_error
from bench.publish import replaced
from bench.sparse import SPARSE
from bench.switches import SWITCHES, Switch
from bench.workloads import WORKLOADS
from bench.workloads.workload import Workload

PAGE, MARK = Path(__file__).parents[1] / "docs" / "measurements.md", "mechanisms"
COMMAND = "python -m bench mechanisms --write"

#: Seconds for the calls of a pair, and the least number of turns.
BUDGET, LEAST = 1.0, 4
#: A ratio nearer to 1 than this is not told from noise.
NOISE = 1.05


@dataclass
class Finding:
    """What a mechanism buys: the time without it over that with it, by program whose loops it changes."""

    switch: Switch
    ratios: dict[str, float] = field(default_factory=dict[str, float])
    failures: dict[str, str] = field(default_factory=dict[str, str])

    def mean(self, count: int) -> float:
        """The geometric mean over so many programs, most of which it does not change."""
        return math.exp(sum(map(math.log, self.ratios.values())) / count)

    def row(self, count: int) -> str:
        """The line of the table."""
        ordered = sorted(self.ratios.items(), key=lambda item: item[1], reverse=True)
        best = ", ".join(f"{name} {ratio:.2f}" for name, ratio in ordered[:3] if ratio > NOISE)
        worst = ", ".join(f"{name} {ratio:.2f}" for name, ratio in ordered[:-4:-1] if ratio < 1 / NOISE)
        words = (self.switch.name, self.switch.what, str(len(self.ratios)), f"{self.mean(count):.3f}")
        return f"| {' | '.join((*words, best, worst))} |"


HEAD = """| mechanism | effect | programs | slowdown without it | largest | smallest |
|---|---|--:|--:|---|---|"""


def main(words: list[str]) -> None:
    """Print the table of the mechanisms and programs that are named, or of all."""
    # A kernel on disk is of the whole code generator.
    os.environ["TADC_CACHE"] = "0"
    named = set(words)
    # What is no derivative that is called with its arguments runs other programs too.
    every = [w for w in (*WORKLOADS, *EVERYDAY, *SPARSE) if w.kind != "stiffness"]
    programs = [w for w in every if w.name in named] or every
    switches = [s for s in SWITCHES if s.name in named] or SWITCHES
    findings = [Finding(switch) for switch in switches]
    before = tadc.get_num_threads()
    tadc.set_num_threads(1)
    try:
        for workload in programs:
            measure(workload, findings)
    finally:
        tadc.set_num_threads(before)
    findings.sort(key=lambda finding: -finding.mean(len(programs)))
    table = "\n".join([HEAD, *(finding.row(len(programs)) for finding in findings)])
    Console(soft_wrap=True).print(table, markup=False)
    for finding in findings:
        for name, why in finding.failures.items():
            Console().print(f"{finding.switch.name}, {name}: {why}", markup=False)
    if "--write" in named:
        table += f"\n\nOf {len(programs)} programs, on one thread: {headline(describe())}."
        PAGE.write_text(replaced(PAGE.read_text("utf-8"), MARK, table, COMMAND), "utf-8")


def measure(workload: Workload, findings: list[Finding]) -> None:
    """Time a program without each mechanism that changes its loops."""
    derivative = workload.derivative("f32", workload.sizes)
    lowered = derivative.lower()
    text, schedule = lowered.as_text("loops"), lowered.schedule
    given = workload.arguments(workload.inputs(workload.sizes))
    kernel = tadc.compile(derivative)
    expected = results(kernel(*given))
    for finding in findings:
        if finding.switch.step not in schedule:
            continue
        with finding.switch.off():
            # Anew: what is known of a function is kept with it.
            other = workload.derivative("f32", workload.sizes)
            if other.lower().as_text("loops") == text:
                continue
            without = tadc.compile(other)
        found = results(without(*given))
        # Exponentials of sums over many steps in f32 are less exact, in both.
        if worst_error(found, tuple(expected)) > 10 * TOLERANCE["f32"]:
            finding.failures[workload.name] = "the results differ"
            continue
        times = least([lambda: kernel(*given), lambda k=without: k(*given)])
        finding.ratios[workload.name] = times[1] / times[0]
        Console(stderr=True).print(
            f"{workload.name}, without {finding.switch.name}: {times[1] / times[0]:.3f}"
        )


def results(found: Any) -> list[np.ndarray]:
    """The results of a call."""
    return list(found) if isinstance(found, tuple | list) else [found]


def least(calls: list[Callable[[], Any]]) -> list[float]:
    """The least time of each call, by turns: that of its thread, so that other processes do not count."""
    best, spent, turn = [math.inf] * len(calls), 0.0, 0
    while turn < LEAST or spent < BUDGET:
        for place, call in enumerate(calls):
            begin = time.thread_time()
            call()
            took = time.thread_time() - begin
            best[place], spent = min(best[place], took), spent + took
        turn += 1
    return best
