"""Sums over one set that are added, as one sum, where their terms share something expensive.

    sum{j} (a[j] * x[j] / r[i, j]) - c[i] * sum{j} (b[j] * x[j] / r[i, j])
    is  sum{j} ((a[j] - c[i] * b[j]) * x[j] / r[i, j])

so that a quotient or a root is computed once, and factors that terms have in common too. Forces between
points have such gradients: a pair counts for both of its points.
"""

from __future__ import annotations

from tadc.frontend.program import Program
from tadc.frontend.terms import Apply, Reduce, Term, holds_reduction, reachable
from tadc.passes.rewrites.common_factors import CommonFactors
from tadc.passes.terms.algebra import Algebra
from tadc.passes.terms.costs import is_candidate
from tadc.passes.terms.products import ScaledProduct, product_of, without


def add_sums_of_one_set(program: Program) -> Program:
    """The program where added sums that share something expensive are one."""
    adding, holds = _Adding(Algebra(program.terms)), dict[int, bool]()
    return program.with_bodies(
        adding.rewritten(d.body) if holds_reduction(d.body, holds) else d.body for d in program.definitions
    )


class _Adding(CommonFactors):
    """Two sums have their set in common, if they share something expensive."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.common = CommonFactors(self.algebra)

    def node(self, node: Term, below: list[Term]) -> Term:
        """A term with fewer sums, over operands that are done."""
        if isinstance(node, Apply) and node.function in ("add", "sub"):
            x, y = below
            y = self.algebra.neg(y) if node.function == "sub" else y
            found = self.together("add", x, y) or self.regrouped(x, y)
            if found is not None and found.type == node.type:
                return found
        return self.rebuilt(node, below)

    def together(self, function: str, x: Term, y: Term) -> Term | None:
        """`x + y` as one sum over the set of both; None where they have none in common."""
        a, b = _factors_and_sum(x), _factors_and_sum(y)
        if a is None or b is None:
            return None
        (outer, first), (other_outer, other) = a, b
        if len(first.binders) != len(other.binders) or first.type != other.type:
            return None
        binders, domain, body = self.terms.open(first)
        _, rows, second = self.terms.open(other, binders)
        if set(rows) != set(domain):
            return None
        dear = {term.number for term in reachable([body]) if is_candidate(term)}
        if not any(term.number in dear for term in reachable([second])):
            return None
        one, two = (p.term(self.algebra, t) for p, t in ((outer, body), (other_outer, second)))
        whole = self.joined(self.common.rewritten(one), self.common.rewritten(two))
        return self.terms.reduce_like(first, binders, domain, whole)

    def joined(self, x: Term, y: Term) -> Term:
        """`x + y`, what they have in common outside; of a difference x what its second part has."""
        if isinstance(x, Apply) and x.function == "sub":
            found = self.common.together("sub", x.operands[1], y)
            if found is not None:
                return self.algebra.sub(x.operands[0], found)
        return self.common.combined("add", x, y)


def _factors_and_sum(term: Term) -> tuple[ScaledProduct, Reduce] | None:
    """The factors of a product of one sum, and that sum; None of another term, or one that is divided."""
    product = product_of(term)
    places = [n for n, factor in enumerate(product.over) if isinstance(factor, Reduce)]
    if len(places) != 1 or product.under:
        return None
    found = product.over[places[0]]
    assert isinstance(found, Reduce)
    if found.kind != "sum":
        return None
    return ScaledProduct(product.scale, without(product.over, places[0]), ()), found
