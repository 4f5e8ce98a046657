"""Programs that are compiled once for each value of some size symbols.

A symbol that multiplies an index (`x[N*i + j]`) or divides one has no place in an affine form, so
such a program is checked, differentiated and compiled for values of these symbols.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

from tadc.frontend import syntax
from tadc.frontend.checker import SizesNeeded, check
from tadc.frontend.diagnostics import ArgumentError, CompileError, Diagnostic, Label
from tadc.frontend.doubts import doubts
from tadc.frontend.extents import SIZE_LIMIT, Shape, extent, told_sizes
from tadc.frontend.parser import read_statements
from tadc.frontend.printer import print_program
from tadc.frontend.program import Program
from tadc.frontend.remembered import CheckMemory
from tadc.frontend.scope import ProgramNames
from tadc.frontend.size_values import SizeValues, size_values, values_text
from tadc.frontend.source import Source, Span
from tadc.frontend.tree import walk
from tadc.frontend.type_parameters import of_tree
from tadc.lattice.affine import Affine
from tadc.lattice.late_dataclasses import dataclass, replace

#: So many symbols get values of their own in an example.
_SYMBOLS = 8


@dataclass(frozen=True)
class PerValue:
    """A program without a meaning until `symbols` have values.

    `places` is where each of them multiplies or divides; `shapes` are those of arguments and outputs,
    extents that need a value left out; `example` is the program at `example_values`.
    """

    source: Source
    tree: syntax.Module
    places: Mapping[str, Span]
    shapes: Mapping[str, Shape]
    example: Program
    example_values: Mapping[str, int]

    @property
    def symbols(self) -> tuple[str, ...]:
        """The symbols that need values."""
        return tuple(self.places)

    def at(self, values: Mapping[str, int]) -> Program:
        """The program for these values. Raises CompileError where it has no meaning there."""
        return check(self.tree, self.source, values)

    def values(self, shapes: Mapping[str, tuple[int, ...]], given: Mapping[str, Any]) -> SizeValues:
        """The values of the symbols at a call, given by name or told by the shapes of tensors by name.

        Raises ArgumentError: TAD0501 for one that is missing, TAD0508 for what is no size.
        """
        problems: list[Diagnostic] = []
        values = size_values({n: given[n] for n in self.symbols if n in given}, problems)
        told = dict(values)
        told_sizes(list(self.shapes.values()), [shapes.get(n, ()) for n in self.shapes], told)
        for name in self.symbols:
            if name in told:
                values[name] = told[name]
            elif name not in given:
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


def parse_program(source: Source, sizes: Mapping[str, int]) -> syntax.Module:
    """Parse a text. Raises CompileError with errors of syntax, and those of all that could be read.

    Of a text with type parameters too (TAD0215): it is read with types in their place.
    """
    tree = read_statements(source)
    if (parameters := of_tree(tree, source)) is not None:
        read_program(parameters.at(), sizes)
        raise parameters.needs_types()
    if tree.errors:
        check(tree, source, sizes)
    return tree


def read_program(source: Source, sizes: Mapping[str, int] | None = None) -> Program | PerValue:
    """Parse and check a text, `sizes` being values of size symbols. Raises CompileError."""
    sizes = sizes or {}
    return check_tree(parse_program(source, sizes), source, sizes)


def check_tree(
    tree: syntax.Module,
    source: Source,
    sizes: Mapping[str, int],
    tell: Callable[[ProgramNames], object] | None = None,
    memory: CheckMemory | None = None,
) -> Program | PerValue:
    """Check a text that is parsed already, for values of some sizes; `tell`, `memory` as in `check`."""
    try:
        found = check(tree, source, sizes, tell=tell, memory=memory)
        # Values that are given bound the other sizes, which nobody needs to be told.
        asked = replace(found, excluded=()) if sizes else found
        found.doubts = tuple(doubts(asked, tree, source))
    except SizesNeeded as needed:
        return _per_value(tree, source, sizes, dict(needed.symbols), memory)
    return found


def _per_value(
    tree: syntax.Module,
    source: Source,
    sizes: Mapping[str, int],
    places: dict[str, Span],
    memory: CheckMemory | None,
) -> PerValue:
    first: CompileError | None = None
    tried = _examples(tree)
    while tried:
        values = {**dict(zip(places, tried[0], strict=False)), **sizes}
        try:
            example = check(tree, source, values, memory=memory)
        except SizesNeeded as needed:
            places |= needed.symbols
        except CompileError as error:
            first = first or _with_values(error, values)
            tried = tried[1:]
        else:
            example.doubts = tuple(doubts(replace(example, excluded=()), tree, source))
            return PerValue(source, tree, places, _shapes(tree), example, values)
    assert first
    raise first


def _examples(tree: syntax.Module) -> list[tuple[int, ...]]:
    """Values for symbols in order, to look at a program with: alike, falling, rising, near its literals."""
    literals = {
        n.value for _, _, n in walk(tree) if isinstance(n, syntax.Number) and isinstance(n.value, int)
    }
    near = sorted({m for n in literals if n < SIZE_LIMIT // 4 for m in (n, n + 1, 2 * n + 2)}, reverse=True)
    alike = [(value,) * _SYMBOLS for value in (4, 3, 8, 16, 2, 1, 64, *near[:8], 0)]
    rising = [tuple(first + step * n for n in range(_SYMBOLS)) for first, step in ((2, 3), (4, 8), (1, 1))]
    return [*alike, *(r[:k][::-1] + r[k:] for r in rising for k in (2, 3, _SYMBOLS)), *rising]


def _with_values(error: CompileError, values: Mapping[str, int]) -> CompileError:
    for diagnostic in error.diagnostics:
        diagnostic.notes.append(f"the sizes are {values_text(values)}; others that were tried fail as well")
        diagnostic.helps.append("give sizes for which it has a meaning: `--size`, in Python `sizes=`")
    return CompileError(error.diagnostics)


def _shapes(tree: syntax.Module) -> dict[str, Shape]:
    """The shapes that declarations and the ranges of outputs state; what is no name or number is unknown."""
    found: dict[str, Shape] = {}
    for statement in tree.statements:
        match statement:
            case syntax.Declare():
                sizes: list[syntax.Expr | None] = list(statement.shape)
                if statement.at:
                    sizes = [None] * len(found.get(statement.at[0].id, ())) + sizes[len(statement.at) :]
            case syntax.Define():
                sizes = [spec.size for spec in statement.indices]
            case _:
                continue
        unknown = (Affine.var(f"?{n}") for n in count())
        found.setdefault(statement.name, tuple(extent(_stated(size, next(unknown))) for size in sizes))
    return found


def _stated(size: syntax.Expr | None, otherwise: Affine) -> Affine:
    match size:
        case syntax.Name(id=name):
            return Affine.var(name)
        case syntax.Number(value=int(value)):
            return Affine.const(value)
        case syntax.Binary(operator="+" | "-" | "*" as operator):
            lhs, rhs = _stated(size.lhs, otherwise), _stated(size.rhs, otherwise)
            if operator != "*":
                return lhs + rhs if operator == "+" else lhs - rhs
            if lhs.is_constant or rhs.is_constant:
                return rhs * lhs.constant if lhs.is_constant else lhs * rhs.constant
            return otherwise
        case _:
            return otherwise
