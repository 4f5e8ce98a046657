"""`python -m bench everyday`: programs that no schedule was chosen for by hand, against JAX (jit).

Value and all gradients, f32, on as many threads as `TADC_NUM_THREADS` says; JAX takes those that it likes.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from bench.everyday import EVERYDAY
from bench.interleave import interleaved
from bench.timing import seconds
from bench.workloads.workload import Workload

#: Seconds for the calls of a row, in turns.
BUDGET = 1.5


def calls(workload: Workload, dtype: str, *, small: bool = False) -> dict[str, Callable[[], Any]]:
    """Value and all gradients by tadc and by JAX; both have run once, and agree."""
    import jax

    if dtype == "f64":
        jax.config.update("jax_enable_x64", True)
    sizes = workload.small if small else workload.sizes
    function = workload.derivative(dtype, sizes)
    given = [x.astype(dtype.replace("f", "float")) for x in workload.inputs(sizes)]
    held, form = [jax.device_put(x) for x in given], workload.peers["JAX"]

    def both(arguments: list[Any], cotangent: Any) -> Any:
        value, pull = jax.vjp(lambda *a: form(jax, *a), *arguments)
        return value, *pull(cotangent)

    compiled = jax.jit(both)
    made: dict[str, Callable[[], Any]] = {
        "tadc": lambda: function(*given),
        "JAX": lambda: jax.block_until_ready(compiled(held[:-1], held[-1])),
    }
    limit = 1e-10 if dtype == "f64" else 1e-3
    for one, other in zip(made["tadc"](), made["JAX"](), strict=True):
        scale = float(np.abs(other).max(initial=1e-30))
        np.testing.assert_allclose(one, other, rtol=limit, atol=limit * scale)
    return made


def main(words: list[str]) -> None:
    """Print the table, of the programs that are named or of all, and the geometric mean."""
    table = Table(title="value and all gradients, f32, ms; medians in turns")
    for column in ("program", "tadc", "JAX", "ratio"):
        table.add_column(column, justify="left" if column == "program" else "right")
    ratios: list[float] = []
    for workload in EVERYDAY:
        if words and workload.name not in words:
            continue
        made = calls(workload, "f32")
        times = interleaved(made, BUDGET, {name: seconds(call) for name, call in made.items()}, "tadc")
        median = {name: 1e3 * statistics.median(found) for name, found in times.items()}
        ratios.append(median["JAX"] / median["tadc"])
        table.add_row(workload.title, f"{median['tadc']:.2f}", f"{median['JAX']:.2f}", f"{ratios[-1]:.1f}")
    if ratios:
        table.add_row("geometric mean", "", "", f"{math.exp(statistics.fmean(map(math.log, ratios))):.2f}")
    Console().print(table)
