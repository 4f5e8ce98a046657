"""Arithmetic with fewer operations, term by term, where no derivative follows.

    c * x + c * y                                    is  c * (x + y)
    c**2 * x + c * y                                 is  c * (c * x + y)
    c * x + (z + c * y)                              is  z + c * (x + y)
    x / d - y / d                                    is  (x - y) / d
    select(s < t, x, u) + select(s < t, y, v)        is  select(s < t, x + y, u + v)
    c * x + select(s < t, c * y, 0)                  is  c * (x + select(s < t, y, 0))
    safe(x, p) + safe(x, q)                          is  safe(x, p + q)
    safe(x, p) + safe(y, p)                          is  safe(x + y, p)
    x / 2**n                                         is  2**-n * x

The last two are exact. The others round less often; they differ where the common factor is infinite.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import product

from tadc.frontend.terms import Apply, Const, Select, Term, integer_exponent, operands
from tadc.passes.terms.algebra import is_const, is_safe
from tadc.passes.terms.costs import COMPARED, WEIGHTS
from tadc.passes.terms.products import (
    ScaledProduct,
    added,
    in_both,
    product_of,
    summands,
    without,
    without_terms,
)
from tadc.passes.terms.term_rewriter import TermRewriter


class CommonFactors(TermRewriter):
    """Terms with fewer operations."""

    def node(self, node: Term, below: list[Term]) -> Term:
        """A term with fewer operations, over operands that are done."""
        algebra = self.algebra
        match node:
            case Apply(function="div", operands=(_, Const(value=value))) if is_power_of_two(value):
                return algebra.mul(algebra.const(1 / value), below[0])
            case Apply(function="add" | "sub" as function):
                found = self.together(function, *below)
                if found is None and function == "add":
                    found = self.regrouped(*below)
                return found if found is not None and found.type == node.type else self.rebuilt(node, below)
            case _:
                return self.rebuilt(node, below)

    def rebuilt(self, node: Term, below: Sequence[Term]) -> Term:
        """The node over its new operands."""
        return self.terms.rebuild(node, below)

    def regrouped(self, x: Term, y: Term) -> Term | None:
        """The sum of two sums, where a summand of each have something in common."""
        xs, ys = summands(x), summands(y)
        if len(xs) + len(ys) == 2 or max(len(xs), len(ys)) > COMPARED:
            return None
        for n, m in product(range(len(xs)), range(len(ys))):
            found = self.together("add", xs[n], ys[m])
            if found is not None:
                rest = added(self.algebra, [*without(xs, n), *without(ys, m)])
                return self.combined("add", rest, found)
        return None

    def together(self, function: str, x: Term, y: Term) -> Term | None:
        """The sum or difference of two terms that have something in common; None where they have not."""
        if isinstance(x, Select) and isinstance(y, Select):
            if (x.relation, x.lhs, x.rhs) != (y.relation, y.lhs, y.rhs):
                return None
            then, otherwise = (
                self.combined(function, *pair) for pair in ((x.then, y.then), (x.otherwise, y.otherwise))
            )
            return self.algebra.select(x.relation, x.lhs, x.rhs, then, otherwise)
        if isinstance(x, Const) or isinstance(y, Const):
            return None
        if isinstance(x, Select) or isinstance(y, Select):
            return self.beside_choice(function, x, y)
        a, b = (product_of(term, reciprocals=True) for term in (x, y))
        found = self.one_safe(function, a, b)
        if found is not None:
            return found
        a, b = self.without_powers(a), self.without_powers(b)
        over, under = in_both(a.over, b.over), in_both(a.under, b.under)
        scale = a.scale if a.scale and abs(a.scale) == abs(b.scale) else 1
        common = ScaledProduct(scale if abs(scale) != 1 else 1, tuple(over), tuple(under))
        parts = [
            ScaledProduct(p.scale / common.scale, without_terms(p.over, over), without_terms(p.under, under))
            for p in (a, b)
        ]
        if _operations(common) + sum(map(_operations, parts)) + 1 >= _operations(a) + _operations(b):
            return None  # as in `x + x * y`: nothing is gained
        made = self.combined(function, *(self.with_powers(p) for p in parts))
        return self.with_powers(common, made)

    def beside_choice(self, function: str, x: Term, y: Term) -> Term | None:
        """The sum or difference of a product and a choice between 0 and a product with a factor of it."""
        choice = x if isinstance(x, Select) else y
        assert isinstance(choice, Select)
        if not is_const(choice.otherwise, 0):
            return None
        other, chosen = (product_of(t, reciprocals=True) for t in (y if choice is x else x, choice.then))
        over, under = in_both(other.over, chosen.over), in_both(other.under, chosen.under)
        if not over and not under:
            return None
        rest, part = (
            ScaledProduct(p.scale, without_terms(p.over, over), without_terms(p.under, under)).term(
                self.algebra
            )
            for p in (other, chosen)
        )
        part = self.algebra.select(choice.relation, choice.lhs, choice.rhs, part, self.algebra.zero)
        made = self.combined(function, *((part, rest) if choice is x else (rest, part)))
        return ScaledProduct(1, tuple(over), tuple(under)).term(self.algebra, made)

    def one_safe(self, function: str, a: ScaledProduct, b: ScaledProduct) -> Term | None:
        """The sum or difference of two safe products that have a side in common, up to their signs."""
        x, y = _safe_of(a), _safe_of(b)
        if x is None or y is None or abs(a.scale) != abs(b.scale):
            return None
        (p, q), (r, s) = x.operands, y.operands
        # -safe(p, q) - safe(r, q) is -safe(p + r, q).
        if a.scale != b.scale:
            function = "sub" if function == "add" else "add"
        if p is r:
            made = self.algebra.safe(p, self.combined(function, q, s))
        elif q is s:
            made = self.algebra.safe(self.combined(function, p, r), q)
        else:
            return None
        return ScaledProduct(a.scale, (made,), ()).term(self.algebra)

    def without_powers(self, product: ScaledProduct) -> ScaledProduct:
        """The product with low powers as several factors."""
        over: list[Term] = []
        for factor in product.over:
            n = integer_exponent(factor)
            base = operands(factor)[0] if n is not None and 1 < n <= COMPARED else factor
            over += [base] * (n or 1) if base is not factor else [factor]
        return ScaledProduct(product.scale, tuple(over), product.under)

    def with_powers(self, product: ScaledProduct, *more: Term) -> Term:
        """The product, further factors and all, with powers of equal factors."""
        counts = Counter(product.over)
        over = tuple(self.algebra.power(base, n) for base, n in counts.items())
        return ScaledProduct(product.scale, over, product.under).term(self.algebra, *more)

    def combined(self, function: str, x: Term, y: Term) -> Term:
        """The sum or difference, again with what is common outside."""
        found = self.together(function, x, y)
        if found is not None:
            return found
        return self.algebra.add(x, y) if function == "add" else self.algebra.sub(x, y)


def _safe_of(product: ScaledProduct) -> Apply | None:
    """The safe product that is all but the scale of a product."""
    (factor,) = product.over if len(product.over) == 1 else (None,)
    return factor if factor is not None and not product.under and is_safe(factor) else None


def is_power_of_two(value: float) -> bool:
    """Whether a number is 2**n with n so small that the reciprocal is exact in every type."""
    return 2.0**-64 <= value <= 2.0**64 and math.frexp(value)[0] == 0.5


def _operations(product: ScaledProduct) -> int:
    """The weight of a product of factors that are known."""
    counts = Counter(product.over)
    powers = sum(n.bit_length() + n.bit_count() - 2 for n in counts.values())
    factors = len(counts) + (abs(product.scale) != 1)
    return powers + max(factors - 1, 0) + WEIGHTS["div"] * len(product.under)
