"""What is known of the indices at a place: their intervals and the facts of guards and sums."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tadc.frontend.extents import Extent, extent
from tadc.lattice.affine import Affine, Constraint, Floor, Lookup, at_least_zero, box
from tadc.lattice.intervals import Interval, interval_of
from tadc.lattice.late_dataclasses import dataclass, field, replace

#: Constraints of which at least one holds.
Clause = tuple[Constraint, ...]


@dataclass(frozen=True)
class Context:
    """A set of integer points: a box, facts that join indices, and clauses.

    An element of an index array is a variable here, named by its text: `lookups` holds it. So forms that are
    asked about, or that facts hold, go through `naming` first.

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
    lookups: Mapping[str, Lookup] = field(default_factory=dict[str, Lookup])
    #: Forms proven to be >= 0 at every point.
    proven: set[Affine] = field(default_factory=set[Affine], compare=False)

    def _with(self, intervals: Mapping[str, Interval], *facts: Constraint, vacuous: bool = False) -> Context:
        return replace(
            self,
            intervals=intervals,
            facts=(*self.facts, *facts),
            is_vacuous=self.is_vacuous or vacuous,
            proven=set(),
        )

    def naming(self, form: Affine) -> tuple[Affine, Context]:
        """The form over variables alone, and the context that knows them all."""
        context = self

        def variable(atom: str | Floor | Lookup) -> Affine | None:
            nonlocal context
            if not isinstance(atom, Lookup):
                return None
            name = str(atom)
            if name not in context.intervals:
                context = replace(
                    context.bind(name, extent(atom.below)), lookups={**context.lookups, name: atom}
                )
            return Affine.var(name)

        return form.replace(variable), context

    def _naming_all(self, forms: Iterable[Affine]) -> tuple[list[Affine], Context]:
        context, named = self, list[Affine]()
        for form in forms:
            form, context = context.naming(form)
            named.append(form)
        return named, context

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
        named, context = self._naming_all([*lower, *upper])
        return context._bind_between(key, named[: len(lower)], named[len(lower) :])

    def _bind_between(self, key: str, lower: Sequence[Affine], upper: Sequence[Affine]) -> Context:
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
        form, context = self.naming(fact.form)
        return context._assume(Constraint(form, fact.equality))

    def _assume(self, fact: Constraint) -> Context:
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
        named, context = self._naming_all(fact.form for fact in clause)
        alternatives = tuple(
            Constraint(form, fact.equality) for form, fact in zip(named, clause, strict=True)
        )
        return replace(context, clauses=(*self.clauses, alternatives), proven=set())
