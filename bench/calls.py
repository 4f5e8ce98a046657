"""`python -m bench calls`: what a call from Python takes besides its work, which is little here; and JAX's.

Processor time of calls like one before, with the release of their results. Rows are taken in turns, and the
least time of each is shown: what else runs on the machine only adds to it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import tadc

#: Calls of a row in a turn, and turns.
CALLS, TURNS = 200, 40

ONE = "x: TYPE[N]; y[i] = x[i]**2"
FOUR = "x: TYPE[N]; a[i] = x[i] + 1; b[i] = 2*x[i]; c[i] = x[i]**2; d[i] = x[i] - 1"
SCALED = "a: TYPE; x: TYPE[N]; y[i] = a*x[i]"
CHAIN = "x: TYPE[N]; y[i] = exp(-x[i]**2) * sin(x[i]) + 0.5*x[i]"

Call = Callable[[], object]


def _rows(dtype: str) -> dict[str, tuple[Call, Call | None, Call | None]]:
    """A plain call, one with `out=`, and that of JAX on arrays of its own."""
    import jax

    jax.config.update("jax_enable_x64", True)
    numpy: Any = jax.numpy
    x = np.arange(8).astype(dtype.replace("f", "float"))
    held, fixed = jax.device_put(x), x.copy()
    fixed.flags.writeable = False

    def row(f: tadc.Function, *args: Any, peer: Any = None, held: tuple[Any, ...] = ()) -> Any:
        result = f(*args)
        out = tuple(map(np.empty_like, result)) if isinstance(result, tuple) else np.empty_like(result)
        compiled = jax.jit(peer) if peer else None
        return (
            lambda: f(*args),
            lambda: f(*args, out=out),
            compiled and (lambda: jax.block_until_ready(compiled(*held))),
        )

    def of(text: str, size: str = "N") -> tadc.Function:
        return tadc.function(text.replace("TYPE", dtype).replace("N", size))

    def four(x: Any) -> Any:
        return x + 1, 2 * x, x**2, x - 1

    def chain(x: Any) -> Any:
        return numpy.exp(-(x**2)) * numpy.sin(x) + 0.5 * x

    named = of(ONE)
    return {
        "one result": row(of(ONE), x, peer=lambda x: x**2, held=(held,)),
        "one result, size given": row(of(ONE, "8"), x),
        "one result, argument by name": (lambda: named(x=x), None, None),
        "read-only argument": row(of(ONE), fixed),
        "NumPy's number and an array": row(
            of(SCALED), x.dtype.type(2), x, peer=lambda a, x: a * x, held=(jax.device_put(x[2]), held)
        ),
        "Python's number and an array": row(of(SCALED), 2.0, x),
        "four results": row(of(FOUR), x, peer=four, held=(held,)),
        "chain": row(of(CHAIN), x, peer=chain, held=(held,)),
        "chain, value and gradient": row(
            tadc.value_and_grad(tadc.function(f"x: {dtype}[N]; s = sum{{i}} (exp(-x[i]**2) * sin(x[i]))")),
            x,
            peer=jax.value_and_grad(lambda x: (numpy.exp(-(x**2)) * numpy.sin(x)).sum()),
            held=(held,),
        ),
    }


def least(calls: list[Call | None]) -> list[float | None]:
    """Nanoseconds of processor time of each, all taken in turns."""
    found = [float("inf")] * len(calls)
    for _ in range(TURNS):
        for n, call in enumerate(calls):
            if call is not None:
                begin = time.thread_time_ns()
                for _ in range(CALLS):
                    call()
                found[n] = min(found[n], (time.thread_time_ns() - begin) / CALLS)
    return [None if call is None else time for call, time in zip(calls, found, strict=True)]


def main() -> None:
    """Print the table."""
    table = Table(title="nanoseconds a call, arrays of 8 elements")
    for column in ("call", "type", "plain", "out=", "JAX (jit)"):
        table.add_column(column, justify="left" if column in ("call", "type") else "right")
    for dtype in ("f32", "f64"):
        for name, calls in _rows(dtype).items():
            times = ["" if t is None else f"{t:.0f}" for t in least(list(calls))]
            table.add_row(name, dtype, *times)
    Console().print(table)
