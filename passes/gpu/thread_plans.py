"""The ways to lay the elements of a map over threads, an element or a tile to each, and their costs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations

from tadc.lattice.affine import Affine
from tadc.passes.gpu.plan import ThreadPlan
from tadc.passes.gpu.thread_costs import BodyCosts, shares_of_windows, warp_over
from tadc.passes.maps.machine import Gpu
from tadc.passes.maps.map import Choice, Fold, IndexNumber, Load
from tadc.passes.maps.size_tests import Condition
from tadc.passes.schedule.accesses import GUARD, Accesses, Read
from tadc.passes.schedule.search import VECTORS
from tadc.passes.terms.costs import WRITTEN_OUT

COPIES = (1, 2, 4, 8)

FEW_COPIES = WRITTEN_OUT
"""The most elements of a thread along an index where it only shares what it reads, and adds nothing up."""

MOST_COPIES = 16
"""The most elements of a thread: more do not fit in its registers."""

MOST_CODE = 400
"""The most operations that the code of a thread has."""


def thread_plans(accesses: Accesses) -> Iterator[ThreadPlan]:
    """All ways to lay the elements over threads."""
    rank = len(accesses.names)
    if not rank:
        yield ThreadPlan(())
        return
    most = max(1, min(MOST_COPIES, MOST_CODE // max(accesses.body.size, 1)))
    moving = frozenset(v for loop in accesses.body.below() for v in loop.bounds)
    for order in orders(accesses):
        yield ThreadPlan(order)
        for width in VECTORS[1:]:
            if can_be_vector(accesses, order, width):
                yield ThreadPlan(order, {}, width)
        free = [n for n, name in enumerate(accesses.names) if name not in moving and n != order[-1]]
        for width in VECTORS:
            if width > 1 and not can_be_vector(accesses, order, width):
                continue
            for index in free:
                if not accesses.body.inner and not _shares(accesses, index):
                    continue
                counts = {*COPIES[1:], small(accesses, index)} if accesses.body.inner else {2, FEW_COPIES}
                for count in sorted(counts):
                    if 1 < count and count * width <= most and _divides(accesses, index, count):
                        yield ThreadPlan(order, {index: count}, width)


def _shares(accesses: Accesses, index: int) -> bool:
    """Whether elements along an index read the same: what does not move with it, or windows that overlap."""
    name = accesses.names[index]
    if any(name not in read.names for read in accesses.body.reads):
        return True
    shares = shares_of_windows(accesses, accesses.body.reads, {name: FEW_COPIES})
    return any(share < 1 for share in shares.values())


def is_flat(accesses: Accesses) -> bool:
    """Whether an element depends on those at its own place, in tensors of the same shape, and on no index."""
    place = tuple(Affine.var(name) for name in accesses.names)
    for let in accesses.map.body.lets:
        match let.value:
            case Choice() | Fold() | IndexNumber():
                return False
            case Load(tensor=tensor, at=at):
                if at and (at != place or accesses.tensors[tensor].shape != accesses.map.extents):
                    return False
            case _:
                pass
    return True


def orders(accesses: Accesses) -> Iterator[tuple[int, ...]]:
    """The row-major order, and those with another index fastest; all of them for few indices."""
    own = tuple(range(len(accesses.names)))
    if len(own) <= 3:
        yield from permutations(own)
        return
    for index in reversed(own):
        yield (*(n for n in own if n != index), index)


def _divides(accesses: Accesses, index: int, count: int) -> bool:
    """Whether a known extent holds enough tiles, and not much is computed twice."""
    found = accesses.ranges[accesses.names[index]]
    if found is None or not found.extent.is_constant:
        return True
    extent = found.extent.constant
    return extent >= count and -(-extent // count) * count <= extent * 1.1


def can_be_vector(accesses: Accesses, order: Sequence[int], width: int) -> bool:
    """Whether every read is one aligned vector of the fastest index, or does not move with it."""
    name, last = accesses.names[order[-1]], len(accesses.names) - 1
    guards = (o.name == GUARD for loop in accesses.body.below() for o in loop.operations)
    if order[-1] != last or accesses.widest * width > 16 or any(guards):
        return False
    if any(name in loop.domain for loop in accesses.body.below()):
        return False
    extent = accesses.ranges[name]
    if extent is None or (extent.extent.is_constant and extent.extent.constant % width):
        return False
    if last and not extent.extent.is_constant:
        # Where rows start is not known to be aligned.
        return False
    for loop in accesses.body.below():
        for read in loop.reads:
            strides = dict(read.strides)
            if not read.direct or strides.pop(name, 0) not in (0, 1):
                return False
            if name in read.strides and not _is_aligned(accesses, read, strides, width):
                return False
    return True


def _is_aligned(accesses: Accesses, read: Read, strides: Mapping[str, int | None], width: int) -> bool:
    """Whether a read starts at a multiple of the width, where its vector index does."""
    shape = [size.constant if size.is_constant else -1 for size in accesses.tensors[read.tensor].shape]
    if len(shape) > 1 and (shape[-1] < 0 or shape[-1] % width):
        return False
    forms = accesses.place(read)
    if any(form.variables - frozenset(accesses.ranges) for form in forms):
        return False
    start = 0
    for form, size in zip(forms, shape, strict=True):
        start = start * abs(size) + form.constant
    return start % width == 0 and all(k is not None and k % width == 0 for k in strides.values())


def fits(plan: ThreadPlan, sizes: Sequence[Affine]) -> tuple[Condition, ...]:
    """What must hold of sizes that are not known, so that tiles fit."""
    found: list[Condition] = []
    if plan.flat:
        return ()
    for index, size in enumerate(sizes):
        extent = plan.extent(index)
        if extent > 1 and not size.is_constant:
            found.append(Condition((size,), least=extent))
            if plan.width > 1 and index == plan.order[-1]:
                found.append(Condition((size.mod(plan.width),), most=0))
    return tuple(found)


def thread_cost(gpu: Gpu, accesses: Accesses, plan: ThreadPlan) -> float:
    """The cost of a map whose threads have tiles."""
    extents = {name: accesses.extent(name) for name in accesses.names}
    names = [accesses.names[index] for index in plan.order]
    tile = {name: plan.extent(n) for n, name in enumerate(accesses.names) if plan.extent(n) > 1}
    vector = names[-1] if plan.width > 1 else None
    threads = math.prod(-(-extents[name] // tile.get(name, 1)) for name in accesses.names)
    one = BodyCosts(gpu, accesses, warp_over(gpu, names, extents, tile), tile, vector).thread()
    if not all(is_known(accesses, name) for name in accesses.names):
        return one / math.prod(tile.values())
    return one * max(threads, gpu.busy)


def is_known(accesses: Accesses, name: str) -> bool:
    """Whether the number of values of an index is known."""
    found = accesses.ranges[name]
    return found is not None and found.extent.is_constant


def small(accesses: Accesses, index: int) -> int:
    """The values of an index that has no more than a thread can compute; 0 of any other."""
    found = accesses.ranges[accesses.names[index]]
    is_known = found is not None and found.extent.is_constant
    extent = accesses.extent(accesses.names[index])
    return extent if is_known and extent <= COPIES[-1] else 0
