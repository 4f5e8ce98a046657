"""Proofs over the integers that an index form is never negative, or a point where it is."""

from __future__ import annotations

from collections.abc import Iterable

from tadc.frontend.context import Clause, Context
from tadc.frontend.scope import INT64_MAX
from tadc.lattice.affine import Affine, Constraint, at_least_zero
from tadc.lattice.effort import EliminationLimit, limited
from tadc.lattice.intervals import interval_of
from tadc.lattice.points import SearchLimit, find_point
from tadc.lattice.polyhedron import follows

Point = dict[str, int]

#: The most systems one proof may solve: guards with alternatives multiply.
_LIMIT = 400
#: The most facts a proof takes into account.
_MAX_FACTS = 500


class TooManyCases(Exception):
    """A proof was given up."""


def is_proven(form: Affine, context: Context) -> bool:
    """Whether `form >= 0` is quickly proven at every point of the context. Raises TooManyCases."""
    if context.is_vacuous or form in context.proven or interval_of(form, context.intervals)[0] >= 0:
        return True
    if len(context.facts) > _MAX_FACTS:
        raise TooManyCases
    facts, names = joined(form, context)
    proven = bool(facts or not form.is_linear) and follows(form, [*facts, *_box(names, context)])
    if proven:
        context.proven.add(form)
    return proven


def joined(form: Affine, context: Context) -> tuple[list[Constraint], set[str]]:
    """The facts that bear on a form, through other indices too, and the indices of both."""
    names = set(form.variables)
    facts: list[Constraint] = []
    left = list(context.facts)
    while touching := [fact for fact in left if not names.isdisjoint(fact.form.variables)]:
        facts += touching
        names.update(*(fact.form.variables for fact in touching))
        left = [fact for fact in left if fact not in touching]
    return facts, names


def violation(form: Affine, context: Context) -> Point | None:
    """A point of the context, all indices given, where `form < 0`; None is a proof that there is none.

    Raises TooManyCases.
    """
    if is_proven(form, context):
        return None
    try:
        with limited():
            point = _CaseSearch(context).find((*context.facts, at_least_zero(-form - 1)), context.clauses)
    except (EliminationLimit, SearchLimit) as limit:
        raise TooManyCases from limit
    if point is None:
        context.proven.add(form)
    return point


def values(form: Affine, context: Context, point: Point) -> tuple[int, int] | None:
    """The least and greatest value of a form, given one point of the context; None if hard to find."""
    low, high = interval_of(form, context.intervals)
    if form.is_linear and not joined(form, context)[0] and not context.clauses:
        return low, high
    try:
        search = _CaseSearch(context)
        with limited():
            low, high = (
                -_greatest(-form, -low, context, point, search),
                _greatest(form, high, context, point, search),
            )
        return low, high
    except (EliminationLimit, SearchLimit, TooManyCases):
        return None


def _greatest(form: Affine, high: int, context: Context, point: Point, search: _CaseSearch) -> int:
    low = form.evaluate(point)
    while low < high:
        middle = (low + high + 1) // 2
        found = search.find((*context.facts, at_least_zero(form - middle)), context.clauses)
        if found is None:
            high = middle - 1
        else:
            low = form.evaluate(found)
    return low


def _box(names: Iterable[str], context: Context) -> list[Constraint]:
    rows: list[Constraint] = []
    for name, (low, high) in context.intervals.items():
        if name in names:
            variable = Affine.var(name)
            rows += [at_least_zero(variable - low), at_least_zero(high - variable)]
    return rows


class _CaseSearch:
    """Looks for a point by cases; a clause makes cases only where a candidate breaks it."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.solved = 0

    def find(self, rows: tuple[Constraint, ...], clauses: tuple[Clause, ...]) -> Point | None:
        self.solved += 1
        if self.solved > _LIMIT:
            raise TooManyCases
        names = frozenset[str]().union(*(row.form.variables for row in rows))
        found = find_point([*_box(names, self.context), *rows])
        if found is None:
            return None
        point = {name: low for name, (low, _) in self.context.intervals.items()} | found
        for position, clause in enumerate(clauses):
            if any(fact.holds(point) for fact in clause):
                continue
            others = (*clauses[:position], *clauses[position + 1 :])
            cases = (self.find((*rows, fact), others) for fact in clause)
            return next((case for case in cases if case is not None), None)
        return point


def fits_64_bits(form: Affine, context: Context) -> bool:
    """Whether the form, and each part below a floor, stays a 64-bit integer in the context."""
    if context.is_vacuous:
        return True
    forms = [form, *(atom.numerator for atom in form.floors())]
    return all(
        # A loop ends one past its last index.
        -INT64_MAX <= low and high < INT64_MAX
        for low, high in (interval_of(f, context.intervals) for f in forms)
    )
