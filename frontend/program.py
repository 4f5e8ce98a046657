"""Typed programs: declared arguments and definitions, every range stated."""

from __future__ import annotations

from dataclasses import dataclass, field

from tadc.frontend.source import Place, Source, Span
from tadc.frontend.terms import ElementType, Term, Terms

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Argument:
    """A tensor that the caller passes; shape () is a scalar."""

    name: str
    type: ElementType
    shape: Shape
    span: Span | Place | None = None
    cotangent_of: str = ""  # the output whose cotangent this is


@dataclass(frozen=True)
class Definition:
    """A tensor defined element by element: `name[indices] = body`.

    `indices` are distinct names, one a dimension of `shape`; the indices that are free
    in `body` are among them. The body's value is converted to `type` when stored.
    """

    name: str
    type: ElementType
    shape: Shape
    indices: tuple[str, ...]
    body: Term
    is_output: bool = True
    span: Span | Place | None = None
    gradient_of: str = ""  # the argument whose gradient this is


@dataclass
class Program:
    """Arguments, then definitions in order; each reads arguments and what stands above."""

    arguments: tuple[Argument, ...]
    definitions: tuple[Definition, ...]
    terms: Terms = field(repr=False)
    source: Source | None = field(default=None, repr=False)

    @property
    def outputs(self) -> tuple[Definition, ...]:
        """The definitions that are results, in order."""
        return tuple(d for d in self.definitions if d.is_output)

    def shapes(self) -> dict[str, Shape]:
        """Shapes by tensor name."""
        return {t.name: t.shape for t in (*self.arguments, *self.definitions)}

    def types(self) -> dict[str, ElementType]:
        """Element types by tensor name."""
        return {t.name: t.type for t in (*self.arguments, *self.definitions)}
