"""A walk over a term that knows what holds at each place, and rewrites each reduction once in a context."""

from __future__ import annotations

from abc import ABC, abstractmethod

from tadc.frontend.terms import Domain, Guard, Reduce, Term, Terms, operands
from tadc.lattice.late_dataclasses import dataclass, field
from tadc.passes.terms.algebra import Algebra


@dataclass
class FactsWalk(ABC):
    """A subclass says what becomes of a reduction; what it visits below that is rewritten in the same way."""

    terms: Terms
    memo: dict[tuple[int, Domain], Term] = field(
        default_factory=dict[tuple[int, Domain], Term], init=False, repr=False
    )

    def __post_init__(self) -> None:
        self.algebra = Algebra(self.terms)

    @abstractmethod
    def reduce(self, term: Reduce, facts: Domain) -> Term:
        """What a reduction becomes where the facts hold."""

    def visit(self, term: Term, facts: Domain) -> Term:
        """What a term becomes where the facts hold."""
        key = (term.number, facts)
        if key not in self.memo:
            self.memo[key] = self.rewrite(term, facts)
        return self.memo[key]

    def rewrite(self, term: Term, facts: Domain) -> Term:
        """What a term becomes that is new in this context."""
        match term:
            case Reduce():
                return self.reduce(term, facts)
            case Guard():
                then, otherwise = (
                    self.visit(term.then, facts + term.conditions),
                    self.visit(term.otherwise, facts),
                )
                return self.algebra.guard(term.conditions, then, otherwise, term.span)
            case _:
                return self.terms.rebuild(term, [self.visit(t, facts) for t in operands(term)])
