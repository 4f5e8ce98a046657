"""Choices at single points: of `select(x = 0, 1, sin(x) / x)` the first branch is the limit of the second.

Its derivatives are those of the second then, by the first terms of its series in t = x. Where the first
branch is another value than the limit, or no series is known, derivatives are those of the branch that is
taken; so they are where that has some. A first branch that is 0 is one of two choices that a derivative was
split into, of which the other one has the terms; and one that has terms of its own was continued before.
"""

from __future__ import annotations

from tadc.frontend.terms import Select, Term
from tadc.passes.derivatives.coefficients import are_near, number
from tadc.passes.derivatives.series import Apart, Expansion, Series
from tadc.passes.derivatives.slope_ends import ORDERS
from tadc.passes.terms.algebra import Algebra, is_const


def continued(a: Algebra, node: Select, is_bent: bool) -> tuple[Term, Term]:
    """The branches of a choice that depends on what is differentiated by, for their derivatives.

    If what is compared `is_bent`, as a square root is, there are twice as many terms.
    """
    there = _at_a_point(a, node)
    if there is None:
        return node.then, node.otherwise
    point, beside = (node.then, node.otherwise) if there else (node.otherwise, node.then)
    last = 2 * ORDERS if is_bent else ORDERS
    point = next((p for q in (1, 2) if (p := _expanded(a, node, point, beside, q, last))), point)
    return (point, beside) if there else (beside, point)


def _at_a_point(a: Algebra, node: Select) -> bool | None:
    """Whether the first branch is taken where both sides are equal alone; False of the second, else None."""
    relation = node.relation
    if relation in ("=", "!="):
        return relation == "="
    apart = a.values.of(a.sub(node.lhs, node.rhs))
    if apart.low >= 0 and relation in ("<=", ">"):
        return relation == "<="
    if apart.high <= 0 and relation in (">=", "<"):
        return relation == ">="
    return None


def _expanded(a: Algebra, node: Select, point: Term, beside: Term, q: int, last: int) -> Term | None:
    """The first terms of the branch beside a point in the q-th root t of what is 0 there; None if it does not
    tend to the value at the point, or has other powers than those of t**q."""
    t = a.sub(node.lhs, node.rhs)
    signed = q == 1 and not a.values.of(t).is_nonnegative
    expansion = Expansion(a, q * (last + 1) + 4, signed)
    small = expansion.made(q, [a.one])
    there = expansion.counted(lambda: expansion.added(expansion.constant(node.rhs), small))
    expansion.known[node.lhs.number] = there
    expansion.known[t.number] = small
    found = expansion.of(beside)
    if (
        not isinstance(found, Series)
        or found.lead < 0
        or found.end <= q * last
        or beside.number in expansion.assumed
    ):
        return None
    start = expansion.constant(point).at(0)
    is_fixed = expansion.of(point) is Apart.FREE and not is_const(point, 0)
    if not is_fixed or not are_near(number(start), number(found.at(0))):
        return None
    total = point
    for k in range(1, q * last + 1):
        c = found.at(k) or a.zero
        if k % q and not is_const(c, 0):
            return None
        if not k % q:
            total = a.add(total, a.mul(c, a.power(t, k // q)))
    return total
