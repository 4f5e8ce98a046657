"""Loops in which the index of a reduction moves with the lane, so that a read does not.

    y[i] = sum{k}_0^(K - 1) (x[i + k] * w[k])

With k = t - lane, all lanes of a vector of y read the same x[i + k], and all vectors of a tile the same
vector of w. The first and the last steps, which not all lanes take, are under masks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tadc.frontend.terms import Domain
from tadc.lattice.affine import ZERO, Affine, Constraint
from tadc.lattice.bounds import Level
from tadc.passes.cpu.lanes import extreme
from tadc.passes.cpu.tile_shifts import closest_bounds
from tadc.passes.maps.tile_values import LANE

if TYPE_CHECKING:
    from tadc.passes.cpu.tile_body import Context
    from tadc.passes.cpu.tile_reductions import TileReduction


Sides = tuple[list[Affine], list[Affine]]
"""What is not above an index, and what is above it."""


def skewed_loop(
    of: TileReduction,
    level: Level,
    bound: Mapping[str, Affine],
    carried: list[Any],
    masked: bool,
    context: Context,
) -> list[Any]:
    """The innermost loop of a reduction, whose bounds move with the lane; what it carries at the end."""
    low, point, ranges = of.body.low, context.point, of.body.tile.ranges
    pair = closest_bounds(level, bound, of.moving - {LANE})
    by = pair.by if pair else ZERO
    every = (
        [b.ceil().substitute(bound) for b in level.lower],
        [b.floor().substitute(bound) + 1 for b in level.upper],
    )
    made = _Steps(of, level.name, bound, by, context)

    def ends(sides: Sides, sign: int, at: Any) -> tuple[Any, Any]:
        """From where to where a point of the tile, for -1, or all, for 1, are between bounds."""
        return (
            low.affine([extreme(form - by, ranges, sign) for form in sides[0]], at, "affine.max"),
            low.affine([extreme(form - by, ranges, -sign) for form in sides[1]], at, "affine.min"),
        )

    def parts(sides: Sides, tests: Domain | None, at: Any) -> list[Any]:
        span = of.ordered(*ends(sides, -1, at), *ends(sides, 1, at), at)
        values = made.run(span.start, span.inner_start, carried, tests, at)
        values = made.run(span.inner_start, span.inner_stop, values, (), at)
        return made.run(span.inner_stop, span.stop, values, tests, at)

    if masked or context.in_part:
        return made.run(*ends(every, -1, point), carried, None, point)
    if pair is None or not (pair.others[0] or pair.others[1]):
        return parts(every, None, point)
    start, stop = ends(pair.same, -1, point)
    index = Affine.var(level.name)
    tests = tuple(Constraint(index - form) for form in pair.same[0])
    tests += tuple(Constraint(form - 1 - index) for form in pair.same[1])
    first, last = low.variable(start) + by, low.variable(stop) - 1 + by
    forms = [first - form for form in pair.others[0]] + [form - 1 - last for form in pair.others[1]]
    rows = tuple(Constraint(extreme(form, ranges, -1)) for form in forms)
    types = [value.type for value in carried]

    def near(at: Any) -> list[Any]:
        return parts(pair.same, tests, at)

    def far(at: Any) -> list[Any]:
        return parts(every, None, at)

    return low.choose(low.holds(rows, point), types, near, far, point)


@dataclass(frozen=True)
class _Steps:
    """Steps of such a loop: its index is that of the reduction less `by`."""

    of: TileReduction
    name: str
    bound: Mapping[str, Affine]
    by: Affine
    context: Context

    def step(self, index: Affine, values: list[Any], tests: Domain | None, at: Any) -> list[Any]:
        """One step; under masks by tests, or all for None, if there are any."""
        there = replace(self.context, point=at, in_part=True)
        return self.of.innermost(
            {**self.bound, self.name: index + self.by}, values, tests != (), there, tests
        )

    def run(self, start: Any, stop: Any, values: list[Any], tests: Domain | None, at: Any) -> list[Any]:
        """The steps from a start below a stop."""

        def inside(index: Affine, values: list[Any], at: Any) -> list[Any]:
            return self.step(index, values, tests, at)

        return self.of.one_loop(self.name, (start, stop, 1), values, inside, at)
