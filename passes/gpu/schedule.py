"""Which plans a map gets on a GPU: the cheapest, or several where sizes are not known.

All costs are for the whole map: the cost of a thread times the threads, of which there count no fewer
than fill the device. So few elements of long sums get many threads each, and many elements get one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tadc.lattice.affine import Affine
from tadc.passes.gpu.groups import lanes_along
from tadc.passes.gpu.occupancy import block_of, registers, resident
from tadc.passes.gpu.plan import (
    BLOCK_SIZE,
    VECTOR_BYTES,
    Along,
    GroupPlan,
    Plan,
    ThreadPlan,
    TilePlan,
    Variant,
)
from tadc.passes.gpu.thread_costs import BodyCosts, warp_over
from tadc.passes.gpu.thread_plans import (
    MOST_CODE,
    MOST_COPIES,
    fits,
    is_flat,
    is_known,
    orders,
    small,
    thread_cost,
    thread_plans,
)
from tadc.passes.gpu.tile_choice import tile_plans
from tadc.passes.gpu.transposes import transposing_plans
from tadc.passes.maps.machine import Gpu
from tadc.passes.maps.map import Map, MapFunction
from tadc.passes.maps.size_tests import Condition
from tadc.passes.schedule.accesses import Accesses, Loop
from tadc.passes.terms.costs import LARGE, UNKNOWN

ROW_COPIES = 4
"""The elements of a row that a thread computes where the extents of a map are not known."""

LONG = 64
"""A reduction of fewer elements is not worth a warp."""

FEW = 1 / 8
"""Where sizes are not known, and a map has no more than this part of the elements that keep a GPU busy, long
sums get a warp each; very long ones get a block each where so many warps do not keep it busy."""

VERY_LONG = 2048
"""A reduction of fewer elements is not worth a block, where sizes are not known."""


def variants_with_costs(gpu: Gpu, item: Map, function: MapFunction) -> list[tuple[float, Variant]]:
    """The plans of a map of a function, each with the sizes it is for, the last for all others; with their
    costs: of the whole map, or of an element where sizes are not known."""
    sizes = item.extents
    accesses = Accesses(item, function)
    known = all(size.is_constant for size in sizes) and not _unknown(accesses)
    candidates = [*thread_plans(accesses)]
    if sizes and is_flat(accesses):
        flat = ThreadPlan(tuple(range(len(sizes))), {}, VECTOR_BYTES // accesses.widest, flat=True)
        if not known:
            return [(thread_cost(gpu, accesses, flat), Variant(flat))]
        candidates.append(flat)
    threads = sorted(candidates, key=lambda plan: thread_cost(gpu, accesses, plan))
    single = threads[0]
    groups = list(_group_plans(gpu, accesses))
    if known:
        found: list[tuple[float, Plan]] = [(thread_cost(gpu, accesses, single), single)]
        found += [(_group_cost(gpu, accesses, plan), plan) for plan in groups]
        found += _shared_plans(gpu, accesses)
        cost, best = min(found, key=lambda pair: pair[0])
        return [(cost, Variant(_with_block(gpu, best, sizes)))]
    when = fits(single, sizes)
    last = [Variant(single, when)] if when else []
    plain = next(plan for plan in threads if not fits(plan, sizes))
    cost = thread_cost(gpu, accesses, single)
    made = [
        *_open_tiles(gpu, accesses, single, sizes),
        *_open_groups(gpu, accesses, groups, single, sizes),
        *_open_rows(accesses, sizes),
        *last,
        Variant(plain),
    ]
    return [(cost, variant) for variant in made]


def _open_tiles(gpu: Gpu, accesses: Accesses, single: ThreadPlan, sizes: Sequence[Affine]) -> list[Variant]:
    """The best plan with shared memory, for sizes that give every multiprocessor a tile."""
    found = sorted(_shared_plans(gpu, accesses), key=lambda pair: pair[0])
    if not found:
        return []
    cost, plan = found[0]
    elements = math.prod(size.constant if size.is_constant else UNKNOWN for size in sizes)
    if cost > elements * thread_cost(gpu, accesses, single):
        return []
    tile = plan.fast[1].extent * (plan.slow[1].extent if plan.slow else 1)
    when = [] if plan.over is None else [Condition(tuple(sizes), least=gpu.multiprocessors * tile // 2)]
    for index in (plan.fast[0], *((plan.slow[0],) if plan.slow else ())):
        if not sizes[index].is_constant:
            when.append(Condition((sizes[index],), least=plan.along(index).extent // 2))
    if plan.over is None:
        return [Variant(plan, tuple(when))]
    loop = next(loop for loop in accesses.body.inner if loop.fold == plan.over)
    return [Variant(plan, (*when, Condition(extents_of(accesses, loop), least=math.prod(plan.steps))))]


def _open_rows(accesses: Accesses, sizes: Sequence[Affine]) -> list[Variant]:
    """A block for a part of a row, for long rows: its threads divide by sizes once for several elements."""
    if accesses.body.inner or len(sizes) < 2 or all(size.is_constant for size in sizes[1:]):
        return []
    along = Along(BLOCK_SIZE // 2, ROW_COPIES)
    plan = TilePlan((len(sizes) - 1, along), None, None, (), frozenset())
    return [Variant(plan, (Condition((sizes[-1],), least=along.extent // 2),))]


def _shared_plans(gpu: Gpu, accesses: Accesses) -> Iterator[tuple[float, TilePlan]]:
    """The plans with shared memory, with their costs for the whole map."""
    yield from tile_plans(gpu, accesses)
    yield from transposing_plans(gpu, accesses)


def _with_block(gpu: Gpu, plan: Plan, sizes: Sequence[Affine]) -> Plan:
    """The plan with blocks that are small enough for all multiprocessors to have some."""
    if isinstance(plan, ThreadPlan):
        threads = math.prod(-(-size.constant // plan.extent(n)) for n, size in enumerate(sizes))
        if plan.flat:
            threads = math.prod(size.constant for size in sizes) // plan.width
        return replace(plan, block=block_of(gpu, threads, plan.block))
    if isinstance(plan, GroupPlan) and plan.order is None and plan.elements > 1:
        groups = math.prod(size.constant for n, size in enumerate(sizes) if n not in plan.copies)
        threads = groups * plan.size
        return replace(plan, block=max(plan.size, block_of(gpu, threads, plan.block)))
    return plan


def _unknown(accesses: Accesses) -> bool:
    """Whether the trips of a reduction depend on sizes."""
    return any(not is_known(accesses, name) for loop in accesses.body.below() for name in loop.binders)


# -- several threads an element --------------------------------------------------------------------


def _group_plans(gpu: Gpu, accesses: Accesses) -> Iterator[GroupPlan]:
    """The ways to give an element a warp or a block, or all elements along an index of few values."""
    moving = frozenset(v for loop in accesses.body.below() for v in loop.bounds)
    most = max(1, min(MOST_COPIES, MOST_CODE // max(accesses.body.size, 1)))
    few = [n for n, name in enumerate(accesses.names) if name not in moving]
    wanted = [{n: count} for n in few if 1 < (count := small(accesses, n)) <= most]
    for copies in ({}, *wanted):
        yield from _group_plans_of(gpu, accesses, copies)


def _group_plans_of(gpu: Gpu, accesses: Accesses, copies: Mapping[int, int]) -> Iterator[GroupPlan]:
    count = math.prod(copies.values())
    needed = registers(gpu, accesses, count, 4)
    for size in (gpu.warp, BLOCK_SIZE, 1024):
        lanes = dict(shared_folds(accesses, accesses.body, size))
        block = max(size, BLOCK_SIZE)
        if copies and block > BLOCK_SIZE:
            # Threads of so large a block have few registers.
            continue
        if lanes and resident(gpu, block, needed, 0):
            yield GroupPlan(size, lanes, block, None, copies)
    if len(accesses.names) == len(copies):
        return
    for size in (8, 16, 32):
        if count * size * gpu.warp * accesses.widest > gpu.shared_of_joins:
            continue
        # Threads of different elements meet, so no branch or loop may stand around.
        lanes = {loop.fold: lanes for loop, lanes in _long(accesses, accesses.body, size) if loop.direct}
        if lanes and resident(gpu, size * gpu.warp, needed, 0):
            own = (tuple(n for n in order if n not in copies) for order in orders(accesses))
            for order in dict.fromkeys(own):
                yield GroupPlan(size, lanes, size * gpu.warp, order, copies)


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
            count if is_known(accesses, name) else max(count, size * LARGE)
            for name, count in zip(loop.binders, loop.trips, strict=True)
        ]
        if math.prod(trips) >= max(2 * size, LONG):
            yield loop, lanes_along(trips, size)


def _group_cost(gpu: Gpu, accesses: Accesses, plan: GroupPlan) -> float:
    """The cost of a map whose elements have several threads each."""
    groups = math.prod(accesses.extent(name) for n, name in enumerate(accesses.names) if n not in plan.copies)
    return _one_of_group(gpu, accesses, plan) * max(groups * plan.size, gpu.busy)


def _open_groups(
    gpu: Gpu, accesses: Accesses, groups: Sequence[GroupPlan], single: ThreadPlan, sizes: Sequence[Affine]
) -> list[Variant]:
    """Plans with groups where sizes are not known, each with the sizes that it is for."""
    found: list[Variant] = []
    blocks = [plan for plan in groups if plan.order is None and plan.size == BLOCK_SIZE]
    if blocks:
        plan = min(blocks, key=lambda plan: _of_element(gpu, accesses, plan))
        long = _at_least(accesses, plan, VERY_LONG)
        found.append(Variant(plan, (*_no_more(sizes, gpu.busy / gpu.warp), long)))
    others = [plan for plan in groups if plan.size <= gpu.warp]
    if not others:
        return found
    best = min(others, key=lambda plan: _of_element(gpu, accesses, plan))
    when = [_at_least(accesses, best, LONG)]
    if _of_element(gpu, accesses, best) > thread_cost(gpu, accesses, single):
        when += _no_more(sizes, FEW * gpu.busy)
    return [*found, Variant(best, tuple(when))]


def _no_more(sizes: Sequence[Affine], most: float) -> tuple[Condition, ...]:
    """That a map has no more elements; of one element there is nothing to ask."""
    return (Condition(tuple(sizes), most=int(most)),) if sizes else ()


def _of_element(gpu: Gpu, accesses: Accesses, plan: GroupPlan) -> float:
    """The cost of an element, by all of its threads."""
    return _one_of_group(gpu, accesses, plan) * plan.size / math.prod(plan.copies.values())


def _one_of_group(gpu: Gpu, accesses: Accesses, plan: GroupPlan) -> float:
    """The cost of one thread of a group."""
    copies = {accesses.names[index]: count for index, count in plan.copies.items()}
    if plan.order is None:
        return BodyCosts(
            gpu, accesses, [dict.fromkeys(accesses.names, 0)] * gpu.warp, copies, None, plan.lanes
        ).thread()
    extents = {name: accesses.extent(name) for name in accesses.names}
    warp = warp_over(gpu, [accesses.names[index] for index in plan.order], extents, {})
    return BodyCosts(gpu, accesses, warp, copies, None, plan.lanes, is_column=True).thread()


def _at_least(accesses: Accesses, plan: GroupPlan, least: int) -> Condition:
    """That the first reduction that a group shares has so many steps, one over fibres on average."""
    loop = next(loop for loop in accesses.body.below() if loop.fold in plan.lanes)
    ranges = [accesses.ranges[name] for name in loop.binders]
    if len(ranges) == 1 and (found := ranges[0]) is not None and found.shared is not None:
        return Condition((found.extent - found.shared * least + 1,), least=1)
    return Condition(extents_of(accesses, loop), least=least)


def extents_of(accesses: Accesses, loop: Loop) -> tuple[Affine, ...]:
    """The extents of the indices of a reduction, over sizes."""
    ranges = [accesses.ranges[name] for name in loop.binders]
    return tuple(found.extent for found in ranges if found is not None)
