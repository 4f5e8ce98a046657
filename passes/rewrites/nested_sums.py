"""Sums of sums as one sum over more indices.

    sum{c} (sum{p}_(max [0; 1 - i])^2 (x[c, i + p - 1] * w[c, p]))

is one sum over c and p: one loop nest, whose operands can be packed and whose lanes are free. The points
come in the same order. An index whose bounds depend on an index of the sum around it stays where it is, for
then the points are no box.
"""

from __future__ import annotations

from dataclasses import replace

from tadc.frontend.program import Program
from tadc.frontend.terms import Reduce, Term, Terms, bottom_up


def join_nested_sums(program: Program) -> Program:
    """The program where a sum of a sum alone is one."""
    terms = program.terms
    known: dict[int, Term] = {}

    def joined(term: Term, below: list[Term]) -> Term:
        made = terms.rebuild(term, below)
        return _joined(terms, made) if isinstance(made, Reduce) else made

    definitions = tuple(
        d if d.order is not None else replace(d, body=bottom_up(d.body, known, joined))
        for d in program.definitions
    )
    if all(new.body is old.body for new, old in zip(definitions, program.definitions, strict=True)):
        return program
    return replace(program, definitions=definitions)


def _joined(terms: Terms, outer: Reduce) -> Term:
    """A sum with the sum in it."""
    inner = outer.body
    if outer.kind != "sum" or not isinstance(inner, Reduce) or inner.kind != "sum":
        return outer
    if any(row.form.variables & set(outer.binders) for row in inner.domain):
        return outer
    return terms.reduce(
        (*outer.binders, *inner.binders),
        (*outer.domain, *inner.domain),
        inner.body,
        hints=(*outer.hints, *inner.hints),
        span=outer.span,
    )
