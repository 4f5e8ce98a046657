"""Indices that are no dimension of a tensor, for others tell them.

    y[v] = sum{e: dst[e] = v} f(s[e], r[v]);   y[v] = sum{e}_(ptr[v])^(ptr[v + 1] - 1) f(s[e], r[v])

What f is has an element for each e, and not for each v and e: of an e there is one v with `dst[e] = v`, and
at most one in whose row e is, as rows of a `ptr` that does not fall have no element in common. So it is

    h[e] = f(s[e], r[dst[e]]);   h[e] = sum{v: ptr[v] <= e and e < ptr[v + 1]} f(s[e], r[v])

So it is where an element is told: of all pairs with `dst[g] = src[e]`, f(s[g], r[src[e]]) has an element for
each g. It is f(s[g], r[v]) for the v that `dst[g]` is, if some e has it, which is tested before a derivative:

    h[g] = select(sum{e: src[e] = dst[g]} (1) > 0, f(s[g], r[dst[g]]), 0)

Where no derivative follows, v is `ptr.owner[e]` (`Arrays.between`), which is no word of the language.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tadc.frontend.terms import Domain, Term, Terms
from tadc.lattice.affine import ZERO, Affine, Constraint, Lookup
from tadc.lattice.fibre import Fibre
from tadc.lattice.late_dataclasses import dataclass, field, replace
from tadc.lattice.polyhedron import implied
from tadc.passes.rewrites.places import RowsHold, TermPlace, Test, ToldIndex
from tadc.passes.terms.algebra import Algebra
from tadc.passes.terms.index_ranges import Range
from tadc.passes.terms.inspected_arrays import Arrays


@dataclass
class ToldIndices:
    """What is known of such indices, and where there is a value: for indices that are no form of others,
    `names`, the term is added up over these.
    """

    names: list[str] = field(default_factory=list[str])
    hints: list[str] = field(default_factory=list[str])
    facts: Domain = ()
    within: Domain = ()

    def around(self, term: Term, algebra: Algebra) -> Term:
        """A term of such indices as one of those that tell them; 0 where they tell none."""
        return algebra.reduction("sum", self.names, self.within, term, self.hints) if self.within else term


@dataclass(frozen=True)
class TermAt:
    """A term where it stands, of a program with these size symbols."""

    term: Term
    place: TermPlace
    terms: Terms
    sizes: frozenset[str]

    def over_told_elements(
        self, wanted: Callable[[Term, TermPlace], frozenset[str]], everywhere: bool
    ) -> TermAt:
        """A term over an index that others tell, in the place of an element by way of which alone what is
        `wanted` for it depends on some; if not `everywhere`, where some of these have such an element.
        """
        known = wanted(self.term, self.place) | self.sizes
        found = (a for row in self.place.rows for a in row.form.lookups() if a.at and a.variables <= known)
        for element in dict.fromkeys(found):
            made, name = self.with_index(element)
            left = wanted(made.term, made.place) - {name}
            gone = known - left - self.sizes
            if gone and (told := made.place.told.get(name)) is not None and told.by <= left | self.sizes:
                term = made.term if everywhere else self.where_some(made.term, gone)
                return replace(made, term=term).over_told_elements(wanted, everywhere)
        return self

    def with_index(self, element: Lookup) -> tuple[TermAt, str]:
        """The same over an index in the place of an element, and the index: of one place the same for all
        terms.
        """

        def put(form: Affine) -> Affine:
            return form.replace(lambda atom: Affine.var(name) if atom == element else None)

        if element not in self.place.over:
            name = self.terms.fresh("t")
            self.place.over[element] = name, self._place(element, name, put), {}
        name, place, known = self.place.over[element]
        term = self.terms.rewrite_forms(self.term, element.variables, put, known)
        return replace(self, term=term, place=place), name

    def _place(self, element: Lookup, name: str, put: Callable[[Affine], Affine]) -> TermPlace:
        """The place under an index that stands for an element."""

        def choice(old: RowsHold | Test) -> RowsHold | Test:
            if isinstance(old, RowsHold):
                return replace(old, rows=tuple(Constraint(put(r.form), r.equality) for r in old.rows))
            lhs, rhs = (
                self.terms.rewrite_forms(t, element.variables, put) for t in (old.select.lhs, old.select.rhs)
            )
            made = self.terms.select(old.select.relation, lhs, rhs, old.select.then, old.select.otherwise)
            return replace(old, select=made)

        return replace(
            self.place,
            indices=(*self.place.indices, name),
            hints=(*self.place.hints, ""),
            ranges={**self.place.ranges, name: Range(ZERO, element.below - 1)},
            around=tuple(map(choice, self.place.around)),
        )

    def where_some(self, term: Term, gone: frozenset[str]) -> Term:
        """A term that does not depend on indices where these have a value, and 0 elsewhere."""
        names, rows = [name for name in self.place.indices if name in gone], list[Constraint]()
        for name in names:
            if (within := self.place.ranges[name]) is not None:
                rows += within.rows(name)
        known = term.free | gone | self.sizes
        own = [r for r in self.place.rows if r.form.variables <= known]
        rows += (r for r in own if not r.form.variables.isdisjoint(gone))
        one, zero = self.terms.const(1), self.terms.const(0)
        count = self.terms.reduce(names, rows, one, hints=[""] * len(names))
        return self.terms.select(">", count, zero, term, zero)


def put_told(
    told: Mapping[str, ToldIndex],
    place: TermPlace,
    shift: dict[str, Affine],
    algebra: Algebra,
    inspected: Arrays | None,
) -> ToldIndices:
    """Add to `shift` what indices are that others tell; without `inspected` nothing may be."""
    found, waiting = ToldIndices(), dict(told)
    while waiting:
        index = next(i for i, t in waiting.items() if t.by.isdisjoint(waiting))
        known, within = waiting.pop(index), place.ranges[index]
        rows = () if within is None else within.rows(index)
        form = known.form
        if known.fibre is not None and inspected is not None:
            form = owner_of(index, known.fibre, inspected)
        if form is not None:
            shift[index] = form.substitute(shift)
        else:
            name = algebra.terms.fresh("t")
            shift[index] = Affine.var(name)
            found.names.append(name)
            found.hints.append(place.hints[place.indices.index(index)])
        bounds = tuple(row.substitute(shift) for row in rows)
        between = () if known.fibre is None else tuple(r.substitute(shift) for r in known.fibre.rows)
        found.facts += (*bounds, *between)
        found.within += tuple(row for row in bounds if not implied(row.form, ()))
        found.within += between if form is None else ()
    return found


def owner_of(index: str, fibre: Fibre, inspected: Arrays) -> Affine:
    """The index that says which fibre a place is in."""
    (at,) = fibre.values
    found = inspected.between(fibre.array, fibre.place)
    return (found - at) * at.coefficient(index) + Affine.var(index)
