"""A plan for the threads of a GPU as the steps of a schedule, which primitives take on the plain nest of a
map."""

from __future__ import annotations

import math

from tadc.passes.gpu.boxes import spans_inside
from tadc.passes.gpu.groups import sharing
from tadc.passes.gpu.plan import BLOCK_SIZE, GroupPlan, ThreadPlan, TilePlan, Variant
from tadc.passes.maps.blocks import Names, forms_of, names_in
from tadc.passes.maps.map import Choice, Fold, Load, Map, MapFunction
from tadc.passes.nest.nest import Nest
from tadc.passes.nest.plain import plain_nest
from tadc.passes.nest.primitives.rewriting import loops_in
from tadc.passes.nest.primitives.visited_points import points
from tadc.passes.nest.steps import (
    Bind,
    Flatten,
    InBlocks,
    Points,
    Reorder,
    Split,
    Stage,
    Step,
    Steps,
    When,
)
from tadc.passes.schedule.orders import with_needed_orders
from tadc.passes.terms.costs import MUCH_CODE


def steps_of_variant(item: Map, function: MapFunction, variant: Variant, warp: int) -> Steps:
    """The steps of a plan, the sizes that it is for first."""
    match variant.plan:
        case None:
            steps = steps_in_place(item, plain_nest(function, item), BLOCK_SIZE)
        case GroupPlan() as plan:
            steps = steps_of_group_plan(item, function, plan, warp)
        case ThreadPlan() as plan:
            steps = steps_of_thread_plan(item, function, plan)
        case TilePlan() as plan:
            steps = steps_of_tile_plan(item, function, plan)
    steps = with_needed_orders(item.indices, steps)
    return (When(variant.when), *steps) if variant.when else steps


def steps_in_place(item: Map, plain: Nest, block: int) -> tuple[Step, ...]:
    """The points of the set on which a map completes another in its memory, one a thread."""
    (choice,) = (let.value for let in item.body.lets if let.names == item.body.gives)
    assert isinstance(choice, Choice)
    visit = Points(choice.rows)
    loops = tuple(loop.index for loop in loops_in(points(plain, visit).body))
    return (visit, *((Bind("grid", loops),) if loops else ()), InBlocks(block))


def steps_of_group_plan(item: Map, function: MapFunction, plan: GroupPlan, warp: int) -> tuple[Step, ...]:
    """Groups of threads that share reductions, all elements along some indices each."""
    together = [n for n in range(len(item.indices)) if n in plan.copies]
    own = [n for n in range(len(item.indices)) if n not in plan.copies] if plan.order is None else plan.order
    grid, jam = (tuple(item.indices[n] for n in found) for found in (own, together))
    reorder = (Reorder((*grid, *jam)),) if len(item.indices) > 1 else ()
    bound = (bind for bind in (Bind("grid", grid), Bind("jam", jam)) if bind.indices)
    names = names_in(item, function.sizes)
    shared = sharing(item.body, plan.lanes, warp if plan.order is None else 0, names)
    return (*reorder, *bound, *shared, InBlocks(plan.block))


def steps_of_thread_plan(item: Map, function: MapFunction, plan: ThreadPlan) -> tuple[Step, ...]:
    """A tile of elements to a thread: copies along indices, a vector along the fastest one."""
    fresh = names_in(item, function.sizes)
    if plan.flat:
        fresh.taken |= function.tensors().keys()
        index = fresh.new("n")
        outer, inner = fresh.part(index), fresh.part(index)
        split = Split(index, plan.width, "branch", outer, inner)
        return (Flatten(index), split, Bind("lane", (inner,)), Bind("grid", (outer,)), InBlocks(plan.block))
    steps: list[Step] = []
    grid, jam, lane = list[str](), list[str](), list[str]()
    for n in plan.order:
        index, extent = item.indices[n], plan.extent(n)
        if extent == 1:
            grid.append(index)
            continue
        outer, inner = fresh.part(index), fresh.part(index)
        is_vector = plan.width > 1 and n == plan.order[-1]
        steps.append(Split(index, extent, "exact" if is_vector else "guard", outer, inner))
        grid.append(outer)
        (lane if is_vector else jam).append(inner)
    order = (*grid, *jam, *lane)
    if order:
        steps.append(Reorder(order))
    bound = Bind("grid", tuple(grid)), Bind("jam", tuple(jam)), Bind("lane", tuple(lane))
    return (*steps, *(bind for bind in bound if bind.indices), InBlocks(plan.block))


def steps_of_tile_plan(item: Map, function: MapFunction, plan: TilePlan) -> tuple[Step, ...]:
    """A tile of elements to a block: threads along one or two indices, with copies each."""
    fresh = names_in(item, function.sizes)
    splits, jam = list[Step](), list[str]()
    block, thread = list[str](), dict[int, str]()
    for n, index in enumerate(item.indices):
        along, rest, values = plan.along(n), index, 0
        # Blocks of an index, copies that are far apart, threads, copies that are side by side.
        for place, step in enumerate((along.extent, along.run * along.threads, along.run, 1)):
            if step == values:
                continue
            outer, inner = (rest, "") if step == 1 else (fresh.part(index), fresh.part(index))
            if inner:
                splits.append(Split(rest, step, "exact" if place else "guard", outer, inner))
            if place == 0:
                block.append(outer)
            elif place == 2:
                thread[n] = outer
            else:
                jam.append(outer)
            rest, values = inner, step
            if step == 1:
                break
    threads = tuple(thread[n] for n in sorted(thread, key=lambda n: (n == plan.fast[0], n)))
    bound = Bind("block", tuple(block)), Bind("thread", threads), Bind("jam", tuple(jam))
    shared = _shared_in_blocks(item, plan, fresh) if plan.over else _shared(item, plan)
    order = (Reorder((*block, *threads, *jam)),) if splits else ()
    return (*splits, *order, *(bind for bind in bound if bind.indices), *shared, InBlocks(plan.block))


def _shared_in_blocks(item: Map, plan: TilePlan, fresh: Names) -> tuple[Step, ...]:
    """What a reduction reads in blocks of steps, all loops over these outside of all in a block. Of its
    innermost loop as many steps are written out as make little code."""
    (fold,) = (let.value for let in item.body.lets if plan.over in let.names and isinstance(let.value, Fold))
    outer, inner, natural, splits = list[str](), list[str](), list[str](), list[Step]()
    for index, count in zip(fold.indices, plan.steps, strict=True):
        outer.append(index if count == 1 else fresh.part(index))
        natural.append(outer[-1])
        if count > 1:
            inner.append(fresh.part(index))
            natural.append(inner[-1])
            splits.append(Split(index, count, "clip", outer[-1], inner[-1]))
    if natural != [*outer, *inner]:
        splits.append(Reorder((*outer, *inner)))
    if inner:
        (count,) = [count for count in plan.steps if count > 1][-1:]
        written = _written_out(item, plan, fold, count)
        if written > 1:
            splits.append(Bind("unroll", (inner[-1],), written if written < count else 0))
    stages = (Stage(step.read, outer[-1], fill="threads") for step in _shared(item, plan))
    return (*splits, *stages)


def _written_out(item: Map, plan: TilePlan, fold: Fold, count: int) -> int:
    """So many of a number of steps as make little code, a divisor of it."""
    moving = frozenset[str]().union(*(form.variables for form in forms_of(fold.body)), *(
        row.form.variables for row in fold.rows
    ))  # fmt: skip
    tile = (plan.along(n) for n, index in enumerate(item.indices) if index in moving)
    copies = math.prod(along.copies for along in tile)
    inside = math.prod(values for _, values in spans_inside(fold.body).values())
    most = max(1, MUCH_CODE // max(copies * len(fold.body.gives) * 2 * inside, 1))
    return max(n for n in range(1, count + 1) if count % n == 0 and n <= most)


def _shared(item: Map, plan: TilePlan) -> tuple[Stage, ...]:
    """The reads that threads copy, in the order of the map; no box is known of one inside of a further
    reduction, unless rows of this one say which values its indices have."""
    folds = [let.value for let in item.body.lets if plan.over in let.names and isinstance(let.value, Fold)]
    further = [let.value for fold in folds for let in fold.body.all_lets() if isinstance(let.value, Fold)]
    known = {index for fold in folds for index in spans_inside(fold.body)}
    open = {index for fold in further for index in fold.indices} - known
    return tuple(
        Stage(let.names[0], "", fill="threads")
        for let in item.body.all_lets()
        if isinstance(let.value, Load)
        and let.names[0] in plan.staged
        and not any(form.variables & open for form in let.value.at)
    )
