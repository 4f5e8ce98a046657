"""Programs in the words of the text: what the printer spells, and the reader reads back as it stands.

A reduction of the language has bounds for one index, or sizes for several; nothing of a guard stands in a
domain. So this is where sets become nested loops, and where a literal that no token says becomes a quotient.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tadc.frontend.deep import deep_recursion
from tadc.frontend.functions import REDUCTIONS
from tadc.frontend.program import Program
from tadc.frontend.terms import (
    Apply,
    Const,
    Domain,
    Guard,
    IndexValue,
    Reduce,
    Term,
    Terms,
    operands,
)
from tadc.lattice.affine import Affine, Constraint, at_least_zero, box
from tadc.lattice.nest import loop_nest
from tadc.lattice.polyhedron import cleared

#: Ties of these share a derivative among all points of the domain: one index inside another is not the same.
_SHARING = ("max", "min")

_Names = dict[str, Affine]


def printable(program: Program) -> tuple[Term, ...]:
    """The bodies of a program's definitions, in words of the text.

    Each has the same value and the same derivative. Raises Unbounded for a reduction over infinitely
    many points.
    """
    speller = Speller(Terms())
    with deep_recursion():
        return tuple(speller.spell(d.body, {}, box(d.indices, d.shape)) for d in program.definitions)


def ranged(name: str, lower: Sequence[Affine], upper: Sequence[Affine]) -> list[Constraint]:
    """The rows of a domain that bounds in the text say."""
    variable = Affine.var(name)
    rows = [variable - form for form in lower] + [form - variable for form in upper]
    # `k <= i // 2` is kept as `2*k <= i`: one form for a domain, however its bounds are written.
    return [cleared(at_least_zero(row)) for row in rows]


def box_sizes(term: Reduce) -> list[Affine] | None:
    """The sizes of the indices of a reduction over a box that starts at 0; None if it is over another set."""
    sizes: list[Affine] = []
    rows = set(term.domain)
    for name in term.binders:
        variable = Affine.var(name)
        above = [row for row in rows if row.form.coefficient(name) == -1]
        if at_least_zero(variable) not in rows or len(above) != 1:
            return None
        sizes.append(above[0].form + variable + 1)
        rows -= {at_least_zero(variable), above[0]}
    own = set(term.binders)
    return None if rows or any(size.variables & own for size in sizes) else sizes


class Speller:
    """Spells terms of other tables in one table, where equal words are one term."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self.memo: dict[tuple[int, tuple[tuple[str, Affine], ...], Domain], Term] = {}

    def spell(self, term: Term, names: _Names, facts: Domain) -> Term:
        """The term with its bound indices named anew, where the facts hold."""
        spoken = tuple(
            sorted([(name, names[name]) for name in term.free if name in names], key=lambda n: n[0])
        )
        key = (term.number, spoken, facts)
        if key not in self.memo:
            self.memo[key] = self._spell(term, dict(spoken), facts)
        return self.memo[key]

    def _spell(self, term: Term, names: _Names, facts: Domain) -> Term:
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
                below = [self.spell(t, names, facts) for t in operands(term)]
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
        then = self.spell(term.then, names, (*facts, *rows))
        if not rows:
            return then
        outside = facts
        if len(rows) == 1 and not rows[0].equality:
            outside = (*facts, Constraint(-rows[0].form - 1))
        return self.terms.guard(rows, then, self.spell(term.otherwise, names, outside))

    def _reduce(self, term: Reduce, names: _Names, facts: Domain) -> Term:
        binders = [self.terms.fresh("z") for _ in term.binders]
        inner = names | {old: Affine.var(new) for old, new in zip(term.binders, binders, strict=True)}
        rows = tuple(row.substitute(inner) for row in term.domain)
        body = self.spell(term.body, inner, (*facts, *rows))
        hints = dict(zip(binders, term.hints or ("",) * len(binders), strict=True))
        if len(binders) > 1 and term.kind in _SHARING:
            boxed = self._boxed(term.kind, hints, rows, body)
            if boxed is not None:
                return boxed
        if len(binders) == 1 and _is_range(rows, binders[0]):
            return self._loop(term.kind, binders[0], hints, rows, body)
        return self._nested(term.kind, hints, rows, body, facts)

    def _loop(
        self, kind: str, name: str, hints: dict[str, str], rows: Sequence[Constraint], body: Term
    ) -> Term:
        """The reduction over one index between bounds."""
        made = self.terms.reduce([name], _settled(name, rows), body, kind=kind, hints=[hints[name]])
        # In one order, so that equal sets are one.
        return self.terms.reduce(
            made.binders, sorted(made.domain, key=str), made.body, kind=kind, hints=made.hints
        )

    def _nested(self, kind: str, hints: dict[str, str], rows: Domain, body: Term, facts: Domain) -> Term:
        """Reductions over one index each, and the guards that bounds leave."""
        nothing = self._constant(REDUCTIONS[kind])
        nest = loop_nest(list(hints), rows, facts)
        if nest.inside:
            body = self.terms.guard(nest.inside, body, nothing)
        for level in reversed(nest.levels):
            variable = Affine.var(level.name)
            bounds = [at_least_zero(variable * b.divisor - b.form) for b in level.lower]
            bounds += [at_least_zero(b.form - variable * b.divisor) for b in level.upper]
            body = self._loop(kind, level.name, hints, bounds, body)
        return self.terms.guard(nest.outside, body, nothing) if nest.outside else body

    def _boxed(self, kind: str, hints: dict[str, str], rows: Domain, body: Term) -> Term | None:
        """One reduction over a box around the set, the rest of it behind a guard; None without a box."""
        sides: list[Constraint] = []
        moved: _Names = {}
        for name in hints:
            alone = [row for row in rows if row.form.variables == {name} and row.form.is_linear]
            limits = [_limit(row, name) for row in alone for row in map(Constraint, row.inequalities)]
            lower = max([limit for is_lower, limit in limits if is_lower], default=None)
            upper = min([limit for is_lower, limit in limits if not is_lower], default=None)
            if lower is None or upper is None:
                return None
            variable = Affine.var(name)
            sides += [at_least_zero(variable), at_least_zero(max(upper - lower, -1) - variable)]
            moved[name] = variable + lower
        domain = [row.substitute(moved) for row in rows]
        left = [row for row in domain if row not in sides and len(row.form.variables & set(hints)) > 0]
        left = [row for row in left if row.equality or len(row.form.variables) > 1 or not row.form.is_linear]
        body = self.terms.substitute(body, moved)
        nothing = self._constant(REDUCTIONS[kind])
        if left:
            body = self.terms.guard(left, body, nothing)
        made = self.terms.reduce(list(hints), sides, body, kind=kind, hints=list(hints.values()))
        outside = [row for row in domain if row.form.variables.isdisjoint(hints)]
        return self.terms.guard(outside, made, nothing) if outside else made


def _is_signed(value: int | float) -> bool:
    """Whether a minus in front of this literal is part of it."""
    return math.isfinite(value) and (bool(value) or isinstance(value, float))


def _is_range(rows: Sequence[Constraint], name: str) -> bool:
    """Whether each row bounds the index by all else in it, one from below and one from above at least."""
    factors = [row.form.coefficient(name) for row in rows]
    rests = [row.form - Affine.var(name) * k for row, k in zip(rows, factors, strict=True)]
    plain = all(k and not row.equality for row, k in zip(rows, factors, strict=True))
    return plain and not any(name in rest.variables for rest in rests) and min(factors) < 0 < max(factors)


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


def _limit(row: Constraint, name: str) -> tuple[bool, int]:
    """Whether the row is a lower bound of the index, its only variable, and the bound."""
    k = row.form.coefficient(name)
    constant = row.form.constant
    return (True, -(constant // k)) if k > 0 else (False, constant // -k)
