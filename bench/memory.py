"""`python -m bench memory`: gradients of recurrences, time and peak memory, against JAX's `scan`.

Each form runs in a process of its own, whose peak (VmHWM of Linux) counts from before the first call; JAX's
compiler is in it, as ours is. `jax.checkpoint` stands around as many steps as makes two levels equally long.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import tadc

CALLS = 3
"""Of so many calls after the first the fastest counts."""


@dataclass(frozen=True)
class Recurrence:
    """A program whose output `s` is differentiated by all arguments, its sizes, and a step for JAX.

    The arguments of `step` are a state, and all arguments of the program; those in `uniform` are numbers, of
    the shapes given. The state begins with the first argument.
    """

    text: str
    sizes: dict[str, int]
    uniform: dict[str, tuple[str, ...]]
    step: Callable[..., Any]
    limit: str
    scale: float = 1.0


def _heat(u: Any, _: Any, k: Any, c: Any) -> Any:
    import jax.numpy as jnp

    inner = u[1:-1] + k * c[1:-1] * u[1:-1] * (u[:-2] - 2 * u[1:-1] + u[2:])
    return jnp.concatenate([u[:1], inner, u[-1:]])


def _network(h: Any, _: Any, w: Any) -> Any:
    import jax.numpy as jnp

    return jnp.tanh(w @ h)


def _orbits(u: Any, _: Any, k: Any) -> Any:
    import jax.numpy as jnp

    x = u[0] + 0.01 * u[1]
    return jnp.stack([x, u[1] - 0.01 * k * jnp.sin(x)])


RECURRENCES = {
    "heat": Recurrence(
        """
u0: f64[N]; k: f64; c: f64[N]
size T
let scan{t} u[t: T, i: N] = if {t = 0} then (u0[i]) else (
    if {i >= 1 and i <= N - 2} then (
        u[t - 1, i] + k*c[i]*u[t - 1, i]*(u[t - 1, i - 1] - 2*u[t - 1, i] + u[t - 1, i + 1]))
    else (u[t - 1, i]))
s = sum{i} (u[T - 1, i]**2)""",
        {"N": 100_000, "T": 1025}, {"u0": ("N",), "k": (), "c": ("N",)}, _heat, "64M", 0.3,
    ),
    "network": Recurrence(
        """
h0: f64[N]; W: f64[N, N]
size T
let scan{t} h[t: T, i: N] = if {t = 0} then (h0[i]) else (tanh(sum{j} (W[i, j]*h[t - 1, j])))
s = sum{i} (h[T - 1, i]**2)""",
        {"N": 256, "T": 1000}, {"h0": ("N",), "W": ("N", "N")}, _network, "2M", 0.1,
    ),
    "orbits": Recurrence(
        """
x0: f64[2, N]; k: f64[N]
size T
let scan{2*t + c} u[t: T, c: 2, i: N] = if {t = 0} then (x0[c, i]) else (
    u[t - 1, c, i] + if {c = 0} then (0.01*u[t - 1, 1, i]) else (-0.01*k[i]*sin(u[t, 0, i])))
s = sum{c, i} (u[T - 1, c, i]**2)""",
        {"N": 10_000, "T": 2000}, {"x0": ("2", "N"), "k": ("N",)}, _orbits, "8M",
    ),
}  # fmt: skip

FORMS = ("tadc", "tadc, a limit", "tadc, inverted", "JAX", "JAX, checkpoints")


def arguments(of: Recurrence) -> dict[str, Any]:
    """The same numbers for all forms."""
    random = np.random.default_rng(0)
    shapes = {n: [of.sizes.get(e) or int(e) for e in shape] for n, shape in of.uniform.items()}
    return {name: random.uniform(0, of.scale, shape) for name, shape in shapes.items()}


def call_of(of: Recurrence, form: str) -> Callable[[], Any] | str:
    """Computes all gradients; or why the form does not."""
    given = arguments(of)
    if form.startswith("tadc"):
        limit = of.limit if form.endswith("limit") else None
        try:
            reverse = "invert" if form.endswith("inverted") else "store"
            g = tadc.grad(tadc.function(of.text, sizes=of.sizes), memory_limit=limit, reverse=reverse)
        except tadc.CompileError as error:
            return error.diagnostics[0].code
        g.compiled()
        return lambda: g(**given)
    return _jax_call(of, given, checkpoints=form.endswith("checkpoints"))


def _jax_call(of: Recurrence, given: dict[str, Any], *, checkpoints: bool) -> Callable[[], Any]:
    import jax

    jax.config.update("jax_enable_x64", True)
    steps = of.sizes["T"] - 1
    inner = math.isqrt(steps) if checkpoints else 0

    def loss(*args: Any) -> Any:
        def one(u: Any, _: Any) -> tuple[Any, None]:
            return of.step(u, *args), None

        def several(u: Any, _: Any) -> tuple[Any, None]:
            return jax.lax.scan(one, u, None, length=inner)[0], None

        u = args[0]
        if checkpoints:
            u, _ = jax.lax.scan(jax.checkpoint(several), u, None, length=steps // inner)
        u, _ = jax.lax.scan(one, u, None, length=steps % inner if checkpoints else steps)
        return (u**2).sum()

    g = jax.jit(jax.grad(loss, argnums=tuple(range(len(given)))))
    values = [jax.numpy.asarray(value) for value in given.values()]
    return lambda: jax.block_until_ready(g(*values))


def peak() -> float:
    """The most memory that the process had so far, in MB."""
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024


def measure(name: str, form: str) -> dict[str, Any]:
    """Seconds of a call, MB above what there was before, and the sums of the gradients."""
    call = call_of(RECURRENCES[name], form)
    if isinstance(call, str):
        return {"why": call}
    before, times, found = peak(), list[float](), None
    for _ in range(CALLS + 1):
        start = time.perf_counter()
        found = call()
        times.append(time.perf_counter() - start)
    sums = [float(np.sum(x)) for x in [*(found or ())][: len(RECURRENCES[name].uniform)]]
    return {"seconds": min(times[1:]), "memory": peak() - before, "sums": sums}


def main(words: list[str]) -> None:
    """Print a table; with two words measure one form of one recurrence, and print that for a program."""
    if len(words) == 2:
        print(json.dumps(measure(*words)))
        return
    table = Table("gradient", *FORMS, title="milliseconds a call, and MB above what there was before")
    for name in words or RECURRENCES:
        row, sums = list[str](), None
        for form in FORMS:
            command = [sys.executable, "-m", "bench", "memory", name, form]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            found = json.loads(done.stdout)
            if "why" in found:
                row.append(found["why"])
                continue
            sums = sums or found["sums"]
            np.testing.assert_allclose(found["sums"], sums, rtol=1e-6, err_msg=f"{name}, {form}")
            row.append(f"{found['seconds'] * 1e3:.1f} ms, {found['memory']:.1f}")
        table.add_row(name, *row)
    Console().print(table)
