"""Choices between a fast form of a term and the term as it is written, which is seldom needed."""

from __future__ import annotations

from tadc.frontend.terms import Const, Select, Term, Terms

LOGS = {"f32": 69.078125, "f64": 621.6875}
"""A sum of products of exponentials, each at most 1, is used from `exp(-LOGS)` on: what is lost in it by
exponentials that are nearly denormal is smaller by far."""
POWERS = {"f32": 17.328125, "f64": 36.734375}
"""Products of exponentials are used with one of up to `exp(POWERS)`: what the others lose stays denormal."""
_LIMITS = {*LOGS.values(), *POWERS.values()}
HUGE = {"f32": 1e30, "f64": 1e300}
"""What is larger may be infinite on the way; what is below its negative stands for no number at all."""


def with_fallback(terms: Terms, size: Term, limit: float, fast: Term, written: Term) -> Term:
    """A fast form where something is below a limit of these, elsewhere the term as it is written."""
    return terms.select("<", size, terms.const(limit), fast, written, written.span)


def unless_huge(terms: Terms, size: Term, fast: Term) -> Term:
    """What is below a limit of these where something is, and a fast form is neither huge nor NaN."""
    huge = terms.const(HUGE[fast.type or "f64"])
    return terms.apply("max", [size, terms.apply("sub", [terms.apply("abs", [fast]), huge])])


def is_fallback(term: Term) -> bool:
    """Whether a term is a choice whose other side is seldom needed."""
    if not isinstance(term, Select) or term.relation != "<" or not isinstance(term.rhs, Const):
        return False
    return term.rhs.value in _LIMITS
