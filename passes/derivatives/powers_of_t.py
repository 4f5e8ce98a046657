"""How often the small t of a slope is a factor of a product.

Exponents are whole numbers, or terms that t does not depend on: of `x**p * x**(p - 1)` with t = x they add up
to `2*p - 1`.
"""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from typing import NamedTuple

from tadc.frontend.terms import Apply, Const, Term, integer_exponent
from tadc.passes.derivatives.coefficients import fraction
from tadc.passes.derivatives.sharing import Sharing
from tadc.passes.derivatives.slope_ends import Slope, powers_of
from tadc.passes.terms.algebra import Algebra, is_const
from tadc.passes.terms.collect import addends
from tadc.passes.terms.products import product_of


class Powers(NamedTuple):
    """A product is `rest * t**exponent`, and of a term t to that power as well; `rest` is `bare` with so many
    of the unit of t as are `lent`, those of its numerators."""

    exponent: int
    rest: Term
    term: Term | None = None
    bare: Term | None = None
    lent: int = 0

    def written(self, a: Algebra, slope: Slope) -> tuple[Term, Term]:
        """Two factors that are the product, of which the second has the powers of t."""
        if self.bare is None or slope.unit is None:
            return self.rest, slope.write(self.exponent)
        left = self.lent - self.exponent - 1
        return self.bare, powers_of(a, (slope.u, self.exponent), (slope.unit, left))


def powers(a: Algebra, shares: Sharing, d: Term, slope: Slope) -> Powers:
    """The powers of t in `d * slope`, by factors that are such, and the other factors."""
    product = product_of(d)
    exponent, over, under = slope.exponent, list[Term](), list[Term]()
    further: list[Fraction | Term] = []
    lent, bare = 0, (list[Term](), list[Term]())
    for sign, kept, terms in ((1, over, (slope.factor, *product.over)), (-1, under, product.under)):
        for term in terms:
            base, n = (term, 1) if term.number in slope.nodes else _power(term)
            own, factor = slope.nodes.get(base.number, (0, None))
            if not own or (factor is not None and (shares(factor, slope.u) or not isinstance(n, int))):
                more, rest = _out_of_exponential(a, term, slope)
                exponent += sign * more
                kept.append(rest)
                bare[sign < 0].append(rest)
            elif isinstance(n, int):
                exponent += sign * n * own
                kept += [] if factor is None else [a.power(factor, n)]
                if factor is not None and factor is slope.unit:
                    lent += sign * n
                elif factor is not None:
                    bare[sign < 0].append(a.power(factor, n))
            elif isinstance(n, Term) and shares(n, slope.u):
                kept.append(term)
                bare[sign < 0].append(term)
            else:
                further.append(a.mul(a.const(sign * own), n) if isinstance(n, Term) else sign * own * n)
    rest = reduce(a.div, under, reduce(a.mul, over, a.const(product.scale)))
    number = sum((n for n in further if isinstance(n, Fraction)), Fraction(exponent))
    symbols = [n for n in further if isinstance(n, Term)]
    if symbols:
        return Powers(exponent, rest, _plus(a, reduce(a.add, symbols), number))
    if number.denominator > 1:
        return Powers(exponent, rest, a.const(float(number)))
    if len(over) + len(under) == sum(map(len, bare)):
        return Powers(int(number), rest)
    above, below = bare
    alone = reduce(a.div, below, reduce(a.mul, above, a.const(product.scale)))
    return Powers(int(number), rest, None, alone, lent)


def _power(term: Term) -> tuple[Term, int | Fraction | Term]:
    """A base and an exponent."""
    n = integer_exponent(term)
    if n is not None:
        return term.below[0], n
    match term:
        case Apply(function="sqrt", operands=(base,)):
            return base, Fraction(1, 2)
        case Apply(function="cbrt", operands=(base,)):
            return base, Fraction(1, 3)
        case Apply(function="pow", operands=(base, Const(value=value))):
            return base, fraction(float(value))
        case Apply(function="pow", operands=(base, n)):
            return base, n
        case _:
            return term, 1


def _plus(a: Algebra, n: Term, c: Fraction) -> Term:
    """`n + c`, with one literal behind it."""
    while True:
        match n:
            case Apply(function="sub", operands=(rest, Const(value=value))):
                n, c = rest, c - Fraction(value)
            case Apply(function="add", operands=(rest, Const(value=value))):
                n, c = rest, c + Fraction(value)
            case _:
                return a.sub(n, a.const(float(-c))) if c < 0 else a.add(n, a.const(float(c)))


def _out_of_exponential(a: Algebra, term: Term, slope: Slope) -> tuple[int, Term]:
    """exp(log(u) + r) is u * exp(r)."""
    if slope.q != 1 or not (isinstance(term, Apply) and term.function == "exp"):
        return 0, term
    count, total = 0, a.zero
    for negative, addend in addends(term.operands[0], signs=True):
        product = product_of(addend)
        match product.over:
            case (Apply(function="log", operands=(u,)),) if u is slope.u and isinstance(product.scale, int):
                count += 0 if product.under else -product.scale if negative else product.scale
                addend = addend if product.under else a.zero
            case _:
                pass
        total = a.sub(total, addend) if negative else a.add(total, addend)
    return (count, a.one if is_const(total, 0) else a.apply("exp", total)) if count else (0, term)
