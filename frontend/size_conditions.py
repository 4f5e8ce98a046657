"""Conditions on sizes under which a read is in range: derived here, checked at every call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tadc.frontend.context import Context
from tadc.frontend.extents import SIZE_LIMIT, Extent
from tadc.frontend.proof import TooManyCases
from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine, Constraint, at_least_zero
from tadc.lattice.bounds import EliminationLimit
from tadc.lattice.polyhedron import NEVER, hold, implied, irredundant, is_empty
from tadc.lattice.shadow import shadow

#: The most cases of alternatives that are looked at.
_LIMIT = 400
#: The most parts of what is outside of excluded sets that are looked at.
_OUTSIDE = 100


def not_negative(sizes: Iterable[str]) -> Domain:
    """Sizes are not negative."""
    return tuple(at_least_zero(Affine.var(name)) for name in sorted(sizes))


def excluded_sizes(form: Affine, context: Context) -> list[Domain] | None:
    """Sets of sizes outside of which `form >= 0` at every point of the context.

    They are rational shadows of where it fails (Fourier-Motzkin), so they may hold sizes that do
    no harm, but hold all that do. None: wherever the ranges of the indices have a point at all, the
    sizes are in one of the sets. Guards do not count there: a derivative is guarded by what the
    program that it is of asks of its sizes. Raises TooManyCases.
    """
    facts = not_negative(context.sizes)
    found: list[Domain] = []
    try:
        for rows in _cases(context):
            left = shadow([*rows, at_least_zero(-form - 1)], context.sizes, facts)
            if left != [NEVER]:
                found.append(tuple(left))
    except EliminationLimit as limit:
        raise TooManyCases from limit
    return found if _leaves_a_point(found, context, facts) else None


def negative_sizes(size: Extent) -> list[Domain]:
    """The set of sizes at which an extent is negative, if there are any."""
    if isinstance(size, int) or implied(size, not_negative(size.variables)):
        return []
    return [(at_least_zero(-size - 1),)]


def _cases(context: Context) -> Iterator[list[Constraint]]:
    """The rows of the context, one list for each choice among its alternatives."""
    base = [*_box(context), *context.facts]
    pending: list[tuple[list[Constraint], int]] = [(base, 0)]
    seen = 0
    while pending:
        rows, position = pending.pop()
        seen += 1
        if seen > _LIMIT:
            raise TooManyCases
        if position == len(context.clauses):
            yield rows
        elif not is_empty(rows):
            pending += [([*rows, fact], position + 1) for fact in reversed(context.clauses[position])]


def _box(context: Context) -> list[Constraint]:
    """The intervals of all names; what comes from the limit of sizes alone says nothing."""
    rows: list[Constraint] = []
    for name, (low, high) in context.intervals.items():
        variable = Affine.var(name)
        if low > -SIZE_LIMIT // 2:
            rows.append(at_least_zero(variable - low))
        if high < SIZE_LIMIT // 2:
            rows.append(at_least_zero(high - variable))
    return rows


def _leaves_a_point(excluded: Sequence[Domain], context: Context, facts: Domain) -> bool:
    """Whether some sizes outside of all the sets may have a point in the ranges of the context."""
    outside: list[list[Constraint]] = [[*facts, *context.ranges]]
    for rows in excluded:
        sides = [Constraint(-form - 1) for row in rows for form in row.inequalities]
        outside = [[*known, side] for known in outside for side in sides]
        outside = [known for known in outside if not is_empty(known)][:_OUTSIDE]
    return bool(outside)


def without_repeats(excluded: Iterable[Domain], facts: Domain) -> tuple[Domain, ...]:
    """The sets that lie in none of the others, their rows without those that the rest implies."""
    kept: list[Domain] = []
    for rows in dict.fromkeys(tuple(irredundant(rows, facts)) for rows in excluded):
        if NEVER in rows or any(_inside(rows, other, facts) for other in kept):
            continue
        kept = [other for other in kept if not _inside(other, rows, facts)] + [rows]
    return tuple(kept)


def _inside(rows: Domain, other: Domain, facts: Domain) -> bool:
    return hold(other, (*facts, *rows))
