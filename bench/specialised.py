"""`python -m bench sizes`: what compiling for given sizes gains over the kernel for all sizes.

With its versions for the sizes of calls, or without them: `TADC_VERSIONS=0 python -m bench sizes`.
"""

from __future__ import annotations

import platform
import statistics
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import tadc
from bench.timing import seconds
from tadc.frontend.extents import shape_at

EXAMPLES = Path(__file__).parents[1] / "examples"

REPETITIONS = 9

#: Examples, and sizes at which a call takes milliseconds.
SIZES: dict[str, dict[str, int]] = {
    "attention": {"Q": 96, "K": 96, "D": 32, "E": 32},
    "autocorrelation": {"N": 4096, "L": 64},
    "banded": {"N": 200_000},
    "conv1d": {"B": 4, "C": 8, "N": 4096, "F": 8, "K": 5},
    "conv2d": {"B": 2, "C": 8, "H": 64, "W": 64, "F": 8, "P": 3, "Q": 3},
    "gravity": {"N": 200},
    "kernel_density": {"N": 500, "M": 200},
    "matmul": {"N": 128, "K": 128, "M": 128},
    "mttkrp": {"I": 48, "J": 48, "K": 48, "R": 16},
    "pooling": {"C": 8, "H": 256, "W": 256},
    "stencil": {"N": 512, "M": 512},
    "strided_conv2d": {"B": 2, "C": 8, "H": 64, "W": 64, "F": 8},
    "toeplitz": {"N": 1000},
    "upsampling": {"C": 8, "H": 128, "W": 128},
}


def calls(name: str, sizes: Mapping[str, int]) -> tuple[Callable[[], object], Callable[[], object]]:
    """The value and all gradients of an example: for all sizes, and for these; both agree."""
    f = tadc.function((EXAMPLES / f"{name}.tad").read_text())
    both = tadc.value_and_vjp(f)
    random = np.random.default_rng(0)
    arrays = {a.name: random.uniform(0.1, 1, shape_at(a.shape, sizes)) for a in both.program.arguments}
    named = {size: sizes[size] for size in both.program.unbound_sizes()}
    given = tadc.compile(both, sizes=sizes)
    for one, other in zip(both(**arrays, **named), given(**arrays), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
    return (lambda: both(**arrays, **named)), (lambda: given(**arrays))


def main() -> None:
    """Print the table."""
    table = Table(title=f"value + all gradients, f64, {platform.processor() or platform.machine()}")
    for column in ("example", "any size ms", "these sizes ms", "gain"):
        table.add_column(column, justify="left" if column == "example" else "right")
    gains: list[float] = []
    for name, sizes in SIZES.items():
        general, given = calls(name, sizes)
        pairs = [(seconds(general), seconds(given)) for _ in range(REPETITIONS)]
        one, other = (1e3 * statistics.median(column) for column in zip(*pairs, strict=True))
        gains.append(one / other)
        table.add_row(name, f"{one:.2f}", f"{other:.2f}", f"{one / other:.2f}")
    table.add_row("geometric mean", "", "", f"{statistics.geometric_mean(gains):.2f}")
    Console().print(table)
