"""Loops that the threads of a block divide among them: in teams, and those of a team in smaller ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tadc.dialect.mlir import ir
from tadc.lattice.affine import ZERO, Affine, Constraint
from tadc.lattice.late_dataclasses import dataclass, replace
from tadc.passes.maps.lower_body import BodyLowering
from tadc.passes.nest.emit import EmitScope, trips
from tadc.passes.nest.loop_bounds import bound_forms
from tadc.passes.nest.nest import For


@dataclass(frozen=True)
class ThreadTeam:
    """Threads that run a statement together: the number of this one, and how many they are."""

    number: Affine
    count: int

    def split(self, teams: int) -> tuple[Affine, Affine, int]:
        """The number of a smaller team, of a thread in it, and how many its threads are, which are
        consecutive."""
        each = self.count // teams
        if each == 1:
            return self.number, ZERO, 1
        if teams == 1:
            return ZERO, self.number, each
        return self.number.floordiv(each), self.number.mod(each), each


@dataclass(frozen=True)
class TeamLoop:
    """Loops whose points are numbered, the innermost loop's fastest; each team takes every so many.

    `fill` makes what is in them, for a smaller team.
    """

    loops: Sequence[For]
    low: BodyLowering
    fill: Callable[[EmitScope, ThreadTeam], None]

    def emit(self, team: ThreadTeam, scope: EmitScope) -> None:
        """Make the code of all."""
        place, number, count = team.split(self.loops[0].teams)
        place, own = self.named(place, scope), ThreadTeam(self.named(number, scope), count)
        loop = self.loops[0]
        forms = [scope.form(form) for form in bound_forms(loop.stop)]
        if len(self.loops) == 1 and not (isinstance(loop.stop, Affine) and loop.stop.is_constant):
            self.each(place, forms, scope, lambda at, inner: self.fill(self.at(loop, at, forms, inner), own))
            return
        counts = [len(trips(loop)) for loop in self.loops]

        def point(at: Affine, inner: EmitScope) -> None:
            for n, (loop, size) in enumerate(zip(self.loops, counts, strict=True)):
                here = at.floordiv(math.prod(counts[n + 1 :]))
                here = self.named(here.mod(size) if n else here, inner)
                last = Affine.const(trips(loop)[-1] + 1)
                inner = self.at(loop, here * loop.step + trips(loop).start, [last], inner)
            self.fill(inner, own)

        self.each(place, [Affine.const(math.prod(counts))], scope, point)

    def named(self, form: Affine, scope: EmitScope) -> Affine:
        """A variable that stands for a form: forms of indices stay small."""
        return form if form.is_linear else self.low.variable(self.low.affine([form], scope.point))

    def at(self, loop: For, index: Affine, stops: Sequence[Affine], scope: EmitScope) -> EmitScope:
        """The scope where a loop is at a value, and what is known of it."""
        below = (Constraint(stop - 1 - index) for stop in stops)
        return scope.naming(loop.index, index).knowing(Constraint(index), *below)

    def each(
        self,
        place: Affine,
        stops: Sequence[Affine],
        scope: EmitScope,
        fill: Callable[[Affine, EmitScope], None],
    ) -> None:
        """A loop of a team, from its place on; a condition where it has one step at most."""
        low, teams = self.low, self.loops[0].teams
        most = min((stop.constant for stop in stops if stop.is_constant), default=teams + 1)
        if most > teams:
            span = low.affine([place], scope.point), low.affine(stops, scope.point, "affine.min"), teams

            def step(at: Affine, carried: list[ir.Value], inside: ir.InsertionPoint) -> list[ir.Value]:
                fill(at, replace(scope, point=inside))
                return []

            low.loop(scope.label(self.loops[-1].index), span, [], step, scope.point)
            return
        ends = (stop for stop in stops if not stop.is_constant or stop.constant < teams)
        rows = tuple(Constraint(stop - 1 - place) for stop in ends)

        def then(inside: ir.InsertionPoint) -> list[ir.Value]:
            fill(place, replace(scope, point=inside))
            return []

        if rows:
            low.choose(low.holds(rows, scope.point), [], then, None, scope.point)
        else:
            fill(place, scope)
