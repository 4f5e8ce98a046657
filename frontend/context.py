"""What is known of the indices at a place: their intervals and the facts of guards and sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tadc.frontend.extents import Extent
from tadc.lattice.affine import Affine, Constraint, at_least_zero, box
from tadc.lattice.intervals import Interval, interval_of

#: Constraints of which at least one holds.
Clause = tuple[Constraint, ...]


@dataclass(frozen=True)
class Context:
    """A set of integer points: a box, facts that join indices, and clauses.

    `is_vacuous` says that there is nothing to prove: no point is ever reached, or a range
    was rejected and reported.
    """

    intervals: Mapping[str, Interval] = field(default_factory=dict[str, Interval])
    facts: tuple[Constraint, ...] = ()
    clauses: tuple[Clause, ...] = ()
    is_vacuous: bool = False
    #: The size symbols among the names of the intervals.
    sizes: frozenset[str] = frozenset()
    #: The rows of the ranges alone, without those of guards.
    ranges: tuple[Constraint, ...] = ()
    #: Forms proven to be >= 0 at every point.
    proven: set[Affine] = field(default_factory=set[Affine], compare=False)

    def _with(self, intervals: Mapping[str, Interval], *facts: Constraint, vacuous: bool = False) -> Context:
        known = (*self.facts, *facts)
        return Context(intervals, known, self.clauses, self.is_vacuous or vacuous, self.sizes, self.ranges)

    def unknown(self) -> Context:
        """The context under a guard that was rejected: nothing is to be proven."""
        return self._with(self.intervals, vacuous=True)

    def bind(self, key: str, size: Extent | None) -> Context:
        """Add an index in `0..size - 1`; a size of None was rejected."""
        if isinstance(size, Affine):
            return self.bind_between(key, [Affine.const(0)], [size - 1])
        interval = (0, size - 1) if size is not None else (0, 0)
        bound = self._with({**self.intervals, key: interval}, vacuous=not size)
        return replace(bound, ranges=(*self.ranges, *box([key], [size or 0])))

    def bind_between(self, key: str, lower: Sequence[Affine], upper: Sequence[Affine]) -> Context:
        """Add an index between the greatest of `lower` and the least of `upper`."""
        low = max(interval_of(form, self.intervals)[0] for form in lower)
        high = min(interval_of(form, self.intervals)[1] for form in upper)
        variable = Affine.var(key)
        rows = [variable - form for form in lower if not form.is_constant]
        rows += [form - variable for form in upper if not form.is_constant]
        bound = self._with(
            {**self.intervals, key: (low, high)}, *map(at_least_zero, rows), vacuous=low > high
        )
        sides = [variable - form for form in lower] + [form - variable for form in upper]
        return replace(bound, ranges=(*self.ranges, *map(at_least_zero, sides)))

    def assume(self, fact: Constraint) -> Context:
        """Add a fact; one about a single index narrows its interval."""
        form = fact.form
        if form.is_constant:
            return self._with(self.intervals, vacuous=not fact.holds({}))
        atom, _ = form.terms[0]
        if len(form.terms) > 1 or not isinstance(atom, str):
            return self._with(self.intervals, fact)
        low, high = self.intervals[atom]
        for side in fact.inequalities:
            k = side.coefficient(atom)
            if k > 0:
                low = max(low, -(side.constant // k))
            else:
                high = min(high, side.constant // -k)
        return self._with({**self.intervals, atom: (low, high)}, vacuous=low > high)

    def assume_any(self, clause: Clause) -> Context:
        """Add that at least one of some constraints holds."""
        if len(clause) == 1:
            return self.assume(clause[0])
        return replace(self, clauses=(*self.clauses, clause), proven=set())
