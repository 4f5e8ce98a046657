"""Programs that are compiled once for each value of some size symbols.

A symbol that multiplies an index (`x[N*i + j]`) or divides one has no place in an affine form, so
such a program is checked, differentiated and compiled for values of these symbols.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tadc.frontend import syntax
from tadc.frontend.checker import SizesNeeded, check
from tadc.frontend.diagnostics import ArgumentError, CompileError, Diagnostic, Label
from tadc.frontend.parser import parse
from tadc.frontend.printer import print_program
from tadc.frontend.program import Program
from tadc.frontend.source import Source, Span

#: Values at which a program is looked at before any call, the first that has a meaning.
_EXAMPLES = (4, 3, 8, 16, 2, 1, 64, 0)


@dataclass(frozen=True)
class PerValue:
    """A program without a meaning until `symbols` have values.

    `places` is where each of them multiplies or divides; `told_by` the argument and the dimension
    that is the symbol alone; `example` the program at `example_values`.
    """

    source: Source
    tree: syntax.Module
    places: Mapping[str, Span]
    told_by: Mapping[str, tuple[str, int]]
    example: Program
    example_values: Mapping[str, int]

    @property
    def symbols(self) -> tuple[str, ...]:
        """The symbols that need values."""
        return tuple(self.places)

    def at(self, values: Mapping[str, int]) -> Program:
        """The program for these values. Raises CompileError where it has no meaning there."""
        return check(self.tree, self.source, values)

    def values(self, shapes: Mapping[str, tuple[int, ...]], given: Mapping[str, Any]) -> dict[str, int]:
        """The values of the symbols at a call, from the shapes of arrays by name or given by name.

        Raises ArgumentError: TAD0501 for one that is missing, TAD0508 for what is no size.
        """
        values: dict[str, int] = {}
        problems: list[Diagnostic] = []
        for name in self.symbols:
            argument, dimension = self.told_by.get(name, ("", 0))
            shape = shapes.get(argument, ())
            if name in given:
                try:
                    values[name] = operator.index(given[name])
                except TypeError:
                    message = f"size `{name}` must be an integer, not {type(given[name]).__name__}"
                    problems.append(Diagnostic("TAD0508", message))
            elif dimension < len(shape):
                values[name] = shape[dimension]
            else:
                helps = [f"pass it by name: `{name}=…`"]
                problems.append(Diagnostic("TAD0501", f"size `{name}` is missing", helps=helps))
        if problems:
            raise ArgumentError(problems)
        return values

    def text(self, program: Program | None = None) -> str:
        """The program at its example, or one derived from that, and what it is an example of."""
        values = ", ".join(f"{name} = {self.example_values[name]}" for name in self.symbols)
        head = f"# compiled for each value of {', '.join(self.symbols)}; this is the program for {values}\n"
        return head + print_program(program or self.example)

    def needs_values(self) -> CompileError:
        """The error for what cannot be done without values."""
        found = [
            Diagnostic(
                "TAD0212",
                f"size `{name}` needs a value",
                Label(place, "multiplies or divides an index"),
                notes=["the kernel is compiled for each value of it"],
                helps=[f"give one: `--size {name}=4`, in Python `sizes={{'{name}': 4}}`"],
                source=self.source,
            )
            for name, place in self.places.items()
        ]
        return CompileError(found)


def read_program(source: Source, sizes: Mapping[str, int] | None = None) -> Program | PerValue:
    """Parse and check a text, `sizes` being values of size symbols. Raises CompileError."""
    return check_tree(parse(source), source, sizes or {})


def check_tree(tree: syntax.Module, source: Source, sizes: Mapping[str, int]) -> Program | PerValue:
    """The same for a text that is parsed already."""
    try:
        return check(tree, source, sizes)
    except SizesNeeded as needed:
        return _per_value(tree, source, sizes, dict(needed.symbols))


def _per_value(
    tree: syntax.Module, source: Source, sizes: Mapping[str, int], places: dict[str, Span]
) -> PerValue:
    first: CompileError | None = None
    for value in _EXAMPLES:
        while True:
            values = {**dict.fromkeys(places, value), **sizes}
            try:
                example = check(tree, source, values)
            except SizesNeeded as needed:
                places |= needed.symbols
                continue
            except CompileError as error:
                first = first or _with_values(error, values)
                break
            return PerValue(source, tree, places, _told_by(tree, example, places), example, values)
    assert first
    raise first


def _with_values(error: CompileError, values: Mapping[str, int]) -> CompileError:
    text = ", ".join(f"{name} = {value}" for name, value in values.items())
    for diagnostic in error.diagnostics:
        diagnostic.notes.append(f"the sizes are {text}")
    return CompileError(error.diagnostics)


def _told_by(tree: syntax.Module, example: Program, places: Mapping[str, Span]) -> dict[str, tuple[str, int]]:
    arguments = {a.name for a in example.arguments}
    found: dict[str, tuple[str, int]] = {}
    for statement in tree.statements:
        if isinstance(statement, syntax.Declare) and statement.name in arguments:
            for dimension, size in enumerate(statement.shape):
                if isinstance(size, syntax.Name) and size.id in places:
                    found.setdefault(size.id, (statement.name, dimension))
    return found
