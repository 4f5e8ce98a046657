"""`python -m bench empty`: how often a loop inside another is entered for nothing, and how sums walk memory.

The nests of all sums in gradients of orders 1 and 2 are run on a sample of the points around them:
of the programs of the conformance tests, and of random ones.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields
from typing import Any

from rich.console import Console
from rich.table import Table

import tadc
from tadc.frontend.extents import shape_at
from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import Domain, Guard, Read, Reduce, Term, operands, reachable
from tadc.lattice.affine import box
from tadc.lattice.bounds import Level
from tadc.lattice.emptiness import tight
from tadc.lattice.loop_nests import LoopNest, loop_nest

Point = dict[str, int]

SAMPLE = 40
"""The most points at which a sum is looked at."""


@dataclass
class Counts:
    """What the nests did."""

    entries: int = 0
    """Ranges of inner loops that were entered."""
    empty: int = 0
    """Those that held nothing."""
    unit_entries: int = 0
    """The same, of nests whose bounds divide by nothing."""
    unit_empty: int = 0
    innermost: int = 0
    """Sums without another inside, and a read that moves with their innermost index."""
    contiguous: int = 0
    """Those of which a read walks memory forwards, element by element."""
    backwards: int = 0
    """Those of which more reads walk memory backwards than forwards."""

    def __iadd__(self, other: Counts) -> Counts:
        for item in fields(self):
            setattr(self, item.name, getattr(self, item.name) + getattr(other, item.name))
        return self


def measure(program: Program) -> Counts:
    """The counts over all sums of a program."""
    walk = _Walk(program, random.Random(0))
    for definition in program.definitions:
        walk.definition(definition)
    return walk.counts


@dataclass
class _Walk:
    program: Program
    random: random.Random
    counts: Counts = field(default_factory=Counts)
    seen: set[tuple[int, Domain]] = field(default_factory=set[tuple[int, Domain]])

    def definition(self, definition: Definition) -> None:
        """Look at all sums of a definition."""
        points = [
            {
                name: self.random.randrange(size)
                for name, size in zip(definition.indices, shape_at(definition.shape, {}), strict=True)
            }
            for _ in range(SAMPLE)
            if all(shape_at(definition.shape, {}))
        ]
        self.visit(definition.body, box(definition.indices, definition.shape), points)

    def visit(self, term: Term, facts: Domain, points: list[Point]) -> None:
        """Look at all sums of a term, at points where the facts hold."""
        if (term.number, facts) in self.seen or not points:
            return
        self.seen.add((term.number, facts))
        match term:
            case Reduce():
                binders, rows, body = self.program.terms.open(term)
                nest = tight(loop_nest(binders, rows, facts), facts)
                self.strides(nest, body)
                inside = [found for point in points for found in self.run(nest, point)]
                self.visit(body, facts + rows, self.random.sample(inside, min(len(inside), SAMPLE)))
            case Guard():
                taken = [point for point in points if all(row.holds(point) for row in term.conditions)]
                self.visit(term.then, facts + term.conditions, taken)
                self.visit(term.otherwise, facts, [point for point in points if point not in taken])
            case _:
                for below in operands(term):
                    self.visit(below, facts, points)

    def run(self, nest: LoopNest, point: Point) -> Iterator[Point]:
        """The points that a nest visits."""
        bounds = [b for level in nest.levels for b in (*level.lower, *level.upper)]
        unit = all(b.divisor == 1 and b.form.is_linear for b in bounds)

        def loops(levels: tuple[Level, ...], at: Point) -> Iterator[Point]:
            if not levels:
                yield at
                return
            first = max(bound.ceil().evaluate(at) for bound in levels[0].lower)
            last = min(bound.floor().evaluate(at) for bound in levels[0].upper)
            if len(levels) < len(nest.levels):
                self.counts.entries += 1
                self.counts.empty += last < first
                self.counts.unit_entries += unit
                self.counts.unit_empty += unit and last < first
            for value in range(first, last + 1):
                yield from loops(levels[1:], {**at, levels[0].name: value})

        if all(row.holds(point) for row in nest.outside):
            yield from (at for at in loops(nest.levels, point) if all(row.holds(at) for row in nest.inside))

    def strides(self, nest: LoopNest, body: Term) -> None:
        """Count how the innermost index moves the reads."""
        below = list(reachable([body]))
        if any(isinstance(term, Reduce) for term in below):
            return
        shapes = {name: shape_at(shape, {}) for name, shape in self.program.shapes().items()}
        found: list[int] = []
        for read in below:
            if isinstance(read, Read):
                steps, stride = 0, 1
                for form, size in zip(reversed(read.indices), reversed(shapes[read.tensor]), strict=True):
                    steps += form.coefficient(nest.levels[-1].name) * stride
                    stride *= size
                found.append(steps)
        self.counts.innermost += any(found)
        self.counts.contiguous += 1 in found
        self.counts.backwards += sum(s < 0 for s in found) > sum(s > 0 for s in found)


def gradients(text: str, order: int) -> Program:
    """The program of the derivative of an order, in the form with the most loops."""
    f = tadc.function(text)
    for _ in range(order):
        f = tadc.vjp(f, materialize="never")
    return f.program


def conformance_programs() -> list[str]:
    """The programs of the conformance tests."""
    from tests.conformance import test_index_maps, test_programs, test_quasi_affine, test_tensor_algebra

    modules: tuple[Any, ...] = (test_tensor_algebra, test_index_maps, test_quasi_affine, test_programs)
    return [case.program for module in modules for case in module.CATALOGUE.cases]


def random_programs(count: int) -> list[str]:
    """Programs of the fuzzer."""
    from tests.fuzz.generate import generate

    return [str(generate(seed)) for seed in range(count)]


def total(programs: Iterable[str], order: int) -> Counts:
    """The counts of all programs."""
    counts = Counts()
    for text in programs:
        counts += measure(gradients(text, order))
    return counts


COLUMNS: tuple[tuple[str, Callable[[Counts], str]], ...] = (
    ("inner ranges", lambda c: str(c.entries)),
    ("empty", lambda c: _share(c.empty, c.entries)),
    ("empty, unit bounds", lambda c: _share(c.unit_empty, c.unit_entries)),
    ("innermost sums", lambda c: str(c.innermost)),
    ("forwards by 1", lambda c: _share(c.contiguous, c.innermost)),
    ("backwards", lambda c: _share(c.backwards, c.innermost)),
)


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore", tadc.CompileWarning)
    table = Table(title="ranges of inner loops, and how innermost sums walk memory")
    for column in ("programs", "order", *(name for name, _ in COLUMNS)):
        table.add_column(column, justify="left" if column == "programs" else "right")
    for name, programs, order in (
        ("conformance", conformance_programs(), 1),
        ("conformance", conformance_programs(), 2),
        ("random", random_programs(300), 1),
        ("random", random_programs(100), 2),
    ):
        counts = total(programs, order)
        table.add_row(name, str(order), *(show(counts) for _, show in COLUMNS))
    Console().print(table)


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2f} %" if whole else "-"
