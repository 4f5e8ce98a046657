"""Times every program of `examples/` (`make bench`): to compile, and to run.

Each run time is the best of several batches, the call from Python included. "With gradients" is one kernel
for the value and all gradients.
"""

import time
import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import tadc

Arrays = dict[str, NDArray[Any]]


def main() -> None:
    """Print the table, a line as soon as it is known."""
    table = Table("program")
    for title in ("compile", "run", "compile\nwith gradients", "run\nwith gradients", "times\nthe value"):
        table.add_column(title, justify="right")
    console = Console()
    paths = sorted((Path(__file__).parent.parent / "examples").glob("*.tad"))
    with console.status("timing") as status:
        for path in paths:
            status.update(f"timing {path.stem}")
            table.add_row(path.stem, *measure(path.read_text(encoding="utf-8")))
    console.print(table)


def measure(source: str) -> tuple[str, ...]:
    """The cells of a program."""
    f = tadc.function(source)
    arrays = random_arrays(f, np.random.default_rng(0))
    first_value, value = times(f, {name: arrays[name] for name in f.inputs})
    both = tadc.value_and_vjp(f)
    first_both, gradients = times(both, arrays | random_arrays(both, np.random.default_rng(0)))
    seconds = (first_value, value, first_both, gradients)
    return (*map(readable, seconds), f"{gradients / value:.1f}")


def random_arrays(f: tadc.Function, random: np.random.Generator) -> Arrays:
    """Inputs away from the points where logarithms and roots end."""
    return {
        argument.name: random.uniform(0.5, 1.5, argument.shape).astype(argument.type.replace("f", "float"))
        for argument in f.program.arguments
    }


def times(call: Callable[..., Any], arrays: Arrays) -> tuple[float, float]:
    """Seconds of the first call, which compiles, and of one of many."""
    start = time.perf_counter()
    call(**arrays)
    first = time.perf_counter() - start
    timer = timeit.Timer(lambda: call(**arrays))
    count = max(timer.autorange()[0] // 5, 1)
    return first, min(timer.repeat(5, count)) / count


def readable(seconds: float) -> str:
    """In milliseconds or microseconds."""
    return f"{1e3 * seconds:.1f} ms" if seconds > 1e-3 else f"{1e6 * seconds:.1f} us"


if __name__ == "__main__":
    main()
