"""Quotients of terms, where common factors cancel, and what is cheap to compute again."""

from __future__ import annotations

from collections.abc import Sequence

from tadc.toolkit.language import (
    Apply,
    Const,
    Constraint,
    Guard,
    Read,
    Term,
    implied,
    integer_exponent,
    reachable,
)
from tadc.toolkit.transforms import Algebra, is_const

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
    (number, factors), (divisor, left) = _factors(above), _factors(below)
    for factor in left:
        if factor not in factors:
            return None
        factors.remove(factor)
    if not divisor:
        return None
    found: Term = algebra.const(number / divisor)
    for factor in factors:
        found = algebra.mul(found, factor)
    return found


def _factors(term: Term) -> tuple[int | float, list[Term]]:
    """The literals of a product, multiplied, and its other factors."""
    number: int | float = 1
    found: list[Term] = []
    stack = [term]
    while stack:
        part = stack.pop()
        match part:
            case Const():
                number *= part.value
            case Apply(function="mul"):
                stack += reversed(part.operands)
            case Apply(function="neg"):
                number = -number
                stack += part.operands
            case _:
                found.append(part)
    return number, found


def given(algebra: Algebra, term: Term, known: Sequence[Constraint]) -> Term:
    """The term where the rows hold: without the guard that they imply."""
    if isinstance(term, Guard) and all(_holds(row, known) for row in term.conditions):
        return given(algebra, term.then, known)
    return term


def _holds(row: Constraint, known: Sequence[Constraint]) -> bool:
    return all(implied(form, known) for form in row.inequalities)
