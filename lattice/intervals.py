"""Intervals of forms over boxes: cheap bounds, and what they decide at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tadc.lattice.affine import Affine, Constraint, Floor

#: Least and greatest value.
Interval = tuple[int, int]


def interval_of(form: Affine, intervals: Mapping[str, Interval]) -> Interval:
    """Bounds of a form over a box; exact for a linear form. Raises KeyError for a variable without bounds."""
    least = greatest = form.constant
    for atom, k in form.terms:
        if isinstance(atom, str):
            low, high = intervals[atom]
        else:
            low, high = interval_of(atom.numerator, intervals)
            low, high = low // atom.denominator, high // atom.denominator
        least += k * (low if k > 0 else high)
        greatest += k * (high if k > 0 else low)
    return least, greatest


def intervals_of(facts: Iterable[Constraint]) -> dict[str, Interval]:
    """The intervals that facts about one variable alone give; only variables with both bounds."""
    low: dict[str, int] = {}
    high: dict[str, int] = {}
    for fact in facts:
        for side in fact.inequalities:
            atom, k = side.terms[0] if len(side.terms) == 1 else ("", 0)
            if not isinstance(atom, str) or not k:
                continue
            bound = -(side.constant // k) if k > 0 else side.constant // -k
            if k > 0:
                low[atom] = max(low.get(atom, bound), bound)
            else:
                high[atom] = min(high.get(atom, bound), bound)
    return {name: (low[name], high[name]) for name in low if name in high}


def without_constant_floors(form: Affine, intervals: Mapping[str, Interval]) -> Affine:
    """The form with floors that have one value over the box replaced by it: `i // 3` for i in 0..2."""

    def value(atom: str | Floor) -> Affine | None:
        if isinstance(atom, str) or not all(name in intervals for name in atom.variables):
            return None
        low, high = interval_of(Affine.atom(atom), intervals)
        return Affine.const(low) if low == high else None

    return form.replace(value) if any(True for _ in form.floors()) else form


def rounded(row: Constraint, loops: Iterable[str], intervals: Mapping[str, Interval]) -> Constraint:
    """A row on one loop variable, `3*z + i >= 0`, as `z >= 0` where i leaves no other choice."""
    mine = [name for name in loops if name in row.form.variables]
    if row.equality or len(mine) != 1:
        return row
    k = row.form.coefficient(mine[0])
    rest = row.form - Affine.var(mine[0]) * k
    if abs(k) < 2 or mine[0] in rest.variables or not all(name in intervals for name in rest.variables):
        return row
    low, high = interval_of(rest.floordiv(abs(k)), intervals)
    if low != high:
        return row
    return Constraint(Affine.var(mine[0]) * (1 if k > 0 else -1) + low)
