"""Walks that rewrite terms of one table from the operands up, each once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from tadc.frontend.terms import Reduce, Term, Terms, bottom_up, operands
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


def with_sums_open(
    terms: Terms,
    root: Term,
    known: dict[int, Term],
    node: Callable[[Term, list[Term]], Term],
    opens: Callable[[Term, Term], None] = lambda body, opened: None,
) -> Term:
    """What a term becomes where `node` may make reductions in others: these are opened for it.

    `opens` is told the body of each, and the body with names of its own.
    """

    def below(term: Term) -> tuple[Term, ...]:
        return () if isinstance(term, Reduce) else operands(term)

    def rewritten(term: Term, done: list[Term]) -> Term:
        if not isinstance(term, Reduce):
            return node(term, done)
        names, domain, body = terms.open(term)
        opens(term.body, body)
        made = bottom_up(body, known, rewritten, below)
        term = term if made is body else terms.reduce_like(term, names, domain, made)
        return node(term, list(term.below))

    return bottom_up(root, known, rewritten, below)
