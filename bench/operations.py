"""`python -m bench operations`: what gradients, Jacobians and Hessians cost over the value, by count.

Arithmetic counts in the weights of `passes/terms/costs.py`, of examples at small sizes.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.layers import LAYERS, counted
from tadc.analysis.statistics import compiled_work
from tadc.compiler.compile_options import Options
from tadc.frontend.per_value import PerValue, read_program
from tadc.frontend.program import Program
from tadc.frontend.source import Source
from tadc.frontend.specialise import specialised
from tadc.passes.terms.operation_counts import count_program

EXAMPLES = Path(__file__).parents[1] / "examples"

#: Examples, and sizes at which their loops are walked in a second.
SIZES: dict[str, dict[str, int]] = {
    "attention": {"Q": 8, "K": 9, "D": 6, "E": 7},
    "autocorrelation": {"N": 64, "L": 8},
    "banded": {"N": 64},
    "conv1d": {"B": 2, "C": 4, "N": 40, "F": 4, "K": 5},
    "conv2d": {"B": 1, "C": 3, "H": 10, "W": 10, "F": 4, "P": 3, "Q": 3},
    "gravity": {"N": 12},
    "kernel_density": {"N": 16, "M": 12},
    "matmul": {"N": 10, "K": 12, "M": 14},
    "mttkrp": {"I": 8, "J": 8, "K": 8, "R": 4},
    "orbit": {"T": 40},
    "paper": {},
    "pixel_shuffle": {"B": 1, "C": 2, "H": 6, "W": 6},
    "polyphase": {"N": 30, "K": 5},
    "pooling": {"C": 2, "H": 16, "W": 16},
    "stencil": {"N": 12, "M": 12},
    "strided_conv2d": {"B": 1, "C": 3, "H": 10, "W": 10, "F": 4},
    "toeplitz": {"N": 20},
    "upsampling": {"C": 2, "H": 8, "W": 8},
}


def cost(program: Program, mode: str, materialize: str) -> int:
    """The operations of a program, or of its derivative, as it goes to the code generator."""
    return compiled_work(program, mode, options=Options(materialize=materialize)).weighted


def programs(names: Iterable[str] = SIZES) -> dict[str, Program]:
    """The examples at their sizes."""
    found: dict[str, Program] = {}
    for name in names:
        sizes = SIZES[name]
        read = read_program(Source((EXAMPLES / f"{name}.tad").read_text(), name))
        found[name] = read.at(sizes) if isinstance(read, PerValue) else specialised(read, sizes)
    return found


def gradients() -> Table:
    """Of examples, the value and all gradients."""
    table = Table(title="operations of value and all gradients over those of the value as written")
    for column in ("program", "value", "never", "auto", "always", "never, over", "auto, over"):
        table.add_column(column, justify="left" if column == "program" else "right")
    for name, program in programs().items():
        value = count_program(program).weighted
        both = [cost(program, "value-and-vjp", mode) for mode in ("never", "auto", "always")]
        ratios = [f"{n / value:.2f}" if value else "" for n in both[:2]]
        table.add_row(name, str(value), *map(str, both), *ratios)
    return table


def matrices() -> Table:
    """Of layers and energies, the dense Jacobian or Hessian by each argument."""
    table = Table(title="operations of Jacobians over the value, of Hessians over the gradient")
    for column in (
        "layer",
        "by",
        "pass",
        "hvp, over",
        "matrix",
        "passes",
        "a pass, over",
        "not 0",
        "for each",
    ):
        is_name = column in ("layer", "by")
        table.add_column(column, justify="left" if is_name else "right", no_wrap=is_name)
    for name, layer in LAYERS.items():
        for argument in layer.by:
            found = counted(layer, argument)
            table.add_row(
                name,
                argument,
                str(found.once),
                f"{found.product / found.once:.2f}" if found.product else "",
                str(found.matrix),
                str(found.passes),
                f"{found.matrix / (found.passes * found.once):.2f}",
                str(found.nonzeros),
                f"{found.matrix / found.nonzeros:.2f}",
            )
    return table


def main() -> None:
    """Print the tables."""
    console = Console()
    console.print(gradients())
    console.print(matrices())
