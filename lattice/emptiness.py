"""Nests that are not entered for nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

from tadc.lattice.affine import Constraint
from tadc.lattice.loop_nests import LoopNest
from tadc.lattice.polyhedron import irredundant, normalised


def tight(nest: LoopNest, facts: Sequence[Constraint]) -> LoopNest:
    """A nest, run only where its bounds leave the parameters a point over the rationals.

    Elimination puts what an inner level asks of an outer index into the bounds of the outer
    one. What it asks of parameters alone is left; unless that is tested first, the outer loops
    run and each inner one is empty. A single loop tests it by itself.
    """
    if len(nest.levels) < 2:
        return nest
    own = {level.name for level in nest.levels}
    rows: list[Constraint] = []
    for level in nest.levels:
        for low, high in product(level.lower, level.upper):
            room = high.form * low.divisor - low.form * high.divisor
            if not room.variables & own:
                rows.append(normalised(Constraint(room)))
    return replace(nest, outside=(*nest.outside, *irredundant(rows, (*facts, *nest.outside))))
