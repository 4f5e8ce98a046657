"""Repeated divisions by one value as products with its reciprocal, which is computed once.

    x / s / s / (2 * s)         is  0.5 * x * (1 / s) * (1 / s) * (1 / s)
    x * s**2 / s**3 / s**3      is  x * (1 / s) * (1 / s) * (1 / s) * (1 / s)
    1 / (2 * s)                 is  0.5 * (1 / s)   where another quotient has become a product

as derivatives of quotients and roots have them, where there are sums. The last is exact. The factors stand
one by one: what is in range as a quotient is so as a product, while a power of the reciprocal might not be.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import reduce

from tadc.frontend.program import Program
from tadc.frontend.terms import (
    Apply,
    Const,
    Term,
    Terms,
    bottom_up,
    holds_reduction,
    integer_exponent,
    reachable,
)
from tadc.passes.terms.algebra import Algebra, is_product
from tadc.passes.terms.costs import COMPARED
from tadc.passes.terms.products import ScaledProduct, product_of


def with_reciprocals(program: Program) -> Program:
    """The program with one division for several by one value."""
    quotients = _Quotients(program.terms)
    made = program.with_bodies(quotients.rewritten(d.body) for d in program.definitions)
    if made is program:
        return program
    return made.with_bodies(quotients.with_literals(d.body) for d in made.definitions)


@dataclass
class _Quotients:
    """A walk over definitions, and one more for quotients of literals where the first has made a product."""

    terms: Terms
    known: dict[int, Term] = field(default_factory=dict[int, Term])
    scaled: dict[int, Term] = field(default_factory=dict[int, Term])
    holds: dict[int, bool] = field(default_factory=dict[int, bool])

    def __post_init__(self) -> None:
        self.algebra = Algebra(self.terms)

    def rewritten(self, body: Term) -> Term:
        """The body with fewer divisions; itself where no value is divided by twice in a product, or no sum
        repeats it."""
        if not holds_reduction(body, self.holds):
            return body
        quotients = [t for t in reachable([body]) if isinstance(t, Apply) and t.function == "div"]
        if not any(isinstance(t.operands[0], Apply) and is_product(t.operands[0]) for t in quotients):
            return body
        return bottom_up(body, self.known, self.node)

    def with_literals(self, body: Term) -> Term:
        """The body with literals over a value as products with its reciprocal, where that is exact."""
        return bottom_up(body, self.scaled, self.literal) if holds_reduction(body, self.holds) else body

    def node(self, node: Term, below: list[Term]) -> Term:
        """A quotient of a product that divides by the same value already, as a product."""
        made = self.terms.rebuild(node, below)
        if not isinstance(made, Apply) or made.function != "div":
            return made
        _, base, _ = self.powers(made.operands[1])
        if isinstance(base, Const) or not base.free:
            return made
        product = product_of(made)
        scale, count, rest = self.without(product, base)
        divided = sum(self.powers(t)[1] is base for t in product.under)
        known = any(self.is_reciprocal(t, base) for t in product.over)
        if not 0 < count <= COMPARED or (divided < 2 and not known):
            return made
        over = rest.term(self.algebra)
        reciprocal = self.reciprocal(base)
        whole = self.algebra.mul(
            self.algebra.const(scale), reduce(self.algebra.mul, [reciprocal] * count, over)
        )
        return whole if whole.type == made.type else made

    def literal(self, node: Term, below: list[Term]) -> Term:
        """`c / (k * s)` as `(c / k) * (1 / s)`, where that is exact."""
        made = self.terms.rebuild(node, below)
        match made:
            case Apply(function="div", operands=(Const(value=value), divisor)) if value:
                k, base, count = self.powers(divisor)
                if base.free and count == 1 and math.frexp(abs(value / k))[0] == math.frexp(abs(k))[0] == 0.5:
                    # The algebra would put the literal above the line again.
                    factors = self.algebra.const(value / k), self.reciprocal(base)
                    found = self.reciprocal(base) if value == k else self.terms.apply("mul", factors)
                    return found if found.type == made.type else made
            case _:
                pass
        return made

    def reciprocal(self, base: Term) -> Term:
        """`1 / base`."""
        return self.algebra.apply("div", self.algebra.one, base)

    def is_reciprocal(self, term: Term, base: Term) -> bool:
        """Whether a term is `1 / base`."""
        return term is self.reciprocal(base)

    def powers(self, term: Term) -> tuple[float, Term, int]:
        """`k`, the base and the exponent of `k * base**n`."""
        scale, rest = self.algebra.split(term)
        exponent = integer_exponent(rest)
        if isinstance(rest, Apply) and exponent is not None and exponent > 0:
            return scale, rest.operands[0], exponent
        return scale, rest, 1

    def without(self, product: ScaledProduct, base: Term) -> tuple[float, int, ScaledProduct]:
        """A product without a base: what its literals make, how often it is divided by, and all else."""
        count, scale = 0, 1.0
        over: list[Term] = []
        under: list[Term] = []
        for term in product.over:
            k, own, n = self.powers(term)
            if own is base and k == 1:
                count -= n
            elif self.is_reciprocal(term, base):
                count += 1
            else:
                over.append(term)
        for term in product.under:
            k, own, n = self.powers(term)
            if own is base:
                count += n
                scale /= k
            else:
                under.append(term)
        rest = ScaledProduct(product.scale, tuple(over), tuple(under))
        return scale, count, rest
