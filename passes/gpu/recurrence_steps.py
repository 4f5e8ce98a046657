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
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from tadc.lattice.affine import Affine
from tadc.passes.gpu.occupancy import block_of
from tadc.passes.gpu.plan import BLOCK_SIZE
from tadc.passes.maps.machine import Gpu
from tadc.passes.maps.map import Map, MapFunction
from tadc.passes.maps.recurrence import Recurrence, recurrence_of
from tadc.passes.maps.size_tests import Condition
from tadc.passes.nest.plain import going_down, plain_nest
from tadc.passes.nest.primitives.rewriting import loops_in
from tadc.passes.nest.steps import Bind, InBlocks, Reorder, Step, Steps, When
from tadc.passes.schedule.accesses import Accesses

MOST_OF_BLOCK = 1 << 12
"""Steps of more operations are divided among all multiprocessors: they take a block longer than a launch."""


def steps_of_recurrence(item: Map, function: MapFunction, gpu: Gpu) -> tuple[Steps, ...]:
    """The steps of the kernels of a recurrence, each with the sizes that it is for; the last is for all
    others."""
    recurrence = recurrence_of(item)
    assert recurrence is not None
    if recurrence.order is not None:
        return (_by_order(item, function),)
    ways = _Ways(item, function, recurrence, gpu)
    if not ways.free:
        return (ways.in_threads(),)
    found: list[Steps] = []
    for tests in ways.for_blocks():
        open = tuple(test for test in tests if not _is_known(test))
        if not all(test.holds(()) for test in tests if _is_known(test)):
            continue
        if not open:
            return (*found, ways.in_blocks())
        found.append((When(open), *ways.in_blocks()))
    return (*found, ways.in_launches())


def ways_of_recurrence(item: Map, function: MapFunction, gpu: Gpu) -> Iterator[Steps]:
    """The steps of all ways to divide a recurrence, whatever the sizes are."""
    recurrence = recurrence_of(item)
    assert recurrence is not None
    if recurrence.order is not None:
        yield _by_order(item, function)
        return
    ways = _Ways(item, function, recurrence, gpu)
    if not ways.free:
        yield ways.in_threads()
    elif ways.fit_blocks:
        yield ways.in_blocks()
    yield ways.in_launches()


def _is_known(test: Condition) -> bool:
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
    recurrence: Recurrence
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
        """The other indices of a step."""
        others = self.recurrence.batch | set(self.recurrence.ordered)
        return tuple(name for name in self.item.indices if name not in others)

    def extents(self, names: Iterable[str]) -> tuple[Affine, ...]:
        """The numbers of values of indices."""
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

    def in_launches(self) -> Steps:
        """A launch for each step, whose elements are divided among threads."""
        elements = tuple(name for name in self.item.indices if name not in self.recurrence.ordered)
        block = block_of(self.gpu, _count(self.extents(elements)), BLOCK_SIZE)
        return self.steps(
            (*self.ordered, *elements), block, Bind("launch", self.ordered), Bind("grid", elements)
        )

    def steps(self, loops: Sequence[str], block: int, *bound: Bind) -> Steps:
        """Loops in an order, those of kinds, in blocks of so many threads."""
        reorder: tuple[Step, ...] = (Reorder(tuple(loops)),) if len(loops) > 1 else ()
        return (*reorder, *(bind for bind in bound if bind.indices), InBlocks(block))

    @property
    def fit_blocks(self) -> bool:
        """Whether the threads of a block can divide the elements of a step: loops that are numbered together
        have known numbers of values."""
        return len(self.free) == 1 or _count(self.extents(self.free)) is not None

    def for_blocks(self) -> Iterator[tuple[Condition, ...]]:
        """The sizes for which all threads of a block compute a step together: those of short steps, and of
        batches that give each multiprocessor a block."""
        if not self.fit_blocks:
            return
        sizes = self.extents(self.free)
        yield tuple(Condition((*sizes, *trips), most=MOST_OF_BLOCK) for trips in self.trips())
        if self.batch:
            yield (Condition(self.extents(self.batch), least=self.gpu.multiprocessors),)

    def trips(self) -> Iterator[tuple[Affine, ...]]:
        """The extents of the loops of each sum of an element; nothing for the element itself."""
        accesses = Accesses(self.item, self.function, self.item.extents, [1] * len(self.item.extents))
        yield ()
        for loop in accesses.body.inner:
            names = [name for each in loop.below() for name in each.binders]
            yield tuple(map(partial(_trips, accesses), names))


def _trips(accesses: Accesses, name: str) -> Affine:
    """The number of values of an index of a sum, about that where it moves with others."""
    found = accesses.ranges[name]
    if found is not None and found.extent.variables <= set(accesses.function.sizes):
        return found.extent
    return Affine.const(accesses.extent(name))


def _count(extents: Iterable[Affine]) -> int | None:
    """A product of extents; None where it is not known."""
    found = list(extents)
    return math.prod(e.constant for e in found) if all(e.is_constant for e in found) else None
