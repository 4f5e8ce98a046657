"""Short sums in the body of another, written out.

    sum{i} (exp(-sum{m}_0^2 ((q[j, m] - x[i, m])**2)) * (q[j, 0] - x[i, 0]))

has `(q[j, 0] - x[i, 0])**2 + (q[j, 1] - x[i, 1])**2 + …` in the place of the inner sum: what it shares with
the rest of the body is computed once, and the innermost loop holds no other. Terms are added in the same
order.
"""

from __future__ import annotations

from functools import reduce

from tadc.frontend.program import Program
from tadc.frontend.terms import Reduce, Term, Terms, holds_reduction, operands
from tadc.lattice.late_dataclasses import dataclass, field
from tadc.passes.terms.algebra import Algebra
from tadc.passes.terms.costs import WRITTEN_OUT
from tadc.passes.terms.few_points import elements


def write_out_short_sums(program: Program) -> Program:
    """The program with short sums in sums written out."""
    short = _Short(program.terms)
    return program.with_bodies(short.visit(d.body, False) for d in program.definitions)


@dataclass
class _Short:
    """One walk over bodies; what stands in a sum is known apart from what does not."""

    terms: Terms
    known: dict[tuple[int, bool], Term] = field(default_factory=dict[tuple[int, bool], Term])
    holds: dict[int, bool] = field(default_factory=dict[int, bool])

    def __post_init__(self) -> None:
        self.algebra = Algebra(self.terms)

    def visit(self, term: Term, inside: bool) -> Term:
        """The term, in a sum or not, with short sums written out."""
        if not holds_reduction(term, self.holds):
            return term
        key = term.number, inside
        if key not in self.known:
            here = inside or isinstance(term, Reduce)
            made = self.terms.rebuild(term, [self.visit(t, here) for t in operands(term)])
            written = self.written_out(made) if inside and isinstance(made, Reduce) else None
            self.known[key] = made if written is None else written
        return self.known[key]

    def written_out(self, node: Reduce) -> Term | None:
        """The terms of a sum over few points that are numbers, added up; None of another."""
        if holds_reduction(node.body, self.holds):
            return None
        added = terms_of_sum(self.algebra, node, WRITTEN_OUT)
        return None if added is None else reduce(lambda x, y: self.algebra.apply("add", x, y), added)


def terms_of_sum(algebra: Algebra, node: Reduce, most: int) -> list[Term] | None:
    """The terms of a sum over at most so many points that are numbers, in order; None of another."""
    return elements(algebra, node, most) if node.kind == "sum" and _is_box(node) else None


def _is_box(node: Reduce) -> bool:
    """Whether the bounds of each index are numbers."""
    return all(
        not row.equality and row.form.is_linear and len(row.form.variables) == 1
        and row.form.variables <= set(node.binders)
        for row in node.domain
    )  # fmt: skip
