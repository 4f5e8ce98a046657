"""`python -m bench jax`: what a call in JAX takes, beside operations of JAX on arrays of the same size.

Rows are taken in turns, and the least time of each is shown. A call outside of `jit` waits for its results at
the end of a turn only, as JAX computes in the background. The last rows are a step of a loop inside of `jit`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import tadc

#: Calls of a row in a turn, steps of a loop, and turns.
CALLS, STEPS, TURNS = 2000, 20_000, 15

SIZES = (4, 1000)


def _rows() -> dict[str, tuple[Callable[[], Any], int]]:
    """What is timed: a turn, and how many calls it is."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    f = tadc.function("x: f64[N]; y[i] = 2*x[i]")

    def calls(h: Callable[[Any], Any], x: Any) -> tuple[Callable[[], Any], int]:
        def turn() -> Any:
            found: Any = None
            for _ in range(CALLS):
                found = h(x)
            return found

        return turn, CALLS

    def loop(h: Callable[[Any], Any], x: Any) -> tuple[Callable[[], Any], int]:
        run = jax.jit(lambda x: jax.lax.fori_loop(0, STEPS, lambda _, x: h(x) * 0.5, x))
        return (lambda: run(x)), STEPS

    rows: dict[str, tuple[Callable[[], Any], int]] = {}
    for size in SIZES:
        x, host = jnp.ones(size), np.ones(size)
        rows |= {
            f"f.jax(x), {size} elements": calls(f.jax, x),
            f"jax.jit(f.jax)(x), {size}": calls(jax.jit(f.jax), x),
            f"jax.jit(lambda x: 2*x)(x), {size}": calls(jax.jit(lambda x: 2 * x), x),
            f"jnp.sin(x), {size}": calls(jnp.sin, x),
            f"jnp.multiply(2, x), {size}": calls(lambda x: jnp.multiply(2, x), x),
            f"f(x) on NumPy's array, {size}": calls(f, host),
        }
    x = jnp.ones(4)
    return rows | {
        "a step of a loop with f.jax, 4": loop(f.jax, x),
        "a step of a loop with jnp.sin, 4": loop(jnp.sin, x),
        "a step of a loop alone": loop(lambda x: x, x),
    }


def main() -> None:
    """Print the table."""
    import jax

    rows = _rows()
    best = dict.fromkeys(rows, float("inf"))
    for turn in range(TURNS + 1):
        for name, (run, count) in rows.items():
            begin = time.perf_counter()
            jax.block_until_ready(run())
            if turn:  # the first compiles
                best[name] = min(best[name], (time.perf_counter() - begin) / count)
    table = Table(title=f"Time of a call, JAX {jax.__version__}")
    table.add_column("")
    table.add_column("microseconds", justify="right")
    for name, seconds in best.items():
        table.add_row(name, f"{seconds * 1e6:.2f}")
    Console().print(table)
