"""Divisions by a value whose reciprocal is known become multiplications.

    a * (1 / s) + 0.5 / s          is  a * (1 / s) + 0.5 * (1 / s)
    x * (1 / s)**3                 is  x * (1 / s) * (1 / s) * (1 / s)     if no other term has this power

Factors are multiplied one by one: a product is in range if the quotient is, while a power might not be. A
power that occurs in several products is computed once.
"""

from __future__ import annotations

from collections import Counter
from functools import reduce

from tadc.frontend.program import Program
from tadc.frontend.terms import (
    Apply,
    Const,
    Term,
    bottom_up,
    holds_reduction,
    integer_exponent,
    operands,
    reachable,
)
from tadc.lattice.late_dataclasses import dataclass, field
from tadc.passes.terms.algebra import Algebra, is_const
from tadc.passes.terms.costs import COMPARED


def with_reciprocals(program: Program) -> Program:
    """The program with the reciprocals that it has in the place of quotients."""
    held: dict[int, bool] = {}
    return program.with_bodies(
        _KnownReciprocals(Algebra(program.terms), d.body).rewritten()
        if holds_reduction(d.body, held)
        else d.body
        for d in program.definitions
    )


def is_reciprocal(term: Term) -> bool:
    """Whether a term is `1 / x`."""
    return isinstance(term, Apply) and term.function == "div" and is_const(term.operands[0], 1)


@dataclass
class _KnownReciprocals:
    """One walk over a body."""

    algebra: Algebra
    body: Term
    known: dict[int, Term] = field(default_factory=dict[int, Term])

    def rewritten(self) -> Term:
        """The body; itself where it has no reciprocal."""
        nodes = list(reachable([self.body]))
        self.reciprocals = {t.below[1].number for t in nodes if is_reciprocal(t)}
        if not self.reciprocals:
            return self.body
        self.users = Counter(below.number for node in nodes for below in operands(node))
        return bottom_up(self.body, self.known, self.node)

    def node(self, node: Term, below: list[Term]) -> Term:
        """A term over operands that are done."""
        algebra = self.algebra
        match node:
            case Apply(function="div", operands=(x, divisor)) if (
                divisor.number in self.reciprocals and not is_const(x, 1) and x.type in (None, divisor.type)
            ):
                return algebra.apply("mul", below[0], algebra.apply("div", algebra.one, below[1]))
            case Apply(function="mul", operands=(x, power)) if not isinstance(x, Const):
                n = integer_exponent(power) or 0
                if 1 < n <= COMPARED and is_reciprocal(power.below[0]) and self.users[power.number] == 1:
                    factor = self.known[power.below[0].number]
                    return reduce(lambda made, _: algebra.apply("mul", made, factor), range(n), below[0])
            case _:
                pass
        return algebra.terms.rebuild(node, below)
