"""Arithmetic with fewer operations, term by term, where no derivative follows.

    c * x + c * y                                    is  c * (x + y)
    x / d - y / d                                    is  (x - y) / d
    select(t != 0, x, 0) + select(t != 0, y, 0)      is  select(t != 0, x + y, 0)
    x / 2**n                                         is  2**-n * x

The last two are exact. The others round less often; they differ where the common factor is infinite.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from tadc.frontend.terms import Apply, Const, Select, Term, Terms, bottom_up
from tadc.passes.algebra import Algebra, is_const
from tadc.passes.products import Product, product_of


@dataclass
class CommonFactors:
    """Rewrites terms of one table, each once."""

    terms: Terms
    known: dict[int, Term] = field(default_factory=dict[int, Term])

    def __post_init__(self) -> None:
        self.algebra = Algebra(self.terms)

    def rewritten(self, root: Term) -> Term:
        """The term with fewer operations."""
        return bottom_up(root, self.known, self.node)

    def node(self, node: Term, below: list[Term]) -> Term:
        """The same for a term over operands that are done."""
        algebra = self.algebra
        match node:
            case Apply(function="div", operands=(_, Const(value=value))) if is_power_of_two(value):
                return algebra.mul(algebra.const(1 / value), below[0])
            case Apply(function="add" | "sub" as function):
                found = self.together(function, *below)
                return found if found is not None and found.type == node.type else self.rebuilt(node, below)
            case _:
                return self.rebuilt(node, below)

    def rebuilt(self, node: Term, below: Sequence[Term]) -> Term:
        """The node over its new operands."""
        return self.terms.rebuild(node, below)

    def together(self, function: str, x: Term, y: Term) -> Term | None:
        """The sum or difference of two terms that have something in common; None where they have not."""
        if isinstance(x, Select) and isinstance(y, Select):
            same = (x.relation, x.lhs, x.rhs) == (y.relation, y.lhs, y.rhs)
            if same and is_const(x.otherwise, 0) and is_const(y.otherwise, 0):
                return self.algebra.branch(x, self.combined(function, x.then, y.then))
            return None
        a, b = product_of(x), product_of(y)
        over, under = _common(a.over, b.over), _common(a.under, b.under)
        scale = a.scale if abs(a.scale) == abs(b.scale) else 1
        if not over and not under and abs(scale) == 1:
            return None
        if not under and abs(scale) == 1 and len(over) in (len(a.over), len(b.over)):
            return None  # `x + x * y`: nothing is gained
        parts = [
            Product(
                p.scale / scale if abs(scale) != 1 else p.scale, _rest(p.over, over), _rest(p.under, under)
            )
            for p in (a, b)
        ]
        made = self.combined(function, *(p.term(self.algebra) for p in parts))
        return Product(scale if abs(scale) != 1 else 1, tuple(over), tuple(under)).term(self.algebra, made)

    def combined(self, function: str, x: Term, y: Term) -> Term:
        """The sum or difference, again with what is common outside."""
        found = self.together(function, x, y)
        if found is not None:
            return found
        return self.algebra.add(x, y) if function == "add" else self.algebra.sub(x, y)


def is_power_of_two(value: float) -> bool:
    """Whether a number is 2**n with n so small that the reciprocal is exact in every type."""
    return 2.0**-64 <= value <= 2.0**64 and math.frexp(value)[0] == 0.5


def _common(xs: Sequence[Term], ys: Sequence[Term]) -> list[Term]:
    """What two products have both, as often as both have it."""
    left = list(ys)
    found: list[Term] = []
    for x in xs:
        if x in left:
            left.remove(x)
            found.append(x)
    return found


def _rest(xs: Sequence[Term], common: Sequence[Term]) -> tuple[Term, ...]:
    """A product without what is common."""
    left = list(xs)
    for term in common:
        left.remove(term)
    return tuple(left)
