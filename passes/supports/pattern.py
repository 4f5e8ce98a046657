"""Where the elements of definitions can be other than 0, as a program: how many non-zero terms each adds up.

A value is counted as 1, whatever it is; a sum of terms has as many as its terms together, a product the
product of its factors' counts, and a guard those of the branch that is taken; of a recurrence it is 1. So an
element is 0 for all values of the arguments where its count is 0, and only there as far as index maps, guards
and domains tell.
"""

from __future__ import annotations

from tadc.frontend.dtypes import DEFAULT
from tadc.frontend.functions import having
from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import (
    Apply,
    Const,
    Domain,
    Guard,
    Read,
    Reduce,
    Select,
    Term,
    bottom_up,
    integer_exponent,
)
from tadc.lattice.late_dataclasses import dataclass, field, replace
from tadc.passes.terms.algebra import Algebra, is_const
from tadc.passes.terms.liveness import needed
from tadc.passes.terms.occupied import occupied

ZERO_AT_ZERO = having("zero at 0")


def pattern_program(program: Program) -> Program:
    """The program whose tensors, of the same names, hold the number of terms that can be other than 0."""
    counter = _Counter(program)
    made = [replace(d, type=DEFAULT, body=counter.body(d, program.facts(d))) for d in program.definitions]
    return replace(program, definitions=needed(made))


@dataclass
class _Counter:
    program: Program
    full: set[str] = field(default_factory=set[str])

    def __post_init__(self) -> None:
        self.terms, self.algebra = self.program.terms, Algebra(self.program.terms)
        self.defined = {d.name for d in self.program.definitions}
        self.facts: Domain = ()

    def body(self, definition: Definition, facts: Domain) -> Term:
        """The count of an element; a tensor where it is 1 everywhere is not read."""
        self.facts = facts
        found = bottom_up(definition.body, {}, self.count)
        if is_const(found, 1):
            self.full.add(definition.name)
        elif definition.order is not None:
            # Counts of a recurrence could grow without bound.
            found = self.algebra.apply("min", found, self.algebra.one)
        return found

    def count(self, term: Term, below: list[Term]) -> Term:
        """The count of a term from those of its operands."""
        algebra = self.algebra
        match term:
            case Const():
                return algebra.one if term.value else algebra.zero
            case Read() if term.tensor in self.defined - self.full:
                return self.terms.read(term.tensor, term.indices, DEFAULT)
            case Apply():
                return self.apply(term, below)
            case Guard():
                return algebra.guard(term.conditions, below[0], below[1])
            case Select():
                return self.select(term, below)
            case Reduce():
                return self.reduce(term, below[0])
            case _:
                return algebra.one

    def apply(self, term: Apply, below: list[Term]) -> Term:
        """Of a function; one that is not 0 at 0 has a value everywhere."""
        match term.function:
            case "add" | "sub" | "max" | "min":
                return self.either(*below)
            case "mul" | "safe":
                return self.both(*below)
            case "div" | "mod":
                return below[0]
            case "pow" if (integer_exponent(term) or 0) > 0:
                return below[0]
            case name if name in ZERO_AT_ZERO:
                return below[0]
            case _:
                return self.algebra.one

    def either(self, x: Term, y: Term) -> Term:
        if x is y or is_const(y, 0) or is_const(x, 1):
            return x
        return y if is_const(x, 0) or is_const(y, 1) else self.algebra.add(x, y)

    def both(self, x: Term, y: Term) -> Term:
        return x if x is y else self.algebra.mul(x, y)

    def select(self, term: Select, below: list[Term]) -> Term:
        """Of a choice by value, which may go either way; what is known to be 0 does not differ from 0."""
        lhs, _, then, otherwise = below
        if term.relation == "!=" and is_const(term.rhs, 0):
            then = self.both(lhs, then)
        return self.either(then, otherwise)

    def reduce(self, term: Reduce, body: Term) -> Term:
        """Of a reduction: a sum that is not empty, or the value of another."""
        if term.kind != "sum":
            return self.algebra.one
        if is_const(body, 0):
            return body
        if is_const(body, 1):
            rows = occupied(term.binders, term.domain, self.facts)
            if rows is not None:
                return self.algebra.guard(rows, self.algebra.one, self.algebra.zero)
        return self.terms.reduce_like(term, term.binders, term.domain, body)
