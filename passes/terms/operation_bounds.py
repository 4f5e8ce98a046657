"""Upper bounds of what terms compute and move, where counting all of it exactly takes too long.

Each index has the interval that its loop's bounds leave whatever the indices around it are, so that it is not
walked; of a guard the branch counts that does more, and what several regions share counts in each.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from tadc.frontend.terms import Guard, Reduce, Term, operands, reachable
from tadc.lattice.intervals import Interval, interval_of
from tadc.lattice.late_dataclasses import dataclass, field, replace
from tadc.lattice.loop_nests import LoopNest, loop_nest
from tadc.passes.terms.work_regions import NOTHING, Work, amount, work, work_of

Intervals = Mapping[str, Interval]


def bound_of(roots: Iterable[Term], stored: Work, shape: Mapping[str, int]) -> Work:
    """At least the work of all elements of a shape, each of which evaluates and stores this."""
    points = math.prod(shape.values())
    found = _Bounds().region(roots, {name: (0, size - 1) for name, size in shape.items()})
    return replace((found + stored) * points, exact=False)


def _in_region(term: Term) -> tuple[Term, ...]:
    """What is evaluated with a term as often as it is."""
    return () if isinstance(term, Guard | Reduce) else operands(term)


@dataclass
class _Bounds:
    """Bounds of reductions and guards by their numbers and the intervals of the indices in them."""

    known: dict[tuple[int, tuple[Interval, ...]], Work] = field(
        default_factory=dict["tuple[int, tuple[Interval, ...]]", Work]
    )

    def region(self, roots: Iterable[Term], within: Intervals) -> Work:
        """What terms come to that are evaluated together."""
        total = NOTHING
        for node in reachable(roots, _in_region):
            total += self.once(node, within) if isinstance(node, Guard | Reduce) else work_of(node)
        return total

    def once(self, node: Guard | Reduce, within: Intervals) -> Work:
        """What is kept of a node, or new."""
        key = node.number, tuple(within[name] for name in sorted(node.free))
        if key not in self.known:
            if isinstance(node, Guard):
                branches = (self.region([branch], within) for branch in (node.then, node.otherwise))
                found = work(tuple(map(max, *map(amount, branches))))
            else:
                nest = loop_nest(node.binders, node.domain, ())
                inner, points = _points(nest, within)
                found = (self.region([node.body], inner) + work_of(node)) * points if points else NOTHING
            self.known[key] = found
        return self.known[key]


def _points(nest: LoopNest, within: Intervals) -> tuple[Intervals, int]:
    """The intervals of a nest's indices, and at least the number of its points."""
    inner, points = dict(within), 1
    determined = _determined(nest)
    for level in nest.levels:
        lower = max(-(-interval_of(bound.form, inner)[0] // bound.divisor) for bound in level.lower)
        upper = min(interval_of(bound.form, inner)[1] // bound.divisor for bound in level.upper)
        if lower > upper:
            return inner, 0
        inner[level.name] = lower, upper
        points *= 1 if level.name in determined else upper - lower + 1
    return inner, points


def _determined(nest: LoopNest) -> set[str]:
    """Indices that equalities tell by the others, each by an equality without those that others tell."""
    found: set[str] = set()
    taken: set[str] = set()
    for row in nest.inside:
        if row.equality and row.form.is_linear:
            mine = [level.name for level in nest.levels if level.name in row.form.variables - taken]
            found.update(mine[-1:])
            taken |= row.form.variables
    return found
