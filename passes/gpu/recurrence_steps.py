"""How threads of a GPU compute recurrences: the steps of the kernels of a map with an order.

    scan{t} s[t, b] = F(s[t - 1, b])                         grid b, inside for t: a thread runs all steps
    scan{t} u[t, i] = F(u[t - 1, i - 1], u[t - 1, i + 1])    for t, inside thread i: a block runs all steps
                                                             launch t, inside grid i: a launch a step

Elements of a batch do not read each other's, so a thread goes through the steps of one. Free elements of a
step do read those of other threads of earlier steps: between two steps all threads of a block meet, or there
is a launch for each step, which reads what the launches before it stored. So it is where loops run over the
values of an order (wavefronts).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from tadc.lattice.affine import Affine
from tadc.lattice.late_dataclasses import dataclass
from tadc.passes.gpu.groups import sharing
from tadc.passes.gpu.occupancy import BLOCK_SIZE, block_of
from tadc.passes.gpu.thread_tiles import LONG, shared_folds
from tadc.passes.maps.blocks import names_in
from tadc.passes.maps.machine import Gpu
from tadc.passes.maps.map import Map, MapFunction
from tadc.passes.maps.recurrence import RecurrenceLoops, recurrence_of
from tadc.passes.maps.size_tests import SizeTest
from tadc.passes.nest.plain import going_down, plain_nest
from tadc.passes.nest.primitives.rewriting import loops_in
from tadc.passes.nest.steps import Bind, InBlocks, Reorder, Step, Steps, When
from tadc.passes.schedule.accesses import Accesses, Loop
from tadc.passes.terms.costs import FEW_ELEMENTS, MUCH_CODE

MOST_OF_BLOCK = FEW_ELEMENTS
"""Steps of more operations are divided among all multiprocessors: they take a block longer than a launch."""

WORTH_LAUNCHES = MUCH_CODE
"""Sums of so many elements take a thread longer than a launch."""

Tests = tuple[SizeTest, ...]


def steps_of_recurrence(item: Map, function: MapFunction, gpu: Gpu) -> tuple[Steps, ...]:
    """The steps of the kernels of a recurrence, each with the sizes that it is for; the last is for all
    others."""
    found: list[Steps] = []
    for tests, steps in ways_of_recurrence(item, function, gpu):
        open = tuple(test for test in tests if not _is_known(test))
        if all(test.holds(()) for test in tests if _is_known(test)):
            found.append((When(open), *steps) if open else steps)
            if not open:
                break
    return tuple(found)


def ways_of_recurrence(item: Map, function: MapFunction, gpu: Gpu) -> Iterator[tuple[Tests, Steps]]:
    """All ways to divide a recurrence, each right for all sizes, with those for which it is better than the
    ways after it."""
    recurrence = recurrence_of(item)
    assert recurrence is not None
    if recurrence.order is not None:
        yield (), _by_order(item, function)
        return
    ways = _Ways(item, function, recurrence, gpu)
    # Loops that are numbered together have known numbers of values.
    if len(ways.free) == 1 or (ways.free and _count(ways.extents(ways.free)) is not None):
        yield ways.few_operations(), ways.in_blocks()
        if ways.batch:
            yield (SizeTest(ways.extents(ways.batch), least=gpu.multiprocessors),), ways.in_blocks()
    folds = dict(shared_folds(ways.accesses, ways.accesses.body, gpu.warp))
    if folds:
        yield ways.few_long_sums(), ways.in_launches(folds)
    if not ways.free:
        yield (), ways.in_threads()
    yield (), ways.in_launches()


def _is_known(test: SizeTest) -> bool:
    """Whether a condition says nothing of sizes."""
    return all(extent.is_constant for extent in test.extents)


def _by_order(item: Map, function: MapFunction) -> Steps:
    """A launch for each value of the order, whose elements are divided among threads."""
    step, *inner = (loop.index for loop in loops_in(plain_nest(function, item).body))
    bound = (Bind("launch", (step,)), *((Bind("grid", tuple(inner)),) if inner else ()))
    return (*bound, InBlocks(BLOCK_SIZE))


@dataclass(frozen=True)
class _Ways:
    """The ways to divide a recurrence whose loops go along single indices."""

    item: Map
    function: MapFunction
    recurrence: RecurrenceLoops
    gpu: Gpu

    @property
    def ordered(self) -> tuple[str, ...]:
        """The loops that run in order, outermost first."""
        down = self.recurrence.down
        return tuple(going_down(name) if name in down else name for name in self.recurrence.ordered)

    @property
    def batch(self) -> tuple[str, ...]:
        """The indices of which elements read those with the same value."""
        return tuple(name for name in self.item.indices if name in self.recurrence.batch)

    @property
    def free(self) -> tuple[str, ...]:
        others = self.recurrence.batch | set(self.recurrence.ordered)
        return tuple(name for name in self.item.indices if name not in others)

    def extents(self, names: Iterable[str]) -> tuple[Affine, ...]:
        sizes = dict(zip(self.item.indices, self.item.extents, strict=True))
        return tuple(sizes[name] for name in names)

    def in_threads(self) -> Steps:
        """A thread for each element of the batch, which computes all its steps."""
        block = block_of(self.gpu, _count(self.extents(self.batch)), BLOCK_SIZE)
        return self.steps((*self.batch, *self.ordered), block, Bind("grid", self.batch))

    def in_blocks(self) -> Steps:
        """A block for each element of the batch, whose threads divide the free elements of each step."""
        count, most = _count(self.extents(self.free)), self.gpu.block
        wanted = BLOCK_SIZE if count is None else -(-count // self.gpu.warp) * self.gpu.warp
        bound = Bind("block", self.batch), Bind("thread", self.free)
        return self.steps(
            (*self.batch, *self.ordered, *self.free), min(max(wanted, self.gpu.warp), most), *bound
        )

    def in_launches(self, folds: Mapping[str, tuple[int, ...]] | None = None) -> Steps:
        """A launch for each step: its elements are divided among threads, or warps that share these sums."""
        count = _count(self.extents(self.elements))
        block = BLOCK_SIZE if folds else block_of(self.gpu, count, BLOCK_SIZE)
        names = names_in(self.item, self.function.sizes)
        shared = sharing(self.item.body, folds or {}, self.gpu.warp, names)
        bound = Bind("launch", self.ordered), Bind("grid", self.elements)
        return self.steps((*self.ordered, *self.elements), block, *bound, *shared)

    def steps(self, loops: Sequence[str], block: int, *more: Step) -> Steps:
        """Loops in an order, those of kinds, in blocks of so many threads."""
        reorder: tuple[Step, ...] = (Reorder(tuple(loops)),) if len(loops) > 1 else ()
        return (
            *reorder,
            *(step for step in more if not isinstance(step, Bind) or step.indices),
            InBlocks(block),
        )

    @property
    def elements(self) -> tuple[str, ...]:
        return tuple(name for name in self.item.indices if name not in self.recurrence.ordered)

    def few_operations(self) -> Tests:
        """Steps that take a block no longer than a launch takes."""
        sizes = self.extents(self.free)
        folds = self.accesses.body.inner
        trips = [(), *(self.trips([loop, *loop.below()]) for loop in folds)]
        return tuple(SizeTest((*sizes, *each), most=MOST_OF_BLOCK) for each in trips)

    def few_long_sums(self) -> Tests:
        """Steps of so few elements that a thread each would not keep the GPU busy, and long sums in each."""
        few = SizeTest(self.extents(self.elements), most=self.gpu.busy // self.gpu.warp)
        least = LONG if self.free else WORTH_LAUNCHES
        longest = max(self.accesses.body.inner, key=lambda loop: math.prod(loop.trips))
        return few, SizeTest(self.trips([longest]), least=least)

    @cached_property
    def accesses(self) -> Accesses:
        """The pieces of the map's body."""
        return Accesses(self.item, self.function)

    def trips(self, loops: Iterable[Loop]) -> tuple[Affine, ...]:
        """The numbers of values of the indices of sums, about those where they move with others."""
        found: list[Affine] = []
        for name in dict.fromkeys(name for loop in loops for name in loop.binders):
            known = self.accesses.ranges[name]
            is_form = known is not None and known.extent.variables <= set(self.function.sizes)
            found.append(known.extent if is_form and known else Affine.const(self.accesses.extent(name)))
        return tuple(found)


def _count(extents: Iterable[Affine]) -> int | None:
    """A product of extents; None where it is not known."""
    found = list(extents)
    return math.prod(e.constant for e in found) if all(e.is_constant for e in found) else None
