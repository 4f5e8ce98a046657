"""Conditions of `if`: relations between index forms, what they imply and how they become guards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tadc.frontend.context import Clause, Context
from tadc.frontend.source import Span
from tadc.frontend.terms import Term, Terms
from tadc.lattice.affine import Affine, at_least_zero, equals_zero


@dataclass(frozen=True)
class Condition:
    """`difference relation 0` between integers."""

    relation: str
    difference: Affine

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
        return Condition(NEGATED[self.relation], self.difference).holds


#: The relation that holds where another does not.
NEGATED = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def where_all_hold(context: Context, conditions: Sequence[Condition]) -> Context:
    """The points of the `then` branch."""
    for condition in conditions:
        context = context.assume_any(condition.holds)
    return context


def where_one_fails(context: Context, conditions: Sequence[Condition]) -> Context:
    """The points of the `else` branch."""
    return context.assume_any(tuple(c for condition in conditions for c in condition.fails))


def guard(terms: Terms, conditions: Sequence[Condition], then: Term, otherwise: Term, span: Span) -> Term:
    """Choose by conditions. `!=` swaps: `if {c and a != b} X else Y` is
    `if {c} (if {a = b} Y else X) else Y`.
    """
    plain = [c for c in conditions if c.relation != "!="]
    for condition in reversed([c for c in conditions if c.relation == "!="]):
        then = terms.guard([equals_zero(condition.difference)], otherwise, then, span)
    if not plain:
        return then
    return terms.guard([row for c in plain for row in c.holds], then, otherwise, span)
