"""The factors of a cotangent that do not depend on the operands of a function."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import reduce

from tadc.frontend.terms import Term
from tadc.lattice.late_dataclasses import dataclass, replace
from tadc.passes.terms.algebra import Algebra, is_product, is_safe
from tadc.passes.terms.collect import addends
from tadc.passes.terms.products import LONGEST, ScaledProduct, in_both, product_of


@dataclass
class Parting:
    """`is_shared` tells what depends on the operands; what is `vanishing` is 0 by a `safe` that stays."""

    algebra: Algebra
    is_shared: Callable[[Term], bool]
    vanishing: Collection[int]

    def parted(self, g: Term) -> tuple[Term, Term]:
        """The factors that are not shared, and the rest."""
        if not self.is_shared(g):
            return g, self.algebra.one
        product = self._factors(g)
        alone, shared = product.split(lambda term: not self.is_shared(term))
        outer: Term = alone.term(self.algebra)
        over: list[Term] = []
        for factor in shared.over:
            common, rest = self._common(factor)
            outer = self.algebra.mul(outer, common)
            over.append(rest)
        return outer, ScaledProduct(product.scale, tuple(over), shared.under).term(self.algebra)

    def _factors(self, g: Term) -> ScaledProduct:
        """The factors of a product; of a long one the first and the rest."""
        product = without_masks(g, self.vanishing)
        if product.length > 1 or not is_product(g):
            return product
        return ScaledProduct(
            1, (self.algebra.head(g), self.algebra.over(g, "rest", lambda _: self.algebra.one)), ()
        )

    def _common(self, term: Term) -> tuple[Term, Term]:
        """The factors that all summands have and that are not shared, and the sum without them."""
        parts = addends(term, signs=True)
        if not 1 < len(parts) <= LONGEST:
            return self.algebra.one, term
        products = [(negative, without_masks(addend, self.vanishing)) for negative, addend in parts]
        first, *others = (product for _, product in products)
        common = [t for t in first.over if not self.is_shared(t)]
        for product in others:
            common = in_both(common, product.over)
        if not common:
            return self.algebra.one, term
        total: Term = self.algebra.zero
        for negative, product in products:
            part = product.without(common)
            part = replace(part, scale=-part.scale) if negative else part
            total = self.algebra.add(total, part.term(self.algebra))
        return reduce(self.algebra.mul, common), total


def without_masks(term: Term, vanishing: Collection[int]) -> ScaledProduct:
    """The factors of a product, those of `safe` among them, but for what vanishes."""
    product = product_of(term)
    if not any(is_safe(factor) for factor in product.over):
        return product
    scale, over, under = product.scale, list[Term](), list(product.under)
    for factor in product.over:
        parts = [ScaledProduct(1, (factor,), ())]
        if is_safe(factor) and factor.operands[0].number not in vanishing:
            parts = [without_masks(operand, vanishing) for operand in factor.operands]
        for part in parts:
            scale *= part.scale
            over += part.over
            under += part.under
    return ScaledProduct(scale, tuple(over), tuple(under))
