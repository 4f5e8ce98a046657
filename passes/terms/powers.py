"""Products as powers: a number times bases to exponents that are multiples of 1/2.

    m / (r * sqrt(r)) * (1 / sqrt(r))    is    m * r**-2

`equations.py` says which equations make it so. A product without quotients, roots and such powers is one
base: what is shared in it stays so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from tadc.frontend.terms import Apply, Const, Reduce, Term
from tadc.lattice.late_dataclasses import dataclass, field
from tadc.passes.terms.algebra import Algebra
from tadc.passes.terms.costs import LONGEST
from tadc.passes.terms.equations import BY_FUNCTION, ONE, is_whole, joins
from tadc.passes.terms.value_intervals import ValueInterval

#: A greater exponent is a function, and no product; a literal up to this power of two is one of every type.
GREATEST = 64


@dataclass(frozen=True)
class PowerProduct:
    """`scale` times each base to its exponent, in the order in which they first stand."""

    scale: Fraction
    factors: tuple[tuple[Term, Fraction], ...]


@dataclass
class PowerForms:
    """The products of one table of terms as powers; with `exponentials`, `1 / exp(x)` is `exp(-x)`."""

    algebra: Algebra
    exponentials: bool = False
    split: dict[int, bool] = field(default_factory=dict[int, bool])

    def is_product(self, term: Term) -> bool:
        """Whether a term is a product with a quotient, a root or a power that is none of factors."""
        return is_factored(term) and holds_power(term, self.split)

    def of(self, term: Term) -> PowerProduct | None:
        """A product as powers; None of one that is too long, or has a number that no type holds."""
        self.free = term.free
        scale, found = ONE, list[tuple[Term, Fraction]]()
        stack = [(term, ONE)]
        while stack:
            node, a = stack.pop()
            if isinstance(node, Const):
                number = _number(node, a)
                if number is None:
                    return None
                scale *= number
                continue
            parts = list(self.parts(node, a))
            if parts:
                stack += reversed(parts)
            elif a:
                self.join(found, node, a)
            if len(found) + len(stack) > LONGEST:
                return None
        if not 2**-GREATEST < abs(scale) < 2**GREATEST or any(abs(a) > GREATEST for _, a in found):
            return None
        return PowerProduct(scale, tuple(found))

    def parts(self, node: Term, a: Fraction) -> Iterator[tuple[Term, Fraction]]:
        """What a factor with an exponent is made of; nothing of one that is a base."""
        equation = BY_FUNCTION.get(node.function) if isinstance(node, Apply) else None
        if equation is None or not isinstance(node, Apply):
            return
        if node.function == "exp" and not (self.exponentials and node.free >= self.free):
            return
        if node.function == "mul" and not holds_power(node, self.split) and not self.is_row(node, a):
            return
        b = exponent(node) if node.function == "pow" else ONE
        if b is None:
            return
        values = dict(zip("xy", map(self.values, node.operands[: 1 if node.function == "pow" else 2])))
        if equation.holds(a, b, values):
            yield from equation.factors(self.algebra, node, a, b)

    def is_row(self, node: Apply, a: Fraction) -> bool:
        """Whether a divisor has factors over different indices, or a number."""
        x, y = node.operands
        return a != 1 and (isinstance(x, Const) or not (x.free <= y.free and y.free <= x.free))

    def values(self, term: Term) -> ValueInterval:
        """The values of a term."""
        return self.algebra.values.of(term)

    def join(self, found: list[tuple[Term, Fraction]], base: Term, a: Fraction) -> None:
        """Add a power to others, as one with that of the same base where it may be."""
        for place, (other, b) in enumerate(found):
            if other is base and joins(a, b, self.values(base)):
                if a + b:
                    found[place] = base, a + b
                else:
                    del found[place]
                return
        found.append((base, a))


def exponent(term: Apply) -> Fraction | None:
    """The exponent of a power, a multiple of 1/2."""
    b = term.operands[1]
    if term.function != "pow" or not isinstance(b, Const) or not math.isfinite(b.value):
        return None
    twice = b.value * 2
    return Fraction(int(twice), 2) if twice == int(twice) and abs(b.value) <= GREATEST else None


def _number(node: Const, a: Fraction) -> Fraction | None:
    """A literal to a power."""
    value = node.value
    if not math.isfinite(value) or not value:
        return None
    if is_whole(a):
        return Fraction(value) ** int(a)
    return Fraction(math.pow(value, float(a))) if value > 0 else None


def is_factored(term: Term) -> bool:
    """Whether a term is one that equations take apart, other than an exponential."""
    if not isinstance(term, Apply):
        return False
    return exponent(term) is not None if term.function == "pow" else term.function in _FACTORED


_FACTORED = frozenset(BY_FUNCTION) - {"exp", "pow"}


def holds_power(term: Term, known: dict[int, bool]) -> bool:
    """Whether a product has a factor that is a quotient, a root or a power which is one of these."""
    number = term.number
    if number not in known:
        known[number] = _holds_power(term, known)
    return known[number]


def _holds_power(term: Term, known: dict[int, bool]) -> bool:
    match term:
        case Apply(function="sqrt"):
            return True
        case Apply(function="div", operands=(x, y)):
            # A mean of integers is an integer.
            return not (isinstance(y, Const) and (x.type is None or isinstance(x, Reduce)))
        case Apply(function="pow", operands=(x, _)):
            b = exponent(term)
            return b is not None and (b < 0 or not is_whole(b) or (is_factored(x) and holds_power(x, known)))
        case Apply(function="mul" | "neg"):
            return any(is_factored(t) and holds_power(t, known) for t in term.operands)
        case _:
            return False
