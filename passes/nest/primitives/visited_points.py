"""The primitive that visits the points of a set alone."""

from __future__ import annotations

from dataclasses import replace

from tadc.lattice.affine import ZERO, Affine
from tadc.passes.nest.loop_bounds import form_of
from tadc.passes.nest.nest import Body, For, Nest
from tadc.passes.nest.point_loops import loops_in_order, point_loops
from tadc.passes.nest.primitives.rewriting import DoesNotFit, check_new
from tadc.passes.nest.steps import Points


def points(nest: Nest, step: Points) -> Nest:
    """Loops over the points of the plain nest where rows hold."""
    extents, body = _box(nest)
    if not step.step:
        return replace(nest, body=point_loops(extents, step.rows, nest.known, body))
    check_new(nest, step.step)
    (order,) = [row for row in step.rows if step.step in row.form.variables]
    sign = -order.form.coefficient(step.step)
    form = (order.form + Affine.var(step.step) * sign) * sign
    if abs(sign) != 1 or not order.equality or not form.is_linear:
        raise DoesNotFit(f"`{step.step}` is not given by an equation")
    return replace(nest, body=loops_in_order(extents, form, step.step, nest.known, body))


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
