"""The primitive that visits the points of a set alone.

What equations of the set say of an index is solved as all others are, so that loops visit its points alone. With
a step, this is the hyperplane method (Lamport 1974):

    for s in the values of e(i):  for all i in the box with e(i) = s:  …
"""

from __future__ import annotations

import itertools
from dataclasses import replace

from tadc.frontend.terms import Domain
from tadc.lattice.affine import ZERO, Affine, Constraint, box
from tadc.lattice.bounds import Level
from tadc.lattice.nest import loop_nest
from tadc.lattice.solve import solve
from tadc.passes.nest.nest import At, Body, Bound, Extreme, For, If, Nest
from tadc.passes.nest.primitives.rewriting import DoesNotFit, check_new, form_of
from tadc.passes.nest.steps import Points


def points(nest: Nest, step: Points) -> Nest:
    """Loops over the points of the plain nest where rows hold."""
    extents, body = _box(nest)
    if not step.step:
        return replace(nest, body=_solved(extents, step.rows, nest.known, body))
    check_new(nest, step.step)
    (order,) = [row for row in step.rows if step.step in row.form.variables]
    form = order.form - Affine.var(step.step) * order.form.coefficient(step.step)
    sign = -order.form.coefficient(step.step)
    if abs(sign) != 1 or not order.equality or not form.is_linear:
        raise DoesNotFit(f"`{step.step}` is not given by an equation")
    form = form * sign
    ends = [(form.coefficient(name), size - 1) for name, size in extents.items()]
    first = sum((end * k for k, end in ends if k < 0), ZERO) + form.constant
    last = sum((end * k for k, end in ends if k > 0), ZERO) + form.constant
    value = Affine.var(step.step)
    known = (*nest.known, Constraint(value - first), Constraint(last - value))
    inner = _solved(extents, step.rows, known, body)
    return replace(nest, body=(For(step.step, first, last + 1, 1, "seq", inner),))


def _box(nest: Nest) -> tuple[dict[str, Affine], Body]:
    """The extents of the loops of a plain nest, and what is in them."""
    extents: dict[str, Affine] = {}
    body = nest.body
    while len(body) == 1 and isinstance(loop := body[0], For):
        stop = form_of(loop.stop)
        if loop.start != ZERO or stop is None or loop.step != 1:
            raise DoesNotFit("the nest is not plain")
        extents[loop.index] = stop
        body = loop.body
    return extents, body


def _solved(extents: dict[str, Affine], rows: Domain, known: Domain, body: Body) -> Body:
    """A body at the points of a box where rows hold."""
    names, numbers = list(extents), itertools.count()
    found = solve(names, [*box(names, tuple(extents.values())), *rows], known, lambda _: f"z{next(numbers)}")
    if found is None:
        return ()
    nest = loop_nest(found.kernel, found.domain, [*known, *found.guards])
    values = tuple(At(name, found.substitution[name]) for name in names if name not in found.kernel)
    made = _where(nest.inside, (*values, *body))
    for level in reversed(nest.levels):
        made = (_loop(level, made),)
    return _where((*found.guards, *nest.outside), made)


def _loop(level: Level, body: Body) -> For:
    lower = tuple(bound.ceil() for bound in level.lower)
    upper = tuple(bound.floor() + 1 for bound in level.upper)
    start: Bound = lower[0] if len(lower) == 1 else Extreme("max", lower)
    stop: Bound = upper[0] if len(upper) == 1 else Extreme("min", upper)
    return For(level.name, start, stop, 1, "seq", body)


def _where(rows: Domain, body: Body) -> Body:
    return (If(rows, body),) if rows else body
