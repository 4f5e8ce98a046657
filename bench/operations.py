"""`python -m bench operations`: what value and all gradients cost over the value, counted, not timed.

The loops of a program are walked at small sizes. Arithmetic counts in the weights of `passes/costs.py`
without loads and stores; equal values in one scope count once, and so does what a loop does not change,
reductions apart: a loop in a loop runs as often as it stands.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tadc.derive import read_back
from tadc.driver import compile_until
from tadc.frontend.extents import shape_at
from tadc.frontend.per_value import PerValue, read_program
from tadc.frontend.program import Program
from tadc.frontend.source import Source
from tadc.frontend.specialise import specialised
from tadc.frontend.terms import Guard, IndexValue, Read, Reduce, Term, bottom_up, holds_reduction, operands
from tadc.lattice.nest import LoopNest, loop_nest
from tadc.passes.costs import weight
from tadc.stages import Compilation, Options

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
    "paper": {},
    "pixel_shuffle": {"B": 1, "C": 2, "H": 6, "W": 6},
    "polyphase": {"N": 30, "K": 5},
    "pooling": {"C": 2, "H": 16, "W": 16},
    "stencil": {"N": 12, "M": 12},
    "strided_conv2d": {"B": 1, "C": 3, "H": 10, "W": 10, "F": 4},
    "toeplitz": {"N": 20},
    "upsampling": {"C": 2, "H": 8, "W": 8},
}


@dataclass
class Counter:
    """Counts the arithmetic of a program without size symbols."""

    nests: dict[int, LoopNest] = field(default_factory=dict[int, LoopNest])
    walked: dict[int, bool] = field(default_factory=dict[int, bool])
    loops: dict[int, bool] = field(default_factory=dict[int, bool])

    def program(self, program: Program) -> int:
        """The weighted operations of all definitions."""
        total = 0
        for definition in program.definitions:
            shape = shape_at(definition.shape, {})
            if not self.depends(definition.body):
                total += math.prod(shape) * self.term(definition.body, {}, set())
                continue
            for point in product(*map(range, shape)):
                total += self.term(definition.body, dict(zip(definition.indices, point, strict=True)), set())
        return total

    def term(self, root: Term, point: Mapping[str, int], seen: set[int]) -> int:
        """The cost of a term at a point, without what has been computed there before."""
        total = 0
        stack = [root]
        while stack:
            node = stack.pop()
            if node.number in seen:
                continue
            seen.add(node.number)
            match node:
                case Reduce():
                    total += self.reduction(node, point, seen)
                case Guard():
                    holds = all(row.holds(point) for row in node.conditions)
                    stack.append(node.then if holds else node.otherwise)
                case Read() | IndexValue():
                    pass
                case _:
                    total += weight(node)
                    stack += operands(node)
        return total

    def reduction(self, node: Reduce, point: Mapping[str, int], seen: set[int]) -> int:
        """The cost of all steps of a reduction."""
        if node.number not in self.nests:
            self.nests[node.number] = loop_nest(node.binders, node.domain, ())
        total = count = 0
        step = 0
        outside = set(seen)
        for at in self.nests[node.number].points(point):
            if not count:
                total += self.unchanged(node, at, outside)
            if not count or self.depends(node.body):
                step = weight(node) + self.term(node.body, at, set(outside))
            total += step
            count += 1
        return total

    def unchanged(self, node: Reduce, point: Mapping[str, int], seen: set[int]) -> int:
        """The cost of what the steps of a reduction share; it counts as seen."""
        total = 0
        stack = [node.body]
        while stack:
            term = stack.pop()
            if term.free.isdisjoint(node.binders) and not self.has_loop(term):
                total += self.term(term, point, seen)
            elif not isinstance(term, Guard | Reduce):
                stack += operands(term)
        return total

    def depends(self, term: Term) -> bool:
        """Whether the cost of a term may be another at another point."""
        return bottom_up(term, self.walked, lambda n, below: isinstance(n, Guard | Reduce) or any(below))

    def has_loop(self, term: Term) -> bool:
        """Whether a reduction stands at or below a term."""
        return holds_reduction(term, self.loops)


def cost(program: Program, mode: str, materialize: str) -> int:
    """The operations of a program, or of its derivative, as it goes to the code generator."""
    state = Compilation(Options(mode, materialize=materialize), program.source, program=program)
    compile_until(state, "opt" if materialize == "never" else "hoist", first="tad")
    return Counter().program(read_back(state))


def programs(names: Iterable[str] = SIZES) -> dict[str, Program]:
    """The examples at their sizes."""
    found: dict[str, Program] = {}
    for name in names:
        sizes = SIZES[name]
        read = read_program(Source((EXAMPLES / f"{name}.tad").read_text(), name))
        found[name] = read.at(sizes) if isinstance(read, PerValue) else specialised(read, sizes)
    return found


def main() -> None:
    """Print the table."""
    table = Table(title="operations of value and all gradients over those of the value as written")
    for column in ("program", "value", "never", "auto", "always", "never, over", "auto, over"):
        table.add_column(column, justify="left" if column == "program" else "right")
    for name, program in programs().items():
        value = cost(program, "value", "never")
        both = [cost(program, "value-and-vjp", mode) for mode in ("never", "auto", "always")]
        ratios = [f"{n / value:.2f}" if value else "" for n in both[:2]]
        table.add_row(name, str(value), *map(str, both), *ratios)
    Console().print(table)
