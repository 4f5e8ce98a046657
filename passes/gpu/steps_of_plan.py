"""A plan for the threads of a GPU as the steps of a schedule, which primitives take on the plain nest of a
map."""

from __future__ import annotations

from tadc.passes.gpu.plan import GroupPlan, ThreadPlan
from tadc.passes.maps.map import Choice, Fold, Map, MapFunction
from tadc.passes.nest.nest import Nest
from tadc.passes.nest.primitives.points import points
from tadc.passes.nest.primitives.rewriting import loops_in
from tadc.passes.nest.steps import Bind, FoldThreads, InBlocks, Points, Reorder, Split, Step


class Fresh:
    """Names for the loops that the indices of a map become."""

    def __init__(self, item: Map, function: MapFunction) -> None:
        self.taken = {*item.indices, *function.sizes}
        for let in item.body.all_lets():
            if isinstance(let.value, Fold):
                self.taken |= set(let.value.indices)

    def new(self, index: str) -> str:
        """A name for a loop that an index becomes."""
        number = 0
        while f"{index}{number}" in self.taken:
            number += 1
        self.taken.add(f"{index}{number}")
        return f"{index}{number}"


def steps_in_place(item: Map, plain: Nest, block: int) -> tuple[Step, ...]:
    """The points of the set on which a map completes another in its memory, one a thread."""
    (choice,) = (let.value for let in item.body.lets if let.names == item.body.gives)
    assert isinstance(choice, Choice)
    visit = Points(choice.rows)
    loops = tuple(loop.index for loop in loops_in(points(plain, visit).body))
    return (visit, *((Bind("grid", loops),) if loops else ()), InBlocks(block))


def steps_of_group_plan(item: Map, plan: GroupPlan, warp: int) -> tuple[Step, ...]:
    """Groups of threads that share reductions, all elements along some indices each."""
    together = [n for n in range(len(item.indices)) if n in plan.copies]
    own = [n for n in range(len(item.indices)) if n not in plan.copies] if plan.order is None else plan.order
    grid, jam = (tuple(item.indices[n] for n in found) for found in (own, together))
    reorder = (Reorder((*grid, *jam)),) if len(item.indices) > 1 else ()
    bound = (bind for bind in (Bind("grid", grid), Bind("jam", jam)) if bind.indices)
    shared = (
        FoldThreads(fold, threads, warp if plan.order is None else 1) for fold, threads in plan.lanes.items()
    )
    return (*reorder, *bound, *shared, InBlocks(plan.block))


def steps_of_thread_plan(item: Map, function: MapFunction, plan: ThreadPlan) -> tuple[Step, ...]:
    """A tile of elements to a thread: copies along indices, a vector along the fastest one.

    A plan that is flat is for the map over one index (`flat.py`).
    """
    if plan.flat:
        (index,), fresh = item.indices, Fresh(item, function)
        outer, inner = fresh.new(index), fresh.new(index)
        vector = Split(index, plan.width, "branch", outer, inner), Bind("lane", (inner,))
        return (*vector, Bind("grid", (outer,)), InBlocks(plan.block))
    fresh = Fresh(item, function)
    steps: list[Step] = []
    grid, jam, lane = list[str](), list[str](), list[str]()
    for n in plan.order:
        index, extent = item.indices[n], plan.extent(n)
        if extent == 1:
            grid.append(index)
            continue
        outer, inner = fresh.new(index), fresh.new(index)
        is_vector = plan.width > 1 and n == plan.order[-1]
        steps.append(Split(index, extent, "exact" if is_vector else "guard", outer, inner))
        grid.append(outer)
        (lane if is_vector else jam).append(inner)
    order = (*grid, *jam, *lane)
    if order:
        steps.append(Reorder(order))
    bound = Bind("grid", tuple(grid)), Bind("jam", tuple(jam)), Bind("lane", tuple(lane))
    return (*steps, *(bind for bind in bound if bind.indices), InBlocks(plan.block))
