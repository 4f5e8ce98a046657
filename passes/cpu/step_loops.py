"""The loop of a sweep: all of its maps for some steps of a recurrence, then for the next.

A map whose index does not count the steps itself runs for those of its values that belong to the steps at
hand. What belongs to a step before the first runs with that, what belongs to one after the last with
the last; where there is no step at all, everything runs once.

Threads divide an index of the maps: the function is called for some phases, which are the stages of steps one
after the other (`step_stages.py`), and for one of so many parts of the values of that index.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import lcm

from tadc.dialect.mlir import ir
from tadc.lattice.affine import Affine
from tadc.passes.cpu.step_stages import Stepped, is_free, stages_of
from tadc.passes.maps.lower_body import BodyLowering
from tadc.passes.maps.map import Map, Sweep
from tadc.passes.maps.recurrence import sweep_of

PHASES = ("first", "last", "part", "parts")
"""The further arguments of the function: which phases it runs, and which part of them."""

Ends = tuple[ir.Value, ir.Value]
"""Where a range begins, and before what it ends."""


@dataclass(frozen=True)
class Follower:
    """The function of a map in a sweep, and which of the buffers it takes; over ranges of the index that
    threads `divided`, which begin at multiples of `grain`."""

    name: str
    used: Sequence[int]
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


STEPS = ("begin", "end")
"""The arguments of a function over a range of steps, in the order in which they are taken."""


@dataclass(frozen=True)
class Steps:
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

    def grain(self, part: Follower) -> int:
        """What the ranges of a part begin at multiples of, so that maps of the same extent have the same
        ones."""
        same = (other.grain for other in self.parts if other.divided and other.extent == part.extent)
        return lcm(*same)

    def most(self, sizes: Mapping[str, Affine], low: BodyLowering, point: ir.InsertionPoint) -> ir.Value:
        """The most ranges that any of them has."""
        counts = (p.extent.floordiv(self.grain(p)).substitute(sizes) for p in self.parts if p.divided)
        return low.affine([*counts], point, "affine.max")

    @property
    def rows(self) -> int:
        """The steps that run at a time: several threads wait for each other after each."""
        return 1 if self.is_divided and not self.is_free else max(1, self.leader.item.marks.rows)

    @cached_property
    def is_free(self) -> bool:
        """Whether each thread runs all steps by itself."""
        return not self.in_range and is_free(self._stepped)

    @cached_property
    def stages(self) -> list[list[int]]:
        """The parts of a step that run without waiting, stage after stage."""
        return (
            stages_of(self._stepped) if self.is_divided and not self.is_free else [[*range(len(self.parts))]]
        )

    @property
    def _stepped(self) -> list[Stepped]:
        return [Stepped(part.item, part.divided) for part in self.parts]

    def count(self, sizes: Mapping[str, Affine]) -> Affine:
        """The number of steps, by the forms of sizes."""
        return self.leader.item.extents[self.leader.sweep.index].substitute(sizes)

    def phases(self, sizes: Mapping[str, Affine], low: BodyLowering, point: ir.InsertionPoint) -> ir.Value:
        """The number of phases: all steps are one where threads do not wait for each other."""
        if self.is_divided and self.is_free:
            return low.index(1, point)
        least = low.affine([-(-self.count(sizes)).floordiv(self.rows), Affine.const(1)], point, "affine.max")
        return low.affine([low.variable(least) * len(self.stages)], point)


def step_loop(block: ir.Block, steps: Steps, sizes: Mapping[str, Affine], low: BodyLowering) -> None:
    """Fill a function over buffers, sizes, which have these forms, and `PHASES`: it calls the parts for a few
    steps at a time."""
    _Filling(block, steps, sizes, low).fill()


class _Filling:
    """A function on its way."""

    def __init__(self, block: ir.Block, steps: Steps, sizes: Mapping[str, Affine], low: BodyLowering) -> None:
        self.steps, self.sizes, self.low = steps, sizes, low
        self.point = ir.InsertionPoint(block)
        *self.given, self.first, self.last, self.part, self.parts = block.arguments
        self.count, self.begin = steps.count(sizes), Affine.const(0)
        if steps.in_range:
            self.begin = low.variable(self.given.pop())

    def fill(self) -> None:
        """Run through the phases."""
        low, point, steps = self.low, self.point, self.steps
        if steps.is_divided and steps.is_free:
            rounds = low.affine([-(-self.count).floordiv(steps.rows), Affine.const(1)], point, "affine.max")
            first, last = low.index(0, point), rounds
        else:
            first, last = self.first, self.last
        ranges = [self.range_of(part) for part in steps.parts]
        if len(steps.parts) == 1 and steps.rows == 1:
            forms = (low.variable(end) + self.begin for end in (first, last))
            ends = [low.affine([form, self.count], point, "affine.min") for form in forms]
            self.call(steps.leader, (ends[0], ends[1]), ranges[0], point)
            low.create("func.return", [], [], point)
            return
        made = low.create("scf.for", [], [first, last, low.index(1, point)], point, regions=1)
        inner = ir.Block.create_at_start(made.regions[0], [low.index_type], [low.location])
        inside = ir.InsertionPoint(inner)
        phase, several = low.variable(inner.arguments[0]), len(steps.stages)
        begin = low.variable(low.affine([phase.floordiv(several) * steps.rows + self.begin], inside))
        for number, stage in enumerate(steps.stages):

            def run(here: ir.InsertionPoint, stage: Sequence[int] = stage) -> list[ir.Value]:
                self.run(begin, [(steps.parts[n], ranges[n]) for n in stage], here)
                return []

            if several == 1:
                run(inside)
            else:
                at = low.affine([phase - phase.floordiv(several) * several], inside)
                low.choose(low.compare("eq", at, low.index(number, inside), inside), [], run, None, inside)
        low.create("scf.yield", [], [], inside)
        low.create("func.return", [], [], point)

    def run(
        self, begin: Affine, parts: Sequence[tuple[Follower, Ends | None]], point: ir.InsertionPoint
    ) -> None:
        """Call some parts for the steps from one on."""
        low, leader = self.low, self.steps.leader
        end = low.variable(low.affine([begin + self.steps.rows, self.count], point, "affine.min"))
        first, last = (self.count - end, self.count - begin) if leader.sweep.down else (begin, end)
        for part, ends in parts:
            if part.item.order is not None:
                start, stop = (low.affine([form], point) for form in (begin, end))
            else:
                start = self.values_before(first, part, point, whole=(first, False))
                stop = self.values_before(last, part, point, whole=(last - self.count, True))
            self.call(part, (start, stop), ends, point)

    def call(
        self,
        part: Follower,
        steps: tuple[ir.Value, ir.Value],
        ends: Ends | None,
        point: ir.InsertionPoint,
    ) -> None:
        """Call a part for some values of its index, and for a range of that which threads divide; where none
        is, the first thread computes it."""
        low, count = self.low, len(self.given) - len(self.sizes)
        values = self.given[count:]
        operands = [*(self.given[n] for n in part.used), *values, *steps, *(ends or ())]

        def made(here: ir.InsertionPoint) -> list[ir.Value]:
            low.create("func.call", [], operands, here, {"callee": ir.FlatSymbolRefAttr.get(part.name)})
            return []

        def inside(here: ir.InsertionPoint) -> list[ir.Value]:
            begin, end = ends or (self.part, low.index(1, here))
            low.choose(low.compare("slt", begin, end, here), [], made, None, here)
            return []

        is_divided = self.steps.is_divided
        low.choose(low.compare("slt", *steps, point), [], inside if is_divided else made, None, point)

    def range_of(self, part: Follower) -> Ends | None:
        """The ends of the range of an index that this thread computes: whole grains, the last one more."""
        if part.divided is None:
            return None
        low, point, grain = self.low, self.point, self.steps.grain(part)
        extent = part.extent.substitute(self.sizes)
        grains = low.affine([extent.floordiv(grain)], point)

        def up_to(part: ir.Value) -> ir.Value:
            product = low.create("arith.muli", [low.index_type], [part, grains], point).results[0]
            whole = low.create("arith.divui", [low.index_type], [product, self.parts], point).results[0]
            return low.affine([low.variable(whole) * grain], point)

        following = low.affine([low.variable(self.part) + 1], point)
        is_last = low.compare("eq", following, self.parts, point)
        end = low.select(is_last, low.affine([extent], point), up_to(following), point)
        return up_to(self.part), end

    def values_before(
        self, step: Affine, part: Follower, point: ir.InsertionPoint, *, whole: tuple[Affine, bool]
    ) -> ir.Value:
        """How many values of a map's index belong to steps before one: none or all where a form is 0."""
        low, sweep = self.low, part.sweep
        zero, extent = Affine.const(0), part.item.extents[sweep.index].substitute(self.sizes)
        form, is_all = whole
        found = -(sweep.offset - step).floordiv(sweep.scale)
        value = low.affine([found, extent], point, "affine.min")
        value = low.affine([low.variable(value), zero], point, "affine.max")
        is_end = low.compare("eq", low.affine([form], point), low.index(0, point), point)
        return low.select(is_end, low.affine([extent if is_all else zero], point), value, point)
