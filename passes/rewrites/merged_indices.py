"""Indices that a term depends on through one form of them: this form numbers its values, and they do not.

    y[i, j] = max{p: 3} (max{q: 3} (x[2*i + p, 2*j + q]))
    has    let r[s, j] = max{q: 3} (x[s, 2*j + q]),    y[i, j] = max{p: 3} (r[2*i + p, j])

    y[c] = x[c] - sum{k: 4} (x[k + 4*(c // 4)])
    has    let m[g] = sum{k: 4} (x[k + 4*g]),    y[c] = x[c] - m[c // 4]

A tensor over i, p and j would hold the elements of r more than once, and its cotangent is 0 nearly
everywhere. Every value between the least and the greatest of the form is one for some indices, so nothing is
evaluated that was not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from tadc.frontend.terms import Domain, Term, index_forms, reachable
from tadc.lattice.affine import Affine, Constraint, Floor
from tadc.lattice.late_dataclasses import dataclass
from tadc.lattice.polyhedron import implied
from tadc.passes.rewrites.places import RowsHold, TermPlace, Test
from tadc.passes.terms.index_ranges import Range, span_of


@dataclass(frozen=True)
class Dimension:
    """An index, a form of several, outermost first, or a quotient of one, with the range of its values."""

    form: Affine
    indices: tuple[str, ...]
    within: Range

    def shift(self, value: Affine) -> dict[str, Affine]:
        """The indices, in forms that depend on them through this one alone, where it has a value."""
        if (quotient := quotient_of(self.form)) is not None:
            (name,) = self.indices
            first = value * quotient.denominator - quotient.numerator.constant
            return {name: first * quotient.numerator.coefficient(name)}
        pivot = next(name for name in self.indices if abs(self.form.coefficient(name)) == 1)
        nothing = dict.fromkeys(self.indices, Affine.const(0))
        return nothing | {pivot: value * self.form.coefficient(pivot)}


def quotient_of(form: Affine) -> Floor | None:
    """The quotient that a form is, of an index or its negative plus a number, which takes all values between
    two; None of another form."""
    atom, k = form.terms[0] if len(form.terms) == 1 else ("", 0)
    if not isinstance(atom, Floor) or k != 1 or form.constant:
        return None
    above = atom.numerator
    return atom if above.is_linear and [abs(k) for _, k in above.terms] == [1] else None


def merged_indices(
    term: Term, place: TermPlace, sizes: frozenset[str], facts: Domain, anywhere: bool
) -> tuple[list[Dimension], TermPlace] | None:
    """The dimensions of a term, outermost first, and the place under conditions that depend on indices as it
    does; None where no form of several or quotient is one of them, or an index has no range.

    A term that may be evaluated `anywhere` is so whatever values compare.
    """
    order = {index: n for n, index in enumerate(place.indices)}
    found = _forms((f for node in reachable([term]) for f in index_forms(node)), term.free - sizes, order)
    several = [form for form in found or () if form.variable is None]
    mixed = frozenset[str]().union(*(form.variables for form in several))
    if (
        not several
        or sum(len(form.terms) for form in several) > len(mixed)
        or not mixed.isdisjoint(place.told)
    ):
        return None
    if any(form.variables & mixed for form in found or () if form not in several):
        return None
    around = _Around(place, mixed, several, order, facts, anywhere).choices()
    if around is None:
        return None
    made = TermPlace(place.indices, place.hints, place.ranges, around, place.increasing)
    plain = [Affine.var(index) for index in term.free - sizes - mixed]
    dimensions = list[Dimension]()
    for form in (*several, *plain):
        name = form.variable
        within = place.ranges[name] if name else _dense(form, place, sizes)
        if within is None:
            return None
        within = within if name else _sharper(form, within, made.rows, sizes, facts)
        indices = tuple(sorted(form.variables, key=order.__getitem__))
        dimensions.append(Dimension(form, indices, within))
    return sorted(dimensions, key=lambda each: order[each.indices[0]]), made


def _forms(forms: Iterable[Affine], names: frozenset[str], order: Mapping[str, int]) -> list[Affine] | None:
    """The parts of forms that are of some indices, each once whatever its factor, growing with the outermost
    index, and the quotients of one; None where another quotient or an element of an index array depends on
    one."""
    found = dict[Affine, None]()
    for form in forms:
        for atom, _ in () if form.is_linear else form.terms:
            if isinstance(atom, str) or atom.variables.isdisjoint(names):
                continue
            if quotient_of(Affine.atom(atom)) is None:
                return None
            found[Affine.atom(atom)] = None
        if part := {atom: k for atom, k in form.terms if isinstance(atom, str) and atom in names}:
            first = part[min(part, key=order.__getitem__)]
            factor = math.copysign(math.gcd(*part.values()), first)
            found[Affine.of({name: k // int(factor) for name, k in part.items()})] = None
    return list(found)


def _dense(form: Affine, place: TermPlace, sizes: frozenset[str]) -> Range | None:
    """The range of a form that has all of its values; None where it may have gaps."""
    if quotient_of(form) is not None:
        (name,) = form.variables
        within = place.ranges[name]
        return None if within is None or within.by else span_of(form, place.ranges, sizes)
    reach = 0
    for name, k in sorted(form.terms, key=lambda pair: abs(pair[1])):
        within = place.ranges[str(name)]
        if within is None or abs(k) > reach + 1 or within.by:
            return None
        extent = within.extent
        reach += abs(k) * (extent.constant - 1) if extent.is_constant else 0
    return span_of(form, place.ranges, sizes)


def _sharper(form: Affine, within: Range, rows: Domain, sizes: frozenset[str], facts: Domain) -> Range:
    """The range of a form where rows hold, as far as these are of it and of sizes alone."""
    low, high = within.low, within.high
    for bound in (each for row in rows for each in row.inequalities):
        for sign in (1, -1):
            rest = bound - form * sign
            if not rest.variables <= sizes:
                continue
            if sign > 0 and implied(-rest - low, facts):
                low = -rest
            elif sign < 0 and implied(high - rest, facts):
                high = rest
    return Range(low, high)


@dataclass(frozen=True)
class _Around:
    """The choices around a term that depends on `mixed` indices through `several` forms."""

    place: TermPlace
    mixed: frozenset[str]
    several: Sequence[Affine]
    order: Mapping[str, int]
    facts: Domain
    anywhere: bool

    def choices(self) -> tuple[RowsHold | Test, ...] | None:
        """They without what says that indices are in their ranges; None where they depend on the indices
        otherwise than through the forms."""
        made: list[RowsHold | Test] = []
        for choice in self.place.around:
            if isinstance(choice, Test):
                if (choice.select.lhs.free | choice.select.rhs.free).isdisjoint(self.mixed):
                    made.append(choice)
                elif not self.anywhere:
                    return None
                continue
            rows = tuple(row for row in choice.rows if not self.is_range(row))
            if not all(map(self.is_through, rows)) or (len(rows) < len(choice.rows) and not choice.holds):
                return None
            if rows:
                made.append(RowsHold(rows, choice.holds))
        return tuple(made)

    def is_through(self, row: Constraint) -> bool:
        """Whether a row depends on the indices through the forms alone."""
        found = _forms([row.form], self.mixed, self.order)
        return found is not None and all(part in self.several for part in found)

    def is_range(self, row: Constraint) -> bool:
        """Whether ranges tell a row of the indices."""
        if row.equality or row.form.variables.isdisjoint(self.mixed) or self.is_through(row):
            return False
        return implied(row.form, self.place.in_ranges + self.facts)
