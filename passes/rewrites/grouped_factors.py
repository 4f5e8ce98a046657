"""Products whose factors over the same indices stand together.

    f[i, j] = a[i] * x[j] * b[i] * y[i, j]   is   f[i, j] = (a[i] * b[i]) * x[j] * y[i, j]

where no derivative follows. What stands together is computed once for all elements that share it: in a tensor
of its own, where one of `stored_values` pays, and outside of the loops that it does not depend on.
"""

from __future__ import annotations

from functools import reduce

from tadc.frontend.program import Program
from tadc.frontend.terms import Const, Guard, Select, Term, holds_reduction
from tadc.passes.terms.algebra import Algebra, is_product
from tadc.passes.terms.products import product_of
from tadc.passes.terms.term_rewriter import TermRewriter


def group_factors(program: Program) -> Program:
    """The program with the factors of its products in groups.

    Without sums it stays as it is: a value has the same bits alone and beside its tangent.
    """
    known: dict[int, bool] = {}
    if not any(holds_reduction(d.body, known) for d in program.definitions):
        return program
    groups = _Groups(Algebra(program.terms))
    return program.with_bodies(groups.rewritten(d.body) for d in program.definitions)


class _Groups(TermRewriter):
    """Puts the factors of products in groups."""

    def node(self, node: Term, below: list[Term]) -> Term:
        """A term over operands that are done; of a product factors over fewer indices first, its number last,
        so that what stands together is equal in others."""
        made = self.terms.rebuild(node, below)
        if not is_product(made):
            return made
        product = product_of(made, reciprocals=True)
        every = (*product.over, *product.under)
        if len(product.over) < 3 or isinstance(product.scale, float):
            return made
        if any(isinstance(t, Guard | Select | Const) or t.type not in (None, made.type) for t in every):
            return made
        groups: dict[frozenset[str], list[Term]] = {}
        for factor in product.over:
            groups.setdefault(frozenset(factor.free), []).append(factor)
        if not 1 < len(groups) < len(product.over):
            return made
        parts = [self.times(groups[key]) for key in sorted(groups, key=len)]
        parts[-1] = self.algebra.mul(self.algebra.const(product.scale), parts[-1])
        return reduce(self.algebra.div, product.under, self.times(parts))

    def times(self, factors: list[Term]) -> Term:
        """The product of factors, in their order."""
        return reduce(lambda x, y: self.algebra.apply("mul", x, y), factors)
