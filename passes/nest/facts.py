"""What holds where a statement of a nest stands, in cases: conditions on its indices, sizes and ranges.

    for j0 = 0 to N step 32:        j0 = 32*q, q >= 0, j0 <= N - 1
        at j = min(j0, N - 32):     two cases, j = j0 with j0 <= N - 32, and j = N - 32 with j0 >= N - 32

A start that is a maximum and a stop that is a minimum are facts; the other extremes, a form by a condition
and what fails in an `else` are cases. Beyond `MOST_CASES`, what would split them is left out: less is known.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine, Constraint
from tadc.lattice.polyhedron import implied, is_empty
from tadc.passes.nest.nest import At, Bound, Either, Extreme, For
from tadc.passes.terms.ranges import outside, violation

MOST_CASES = 64

Cases = tuple[Domain, ...]
"""What holds is one of these: each a conjunction of rows."""


@dataclass
class Facts:
    """Makes cases of cases; steps of loops are names that nothing else has."""

    names: Iterator[int] = field(default_factory=itertools.count)
    complete: bool = True
    """Whether nothing was left out: then a point that the cases hold is one of the nest."""

    def where(self, cases: Cases, rows: Domain) -> Cases:
        """What holds where all rows do."""
        return tuple((*facts, *rows) for facts in cases)

    def elsewhere(self, cases: Cases, rows: Domain) -> Cases:
        """What holds where not all rows do."""
        return self.split(cases, lambda facts: outside(rows, facts))

    def split(self, cases: Cases, into: Callable[[Domain], list[Domain]]) -> Cases:
        """Each case in several, unless these are too many."""
        found = tuple(case for facts in cases for case in into(facts))
        if len(found) <= MOST_CASES:
            return found
        self.complete = False
        return cases

    def at(self, cases: Cases, at: At) -> Cases:
        """What holds behind a name for a value."""
        index = Affine.var(at.index)

        def into(facts: Domain) -> list[Domain]:
            return [
                (*inside, Constraint(index - form, equality=True)) for form, inside in values(at.value, facts)
            ]

        return self.split(cases, into)

    def inside(self, cases: Cases, loop: For) -> Cases:
        """What holds in a loop."""
        index, step = Affine.var(loop.index), loop.step
        turn = Affine.var(f"{loop.index}'{next(self.names)}")
        strides = step > 1

        def into(facts: Domain) -> list[Domain]:
            found: list[Domain] = []
            one_by_one = strides or not isinstance(loop.start, Extreme) or loop.start.which == "min"
            starts = (
                values(loop.start, facts) if one_by_one else [(form, facts) for form in forms(loop.start)]
            )
            if not one_by_one:
                below = tuple(Constraint(index - form) for form, _ in starts)
                return [(*facts, *below, *rows) for rows in stops(facts)]
            for start, case in starts:
                counts = Constraint(index - start - turn * step, equality=True)
                rows = (counts, Constraint(turn)) if strides else (Constraint(index - start),)
                found += [(*case, *rows, *ends) for ends in stops(case)]
            return found

        def stops(facts: Domain) -> list[Domain]:
            if isinstance(loop.stop, Extreme) and loop.stop.which == "min":
                return [tuple(Constraint(form - 1 - index) for form in loop.stop.forms)]
            return [(*inside, Constraint(form - 1 - index)) for form, inside in values(loop.stop, facts)]

        return self.split(cases, into)


def forms(bound: Bound) -> tuple[Affine, ...]:
    """All forms of a bound."""
    match bound:
        case Extreme(forms=found):
            return found
        case Either(then=then, otherwise=otherwise):
            return (then, otherwise)
        case form:
            return (form,)


def values(bound: Bound, facts: Domain) -> list[tuple[Affine, Domain]]:
    """The forms that a bound may be, with what holds where it is each."""
    match bound:
        case Extreme(which=which, forms=found):
            sign = 1 if which == "min" else -1
            cases = [
                (form, (*facts, *(Constraint((other - form) * sign) for other in found if other != form)))
                for form in dict.fromkeys(found)
            ]
            return [(form, case) for form, case in cases if not is_empty(case)]
        case Either(rows=rows, then=then, otherwise=otherwise):
            return [(then, (*facts, *rows)), *((otherwise, case) for case in outside(rows, facts))]
        case form:
            return [(form, facts)]


def _floors_from_zero(form: Affine, facts: Domain) -> Domain:
    """What rounding says beyond the rationals: `N // 8 >= 0` where `N >= 0`."""
    floors = dict.fromkeys(floor for f in (form, *(row.form for row in facts)) for floor in f.floors())
    return tuple(Constraint(Affine.atom(floor)) for floor in floors if implied(floor.numerator, facts))


def counterexample(form: Affine, cases: Cases) -> dict[str, int] | None:
    """A point where a form is less than 0, if there is one; the names of steps are left out.

    Raises SearchLimit or EliminationLimit where it is neither proven nor found.
    """
    for facts in cases:
        if not implied(form, facts) and not implied(form, (*facts, *_floors_from_zero(form, facts))):
            point = violation((*facts, Constraint(-form - 1)), ())
            if point is not None:
                return {name: value for name, value in point.items() if "'" not in name}
    return None
