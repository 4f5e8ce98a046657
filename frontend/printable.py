"""Programs in the words of the text: what the printer spells, and the reader reads back as it stands.

A reduction of the language has bounds for one index, or sizes for several; nothing of a guard stands in a
domain. So this is where sets become nested loops, and where a literal that no token says becomes a quotient.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tadc.frontend.deep import deep_recursion
from tadc.frontend.extents import Shape
from tadc.frontend.functions import REDUCTIONS
from tadc.frontend.index_sets import limit
from tadc.frontend.program import Program
from tadc.frontend.said_domains import bounded, is_limit, looked_up, over_box, told_apart
from tadc.frontend.terms import (
    Apply,
    Const,
    Domain,
    Guard,
    IndexValue,
    Reduce,
    Term,
    Terms,
    bottom_up,
    outside_regions,
)
from tadc.lattice.affine import Affine, Constraint, Lookup, at_least_zero
from tadc.lattice.bounds import Unbounded
from tadc.lattice.effort import EliminationLimit
from tadc.lattice.late_dataclasses import dataclass
from tadc.lattice.loop_nests import loop_nest
from tadc.lattice.polyhedron import cleared, implied, in_place, irredundant, negation

_Names = dict[str, Affine]


def printable(program: Program) -> tuple[Term, ...]:
    """The bodies of a program's definitions, in words of the text.

    Each has the same value and the same derivative. Raises Unbounded for a reduction over infinitely
    many points.
    """
    speller = TermSpeller(Terms(), frozenset(program.sizes), program.shapes())
    with deep_recursion():
        return tuple(speller.spell(d.body, {}, program.facts(d)) for d in program.definitions)


def ranged(name: str, lower: Sequence[Affine], upper: Sequence[Affine]) -> list[Constraint]:
    """The rows of a domain that bounds in the text say."""
    variable = Affine.var(name)
    rows = [variable - form for form in lower] + [form - variable for form in upper]
    # `k <= i // 2` is kept as `2*k <= i`: one form for a domain, however its bounds are written.
    return [cleared(at_least_zero(row)) for row in rows]


class TermSpeller:
    """Spells terms of other tables in one table, where equal words are one term."""

    def __init__(self, terms: Terms, sizes: frozenset[str], shapes: Mapping[str, Shape]) -> None:
        self.terms, self.sizes, self.shapes = terms, sizes, shapes
        self.memo: dict[tuple[tuple[tuple[str, Affine], ...], Domain], dict[int, Term]] = {}

    def spell(self, term: Term, names: _Names, facts: Domain) -> Term:
        """The term with its bound indices named anew, where the facts hold."""
        known = self.memo.setdefault((tuple(names.items()), facts), {})
        return bottom_up(term, known, lambda t, below: self._spell(t, below, names, facts), outside_regions)

    def _spell(self, term: Term, below: list[Term], names: _Names, facts: Domain) -> Term:
        match term:
            case Const(value=value):
                return self._constant(value)
            case IndexValue():
                form = term.form.substitute(names)
                return self.terms.const(form.constant) if form.is_constant else self.terms.index(form)
            case Guard():
                return self._guard(term, names, facts)
            case Reduce():
                return self._reduce(term, names, facts)
            case Apply(function="neg", operands=(Const(value=value),)) if _is_signed(value):
                return self._constant(-value)
            case _:
                return self.terms.rebuild(term, below, lambda form: form.substitute(names))

    def _constant(self, value: int | float) -> Term:
        if math.isfinite(value):
            return self.terms.const(value)
        top, zero = self.terms.const(0 if math.isnan(value) else 1), self.terms.const(0)
        quotient = self.terms.apply("div", [top, zero])
        return self.terms.apply("neg", [quotient]) if value < 0 else quotient

    def _guard(self, term: Guard, names: _Names, facts: Domain) -> Term:
        rows = [row.substitute(names) for row in term.conditions]
        rows = [row for row in rows if not (row.form.is_constant and row.holds({}))]
        rows = in_place(rows, self.shapes.__getitem__, facts)
        then = self.spell(term.then, names, (*facts, *rows))
        if not rows:
            return then
        outside = (*facts, *negation(rows, facts))
        return self.terms.guard(rows, then, self.spell(term.otherwise, names, outside))

    def _reduce(self, term: Reduce, names: _Names, facts: Domain) -> Term:
        binders = [self.terms.fresh("z") for _ in term.binders]
        inner = names | {old: Affine.var(new) for old, new in zip(term.binders, binders, strict=True)}
        rows = tuple(row.substitute(inner) for row in term.domain)
        hints = dict(zip(binders, term.hints, strict=True))
        if len(binders) > 1 and REDUCTIONS[term.kind].ties_share:
            boxed = self._boxed(term, hints, rows, inner, facts)
            if boxed is not None:
                return boxed
        known, groups = facts, list[_BoundGroup]()
        try:
            for names_, rows_ in _in_turn(binders, rows):
                group = self._group(names_, rows_, known)
                known = (*known, *group.rows)
                groups.append(group)
        except EliminationLimit:
            raise limit(term, binders, rows) from None
        body = self.spell(term.body, inner, known)
        for group in reversed(groups):
            body = self._loops(term.kind, group, hints, body)
        return body

    def _loops(self, kind: str, group: _BoundGroup, hints: dict[str, str], body: Term) -> Term:
        """Reductions over one index each around a body."""
        nothing = self._constant(REDUCTIONS[kind].nothing)
        if group.inside:
            body = self.terms.guard(group.inside, body, nothing)
        for name, bounds in reversed(group.loops):
            made = self.terms.reduce([name], bounds, body, kind=kind, hints=[hints[name]])
            # In one order, so that equal sets are one.
            bounds = sorted(made.domain, key=str)
            body = self.terms.reduce(made.binders, bounds, made.body, kind=kind, hints=made.hints)
        return self.terms.guard(group.outside, body, nothing) if group.outside else body

    def _group(self, binders: Sequence[str], rows: Sequence[Constraint], facts: Domain) -> _BoundGroup:
        """How text says the set.

        What it says gives the same again, whatever else is known: its rows stay, without those that follow.
        """
        ranging, held = told_apart(binders, rows)
        if len(binders) == 1 and _is_range(ranging, binders[0]):
            settled = _settled(binders[0], ranging)
            needed = irredundant(settled, facts)
            loops = [(binders[0], needed if _is_range(needed, binders[0]) else settled)]
            return self._held_by(_BoundGroup(tuple(loops), (), ()), held, facts)
        try:
            nest = loop_nest(binders, ranging, facts)
        except Unbounded:
            # A bound that a condition implies: `2*e >= ptr[e]`.
            nest = loop_nest(binders, [*ranging, *(side for row in held for side in relaxed(row))], facts)
        loops = list[tuple[str, list[Constraint]]]()
        for level in nest.levels:
            variable = Affine.var(level.name)
            bounds = [at_least_zero(variable * b.divisor - b.form) for b in level.lower]
            bounds += [at_least_zero(b.form - variable * b.divisor) for b in level.upper]
            loops.append((level.name, _settled(level.name, bounds)))
        return self._held_by(_BoundGroup(tuple(loops), nest.inside, nest.outside), held, facts)

    def _held_by(self, group: _BoundGroup, held: Sequence[Constraint], facts: Domain) -> _BoundGroup:
        """The group with conditions, each where it is known first, and what these need there: a condition
        further in may be what it follows from."""
        loops = [(name, list(bounds)) for name, bounds in group.loops]
        outside, left = list(group.outside), list(held)
        for depth, (index, bounds) in enumerate(loops):
            # As where each loop is read on its own: conditions further out may imply bounds.
            needed = irredundant(
                bounds, (*facts, *outside, *(row for _, rows in loops[:depth] for row in rows))
            )
            bounds[:] = needed if held and _is_range(needed, index) else bounds
            inner = {name for name, _ in loops[depth + 1 :]}
            here = [row for row in left if inner.isdisjoint(row.form.variables)]
            left = [row for row in left if row not in here]
            known = (*facts, *outside, *(row for _, rows in loops[: depth + 1] for row in rows))
            for row in in_place(here, self.shapes.__getitem__, known):
                if row in here:
                    bounds.append(row.faced)
                    continue
                own, around = next(
                    (loop for loop in reversed(loops) if loop[0] in row.form.variables), ("", outside)
                )
                if own and not row.form.has_lookups and not bounded(row, [own]):
                    around = bounds  # a condition beside what needs it
                elif not row.form.has_lookups:
                    # The text of a range says it once: `e <= E - 2` says `e <= E - 1` too.
                    around[:] = [b for b in around if b.equality or not _is_said(b.form, (*facts, row))]
                around.append(row.faced)
        return _BoundGroup(tuple(loops), group.inside, outside)

    def _boxed(
        self, term: Reduce, hints: dict[str, str], rows: Domain, names: _Names, facts: Domain
    ) -> Term | None:
        """One reduction over a box around the set, the rest of it behind a guard; None without a box."""
        own = set(hints)
        ranging, held = told_apart(list(hints), rows)
        rows += tuple(
            row for row in in_place(held, self.shapes.__getitem__, (*facts, *rows)) if row not in rows
        )
        box = over_box(list(hints), rows)
        if box is not None and all(size.variables <= self.sizes for size in box[0]):
            body = self.spell(term.body, names, (*facts, *rows))
            return self.terms.reduce(list(hints), rows, body, kind=term.kind, hints=list(hints.values()))
        sides: list[Constraint] = []
        moved: _Names = {}
        for name in hints:
            limits = [_limit(form, name) for row in rows if is_limit(row, name) for form in row.inequalities]
            lower = max([limit for is_lower, limit in limits if is_lower], default=None)
            upper = min([limit for is_lower, limit in limits if not is_lower], default=None)
            if lower is None or upper is None:
                return None
            variable = Affine.var(name)
            sides += [at_least_zero(variable), at_least_zero(max(upper - lower, -1) - variable)]
            moved[name] = variable + lower
        left = [row.substitute(moved) for row in ranging if not any(is_limit(row, name) for name in hints)]
        inside = [row for row in left if row.form.variables & own]
        outside = [row for row in left if not row.form.variables & own]
        if held:
            # Where elements are looked up only where other conditions hold, text says all of these at once.
            sides += [*inside, *(row.substitute(moved).faced for row in held)]
            inside = []
        inner = {name: form.substitute(moved) for name, form in names.items()}
        body = self.spell(term.body, inner, (*facts, *outside, *sides, *inside))
        nothing = self._constant(REDUCTIONS[term.kind].nothing)
        if inside:
            body = self.terms.guard(inside, body, nothing)
        made = self.terms.reduce(list(hints), sides, body, kind=term.kind, hints=list(hints.values()))
        return self.terms.guard(outside, made, nothing) if outside else made


def relaxed(row: Constraint) -> list[Constraint]:
    """What a row says of the indices outside of elements of index arrays, whatever these are."""
    return [Constraint(_greatest(form)) for form in row.inequalities]


def _greatest(form: Affine) -> Affine:
    """A form with the elements of index arrays in it, not those inside of floors, as makes it greatest."""
    found = form
    for atom, k in form.terms:
        if isinstance(atom, Lookup):
            found += ((atom.below - 1) * k if k > 0 else 0) - Affine.atom(atom) * k
    return found


def _in_turn(binders: Sequence[str], rows: Domain) -> list[tuple[list[str], list[Constraint]]]:
    """Binders in groups, outermost first: the i of a bound `ptr[i] <= e` before the e."""

    def has_bounds(name: str) -> bool:
        return any(
            not row.equality
            and row.form.coefficient(name)
            and name not in (at := looked_up(row))
            and at & own
            for row in rows
        )

    own = set(binders)
    inner = [name for name in binders if has_bounds(name)]
    outer = [name for name in binders if name not in inner]
    if not inner or not outer:
        return [(list(binders), list(rows))]
    last = [row for row in rows if not row.form.variables.isdisjoint(inner)]
    return [(outer, [row for row in rows if row not in last]), (inner, last)]


@dataclass(frozen=True)
class _BoundGroup:
    """Indices with the rows of their bounds and conditions, outermost first, and the guards around."""

    loops: tuple[tuple[str, list[Constraint]], ...]
    inside: Sequence[Constraint]
    outside: Sequence[Constraint]

    @property
    def rows(self) -> Domain:
        return (*self.outside, *(row for _, bounds in self.loops for row in bounds), *self.inside)


def _is_said(form: Affine, rows: Sequence[Constraint]) -> bool:
    """Whether rows imply one without elements of index arrays, which others may need."""
    return not form.has_lookups and implied(form, rows)


def _is_signed(value: int | float) -> bool:
    """Whether a minus in front of this literal is part of it."""
    return math.isfinite(value) and (bool(value) or isinstance(value, float))


def _is_range(rows: Sequence[Constraint], name: str) -> bool:
    """Whether each row bounds the index by all else in it, one from below and one from above at least."""
    factors = [row.form.coefficient(name) for row in rows]
    rests = [row.form - Affine.var(name) * k for row, k in zip(rows, factors, strict=True)]
    plain = all(k and not row.equality for row, k in zip(rows, factors, strict=True))
    alone = bool(rows) and plain and not any(name in rest.variables for rest in rests)
    return alone and min(factors) < 0 < max(factors)


def _settled(name: str, rows: Sequence[Constraint]) -> list[Constraint]:
    """The rows as their text reads."""
    lower: list[Affine] = []
    upper: list[Affine] = []
    for row in rows:
        k = row.form.coefficient(name)
        rest = row.form - Affine.var(name) * k
        if k > 0:
            lower.append(-(rest.floordiv(k)))
        else:
            upper.append(rest.floordiv(-k))
    return ranged(name, lower, upper)


def _limit(form: Affine, name: str) -> tuple[bool, int]:
    """Whether `form >= 0` is a lower bound of the index, its only variable, and the bound."""
    k = form.coefficient(name)
    return (True, -(form.constant // k)) if k > 0 else (False, form.constant // -k)
