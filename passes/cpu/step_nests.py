"""The nest of a sweep: all of its maps for some steps of a recurrence, then for the next.

A map whose index does not count the steps itself runs for those of its values that belong to the steps at
hand. What belongs to a step before the first runs with that, what belongs to one after the last with
the last; where there is no step at all, everything runs once.

Threads divide an index of the maps: the nest runs for some phases, which are the stages of steps one
after the other (`step_stages.py`), and for one of so many parts of the values of that index.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from math import lcm

from tadc.frontend.terms import Domain
from tadc.lattice.affine import ZERO, Affine, Constraint
from tadc.lattice.late_dataclasses import dataclass
from tadc.passes.cpu.calls import Callee, calling
from tadc.passes.cpu.step_stages import Stepped, is_free, stages_of
from tadc.passes.maps.blocks import BlockNames
from tadc.passes.maps.map import Map, Sweep, TensorDecl
from tadc.passes.maps.recurrence import sweep_of
from tadc.passes.nest.nest import At, Body, Bound, Call, Either, Extreme, For, If, Nest, Statement

PHASES = ("first", "last", "part", "parts")
"""The further arguments of the function: which phases it runs, and which part of them."""


@dataclass(frozen=True)
class Follower:
    """The nest of a map in a sweep; over ranges of the index that threads `divided`, which begin at multiples
    of `grain`."""

    callee: Callee
    item: Map
    divided: str | None = None
    grain: int = 1
    work: int | None = None
    """The operations of all its steps; None where that takes the sizes of a call."""

    @property
    def sweep(self) -> Sweep:
        """How it follows the steps."""
        found = sweep_of(self.item)
        assert found is not None
        return found

    @property
    def extent(self) -> Affine:
        """The number of values that threads divide."""
        assert self.divided is not None
        return self.item.extents[self.item.indices.index(self.divided)]


@dataclass(frozen=True)
class StepPhases:
    """What runs in each step of a recurrence, which another part may lead, and in which phases.

    With `in_range` a call takes some steps, from one on.
    """

    parts: Sequence[Follower]
    in_range: bool = False
    leads: Follower | None = None

    @cached_property
    def leader(self) -> Follower:
        """The recurrence that has the steps."""
        return self.leads or next(part for part in self.parts if part.item.order is not None)

    @property
    def is_divided(self) -> bool:
        """Whether there is something for several threads."""
        return any(part.divided is not None for part in self.parts)

    @cached_property
    def divided(self) -> dict[Affine, int]:
        """The extents that threads divide, and what their ranges begin at multiples of: maps of the same
        extent have the same ones."""
        found: dict[Affine, int] = {}
        for part in self.parts:
            if part.divided is not None:
                found[part.extent] = lcm(part.grain, found.get(part.extent, 1))
        return found

    @property
    def rows(self) -> int:
        """The steps that run at a time: several threads wait for each other after each."""
        return 1 if self.waits else max(1, self.leader.item.marks.rows)

    @cached_property
    def is_free(self) -> bool:
        """Whether each thread runs all steps by itself."""
        return self.is_divided and not self.in_range and is_free(self._stepped)

    @property
    def waits(self) -> bool:
        """Whether threads wait for each other."""
        return self.is_divided and not self.is_free

    @cached_property
    def stages(self) -> list[list[int]]:
        """The parts of a step that run without waiting, stage after stage."""
        return stages_of(self._stepped) if self.waits else [[*range(len(self.parts))]]

    @property
    def _stepped(self) -> list[Stepped]:
        return [Stepped(part.item, part.divided) for part in self.parts]

    @property
    def count(self) -> Affine:
        """The number of steps."""
        return self.leader.item.extents[self.leader.sweep.index]

    @property
    def rounds(self) -> Extreme:
        """How often some steps run."""
        return Extreme("max", (-(-self.count).floordiv(self.rows), Affine.const(1)))


class StepNest:
    """The nest of a sweep on its way. Its ranges are the step that it begins with, the phases from the
    `first` on before the `last`, which part of the threads it is, and, by extent, a range of values."""

    def __init__(self, steps: StepPhases, names: BlockNames) -> None:
        self.steps, self.names = steps, names
        self.begin, self.first, self.last, self.part = map(names.new, ("begin", *PHASES[:3]))
        self.ranges = {extent: (names.new("low"), names.new("high")) for extent in steps.divided}

    def nest(
        self, name: str, tensors: Mapping[str, TensorDecl], sizes: tuple[str, ...], known: Domain
    ) -> Nest:
        """The nest over sizes and phases that calls the parts for a few steps at a time."""
        steps, callees = self.steps, [part.callee for part in self.steps.parts]
        ranges = [self.begin] if steps.in_range else []
        ranges += [] if steps.is_free else [self.first, self.last]
        ranges += [self.part, *chain(*self.ranges.values())] if steps.is_divided else []
        known = (*known, *self.known(ranges))
        return calling(name, callees, tensors, tuple(ranges), known, self.body(), sizes)

    def whole(self, phases: Affine, *begin: Affine) -> tuple[Affine, ...]:
        """The values of the ranges for all of so many phases."""
        steps, extents = self.steps, [end for extent in self.ranges for end in (ZERO, extent)]
        all_phases = () if steps.is_free else (ZERO, phases)
        return (*begin, *all_phases, *((ZERO, *extents) if steps.is_divided else ()))

    def known(self, ranges: Sequence[str]) -> Iterator[Constraint]:
        """What holds of the ranges."""
        phases = [] if self.steps.is_free else [(self.first, self.last)]
        for begin, end in (*phases, *self.ranges.values()):
            yield Constraint(Affine.var(end) - Affine.var(begin))
        yield from (Constraint(Affine.var(name)) for name in ranges)
        for extent, (begin, end) in self.ranges.items():
            grain, low = self.steps.divided[extent], Affine.var(begin)
            yield Constraint(extent - Affine.var(end))
            if grain > 1:
                yield Constraint(low.mod(grain), equality=True)

    def body(self) -> Body:
        """The loop over phases; where one map runs for one step at a time, it has the loop."""
        steps, body = self.steps, list[Statement]()
        start = Affine.var(self.begin) if steps.in_range else ZERO
        first, last = Affine.var(self.first), Affine.var(self.last)
        if steps.is_free:
            first, last = ZERO, self.at(body, "rounds", steps.rounds)
        if len(steps.parts) == 1 and steps.rows == 1:
            ends = [(name, (form + start, steps.count)) for name, form in (("start", first), ("stop", last))]
            found = [self.at(body, name, Extreme("min", forms)) for name, forms in ends]
            return (*body, self.call(steps.leader, found[0], found[1]))
        phase, several, inside = self.names.new("phase"), len(steps.stages), list[Statement]()
        own = Affine.var(phase)
        begin = self.at(inside, "start", own.floordiv(several) * steps.rows + start)
        end = self.at(inside, "stop", Extreme("min", (begin + steps.rows, steps.count)))
        for number, stage in enumerate(steps.stages):
            found = list[Statement]()
            for part in (steps.parts[n] for n in stage):
                found.append(self.call(part, *self.ends(found, part, begin, end)))
            is_stage = Constraint(own.mod(several) - number, equality=True)
            inside += found if several == 1 else [If((is_stage,), tuple(found))]
        return (*body, For(phase, first, last, 1, "seq", tuple(inside)))

    def at(self, body: list[Statement], name: str, value: Bound) -> Affine:
        """A name for a value."""
        index = self.names.new(name)
        body.append(At(index, value))
        return Affine.var(index)

    def ends(
        self, body: list[Statement], part: Follower, begin: Affine, end: Affine
    ) -> tuple[Affine, Affine]:
        """The values of a map's index that belong to some steps."""
        if part.item.order is not None:
            return begin, end
        sweep, count = part.sweep, self.steps.count
        extent = part.item.extents[sweep.index]
        steps = (count - end, count - begin) if self.steps.leader.sweep.down else (begin, end)
        if sweep.is_step and extent == count:
            return steps
        found: list[Affine] = []
        # None or all where there are no further steps.
        for name, step, limit, whole in (("from", steps[0], ZERO, ZERO), ("to", steps[1], count, extent)):
            before = -(sweep.offset - step).floordiv(sweep.scale)
            value = self.at(body, name, Extreme("min", (before, extent)))
            value = self.at(body, name, Extreme("max", (value, ZERO)))
            is_end = (Constraint(step - limit, equality=True),)
            found.append(self.at(body, name, Either(is_end, whole, value)))
        return found[0], found[1]

    def call(self, part: Follower, start: Affine, stop: Affine) -> Statement:
        """A call of a part for some values of its index, and for a range of that which threads divide; where
        none is, the first thread computes it."""
        rows, ends = [Constraint(stop - start - 1)], tuple[Affine, ...]()
        if part.divided is not None:
            low, high = map(Affine.var, self.ranges[part.extent])
            rows, ends = [*rows, Constraint(high - low - 1)], (low, high)
        elif self.steps.is_divided:
            rows.append(Constraint(-Affine.var(self.part)))
        callee = part.callee
        return If(tuple(rows), (Call(callee.nest.name, callee.tensors, (start, stop, *ends)),))
