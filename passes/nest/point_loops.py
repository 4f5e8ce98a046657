"""Loops over the points of a set alone.

What equations of the set say of an index is solved as all others are, so that loops visit its points alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine, Constraint, box
from tadc.lattice.bounds import Level
from tadc.lattice.loop_nests import loop_nest
from tadc.lattice.solve import solve
from tadc.passes.nest.loop_bounds import around, extreme_of
from tadc.passes.nest.nest import At, Body, Bound, For, If


def point_loops(extents: Mapping[str, Affine], rows: Domain, known: Domain, body: Body) -> Body:
    """A body at the points of a box where rows hold."""
    names, numbers = list(extents), itertools.count()
    found = solve(names, [*box(names, tuple(extents.values())), *rows], known, lambda _: f"z{next(numbers)}")
    if found is None:
        return ()
    nest = loop_nest(found.kernel, found.domain, [*known, *found.guards])
    values = tuple(At(name, found.substitution[name]) for name in names if name not in found.kernel)
    made = around(_where(nest.inside, (*values, *body)), *map(_ends, nest.levels))
    return _where((*found.guards, *nest.outside), made)


def _ends(level: Level) -> tuple[str, Bound, Bound]:
    start = extreme_of("max", (bound.ceil() for bound in level.lower))
    return level.name, start, extreme_of("min", (bound.floor() + 1 for bound in level.upper))


def _where(rows: Domain, body: Body) -> Body:
    return (If(rows, body),) if rows else body


def loops_in_order(
    extents: Mapping[str, Affine], order: Affine, step: str, known: Domain, body: Body
) -> Body:
    """A body at all points of a box, by the values of a linear form: the hyperplane method (Lamport 1974).

    for s in the values of e(i):  for all i in the box with e(i) = s:  …
    """
    ends = [(order.coefficient(name), size - 1) for name, size in extents.items()]
    first = sum((end * k for k, end in ends if k < 0), Affine.const(order.constant))
    last = sum((end * k for k, end in ends if k > 0), Affine.const(order.constant))
    value = Affine.var(step)
    within = (*known, Constraint(value - first), Constraint(last - value))
    inner = point_loops(extents, (Constraint(order - value, True),), within, body)
    return (For(step, first, last + 1, 1, "seq", inner),)
