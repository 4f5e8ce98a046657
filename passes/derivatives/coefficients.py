"""Coefficients of series: numbers where they are literals, else terms."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import reduce

from tadc.frontend.limits import MAX_TERMS
from tadc.frontend.terms import Const, Term
from tadc.lattice.late_dataclasses import dataclass
from tadc.passes.terms.algebra import Algebra, choice_of, chooses_zero, is_const
from tadc.passes.terms.costs import NODES

MOST_OPERATIONS = NODES // 2
"""More operations on terms are not done for a series."""

MOST_TERMS = 10 * NODES
"""Nor are they where they have made more terms, for a product of two sums of choices is a sum over all pairs,
or where there is half of all that a program may have."""

#: A coefficient while it is computed with.
Number = float | Term


def number(term: Term | None) -> Number:
    """A term; of a literal its value, 0 for None."""
    return 0.0 if term is None else float(term.value) if isinstance(term, Const) else term


def are_near(x: Number, y: Number) -> bool:
    """Whether two are the same term, or numbers that differ by rounding."""
    if isinstance(x, Term) or isinstance(y, Term):
        return x is y
    return math.isclose(x, y, rel_tol=1e-9, abs_tol=1e-12)


def fraction(value: float) -> Fraction:
    """A small quotient where its float is this one, else the number itself."""
    if not math.isfinite(value):
        return Fraction(0)
    near = Fraction(value).limit_denominator(12)
    return near if float(near) == value else Fraction(value)


class TooManyOperations(Exception):
    """More operations than a series is worth."""


@dataclass
class Coefficients:
    """Arithmetic; `operations` counts those on terms, of which there were `before`."""

    algebra: Algebra
    operations: int = 0
    before: int = 0

    def start(self) -> None:
        """Count from here on."""
        self.operations, self.before = 0, self.algebra.terms.count

    def _count(self) -> None:
        self.operations += 1
        most = min(self.before + MOST_TERMS, MAX_TERMS // 2)
        if self.operations > MOST_OPERATIONS or self.algebra.terms.count > most:
            raise TooManyOperations

    def term(self, x: Number) -> Term:
        """As a term."""
        return x if isinstance(x, Term) else self.algebra.const(x)

    def plus(self, x: Number, y: Number) -> Number:
        """`x + y`."""
        if not isinstance(x, Term) and not isinstance(y, Term):
            return x + y
        chosen = self._both(x, y, self.plus)
        return number(self.algebra.add(self.term(x), self.term(y))) if chosen is None else chosen

    def times(self, x: Number, y: Number) -> Number:
        """`x * y`; of a term and its reciprocal a number."""
        if not isinstance(x, Term) and not isinstance(y, Term):
            return x * y
        if x == 0.0 or y == 0.0:
            return 0.0
        chosen = self._both(x, y, self.times)
        if chosen is not None:
            return chosen
        algebra = self.algebra
        if x is y:
            return algebra.power(self.term(x), 2)
        (a, left), (b, right) = algebra.split(self.term(x)), algebra.split(self.term(y))
        if algebra.div(algebra.one, left) is right or algebra.div(algebra.one, right) is left:
            return float(a * b)
        return number(algebra.mul(self.term(x), self.term(y)))

    def over(self, x: Number, y: Number) -> Number:
        """`x / y`; of two multiples of a term a number."""
        if not isinstance(y, Term):
            return self.times(1 / y, x) if isinstance(x, Term) else x / y
        if x == 0.0:
            return x
        (scale, above), (other, below) = self.algebra.split(self.term(x)), self.algebra.split(y)
        if above is below:
            return float(scale / other)
        self._count()
        return self.algebra.div(self.term(x), y)

    def _both(self, x: Number, y: Number, operation: Callable[[Number, Number], Number]) -> Number | None:
        """An operation on what stands in one branch of the same choice, of which the other is 0, in that."""
        self._count()
        if not (isinstance(x, Term) and isinstance(y, Term) and chooses_zero(x) and chooses_zero(y)):
            return None
        if choice_of(x) != choice_of(y):
            return None
        other = number(y.then if is_const(y.otherwise, 0) else y.otherwise)
        return number(self.algebra.inside(x, lambda inner: self.term(operation(number(inner), other))))

    def convolved(self, x: Sequence[Number], y: Sequence[Number], places: Iterable[int], k: int) -> Number:
        """The sum of x[j] * y[k - j] over the places j."""
        return reduce(self.plus, (self.times(x[j], y[k - j]) for j in places), 0.0)

    def power(self, x: Number, n: Fraction) -> Number | None:
        """`x**n` of a number, or of a term with halves or whole numbers as exponents; None where that is no
        finite number."""
        if not isinstance(x, Term) and (x > 0 or n.denominator == 1):
            try:
                return math.pow(x, n)
            except OverflowError:
                return None
        if n.denominator > 2:
            return None
        algebra = self.algebra
        root = self.term(x) if n.denominator == 1 else algebra.apply("sqrt", self.term(x))
        whole = algebra.power(root, abs(n.numerator))
        if n >= 0:
            return whole
        return algebra.apply("pinv", whole) if n.denominator > 1 else algebra.div(algebra.one, whole)
