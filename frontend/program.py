"""Typed programs: declared arguments and definitions, every range stated."""

from __future__ import annotations

import operator
from collections.abc import Container, Iterable, Mapping
from functools import cached_property
from typing import Any, Literal

from tadc.frontend.diagnostics import Diagnostic
from tadc.frontend.extents import Extent, Shape, as_form, size_sources, type_text
from tadc.frontend.source import Place, Source, Span
from tadc.frontend.terms import Domain, ElementType, Term, Terms, tensors_read
from tadc.lattice.affine import Affine, Constraint, Lookup, box
from tadc.lattice.fibre import Fibre
from tadc.lattice.late_dataclasses import dataclass, field, replace


def allowed(excluded: Iterable[Domain], extents: Container[Extent]) -> Domain:
    """What excluded sets say of the sizes in every call: that extents are not negative.

    The other sets are rational shadows: a call with sizes in one of them goes on where the exact look
    finds nothing wrong.
    """
    rows = (Constraint(-rows[0].form - 1) for rows in excluded if len(rows) == 1 and not rows[0].equality)
    return tuple(row for row in rows if row.form in extents)


Made = Literal[
    "ptr", "perm", "owner", "values", "taken", "whole", "rest", "start", "before", "until", "spread"
]
"""The kinds of index arrays that an inspector makes of others."""


@dataclass(frozen=True)
class Inspected:
    """How an index array follows from others, which the caller passes: an inspector makes it, once a call.

    Elements of an index array of several dimensions are numbered row by row. `of` names one array, or several
    of one shape whose elements are compared as tuples.

    - `ptr` of `src: index[E] in N` is `index[N + 1] in E + 1 increasing`: how many elements are less than v.
      Of two arrays in N and M it is `index[N, M + 1]`: how many pairs are less than (u, v).
    - `perm` is `index[E]`: the subscript `axis` of the q-th element, in order of value, then of place: a
      stable sort. So the places e with `src[e] = v` are `perm[q]` for `ptr[v] <= q < ptr[v + 1]`.
    - `owner` of `ptr: index[N + 1] in E + 1 increasing` is `index[E] in N + 1`: the n with
      `ptr[n] <= e < ptr[n + 1]`, or N where there is none. Of an array of more dimensions, whose elements do
      not fall row by row, it is the subscript `axis` of that.
    - `values` of some arrays is an index array of any shape: its element at `#0, #1, …` is `form`, an index
      form of these, of sizes and of lookups of the arrays. A lookup that is out of range counts as 0.
    - `taken` of (a, b) is `index[E]`: the elements of `a` in the order of `perm` of `b`.
    - `whole` of `ptr: index[N + 1] in E + 1 increasing` is `index[N + 1] in E // L + 1 increasing`: the parts
      of L elements, where L is the number `form`, of the ranges before one. Of a `ptr` of more dimensions it
      has their shape. Of two arrays `index[N] in E + 1`, where ranges begin and end, it is `index[N + 1]`:
      there are no parts after the first E // L.
    - `rest` of ptr, or of where ranges begin, and whole has the shape of whole: where what is left of a range
      after these parts begins; the last element is 0.
    - `start` of these is `index[E // L] in E - L + 1`: where the c-th of these parts begins; 0 where there
      are fewer.
    - `before` of (a, …, u, …), as many of one shape as of another, has the shape of `u`: how many of the
      tuples of elements of a, … are less than that of u, …; `until`: how many are at most that.
    - `spread` of (a, b), where `a: index[E] in N`, is `index[N] in E + 1`: numbers that look random, others
      for each `axis`, fewer different ones than elements of b have one value.
    """

    kind: Made
    of: tuple[str, ...]
    axis: int = 0
    form: Affine | None = None

    def at(self, sizes: Mapping[str, int]) -> Inspected:
        """The same where the sizes have these values."""
        if self.form is None:
            return self
        values = {name: Affine.const(size) for name, size in sizes.items()}
        return replace(self, form=self.form.substitute(values))


@dataclass(frozen=True)
class Pattern:
    """Where the elements of a sparse tensor of some shape stand: at the elements of index arrays `at`.

    These are of one shape, that of the first dimensions of what is stored: `A: f64[N, M, B] at (row, col)`
    with `row: index[E] in N` stores a tensor of shape (E, B), where `A[at e, b]` is a summand of
    `A[row[e], col[e], b]`. What is stored nowhere is 0.
    """

    at: tuple[str, ...]
    shape: Shape


@dataclass(frozen=True)
class Argument:
    """A tensor that the caller passes; shape () is a scalar.

    One of the type `i32` is an index array: its elements are at least 0 and less than `below`, and do not
    fall along its only dimension if it is `increasing`. What is `inspected` is not passed. The shape of a
    sparse tensor, one with a `pattern`, is that of the elements that it stores.
    """

    name: str
    type: ElementType
    shape: Shape
    span: Span | Place | None = None
    cotangent_of: str = ""  # the output whose cotangent this is
    tangent_of: str = ""  # the argument whose tangent this is
    below: Extent | None = None
    increasing: bool = False
    inspected: Inspected | None = None
    pattern: Pattern | None = None

    @property
    def declared_type(self) -> str:
        """The type as a declaration states it."""
        if self.pattern is not None:
            return _sparse_text(self.type, self.pattern)
        return type_text(self.type, self.shape, self.below, increasing=self.increasing)

    @property
    def is_index_array(self) -> bool:
        """Whether its elements are indices, by which there is no derivative."""
        return self.below is not None

    def lookup(self, at: Iterable[Affine]) -> Affine:
        """An element of an index array, as a form."""
        return Affine.atom(self.element(at))

    def element(self, at: Iterable[Affine]) -> Lookup:
        """An element of an index array."""
        assert self.below is not None
        return Lookup(self.name, tuple(at), as_form(self.below))

    def fibre(self, values: Iterable[Affine], place: Affine) -> Fibre:
        """That a place is from one element of an index array up to the next."""
        return Fibre.at(place, self.element(values))


@dataclass(frozen=True)
class Definition:
    """A tensor defined element by element: `name[indices] = body`.

    `indices` are distinct names, one a dimension of `shape`; the indices that are free
    in `body` are among them. The body's value is converted to `type` when stored.

    A definition with an `order`, a linear form of its indices, reads itself: each element reads those alone
    whose order is strictly less.
    """

    name: str
    type: ElementType
    shape: Shape
    indices: tuple[str, ...]
    body: Term
    is_output: bool = True
    span: Span | Place | None = None
    gradient_of: str = ""  # the argument whose gradient this is
    tangent_of: str = ""  # the output whose tangent this is
    order: Affine | None = None
    cotangent_of: str = ""  # the tensor in between whose cotangent this is
    pattern: Pattern | None = None  # of a sparse tensor, whose shape is that of what it stores

    @property
    def declared_type(self) -> str:
        """The type as a declaration states it."""
        return (
            type_text(self.type, self.shape)
            if self.pattern is None
            else _sparse_text(self.type, self.pattern)
        )

    @property
    def own(self) -> tuple[Affine, ...]:
        """The subscripts of the element that is defined."""
        return tuple(map(Affine.var, self.indices))

    def at(self, forms: Iterable[Affine]) -> dict[str, Affine]:
        """What the indices are for the element at these subscripts."""
        return dict(zip(self.indices, forms, strict=True))

    def with_body(self, body: Term) -> Definition:
        """The definition with another body; it itself where that is its own."""
        return self if body is self.body else replace(self, body=body)

    def between(self, name: str, **changes: Any) -> Definition:
        """A tensor like this one under a name of its own, which is no result."""
        hidden = replace(self, is_output=False, gradient_of="", tangent_of="")
        return replace(hidden, name=name, **changes)

    def in_order(self) -> Definition:
        """The definition, without an order if it does not read itself."""
        reads_itself = self.order is not None and self.name in tensors_read([self.body])
        return self if reads_itself or self.order is None else replace(self, order=None)


def _sparse_text(type: str, pattern: Pattern) -> str:
    at = ", ".join(pattern.at)
    return f"{type_text(type, pattern.shape)} at {f'({at})' if pattern.at[1:] else at}"


def called(definition: Definition) -> str:
    """What a definition is called in a message: its name, and what it is the derivative of."""
    kinds = {
        "gradient by": definition.gradient_of,
        "tangent of": definition.tangent_of,
        "cotangent of": definition.cotangent_of,
    }
    of = next((f", the {kind} `{name}`" for kind, name in kinds.items() if name), "")
    return f"`{definition.name}`{of}"


@dataclass
class Program:
    """Arguments, then definitions in order; each reads arguments and what stands above.

    `sizes` are the symbols in shapes and index forms whose values a call gives. `excluded` are
    sets of sizes for which the program has no meaning, since a read would leave its tensor or an
    extent be negative: a call with sizes in one of them is refused.
    """

    arguments: tuple[Argument, ...]
    definitions: tuple[Definition, ...]
    terms: Terms = field(repr=False)
    source: Source | None = field(default=None, repr=False)
    sizes: tuple[str, ...] = ()
    excluded: tuple[Domain, ...] = ()
    given: tuple[tuple[str, int], ...] = ()  # symbols of the source that were given values
    doubts: tuple[Diagnostic, ...] = field(default=(), repr=False, compare=False)  # warnings about its text
    name: str = field(default="", repr=False, compare=False)  # of its function, where passes have made it

    @property
    def symbol(self) -> str:
        """The name of the program's function: the one it was given, or that of its first output."""
        return self.name or next((d.name for d in self.outputs), "main")

    @property
    def outputs(self) -> tuple[Definition, ...]:
        """The definitions that are results, in order."""
        return tuple(d for d in self.definitions if d.is_output)

    def with_bodies(self, bodies: Iterable[Term]) -> Program:
        """The program with other bodies of its definitions, in order; it itself where none is new."""
        return self.with_definitions(d.with_body(b) for d, b in zip(self.definitions, bodies, strict=True))

    def with_definitions(self, definitions: Iterable[Definition]) -> Program:
        """The program with other definitions; it itself where these are its own."""
        made = tuple(definitions)
        if len(made) == len(self.definitions) and all(map(operator.is_, made, self.definitions)):
            return self
        return replace(self, definitions=made)

    def index_arrays(self) -> dict[str, Argument]:
        """The arguments that are index arrays, by name."""
        return {a.name: a for a in self.arguments if a.is_index_array}

    def passed(self) -> tuple[Argument, ...]:
        """The arguments that a caller passes."""
        return tuple(a for a in self.arguments if a.inspected is None)

    def differentiable(self) -> tuple[str, ...]:
        """The names of the arguments by which there are derivatives."""
        return tuple(a.name for a in self.arguments if not a.is_index_array)

    def sparse(self) -> frozenset[str]:
        """The names of the arguments and outputs that are sparse."""
        return frozenset(t.name for t in (*self.arguments, *self.outputs) if t.pattern is not None)

    def shapes(self) -> dict[str, Shape]:
        """Shapes by tensor name."""
        return {t.name: t.shape for t in (*self.arguments, *self.definitions)}

    def types(self) -> dict[str, ElementType]:
        """Element types by tensor name."""
        return {t.name: t.type for t in (*self.arguments, *self.definitions)}

    def size_facts(self) -> Domain:
        """What holds of the sizes in every call."""
        return self._size_facts

    @cached_property
    def _size_facts(self) -> Domain:
        extents = {size for t in (*self.arguments, *self.definitions) for size in t.shape}
        extents |= {a.below for a in self.arguments if a.below is not None}
        return tuple(Constraint(Affine.var(name)) for name in self.sizes) + allowed(self.excluded, extents)

    def facts(self, definition: Definition) -> Domain:
        """What holds where an element of a definition is computed."""
        return box(definition.indices, definition.shape) + self.size_facts()

    def unbound_sizes(self) -> tuple[str, ...]:
        """The sizes that no argument's shape tells, so that a call has to."""
        told = {source.symbol for source in size_sources([a.shape for a in self.arguments])}
        return tuple(name for name in self.sizes if name not in told)
