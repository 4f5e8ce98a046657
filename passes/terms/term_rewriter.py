"""A walk that rewrites terms of one table from the operands up, each once."""

from __future__ import annotations

from abc import ABC, abstractmethod

from tadc.frontend.terms import Term, bottom_up
from tadc.lattice.late_dataclasses import dataclass, field
from tadc.passes.terms.algebra import Algebra


@dataclass
class TermRewriter(ABC):
    """A subclass says what becomes of a term whose operands are done."""

    algebra: Algebra
    known: dict[int, Term] = field(default_factory=dict[int, Term], init=False, repr=False)

    def __post_init__(self) -> None:
        self.terms = self.algebra.terms

    def rewritten(self, root: Term) -> Term:
        """What a term becomes."""
        return bottom_up(root, self.known, self.node)

    @abstractmethod
    def node(self, node: Term, below: list[Term]) -> Term:
        """What a term becomes, over operands that are done."""
