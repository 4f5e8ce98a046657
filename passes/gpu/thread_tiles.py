"""The ways to lay the elements of a map over threads, a tile to each or to a group."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import permutations

from tadc.lattice.affine import Affine
from tadc.passes.gpu.groups import lanes_along
from tadc.passes.gpu.occupancy import BLOCK_SIZE, registers, resident
from tadc.passes.gpu.thread_costs import shares_of_windows
from tadc.passes.gpu.tiles import GpuTile, of_thread
from tadc.passes.maps.machine import Gpu
from tadc.passes.maps.map import Choice, Fold, IndexNumber, Load
from tadc.passes.schedule.accesses import GUARD, Accesses, ElementRead, Loop
from tadc.passes.schedule.candidate import POWERS
from tadc.passes.schedule.search import VECTORS
from tadc.passes.terms.costs import LARGE, TILE_CODE, WRITTEN_OUT

FEW_COPIES = WRITTEN_OUT
"""The most elements of a thread along an index where it only shares what it reads, and adds nothing up."""

MOST_COPIES = 16
"""The most elements of a thread: more do not fit in its registers."""

LONG = LARGE
"""A reduction of fewer elements is not worth a warp."""


def thread_tiles(accesses: Accesses) -> Iterator[GpuTile]:
    """All ways to give an element or a tile to a thread."""
    if not accesses.names:
        yield GpuTile(())
        return
    most = _most_copies(accesses)
    moving = frozenset(v for loop in accesses.body.below() for v in loop.bounds)
    for order in orders(accesses):
        widths = [width for width in VECTORS if width == 1 or can_be_vector(accesses, order[-1], width)]
        yield from (of_thread(order, {}, width) for width in widths)
        free = [name for name in accesses.names if name not in moving and name != order[-1]]
        for width in widths:
            for index in free:
                if not accesses.body.inner and not _shares(accesses, index):
                    continue
                counts = {*POWERS[1:], small(accesses, index)} if accesses.body.inner else {2, FEW_COPIES}
                for count in sorted(counts):
                    if 1 < count and count * width <= most and _divides(accesses, index, count):
                        yield of_thread(order, {index: count}, width)


def _most_copies(accesses: Accesses) -> int:
    return max(1, min(MOST_COPIES, TILE_CODE // max(accesses.body.size, 1)))


def _shares(accesses: Accesses, name: str) -> bool:
    """Whether elements along an index read the same: what does not move with it, or windows that overlap."""
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


def orders(accesses: Accesses) -> Iterator[tuple[str, ...]]:
    """The row-major order, and those with another index fastest; all of them for few indices."""
    own = accesses.names
    if len(own) <= 3:
        yield from permutations(own)
        return
    for index in reversed(own):
        yield (*(name for name in own if name != index), index)


def _divides(accesses: Accesses, index: str, count: int) -> bool:
    """Whether a known extent holds enough tiles, and not much is computed twice."""
    if not accesses.is_known(index):
        return True
    extent = accesses.extent(index)
    return extent >= count and -(-extent // count) * count <= extent * 1.1


def can_be_vector(accesses: Accesses, name: str, width: int) -> bool:
    """Whether every read is one aligned vector of an index, the last one, or does not move with it."""
    guards = (o.name == GUARD for loop in accesses.body.below() for o in loop.operations)
    if name != accesses.names[-1] or accesses.widest * width > 16 or any(guards):
        return False
    if any(name in loop.domain for loop in accesses.body.below()):
        return False
    extent = accesses.ranges[name]
    if extent is None or (extent.extent.is_constant and extent.extent.constant % width):
        return False
    if len(accesses.names) > 1 and not extent.extent.is_constant:
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


def _is_aligned(accesses: Accesses, read: ElementRead, strides: Mapping[str, int | None], width: int) -> bool:
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


def small(accesses: Accesses, index: str) -> int:
    """The values of an index that has no more than a thread can compute; 0 of any other."""
    extent = accesses.extent(index)
    return extent if accesses.is_known(index) and extent <= POWERS[-1] else 0


# -- groups of threads -------------------------------------------------------------------------------


def group_tiles(gpu: Gpu, accesses: Accesses) -> Iterator[GpuTile]:
    """The ways to give an element a warp or a block, or all elements along an index of few values."""
    moving = frozenset(v for loop in accesses.body.below() for v in loop.bounds)
    few = {name: small(accesses, name) for name in accesses.names if name not in moving}
    most = _most_copies(accesses)
    for copies in ({}, *({name: count} for name, count in few.items() if 1 < count <= most)):
        yield from _group_tiles_of(gpu, accesses, copies)


def _group_tiles_of(gpu: Gpu, accesses: Accesses, copies: Mapping[str, int]) -> Iterator[GpuTile]:
    count = math.prod(copies.values())
    needed = registers(gpu, accesses, count, 4)
    for size in (gpu.warp, BLOCK_SIZE, gpu.block):
        block = max(size, BLOCK_SIZE)
        if copies and block > BLOCK_SIZE:
            # Threads of so large a block have few registers.
            continue
        lanes = dict(shared_folds(accesses, accesses.body, size))
        if lanes and resident(gpu, block, needed, 0):
            own = tuple(name for name in accesses.names if name not in copies)
            yield replace(of_thread(own, copies), block=block, size=size, lanes=lanes)
    if len(accesses.names) == len(copies):
        return
    for size in (8, 16, 32):
        block = size * gpu.warp
        if count * block * accesses.widest > gpu.shared_of_joins:
            continue
        # Threads of different elements meet, so no branch or loop may stand around.
        lanes = {loop.fold: lanes for loop, lanes in _long(accesses, accesses.body, size) if loop.direct}
        if lanes and resident(gpu, block, needed, 0):
            own = (tuple(name for name in order if name not in copies) for order in orders(accesses))
            for order in dict.fromkeys(own):
                tile = of_thread(order, copies)
                yield replace(tile, block=block, size=size, lanes=lanes, in_columns=True)


def shared_folds(accesses: Accesses, body: Loop, size: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The outermost reductions that are long enough, with the threads along each of their indices."""
    long = {loop.fold: lanes for loop, lanes in _long(accesses, body, size)}
    yield from long.items()
    for loop in body.inner:
        if loop.fold not in long:
            yield from shared_folds(accesses, loop, size)


def _long(accesses: Accesses, body: Loop, size: int) -> Iterator[tuple[Loop, tuple[int, ...]]]:
    """The reductions of a body, not those inside them, that are long enough."""
    for loop in body.inner:
        trips = [
            count if accesses.is_known(name) else max(count, size * LARGE)
            for name, count in zip(loop.binders, loop.trips, strict=True)
        ]
        if math.prod(trips) >= max(2 * size, LONG):
            yield loop, lanes_along(trips, size)
