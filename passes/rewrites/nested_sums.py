"""Nested sums become one sum over more indices, as do other nested reductions of one kind.

    sum{c} (sum{p}_(max [0; 1 - i])^2 (x[c, i + p - 1] * w[c, p]))

becomes one sum over c and p: one loop nest, whose operands can be packed and whose lanes are free. The order
of the points stays. An index whose bounds depend on an index of the outer sum stays nested, since the points
would not be a box. A factor that is 0 unless conditions hold bounds the sum:

    sum{p: 3} (w[p] * if {i + p >= 1} then (x[i + p - 1]) else (0))

gets `p >= 1 - i` in its domain, and no step tests it. Conditions of the whole summand do the same.

Nested maxima are joined if no derivative follows, because ties in nested maxima share the derivative first
within rows. Nested products are not joined: the joint product may overflow where they do not.
"""

from __future__ import annotations

from tadc.frontend.program import Program
from tadc.frontend.terms import Apply, Domain, Guard, Reduce, Term, Terms, bottom_up
from tadc.passes.terms.algebra import is_const

_JOINED = ("sum", "max", "min", "logsumexp")


def join_nested_sums(program: Program) -> Program:
    """The program where a reduction of one of its kind alone is one."""
    terms = program.terms
    known: dict[int, Term] = {}

    def joined(term: Term, below: list[Term]) -> Term:
        made = terms.rebuild(term, below)
        if isinstance(made, Reduce):
            made = _bounded(terms, made)
        return _joined(terms, made) if isinstance(made, Reduce) else made

    return program.with_bodies(
        bottom_up(d.body, known, joined) if d.order is None else d.body for d in program.definitions
    )


def _bounded(terms: Terms, node: Reduce) -> Term:
    """A sum over the points where what is multiplied is not a literal 0."""
    if node.kind != "sum":
        return node
    rows, body = _under(terms, node.body)
    if not rows:
        return node
    own = set(node.binders)
    if not all(row.form.is_linear and not row.equality and row.form.variables & own for row in rows):
        return node
    return terms.reduce_like(node, node.binders, (*node.domain, *rows), body)


def _under(terms: Terms, term: Term) -> tuple[Domain, Term]:
    """Conditions without which a term is 0 by literals, and the term where they hold."""
    match term:
        case Apply(function="mul", operands=(left, right)):
            (rows, first), (more, second) = _under(terms, left), _under(terms, right)
            return (*rows, *more), terms.apply("mul", [first, second], term.span) if rows or more else term
        case Apply(function="add" | "sub" as function, operands=(left, right)):
            (rows, first), (more, second) = _under(terms, left), _under(terms, right)
            both = tuple(row for row in rows if row in more)
            if not both:
                return (), term
            parts = [_besides(terms, both, *part) for part in ((rows, first), (more, second))]
            return both, terms.apply(function, parts, term.span)
        case Guard(conditions=conditions, then=then, otherwise=otherwise) if is_const(otherwise, 0):
            rows, inside = _under(terms, then)
            return (*conditions, *rows), inside
        case _:
            return (), term


def _besides(terms: Terms, known: Domain, rows: Domain, term: Term) -> Term:
    left = [row for row in rows if row not in known]
    return terms.guard(left, term, terms.const(0)) if left else term


def _joined(terms: Terms, outer: Reduce) -> Term:
    """A reduction with the one in it."""
    inner = outer.body
    if outer.kind not in _JOINED or not isinstance(inner, Reduce) or inner.kind != outer.kind:
        return outer
    if any(row.form.variables & set(outer.binders) for row in inner.domain):
        return outer
    binders, domain = (*outer.binders, *inner.binders), (*outer.domain, *inner.domain)
    return terms.reduce_like(outer, binders, domain, inner.body, (*outer.hints, *inner.hints))
