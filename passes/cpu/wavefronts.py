"""The elements of a recurrence by the values of its order: the hyperplane method (Lamport 1974).

    for s in the values of e(i):  for all i in the box with e(i) = s:  …

The equation e(i) = s is solved as all others are, so that the inner loops visit its solutions alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tadc.lattice.affine import ZERO, Affine, Constraint
from tadc.passes.cpu.set_loops import loop_over, set_loops
from tadc.passes.cpu.splits import PLAIN
from tadc.passes.cpu.tile_loops import TileLoops
from tadc.passes.cpu.tile_schedule import Schedule
from tadc.passes.maps.lower_body import BodyLowering


def wavefronts(op: Any, sizes: Sequence[Affine], low: BodyLowering, point: Any, order: Affine) -> None:
    """Lower a recurrence of these sizes to loops, one element at a time; `order` is over `d0, d1, …`."""
    tiles = TileLoops(op, sizes, low, Schedule(1, tuple(range(len(sizes)))), [PLAIN] * len(sizes))
    names = [f"d{n}" for n in range(len(sizes))]
    factors = [order.coefficient(name) for name in names]
    ends = [(size - 1) * k for k, size in zip(factors, sizes, strict=True)]
    first = sum((end for k, end in zip(factors, ends, strict=True) if k < 0), ZERO)
    last = sum((end for k, end in zip(factors, ends, strict=True) if k > 0), ZERO)
    inside = loop_over(low, first, last, point)
    step = low.variable(inside.block.arguments[0])
    known = (*low.known, Constraint(step - first), Constraint(last - step))
    set_loops(tiles, (Constraint(order - step, True),), known, inside)
    low.create("scf.yield", [], [], inside)
