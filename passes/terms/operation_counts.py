"""What a program computes and moves, counted from its domains, without running it.

The model is the compiled one, before LLVM: `work_regions` says what is evaluated once. The elements of a
tensor share nothing. Tensors of one map are evaluated together, and so are sums that are one loop:
`ComputedTogether` says which.

An index that changes neither a bound nor a condition is not walked, it multiplies. One that does is walked
near breakpoints; between them the count is a quasi-polynomial, of which few values tell the sum. Conditions
on several indices may leave all of their points to be walked, so a count has a limit; where it is reached the
work of a tensor is a bound (`operation_bounds`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tadc.frontend.extents import shape_at
from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import Term
from tadc.lattice.affine import Affine
from tadc.lattice.breakpoints import Critical, critical, zones
from tadc.lattice.effort import EliminationLimit, apart, spend
from tadc.lattice.late_dataclasses import dataclass, field, replace
from tadc.lattice.sums import Amount, plus, sum_of_pieces, times
from tadc.passes.terms.costs import ELEMENT
from tadc.passes.terms.even_lookups import EvenLookups, looks_up
from tadc.passes.terms.operation_bounds import bound_of
from tadc.passes.terms.work_regions import NOTHING, Region, Regions, Work, WorkLoop, amount, work

#: What a point of a loop is charged, as `effort` counts: it takes as long as so many entries.
POINT = 10
#: What counting a program may take, as `effort` counts: two seconds.
COUNTED = 2_000_000


@dataclass(frozen=True)
class ComputedTogether:
    """Names of tensors that are computed in one nest of loops, with all values that are made for each
    element; and numbers of sums that are one loop where they stand in one region."""

    maps: tuple[tuple[tuple[str, ...], tuple[Term, ...]], ...] = ()
    sums: tuple[frozenset[int], ...] = ()


def count_program(program: Program, together: ComputedTogether | None = None, limit: int = COUNTED) -> Work:
    """The work of all tensors of a program without size symbols, as if index arrays were spread evenly.

    The limit is one on all counts together, in what `effort` counts.
    """
    return sum(count_maps(program, together, limit).values(), NOTHING)


def count_maps(
    program: Program, together: ComputedTogether | None = None, limit: int = COUNTED
) -> dict[tuple[str, ...], Work]:
    """The work of each map, by the tensors that it computes, as `count_program`."""
    found = together or ComputedTogether()
    if arrays := program.index_arrays():
        program, found = _evened(program, found, EvenLookups(program.terms, arrays))
    counting = Counting(limit, Regions(program.terms, found.sums))
    by_name = {d.name: d for d in program.definitions}
    fused = {name for names, _ in found.maps for name in names}
    made = {
        names: counting.elements([by_name[name] for name in names], values) for names, values in found.maps
    }
    alone = [d for d in program.definitions if d.name not in fused]
    return made | {(d.name,): counting.elements([d]) for d in alone}


def _evened(
    program: Program, together: ComputedTogether, even: EvenLookups
) -> tuple[Program, ComputedTogether]:
    """A program that looks up nothing, and what of it is computed together."""
    made = even.program(program)
    maps = tuple((names, tuple(map(even.term, values))) for names, values in together.maps)
    sums = (frozenset(even.known[n].number for n in each if n in even.known) for each in together.sums)
    return made, ComputedTogether(maps, tuple(sums))


@dataclass
class Counting:
    """Counts tensors with what is left of a limit."""

    left: int
    regions: Regions

    def definition(self, definition: Definition) -> Work:
        """The work of one tensor without size symbols."""
        if looks_up([definition.body]):
            definition = replace(definition, body=EvenLookups(self.regions.terms, {}).term(definition.body))
        return self.elements([definition])

    def elements(self, definitions: Sequence[Definition], values: Sequence[Term] = ()) -> Work:
        """The work of all elements of tensors with the same indices, these values among it.

        No count takes more than half of what is left, so that after a large one there is some for small ones.
        """
        first = definitions[0]
        shape = shape_at(first.shape, {})
        if not math.prod(shape):
            return NOTHING
        limit = self.left // 2
        try:
            with apart(limit) as meter:
                found = work(_Counts().steps(self.regions.elements(definitions, values), {}))
                self.left -= limit - meter.left
                return found
        except EliminationLimit:
            self.left -= limit
            roots = [*(d.body for d in definitions), *values]
            stored = Work(stored=sum(ELEMENT[d.type] for d in definitions))
            return bound_of(roots, stored, dict(zip(first.indices, shape, strict=True)))


@dataclass
class _Counts:
    """What regions come to at the points met so far."""

    known: dict[tuple[Region, tuple[int, ...]], Amount] = field(
        default_factory=dict["tuple[Region, tuple[int, ...]]", Amount]
    )
    critical: dict[tuple[WorkLoop, int], Critical | None] = field(
        default_factory=dict["tuple[WorkLoop, int]", "Critical | None"]
    )

    def at(self, region: Region, point: Mapping[str, int]) -> Amount:
        """What a region comes to at a point, as `amount` of its work."""
        if not region.loops and not region.choices:
            return region.own
        key = (region, tuple([point[name] for name in region.depends]))
        if key not in self.known:
            total = region.own
            for rows, then, otherwise in region.choices:
                total = plus(
                    total, self.at(then if all(row.holds(point) for row in rows) else otherwise, point)
                )
            for loop in region.loops:
                total = plus(total, self.steps(loop, point))
            self.known[key] = total
        return self.known[key]

    def steps(self, loop: WorkLoop, point: Mapping[str, int]) -> Amount:
        """What all steps of a loop come to, and what they share."""
        if not all(row.holds(point) for row in loop.nest.outside):
            return _NONE
        count, *total = self.below(loop, 0, dict(point))
        return plus((0, *total), self.at(loop.shared, point)) if count else _NONE

    def below(self, loop: WorkLoop, depth: int, point: dict[str, int]) -> Amount:
        """The number of points of the levels from a depth inward, and what their steps come to."""
        spend(POINT)
        levels = loop.nest.levels
        if depth == len(levels):
            if not all(row.holds(point) for row in loop.nest.inside):
                return _NONE
            return (1, *self.at(loop.step, point)[1:])
        level = levels[depth]
        lower = max([-((-bound.form.evaluate(point)) // bound.divisor) for bound in level.lower])
        upper = min([bound.form.evaluate(point) // bound.divisor for bound in level.upper])
        if lower > upper:
            return _NONE
        name = level.name

        def value(at: int) -> Amount:
            point[name] = at
            return self.below(loop, depth + 1, point)

        if not _matters(loop, depth):
            return times(value(lower), upper - lower + 1)
        inner = self.pieces(loop, depth + 1)
        if inner is None or upper - lower < inner.period * (inner.degree + 2):
            return sum_of_pieces(value, lower, upper, [(lower, upper)], 1, 0)
        outer = {n: v for n, v in point.items() if n != name}
        found = zones(inner.forms, name, outer)
        return sum_of_pieces(value, lower, upper, found, inner.period, inner.degree)

    # -- pieces --------------------------------------------------------------------------------------

    def pieces(self, loop: WorkLoop, depth: int) -> Critical | None:
        """How the levels of a loop from a depth inward depend on what is around them; None if not seen."""
        key = (loop, depth)
        if key not in self.critical:
            self.critical[key] = self.level_pieces(loop, depth)
        return self.critical[key]

    def level_pieces(self, loop: WorkLoop, depth: int) -> Critical | None:
        """What `pieces` keeps, for a depth that is new."""
        levels = loop.nest.levels
        if depth == len(levels):
            step = self.region_pieces(loop.step)
            return step and critical(row.form for row in loop.nest.inside).joined([step])
        level, inner = levels[depth], self.pieces(loop, depth + 1)
        if inner is None:
            return None
        sides = [
            Affine.var(level.name) * bound.divisor - bound.form for bound in (*level.lower, *level.upper)
        ]
        bounded = critical(sides).joined([inner])
        if not _matters(loop, depth) and all(form.variables <= {level.name} for form in sides):
            return inner
        return bounded.summed(level.name)

    def region_pieces(self, region: Region) -> Critical | None:
        """How a region depends on what is around it."""
        found = critical(row.form for rows, _, _ in region.choices for row in rows)
        parts = [self.region_pieces(branch) for _, *branches in region.choices for branch in branches]
        for loop in region.loops:
            parts += [
                critical(row.form for row in loop.nest.outside),
                self.pieces(loop, 0),
                self.region_pieces(loop.shared),
            ]
        known = [part for part in parts if part is not None]
        return found.joined(known) if len(known) == len(parts) else None


_NONE = amount(NOTHING)


def _matters(loop: WorkLoop, depth: int) -> bool:
    """Whether the value of a level's index changes what is below it."""
    name, inner = loop.nest.levels[depth].name, loop.nest.levels[depth + 1 :]
    bounds = (bound.form for level in inner for bound in (*level.lower, *level.upper))
    forms = (*bounds, *(row.form for row in loop.nest.inside))
    return name in loop.step.depends or any(name in form.variables for form in forms)


__all__ = ["ComputedTogether", "Counting", "Work", "count_program"]
