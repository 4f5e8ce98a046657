"""The operations of a program whose index arrays are there, counted at the points of its domains."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tadc.apps.blocks.domain_points import DomainPoints, Numbers, Points
from tadc.toolkit.language import (
    Constraint,
    Domain,
    Guard,
    Program,
    Reduce,
    Region,
    Regions,
    Term,
    WorkLoop,
    reachable,
    shape_at,
)

#: How many times a point is met, as a variable of it: no name of a program.
_TIMES = "?times"
#: Which of the points around a loop a step of it belongs to.
_AROUND = "?around"


def operations_at(program: Program, points: DomainPoints) -> int:
    """The weighted operations of all tensors of a program, as `tadc.statistics` counts them.

    The points have the program's sizes and index arrays. What changes neither a bound nor a condition is not
    gone through, it multiplies.
    """
    regions, once = Regions(program.terms), {_TIMES: np.ones(1, np.int64)}
    shaped = (replace(d, shape=shape_at(d.shape, points.sizes)) for d in program.definitions)
    return sum(_PointCounter(points).steps(regions.elements([d]), once) for d in shaped)


def depend_on_elements(program: Program) -> bool:
    """Whether other elements of index arrays change how much a program computes."""
    reached = reachable(d.body for d in program.definitions)
    return any(row.form.has_lookups for term in reached for row in _conditions(term))


def _conditions(term: Term) -> Domain:
    match term:
        case Reduce(domain=rows) | Guard(conditions=rows):
            return rows
        case _:
            return ()


@dataclass(frozen=True)
class _PointCounter:
    """Counts what regions come to at all points of the variables around them."""

    points: DomainPoints

    def at(self, region: Region, around: Points) -> int:
        """What a region comes to."""
        _, weighted, *_ = region.own
        total = weighted * int(around[_TIMES].sum())
        for rows, then, otherwise in region.choices:
            holds = np.ones(len(around[_TIMES]), bool)
            for row in rows:
                holds &= self.points.holds(row, around)
            total += self.at(then, _those(around, holds)) + self.at(otherwise, _those(around, ~holds))
        return total + sum(self.steps(loop, around) for loop in region.loops)

    def steps(self, loop: WorkLoop, around: Points) -> int:
        """What all steps of a loop come to, and what they share."""
        outer = _grouped(around, loop.depends)
        walked, times = dict.fromkeys(loop.binders), 1
        rows = list(loop.domain)
        for name in loop.binders:
            own = [row for row in rows if name in row.form.variables]
            if name not in loop.step.depends and all(self._is_alone(name, row) for row in own):
                times *= len(self.points.points(own, [name])[name])
                rows = [row for row in rows if row not in own]
                del walked[name]
        steps = self.points.points(rows, walked, outer=outer | {_AROUND: np.arange(len(outer[_TIMES]))})
        if not times or not len(steps[_AROUND]):
            return 0
        total = self.at(loop.step, {**steps, _TIMES: steps[_TIMES] * times})
        return total + self.at(loop.shared, _those(outer, np.unique(steps[_AROUND])))

    def _is_alone(self, name: str, row: Constraint) -> bool:
        """Whether no other index is in a row."""
        return row.form.variables <= {name, *self.points.sizes}


def _those(points: Points, which: Any) -> Points:
    return {name: values[which] for name, values in points.items()}


def _grouped(points: Points, names: Collection[str]) -> dict[str, Numbers]:
    """The points by these variables alone, each once."""
    kept = [name for name in points if name in names]
    if not kept:
        return {_TIMES: points[_TIMES].sum(keepdims=True)}
    values, group = np.unique(np.stack([points[name] for name in kept]), axis=1, return_inverse=True)
    times = np.zeros(values.shape[1], np.int64)
    np.add.at(times, group.ravel(), points[_TIMES])
    return {**dict(zip(kept, values, strict=True)), _TIMES: times}
