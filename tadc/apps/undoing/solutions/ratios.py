"""Quotients of terms, where common factors cancel, and what is cheap to compute again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import cast

from tadc.toolkit.language import (
    Apply,
    Const,
    Constraint,
    Guard,
    Read,
    Term,
    hold,
    integer_exponent,
    reachable,
)
from tadc.toolkit.transforms import Algebra, is_const, product_of

#: A term of at most so many parts is cheap.
_PARTS = 16

_CHEAP = frozenset({"add", "sub", "mul", "neg", "abs", "max", "min", "div"})


def is_light(term: Term) -> bool:
    """Whether a term takes no longer to compute than to read."""
    parts = list(reachable([term]))
    return len(parts) <= _PARTS and all(_is_cheap(part) for part in parts)


def _is_cheap(term: Term) -> bool:
    if isinstance(term, Apply):
        return term.function in _CHEAP or integer_exponent(term) == 2
    return isinstance(term, Read | Const | Guard)


def ratio(algebra: Algebra, above: Term, below: Term) -> Term | None:
    """`above / below` without a division by a value: None where factors of `below` are left over.

    It is a number also where common factors are 0; whoever divides sees to that.
    """
    if isinstance(above, Guard) and is_const(above.otherwise, 0):
        inner = ratio(algebra, above.then, below)
        return inner and algebra.guard(above.conditions, inner, algebra.zero)
    over, by = product_of(above), product_of(below)
    factors = list(over.over)
    for factor in by.over:
        if factor not in factors:
            return None
        factors.remove(factor)
    if over.under != by.under or not by.scale:
        return None
    return reduce(algebra.mul, factors, cast("Term", algebra.const(over.scale / by.scale)))


def given(algebra: Algebra, term: Term, known: Sequence[Constraint]) -> Term:
    """The term where the rows hold: without the guard that they imply."""
    if isinstance(term, Guard) and hold(term.conditions, known):
        return given(algebra, term.then, known)
    return term
