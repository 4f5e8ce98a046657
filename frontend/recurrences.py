"""Recurrences: definitions that read elements of themselves, computed in a stated order.

    scan{t} h[t: T, i: n] = if {t = 0} then (x[i]) else (h[t - 1, i] + dt * f[i])

The order is an integer-affine form of the definition's indices. Elements are computed as it increases; those
with equal values do not depend on each other (Lamport, The parallel execution of DO loops, 1974). What makes
the definition well-founded is proven here for each read of itself: that its order is strictly less.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import gcd

from tadc.frontend import syntax
from tadc.frontend.context import Context
from tadc.frontend.diagnostics import Diagnostic
from tadc.frontend.dtypes import DEFAULT
from tadc.frontend.out_of_range import index_set, point_text, spoken_names
from tadc.frontend.print_index import form_text
from tadc.frontend.proof import TooManyCases, violation
from tadc.frontend.report import error
from tadc.frontend.scope import Scope, ScopedTensor
from tadc.frontend.size_conditions import excluded_sizes
from tadc.frontend.source import Span
from tadc.frontend.terms import Domain, ElementType, join_types
from tadc.lattice.affine import Affine
from tadc.lattice.late_dataclasses import dataclass


@dataclass(frozen=True)
class Recurrence:
    """The order in which the elements of a tensor with these indices are computed."""

    name: str
    indices: tuple[str, ...]
    order: Affine
    span: Span

    def steps_back(self, forms: list[Affine]) -> Affine:
        """How much less the order is at the element that is read; it has to be 1 or more."""
        return self.order - self.order.substitute(dict(zip(self.indices, forms, strict=True)))


@dataclass(frozen=True)
class OwnRead:
    """A read of the tensor that is defined, where it stands."""

    recurrence: Recurrence
    forms: list[Affine]
    distance: Affine  # how many steps more than one it is back, at least 0 if it is computed before
    span: Span
    scope: Scope
    context: Context
    text: Callable[[Span], str]


def canonical_order(form: Affine, indices: tuple[str, ...]) -> Affine:
    """The form without what is the same for all elements and without a common factor: the same order."""
    factors = {name: form.coefficient(name) for name in indices if form.coefficient(name)}
    common = gcd(*factors.values())
    return Affine.of({name: k // common for name, k in factors.items()}, 0)


def check_earlier(read: OwnRead) -> list[Domain] | Diagnostic:
    """Prove that an element is computed before the one that reads it, else build the error.

    Where that depends on the sizes, the sets of sizes for which it is not.
    """
    distance, context = read.distance, read.context
    try:
        point = violation(distance, context)
        if point is None:
            return []
        sets = excluded_sizes(distance, context) if context.sizes else None
        if sets is not None:
            return sets
    except TooManyCases:
        return error(
            "TAD0312",
            f"cannot prove that `{read.recurrence.name}` is read at an earlier element",
            read.span,
            "the guards and bounds around it leave too many cases",
            notes=index_set(distance, context, read.scope),
            helps=["put the read under a guard of its own that states its range"],
        )
    return _not_earlier(read, distance, point)


def _not_earlier(read: OwnRead, distance: Affine, point: Mapping[str, int]) -> Diagnostic:
    recurrence = read.recurrence
    spoken = spoken_names(read.context, read.scope)
    order = recurrence.order.substitute(spoken)
    if not recurrence.order.terms:
        return error(
            "TAD0316",
            f"`{recurrence.name}` is read at an element that is not computed earlier",
            read.span,
            "no element is",
            secondary=[(recurrence.span, "this order is the same for all elements")],
            helps=["a recurrence needs an index that it goes along: `scan{t} h[t] = …`"],
        )
    back = distance + 1
    there = form_text((recurrence.order - back).substitute(spoken))
    shown = point_text(distance, read.context, read.scope, dict(point))
    notes = [f"not earlier at `{shown}`"] if shown else []
    helps = ["read an element for which the order is less, or state another order"]
    if back.is_constant and back.constant < 0:
        helps = [f"to compute elements the other way round, write `scan{{{form_text(-order)}}}`"]
    return error(
        "TAD0316",
        f"`{recurrence.name}` is read at an element that is not computed earlier",
        read.span,
        f"the order is `{there}` there",
        secondary=[(recurrence.span, f"elements are computed as `{form_text(order)}` increases")],
        notes=notes,
        helps=helps,
    )


def not_affine(form: Affine, span: Span) -> Diagnostic:
    """Build the error for an order with a floor in it, or an element of an index array."""
    label = "an element of an index array" if form.has_lookups else "a floor division or a remainder"
    return error(
        "TAD0317",
        "the order of a recurrence is not affine",
        span,
        label,
        helps=["the order is a sum of integer multiples of indices: `scan{t}`, `scan{-t}`, `scan{i + j}`"],
    )


def type_without(name: str, body: syntax.Expr, types: Mapping[str, ElementType]) -> ElementType:
    """The type of a body that says nothing by reading the tensor `name` that it defines."""
    found: list[ElementType | None] = []
    pending: list[syntax.Expr] = [body]
    while pending:
        expr = pending.pop()
        match expr:
            case syntax.Name(id=tensor) | syntax.Subscript(tensor=tensor):
                found.append(types.get(tensor) if tensor != name else None)
            case syntax.Unary():
                pending.append(expr.operand)
            case syntax.Binary():
                pending += (expr.lhs, expr.rhs)
            case syntax.CallExpr():
                pending += expr.arguments
            case syntax.ReduceExpr():
                pending.append(expr.body)
            case syntax.IfExpr() | syntax.SelectExpr():
                pending += (expr.then, expr.otherwise)
            case _:
                pass
    return join_types(found) or DEFAULT


def types_of(known: Mapping[str, object]) -> dict[str, ElementType]:
    """The element types of tensors of numbers among what names mean."""
    return {
        name: found.type
        for name, found in known.items()
        if isinstance(found, ScopedTensor) and found.below is None
    }
