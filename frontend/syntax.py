"""The syntax tree: what the parser reads, names not yet resolved.

    program   = statement*
    statement = Declare | SizeDecl | Define
    expr      = Number | Pi | Name | Subscript | Unary | Binary | Call | Reduce | If | Select

Every node carries the span of its source text. Index expressions are ordinary
expressions here; the checker turns them into affine forms.
"""

from __future__ import annotations

from tadc.frontend.diagnostics import Diagnostic
from tadc.frontend.source import Span
from tadc.lattice.late_dataclasses import dataclass


@dataclass(frozen=True)
class Node:
    """Anything with a place."""

    span: Span


# -- expressions ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Number(Node):
    """An int or float literal."""

    value: int | float


@dataclass(frozen=True)
class Pi(Node):
    """`pi`."""


@dataclass(frozen=True)
class Name(Node):
    """A name alone: a scalar tensor, an index or a size."""

    id: str


@dataclass(frozen=True)
class Subscript(Node):
    """`x[i, 2*j]`; `name_span` covers `x`. Of a sparse tensor `A[at e]` is what it stores at e."""

    tensor: str
    name_span: Span
    indices: tuple[Expr, ...]
    stored: bool = False


@dataclass(frozen=True)
class Unary(Node):
    """`-e`."""

    operator: str
    operand: Expr


@dataclass(frozen=True)
class Binary(Node):
    """`e op e` with op one of `+ - * / % ** //`; `//` is legal in index expressions only."""

    operator: str
    lhs: Expr
    rhs: Expr


@dataclass(frozen=True)
class CallExpr(Node):
    """`fn(e, …)` or `fn e`; `name_span` covers the function's name."""

    function: str
    name_span: Span
    arguments: tuple[Expr, ...]


@dataclass(frozen=True)
class IndexSpec(Node):
    """An index that is bound, with its stated size if there is one: `k` or `k: 5`."""

    name: str
    size: Expr | None


@dataclass(frozen=True)
class RelationExpr(Node):
    """`e op e` with op one of `= != < <= > >=`."""

    operator: str
    lhs: Expr
    rhs: Expr


@dataclass(frozen=True)
class ReduceExpr(Node):
    """`sum{k}_lo^hi (e)`, `sum{k: c and c} (e)`.

    `lower` holds several forms for `max [..; ..]`, none if not given.
    """

    kind: str
    indices: tuple[IndexSpec, ...]
    lower: tuple[Expr, ...]
    upper: tuple[Expr, ...]
    body: Expr
    conditions: tuple[RelationExpr, ...] = ()


@dataclass(frozen=True)
class IfExpr(Node):
    """`if {c and c} then (e) else (e)`."""

    conditions: tuple[RelationExpr, ...]
    then: Expr
    otherwise: Expr


@dataclass(frozen=True)
class SelectExpr(Node):
    """`select(e op e, e, e)`."""

    condition: RelationExpr
    then: Expr
    otherwise: Expr


Expr = Number | Pi | Name | Subscript | Unary | Binary | CallExpr | ReduceExpr | IfExpr | SelectExpr

# -- statements ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Declare(Node):
    """`x: f32[3, N]`; shape () for a scalar. An argument, or an output defined later.

    An index array, `src: index[E] in N increasing`, states what its elements are below. A sparse tensor,
    `A: f64[N, M] at (row, col)`, states the index arrays that tell where its elements are; `C: at (row, col)`
    of an output has no type or shape besides.
    """

    name: str
    name_span: Span
    element_type: str
    type_span: Span
    shape: tuple[Expr, ...]
    below: Expr | None = None
    increasing: Span | None = None
    at: tuple[Name, ...] = ()


@dataclass(frozen=True)
class SizeDecl(Node):
    """`size M` or `size M = 4`."""

    name: str
    name_span: Span
    value: int | None


@dataclass(frozen=True)
class Define(Node):
    """`f[i, j] = e`, `let h[i] = e`, `let h[i]: f32 = e`, `f = e`; no element type where none is stated.

    A recurrence, `scan{t} h[t] = e`, has an order. `C[at e] = …` defines what a sparse tensor stores.
    """

    name: str
    name_span: Span
    indices: tuple[IndexSpec, ...]
    body: Expr
    is_let: bool
    element_type: str | None = None
    order: Expr | None = None
    stored: bool = False


Statement = Declare | SizeDecl | Define


@dataclass(frozen=True)
class Module(Node):
    """A whole source text: the statements that could be read, and what is wrong with the others.

    `unread` are the names in those others, which may say what a name means that no statement here introduces;
    `types` are the type parameters, each time one stands for a type. `mended` are statements with errors
    that were read on all the same: editors look at them, and nothing else does.
    """

    statements: tuple[Statement, ...]
    errors: tuple[Diagnostic, ...] = ()
    unread: frozenset[str] = frozenset()
    types: tuple[tuple[str, Span], ...] = ()
    mended: tuple[Statement, ...] = ()
