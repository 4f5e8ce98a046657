"""Reductions over few points that are numbers, point by point."""

from __future__ import annotations

import math
from itertools import product

from tadc.frontend.terms import Reduce, Term
from tadc.lattice.affine import Affine
from tadc.passes.terms.algebra import Algebra


def elements(algebra: Algebra, node: Reduce, most: int) -> list[Term] | None:
    """What a reduction over at most so many points joins, in order; None where these are more, or not known.

    Where conditions besides the bounds of its indices do not hold, an element is nothing.
    """
    ranges = [_range(binder, node) for binder in node.binders]
    if not 0 < math.prod(map(len, ranges)) <= most:
        return None
    found: list[Term] = []
    for point in product(*ranges):
        at = {binder: Affine.const(value) for binder, value in zip(node.binders, point, strict=True)}
        body, rows = algebra.terms.substitute(node.body, at), (row.substitute(at) for row in node.domain)
        found.append(algebra.guard(rows, body, algebra.neutral(node.kind)))
    return found


def _range(binder: str, node: Reduce) -> range:
    """The values of an index between bounds that are numbers; empty where there are none."""
    sides = [
        form for row in node.domain for form in row.inequalities if form.variables == frozenset({binder})
    ]
    lows = [-(form.constant // k) for form in sides if (k := form.coefficient(binder)) > 0 and form.is_linear]
    highs = [form.constant // -k for form in sides if (k := form.coefficient(binder)) < 0 and form.is_linear]
    return range(max(lows), min(highs) + 1) if lows and highs else range(0)
