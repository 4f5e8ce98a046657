"""What the cotangent of a recurrence carries from one element to those before it.

For h[i] = F(u(i)), where u reads h[r(i)] and F is a function of one value, all that the cotangent dh[i]
passes on is e[i] = dh[i] * F'(u(i)). The recurrence is one of e, so that no element that gathers from
another multiplies by F' or divides anew:

    e[b] = F'(u(b)) * (c[b] + sum{i : r(i) = b} e[i] * du/dh[r(i)])

with the cotangent c from outside. So for each branch of a guard. What F and F' are in terms of h[i] is read
from h. A quotient h = u / v carries e = dh / v, of which v gets -e * h; the greater of two carries what each
that is it gets.
"""

from __future__ import annotations

from collections.abc import Callable

from tadc.frontend.terms import Apply, Guard, Term
from tadc.lattice.late_dataclasses import dataclass
from tadc.passes.derivatives.derivative_table import WINS, cotangents, goes_to, over_divisor
from tadc.passes.terms.algebra import Algebra


@dataclass(frozen=True)
class Carried:
    """The rules, for terms of which some are active; `own` reads the element whose value a term is."""

    algebra: Algebra
    is_active: Callable[[Term], bool]

    def through(self, term: Term) -> tuple[Term, Term | None] | None:
        """The operand that gets all that a term gets, and its own element; None where there is none."""
        if not isinstance(term, Apply):
            return None
        active = [operand for operand in term.operands if self.is_active(operand)]
        return (active[0], None) if len(active) == 1 else None

    def inward(self, term: Term, own: Term | None, cotangent: Term) -> Term:
        """What of the cotangent of a term is carried."""
        algebra = self.algebra
        if not self.is_active(term):
            return algebra.zero
        if isinstance(term, Guard):
            then, otherwise = (self.inward(t, own, cotangent) for t in (term.then, term.otherwise))
            return algebra.guard(term.conditions, then, otherwise)
        inner = self.through(term)
        if inner is not None:
            assert isinstance(term, Apply)
            found = cotangents(algebra, cotangent, term, own)
            return self.inward(*inner, found[term.operands.index(inner[0])])
        if isinstance(term, Apply) and term.function == "div":
            return over_divisor(algebra, cotangent, term if own is None else own, *term.operands)
        if isinstance(term, Apply) and term.function in WINS:
            u, v = term.operands
            part = algebra.select("=", u, v, algebra.const(0.5), algebra.one)
            return algebra.mul(part, cotangent)
        return cotangent

    def onward(self, term: Term, own: Term | None, carried: Term) -> tuple[tuple[Term, Term], ...]:
        """What of what is carried goes to which terms, for a term that does not hand on all."""
        if isinstance(term, Apply) and term.function == "div":
            u, v = term.operands
            value = term if own is None else own
            return ((u, carried), (v, self.algebra.neg(self.algebra.safe(carried, value))))
        if isinstance(term, Apply) and term.function in WINS:
            u, v = term.operands
            return tuple(zip((u, v), goes_to(self.algebra, carried, WINS[term.function], u, v), strict=True))
        return ((term, carried),)
