"""Products as powers: a number times bases to exponents that are multiples of 1/2.

    m / (r * sqrt(r)) * (1 / sqrt(r))    is    m * r**-2

`equations.py` says which equations make it so. A product without quotients, roots and such powers is one
base, for what is shared in it stays so, but where a factor of it is one of the others.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import product

from tadc.frontend.terms import Apply, Const, Reduce, Term, integer_exponent
from tadc.lattice.late_dataclasses import dataclass, field
from tadc.passes.terms.algebra import Algebra
from tadc.passes.terms.costs import LONGEST
from tadc.passes.terms.equations import BY_FUNCTION, ONE, PAIRS, is_whole, joins
from tadc.passes.terms.products import product_of
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
    """The products of one table of terms as powers; with `collects`, `1 / exp(x)` is `exp(-x)`, `x * x` is
    `x**2`, and logistic functions have their name; with `pairs`, two powers that are one are that."""

    algebra: Algebra
    collects: bool = False
    pairs: bool = False
    split: dict[int, bool] = field(default_factory=dict[int, bool])

    def is_product(self, term: Term) -> bool:
        """Whether a term is a product with a quotient, a root or a power that is none of factors, or with a
        factor twice."""
        return is_factored(term) and (holds_power(term, self.split) or self.repeats(term))

    def repeats(self, term: Term) -> bool:
        """Whether a factor of a product is another, too, or its base."""
        if not self.collects:
            return False
        over = [t.below[0] if integer_exponent(t) else t for t in product_of(term).over]
        return len(set(over)) < len(over)

    def of(self, term: Term) -> PowerProduct | None:
        """A product as powers; None of one that is too long, or has a number that no type holds."""
        if self.collects:
            whole = self.product(term, opens=True)
            if whole is None or self.has_joined:
                return whole
        return self.product(term, opens=False)

    def product(self, term: Term, opens: bool) -> PowerProduct | None:
        """A product as powers, with the factors of every product in it if it `opens` them."""
        self.free, self.opens, self.has_joined = term.free, opens, False
        scale, found = ONE, list[tuple[Term, Fraction]]()
        stack = [(term, ONE)]
        while stack:
            node, a = stack.pop()
            if isinstance(node, Const):
                number = _number(node, a)
                if number is None:
                    return None
                scale *= number
                self.has_joined |= a < 0
                continue
            parts = list(self.parts(node, a))
            if parts:
                stack += reversed(parts)
            elif a:
                self.join(found, node, a)
                self.pair(found)
            if len(found) + len(stack) > LONGEST:
                return None
        for base, a in tuple(found):
            if parts := list(self.parts(base, a)):
                found.remove((base, a))
                for part in parts:
                    self.join(found, *part)
        if not 2**-GREATEST < abs(scale) < 2**GREATEST or any(abs(a) > GREATEST for _, a in found):
            return None
        return PowerProduct(scale, tuple(found))

    def parts(self, node: Term, a: Fraction) -> Iterator[tuple[Term, Fraction]]:
        """What a factor with an exponent is made of; nothing of one that is a base."""
        if not isinstance(node, Apply) or node.function not in BY_FUNCTION:
            return
        if node.function in _EXPONENTIAL and not (self.collects and node.free >= self.free):
            return
        is_closed = not self.opens and not holds_power(node, self.split)
        if node.function == "mul" and is_closed and not self.is_row(node, a):
            return
        b = exponent(node) if node.function == "pow" else ONE
        if b is None:
            if not self.collects or isinstance(node.operands[1], Const):
                return
            b = ONE
        self.has_joined |= node.function == "pow" and is_factored(node.operands[0])
        for equation in BY_FUNCTION[node.function]:
            operands = equation.match(node)
            if operands and equation.holds(a, b, {name: self.values(t) for name, t in operands.items()}):
                yield from equation.factors(self.algebra, operands, a, b)
                return

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
                self.has_joined = True
                return
        found.append((base, a))

    def pair(self, found: list[tuple[Term, Fraction]]) -> None:
        """Make one power of two that are one."""
        for equation, (x, a), (y, b) in product(PAIRS, found, found) if self.pairs or self.collects else ():
            made = equation.match(self.algebra, x, y) if a * equation.times == b else None
            if made is not None:
                found[:] = [power for power in found if power not in ((x, a), (y, b))]
                self.join(found, made, a)
                self.has_joined = True
                return


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


_EXPONENTIAL = frozenset(("exp", "add", "sub"))
_FACTORED = frozenset(BY_FUNCTION) - {*_EXPONENTIAL, "pow"}


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
