"""Facts that hold where a statement of a nest stands: conditions on its indices, sizes and ranges.

    for j0 = 0 to N step 32:        j0 = 32*q, q >= 0, j0 <= N - 1
        at j = min(j0, N - 32):     j = j0 with j0 <= N - 32, or j = N - 32 with j0 >= N - 32

A start that is a maximum and a stop that is a minimum are rows; the other extremes, a form by a condition and
what fails in an `else` are alternatives. A proof splits into these one by one, as it needs them.
"""

from __future__ import annotations

import itertools
from bisect import bisect
from collections.abc import Callable, Iterator
from typing import Literal

from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine, Constraint
from tadc.lattice.late_dataclasses import dataclass, field
from tadc.lattice.points import find_point
from tadc.lattice.polyhedron import follows, implied
from tadc.passes.nest.loop_bounds import parts_of
from tadc.passes.nest.nest import At, Bound, Either, Extreme, For
from tadc.passes.terms.checked_reads import negations
from tadc.passes.terms.costs import NODES

MOST_CASES = NODES // 8
"""A proof that splits into more is given up."""

MOST_VALUES = NODES // 2
"""The most values that are tried to find a point where something does not hold."""

TURN = "'"
"""In the names for the numbers of turns, which nothing else has."""

Fact = tuple[Domain, ...]
"""One of these holds."""

Facts = tuple[Fact, ...]
"""All of these hold."""


class NotProven(Exception):
    """Neither proven nor refuted."""


def where(rows: Domain) -> Facts:
    """That all rows hold."""
    return ((rows,),) if rows else ()


def elsewhere(rows: Domain) -> Facts:
    """That not all rows hold."""
    return (tuple(negations(rows)),)


def certain(facts: Facts) -> Domain:
    """The rows that hold whatever alternatives do."""
    return tuple(row for fact in facts if len(fact) == 1 for row in fact[0])


def named(at: At) -> Facts:
    """The facts of a name for a value."""
    index = Affine.var(at.index)
    return (tuple((Constraint(index - form, equality=True), *rows) for form, rows in values(at.value)),)


@dataclass
class Loops:
    """The facts of loops; their steps are counted by names that nothing else has."""

    names: Iterator[int] = field(default_factory=itertools.count)

    def inside(self, loop: For) -> Facts:
        """The facts that hold in a loop: the index is at its start or some steps above it, below its stop."""
        index = Affine.var(loop.index)
        if loop.step == 1:
            start = _limit(loop.start, "max", lambda form: Constraint(index - form))
        else:
            turn = Affine.var(f"{loop.index}{TURN}{next(self.names)}")
            start = tuple(
                (Constraint(index - form - turn * loop.step, equality=True), Constraint(turn), *rows)
                for form, rows in values(loop.start)
            )
        return (start, _limit(loop.stop, "min", lambda form: Constraint(form - 1 - index)))


def _limit(bound: Bound, which: Literal["min", "max"], row: Callable[[Affine], Constraint]) -> Fact:
    """A row for the form that a bound is: for each form at once that it is the least or greatest of."""
    forms = parts_of(bound, which)
    return (tuple(map(row, forms)),) if forms else tuple((row(form), *rows) for form, rows in values(bound))


def values(bound: Bound) -> list[tuple[Affine, Domain]]:
    """The forms that a bound may be, with what holds where it is each."""
    match bound:
        case Extreme(which=which, forms=found):
            sign = 1 if which == "min" else -1
            each = dict.fromkeys(found)
            return [
                (form, tuple(Constraint((other - form) * sign) for other in each if other != form))
                for form in each
            ]
        case Either(rows=rows, then=then, otherwise=otherwise):
            return [(then, rows), *((otherwise, case) for case in negations(rows))]
        case form:
            return [(form, ())]


# -- proofs ----------------------------------------------------------------------------------------


def counterexample(form: Affine, facts: Facts, given: frozenset[str]) -> dict[str, int] | None:
    """A point where a form is less than 0, if there is one; names for steps are left out.

    `given` are sizes and ranges: what speaks of the same of these alone does not matter. Raises NotProven,
    and SearchLimit or EliminationLimit.
    """
    return _Proof(form).refuted((), _about(form, facts, given))


@dataclass
class _Proof:
    """That a form is at least 0, split into cases."""

    form: Affine
    cases: int = 0

    def refuted(self, rows: Domain, left: Facts) -> dict[str, int] | None:
        """A point where it is not, in the case that rows hold; the nearest facts are left first."""
        self.cases += 1
        if self.cases > MOST_CASES:
            raise NotProven
        plain = tuple(row for fact in left if len(fact) == 1 for row in fact[0])
        rows, left = (*rows, *plain), tuple(fact for fact in left if len(fact) != 1)
        if follows(self.form, rows):
            return None
        if left:
            found = (self.refuted((*rows, *case), left[1:]) for case in left[0])
            return next((point for point in found if point is not None), None)
        rows = (*rows, *_first_turns(rows))
        rows = (*rows, *_whole_floors(rows))
        if implied(self.form, rows):
            return None
        point = find_point((*rows, Constraint(-self.form - 1)), MOST_VALUES)
        return None if point is None else {name: v for name, v in point.items() if TURN not in name}


def _about(form: Affine, facts: Facts, given: frozenset[str]) -> Facts:
    """The facts that speak of a form's indices, or of indices that these speak of; the nearest first."""
    names = [{name for case in fact for row in case for name in row.form.variables} for fact in facts]
    reached, found, left = set(form.variables - given), list[int](), list(range(len(facts)))
    while True:
        near = [n for n in left if names[n] & reached or names[n] <= given]
        if not near:
            return tuple(facts[n] for n in found)
        found += near
        left = [n for n in left if n not in near]
        reached |= {name for n in near for name in names[n]} - given


def _first_turns(facts: Domain) -> Domain:
    """Which loops take one turn alone, as one over what is left of whole tiles."""
    turns = dict.fromkeys(name for row in facts for name in row.form.variables if TURN in name)
    return tuple(Constraint(Affine.var(t), equality=True) for t in turns if implied(-Affine.var(t), facts))


def _whole_floors(facts: Domain) -> Domain:
    """The greatest numbers that floors may be: below a bound of the rationals."""
    found: list[Constraint] = []
    for floor in dict.fromkeys(floor for row in facts for floor in row.form.floors()):
        most = Affine.const(MOST_VALUES) - Affine.atom(floor)
        if implied(most, facts):
            spare = bisect(range(MOST_VALUES), 0, key=lambda n: not implied(most - n, facts))
            found.append(Constraint(most - spare + 1))
    return tuple(found)
