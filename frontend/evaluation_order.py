"""What a region evaluates, and in which order.

A region holds what it always evaluates, operations before the regions that use them; what
only a branch or a sum needs stays in there, so no read leaves the guard that protects it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from tadc.frontend.limits import MAX_REGIONS, too_large
from tadc.frontend.terms import (
    Apply,
    Const,
    Guard,
    Reduce,
    Select,
    Term,
    integer_exponent,
    join_types,
    operands,
    reachable,
    type_in,
)
from tadc.lattice.late_dataclasses import dataclass, field

Wanted = tuple[Term, str]

Value = TypeVar("Value")


@dataclass
class RegionScope(Generic[Value]):
    """A region being filled: the values made there."""

    outer: RegionScope[Value] | None
    values: dict[tuple[int, str], Value] = field(default_factory=dict[tuple[int, str], Value])

    def value(self, term: Term, type: str) -> Value | None:
        """The value of a term, made here or further out."""
        scope: RegionScope[Value] | None = self
        while scope:
            if found := scope.values.get((term.number, type)):
                return found
            scope = scope.outer
        return None


class EvaluationWalk(ABC, Generic[Value]):
    """Makes a value of each term that a definition evaluates, once in a region, in the order of these."""

    depth = 0

    def evaluated(self, root: Term, type: str, outer: RegionScope[Value] | None) -> Value:
        """The value of a term in a region of its own, after all that this always evaluates.

        Raises CompileError (TAD0113) where there are too many regions in each other.
        """
        scope = RegionScope(outer)
        self.depth += 1
        # The lowest term may stand in as many sums and branches as a program may have, and its derivative.
        if self.depth > 2 * MAX_REGIONS:
            raise too_large(f"more than {2 * MAX_REGIONS} sums and guards in each other")
        for term, wanted in schedule(root, type, scope):
            self.value(term, wanted, scope)
        self.depth -= 1
        return self.value(root, type, scope)

    def value(self, term: Term, type: str, scope: RegionScope[Value]) -> Value:
        """The value of a term in a type, made in this region if it is not there."""
        found = scope.value(term, type)
        if found is None:
            self.begin(term)
            natural = type_in(term, type)
            if natural == type:
                found = self.made(term, type, scope)
            else:
                found = self.converted(self.value(term, natural, scope), type)
            scope.values[term.number, type] = found
        return found

    def below(self, term: Term, type: str, scope: RegionScope[Value]) -> list[Value]:
        """The values of the operands that are evaluated whenever the term is."""
        return [self.value(operand, wanted, scope) for operand, wanted in always_evaluated(term, type)]

    @abstractmethod
    def begin(self, term: Term) -> None:
        """Called before a value is made of a term."""

    @abstractmethod
    def made(self, term: Term, type: str, scope: RegionScope[Value]) -> Value:
        """The value of a term in its own type."""

    @abstractmethod
    def converted(self, value: Value, type: str) -> Value:
        """A value in another type."""


def schedule(root: Term, type: str, scope: RegionScope[Value]) -> list[Wanted]:
    """What the region always evaluates, operands first, shared work before regions."""
    strict: dict[tuple[int, str], Wanted] = {}
    stack = [(root, type)]
    while stack:
        term, wanted = stack.pop()
        wanted = type_in(term, wanted)
        if (term.number, wanted) in strict or scope.value(term, wanted):
            continue
        strict[term.number, wanted] = (term, wanted)
        stack += always_evaluated(term, wanted)
    levels: dict[int, int] = {}
    for term, wanted in sorted(strict.values(), key=lambda w: w[0].number):
        is_region = isinstance(term, Reduce | Guard)
        below = reachable(operands(term)) if is_region else (t for t, _ in always_evaluated(term, wanted))
        levels[term.number] = max((levels.get(t.number, 0) for t in below), default=0) + is_region
    return sorted(strict.values(), key=lambda w: (levels[w[0].number], *_place(w[0])))


def _place(term: Term) -> tuple[float, int]:
    """The place of a term on its level: literals first by value, whatever the definitions before hold."""
    return (term.value, -1) if isinstance(term, Const) else (math.inf, term.number)


def always_evaluated(term: Term, type: str) -> list[Wanted]:
    """Operands that are evaluated whenever the term is, each with its type."""
    match term:
        case Apply():
            evaluated = term.operands if integer_exponent(term) is None else term.operands[:1]
            return [(t, type) for t in evaluated]
        case Select():
            compared = join_types((term.lhs.type, term.rhs.type)) or type
            return [(term.lhs, compared), (term.rhs, compared), (term.then, type), (term.otherwise, type)]
        case _:
            return []
