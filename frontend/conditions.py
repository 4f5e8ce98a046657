"""Conditions of `if`: relations between index forms, what they imply and how they become guards."""

from __future__ import annotations

from collections.abc import Sequence

from tadc.frontend.context import Clause, Context
from tadc.frontend.source import Span
from tadc.frontend.terms import Domain, Term, Terms
from tadc.lattice.affine import Affine, at_least_zero, equals_zero
from tadc.lattice.late_dataclasses import dataclass, replace


@dataclass(frozen=True)
class IndexCondition:
    """`difference relation 0` between integers.

    Elements of index arrays in it stand in each other `depth` deep: they are in range where all conditions
    hold that are less deep, and those as deep but for `!=`.
    """

    relation: str
    difference: Affine
    depth: int = 0

    @property
    def holds(self) -> Clause:
        """Constraints of which one holds where the condition does."""
        d = self.difference
        match self.relation:
            case "=":
                return (equals_zero(d),)
            case "!=":
                return (at_least_zero(d - 1), at_least_zero(-d - 1))
            case "<":
                return (at_least_zero(-d - 1),)
            case "<=":
                return (at_least_zero(-d),)
            case ">":
                return (at_least_zero(d - 1),)
            case _:
                return (at_least_zero(d),)

    @property
    def fails(self) -> Clause:
        """Constraints of which one holds where the condition does not."""
        return replace(self, relation=NEGATED[self.relation]).holds


#: The relation that holds where another does not.
NEGATED = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def where_all_hold(context: Context, conditions: Sequence[IndexCondition]) -> Context:
    """The points of the `then` branch."""
    for condition in conditions:
        context = context.assume_any(condition.holds)
    return context


def where_one_fails(context: Context, conditions: Sequence[IndexCondition]) -> Context:
    """The points of the `else` branch."""
    return context.assume_any(tuple(c for condition in conditions for c in condition.fails))


def rows_and_rest(conditions: Sequence[IndexCondition]) -> tuple[Domain, list[IndexCondition]]:
    """The rows of conditions that come first, and the others: those with `!=`, and what is deeper."""
    depth = min((c.depth for c in conditions if c.relation == "!="), default=None)
    rest = [c for c in conditions if c.relation == "!=" or (depth is not None and c.depth > depth)]
    return tuple(row for c in conditions if c not in rest for row in c.holds), rest


def guard(
    terms: Terms, conditions: Sequence[IndexCondition], then: Term, otherwise: Term, span: Span
) -> Term:
    """Choose by conditions. `!=` swaps: `if {c and a != b} X else Y` is
    `if {c} (if {a = b} Y else X) else Y`.
    """
    rows, rest = rows_and_rest(conditions)
    if rest:
        first = min((c for c in rest if c.relation == "!="), key=lambda c: c.depth)
        inner = guard(terms, [c for c in rest if c is not first], then, otherwise, span)
        then = terms.guard([equals_zero(first.difference)], otherwise, inner, span)
    return terms.guard(rows, then, otherwise, span) if rows else then
