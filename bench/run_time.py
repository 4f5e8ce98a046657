"""Run time: value and all gradients against JAX, after checking that both agree.

Repetitions of both are interleaved and the medians compared, since the machine may be shared.
"""

from __future__ import annotations

import os

os.environ["JAX_ENABLE_X64"] = "1"

import platform
import statistics
import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from rich.console import Console
from rich.table import Table

import tadc
from bench.timing import seconds
from bench.workloads import WORKLOADS, Workload
from tadc.frontend.extents import shape_at

REPETITIONS = 15


def prepare(workload: Workload) -> tuple[Callable[[], Any], Callable[[], Any], float]:
    """Our call, JAX's call on the same arrays, and the seconds that we took to compile."""
    f = tadc.function(workload.program)
    random = np.random.default_rng(0)
    arrays = [random.uniform(-0.5, 0.5, shape_at(a.shape, {})) for a in f.program.arguments]
    begin = time.perf_counter()
    both = tadc.value_and_vjp(f)
    kernel = tadc.compile(both)
    compiled = time.perf_counter() - begin
    (output,) = f.program.outputs
    cotangent = random.uniform(-1, 1, shape_at(output.shape, {}))

    @jax.jit
    def peer(df: Any, *inputs: Any) -> Any:
        value, pull = jax.vjp(workload.reference, *inputs)
        return (value, *pull(df))

    def ours() -> Any:
        return kernel(*arrays, cotangent)

    def theirs() -> Any:
        return jax.block_until_ready(peer(cotangent, *arrays))

    for found, expected in zip(ours(), theirs(), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    return ours, theirs, compiled


def main() -> None:
    """Print the table."""
    table = Table(title=f"value + all gradients, f64, {platform.processor() or platform.machine()}")
    for column in ("workload", "tadc ms", "JAX ms", "JAX / tadc", "tadc compile ms"):
        table.add_column(column, justify="left" if column == "workload" else "right")
    for workload in WORKLOADS:
        ours, theirs, compiled = prepare(workload)
        pairs = [(seconds(ours), seconds(theirs)) for _ in range(REPETITIONS)]
        mine, other = (1e3 * statistics.median(column) for column in zip(*pairs, strict=True))
        table.add_row(
            workload.name, f"{mine:.2f}", f"{other:.2f}", f"{other / mine:.2f}", f"{1e3 * compiled:.0f}"
        )
    Console().print(table)
