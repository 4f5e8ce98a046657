"""Types as parameters of a program: `x: T[N]`, where the arrays of a call say what T is.

A program has a meaning for each type in the place of T: its text with that type is read, checked and compiled
as any other is. A type parameter is one capital letter, with or without a digit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tadc.frontend import syntax
from tadc.frontend.diagnostics import CompileError, Diagnostic, Label
from tadc.frontend.dtypes import DEFAULT, may_have_parameters
from tadc.frontend.parser import read_statements
from tadc.frontend.source import Source, Span
from tadc.frontend.tree import walk
from tadc.lattice.late_dataclasses import dataclass, field


@dataclass(frozen=True)
class TypeParameters:
    """A program without a meaning until its type parameters are types.

    `places` are where each stands in the text; `tensors` have the parameters of tensors that state one;
    `sizes` are values of size symbols that were given with the text.
    """

    source: Source
    places: Mapping[str, tuple[Span, ...]]
    tensors: Mapping[str, str]
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def names(self) -> tuple[str, ...]:
        """The type parameters, in the order of the text."""
        return tuple(self.places)

    def at(self, types: Mapping[str, str] | None = None) -> Source:
        """The text with types in the place of parameters, `f64` where none is given."""
        text, types = self.source.text, types or {}
        spans = [(span, types.get(name, DEFAULT)) for name, found in self.places.items() for span in found]
        for span, type in sorted(spans, key=lambda s: -s[0].start):
            text = text[: span.start] + type + text[span.end :]
        return Source(text, self.source.name)

    def needs_types(self) -> CompileError:
        """The error for what cannot be done without types."""
        return CompileError([self._error(name, "needs a type") for name in self.names])

    def conflict(self, name: str, found: Iterable[tuple[str, str]]) -> Diagnostic:
        """The error for arrays of several types for one parameter, of tensors by name and their types."""
        (first, type), (second, other), *_ = found
        message = (
            f"`{first}` is {type} and `{second}` is {other}, and both are declared with the type `{name}`"
        )
        helps = ["convert one of them, or give one another type parameter in the program"]
        return Diagnostic("TAD0512", message, helps=helps)

    def _error(self, name: str, what: str) -> Diagnostic:
        return Diagnostic(
            "TAD0215",
            f"`{name}` {what}",
            Label(self.places[name][0], "a type parameter"),
            notes=["the kernel is compiled for each type"],
            helps=[f"give one: `--dtype {name}=f32`, in Python `f.at(dtype='f32')`"],
            source=self.source,
        )


def type_parameters(source: Source, sizes: Mapping[str, int] | None = None) -> TypeParameters | None:
    """The type parameters of a text, if it has some. Raises CompileError where one is a size too."""
    return of_tree(read_statements(source), source, sizes) if may_have_parameters(source.text) else None


def of_tree(
    tree: syntax.Module, source: Source, sizes: Mapping[str, int] | None = None
) -> TypeParameters | None:
    """The type parameters of what was read of a text."""
    places: dict[str, tuple[Span, ...]] = {}
    for name, span in tree.types:
        places[name] = (*places.get(name, ()), span)
    if not places:
        return None
    stated = [s for s in tree.statements if isinstance(s, syntax.Declare | syntax.Define)]
    tensors = {s.name: s.element_type for s in stated if s.element_type in places}
    names = {n.id: n.span for _, _, n in walk(tree) if isinstance(n, syntax.Name)}
    names |= {s.name: s.name_span for s in tree.statements}
    both = [(name, names[name]) for name in places if name in names]
    if both:
        raise CompileError([_not_both(source, name, places[name][0], other) for name, other in both])
    return TypeParameters(source, places, tensors, sizes or {})


def _not_both(source: Source, name: str, span: Span, other: Span) -> Diagnostic:
    return Diagnostic(
        "TAD0109",
        f"`{name}` stands for a type, and for a size or a tensor",
        Label(span, "no element type"),
        secondary=[Label(other, "here it is none")],
        helps=[f"take another letter for the type, or write it: `{DEFAULT}`"],
        source=source,
    )
