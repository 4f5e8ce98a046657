"""`python -m bench jvp`: value and tangent in one call, against `jax.jvp` compiled by `jax.jit`."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import tadc
from bench.interleave import interleaved
from bench.timing import seconds
from bench.workloads import WORKLOADS
from bench.workloads.workload import Workload

#: Seconds for the calls of a row, all in turns.
BUDGET = 6.0


def _semenov_jax(jax: Any, x: Any) -> Any:
    return jax.numpy.sin(x) * jax.numpy.exp(-(x**2)) + x


#: The formula of Semenov 2011 at many points.
SEMENOV = Workload(
    "semenov",
    "sin(x)*exp(-x**2) + x",
    "x: f64[N]; f[i] = sin(x[i]) * exp(-x[i]**2) + x[i]",
    {"N": 1_000_000},
    {"N": 11},
    {"JAX": _semenov_jax},
)

ROWS = (SEMENOV, *(w for w in WORKLOADS if "JAX" in w.peers and w.kind == "gradients"))


def calls(workload: Workload, dtype: str, *, small: bool = False) -> dict[str, Callable[[], Any]]:
    """Value and tangent by tadc and by each form for JAX; all have run once, and agree."""
    import jax

    jax.config.update("jax_enable_x64", True)
    sizes = workload.small if small else workload.sizes
    function = tadc.jvp(workload.function(dtype, sizes))
    primals = [x.astype(dtype.replace("f", "float")) for x in workload.inputs(sizes)]
    primals = primals[: len(function.tangents)]
    random = np.random.default_rng(1)
    tangents = [random.uniform(-0.5, 0.5, x.shape).astype(x.dtype) for x in primals]
    made: dict[str, Callable[[], Any]] = {"tadc": lambda: function(*primals, *tangents)}
    held = [jax.device_put(x) for x in primals], [jax.device_put(x) for x in tangents]
    for name, form in workload.peers.items():
        if name.startswith("JAX"):
            made[name] = _jax_call(jax, form, *held)
    expected = function(*primals, *tangents)
    limit = 1e-9 if dtype == "f64" else 5e-3
    for name in list(made)[1:]:
        for one, other in zip(expected, made[name](), strict=True):
            scale = float(np.abs(one).max(initial=1e-30))
            np.testing.assert_allclose(one, other, rtol=limit, atol=limit * scale)
    return made


def _jax_call(jax: Any, form: Callable[..., Any], primals: Any, tangents: Any) -> Callable[[], Any]:
    compiled = jax.jit(lambda p, t: jax.jvp(lambda *a: form(jax, *a), tuple(p), tuple(t)))
    return lambda: jax.block_until_ready(compiled(primals, tangents))


def main(words: list[str]) -> None:
    """Print the table, of the workloads that are named or of all."""
    table = Table(title="value and tangent, ms; medians in turns")
    for column in ("workload", "type", "tadc", "JAX", "ratio", "JAX, tuned", "ratio"):
        table.add_column(column, justify="left" if column in ("workload", "type") else "right")
    for workload in ROWS:
        if words and workload.name not in words:
            continue
        for dtype in ("f32", "f64"):
            made = calls(workload, dtype)
            times = interleaved(made, BUDGET, {name: seconds(call) for name, call in made.items()}, "tadc")
            median = {name: 1e3 * statistics.median(found) for name, found in times.items()}
            cells = [f"{median['tadc']:.2f}"]
            for name in ("JAX", "JAX, tuned"):
                known = name in median
                cells += (
                    [f"{median[name]:.2f}", f"{median[name] / median['tadc']:.1f}"] if known else ["", ""]
                )
            table.add_row(workload.title, dtype, *cells)
    Console().print(table)
