"""The derivative rules of reductions: the cotangent of an element from that of the result.

A rule takes the algebra `a`, the cotangent `g`, the result `y`, and of the element at hand its term `e` and
the indices `at` that stand for the binders of `y`. Ties of max and min split evenly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tadc.frontend.functions import REDUCTIONS, complete
from tadc.frontend.terms import Reduce, Term
from tadc.lattice.affine import Affine, equals_zero
from tadc.passes.derivatives.derivative_table import in_terms
from tadc.passes.terms.algebra import Algebra

Rule = Callable[[Algebra, Term, Reduce, Term, Sequence[str]], Term]


def _extremum(a: Algebra, g: Term, y: Reduce, e: Term, at: Sequence[str]) -> Term:
    """`g` over the number of elements that are the extremum, for each of them."""
    binders, domain, body = a.terms.open(y)
    ties = a.sum(binders, domain, a.select("=", body, y, a.one, a.zero), y.hints)
    a.nonzero.append(ties)
    each = a.div(g, ties)
    a.nonzero.pop()
    return a.select("=", e, y, each, a.zero)


def _prod(a: Algebra, g: Term, y: Reduce, e: Term, at: Sequence[str]) -> Term:
    """`g` times the product over the other points, exact where elements are 0."""
    binders, domain, body = a.terms.open(y)
    here = [equals_zero(Affine.var(b) - Affine.var(i)) for b, i in zip(binders, at, strict=True)]
    return a.mul(g, a.reduction("prod", binders, domain, a.guard(here, a.one, body), y.hints))


def _by_text(slope: str) -> Rule:
    return lambda a, g, y, e, at: a.mul(g, in_terms(a, slope, e, value=y))


RULES: Mapping[str, Rule] = {
    **{r.name: _by_text(r.slope) for r in REDUCTIONS.values() if r.slope is not None},
    "prod": _prod,
    "max": _extremum,
    "min": _extremum,
}
complete("a derivative", RULES, REDUCTIONS)
