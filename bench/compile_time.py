"""How long compiling takes: text to value and all gradients to machine code, of random programs.

Processor time of this process, which other work on the machine does not change much.
"""

from __future__ import annotations

import gc
import statistics
import time
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table

from bench.deep_programs import DEEP
from bench.random_programs import random_program
from tadc.backend.object_code import object_code
from tadc.compiler.all_stages import LoweringStage, compile_until
from tadc.compiler.compile_options import Options
from tadc.compiler.stages import Compilation
from tadc.frontend.source import Source

COUNT = 300
OBJECT = "object"


@dataclass
class Timing:
    """The seconds of one program by stage."""

    seed: int
    stages: dict[str, float] = field(default_factory=dict[str, float])

    @property
    def total(self) -> float:
        """All stages."""
        return sum(self.stages.values())


def compile_text(text: str) -> dict[str, float]:
    """Compile value and all gradients to object code; seconds by stage. Raises CompileError."""
    stages: dict[str, float] = {}
    last = time.process_time()

    def note(name: str) -> None:
        nonlocal last
        now = time.process_time()
        stages[name] = now - last
        last = now

    def after(stage: LoweringStage, state: Compilation, seconds: float) -> None:
        note(stage.name)

    state = Compilation(Options("value-and-vjp"), Source(text, "<random>"))
    compile_until(state, "llvm", after=after)
    object_code(state.llvm_ir, state.options.level)
    note(OBJECT)
    return stages


def measure(first: int = 0, count: int = COUNT) -> list[Timing]:
    """The timings of so many random programs, the imports paid before."""
    compile_text("x: f64[3]; f[i] = x[i]**2")
    timings: list[Timing] = []
    for seed in range(first, first + count):
        # Else a program pays for the garbage of all before it.
        gc.collect()
        gc.freeze()
        timings.append(Timing(seed, compile_text(random_program(seed))))
    return timings


def main(first: int = 0, count: int = COUNT) -> None:
    """Print median and worst, of the whole and by stage; then what deep programs take."""
    timings = measure(first, count)
    names = list(timings[0].stages)
    table = Table(title=f"compile time of {count} random programs, value and all gradients, CPU ms")
    for column in ("stage", "median", "95 %", "worst", "seed of the worst"):
        table.add_column(column, justify="left" if column == "stage" else "right")
    for name in [*names, "total"]:
        pairs = sorted((t.total if name == "total" else t.stages[name], t.seed) for t in timings)
        median = statistics.median(seconds for seconds, _ in pairs)
        near, (worst, seed) = pairs[int(0.95 * (count - 1))][0], pairs[-1]
        table.add_row(name, *(f"{1e3 * s:.1f}" for s in (median, near, worst)), str(seed))
    Console().print(table)
    for title, text in DEEP.items():
        Console().print(f"{title}: {1e3 * sum(compile_text(text).values()):.0f} ms", highlight=False)
