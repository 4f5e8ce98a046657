"""Which places of a block read one chunk of each argument, and so nothing that would be put together first.

The places at the rims are blocks of their own, of the same program, and what they read is little.
"""

from __future__ import annotations

from collections.abc import Mapping

from tadc.apps.blocks.block_plan import BlockTask, StagePlan
from tadc.apps.blocks.chunked_tensors import Chunks
from tadc.toolkit.language import Program, Reduce, reachable


def parts_of(plan: StagePlan, task: BlockTask, tensors: Mapping[str, Chunks]) -> list[BlockTask]:
    """A block in parts along one axis: the rims, and in between the larger part; or the block alone.

    No sum is computed in parts, for its bits depend on its loops, and so on the sizes of a block. Nor is an
    axis divided of which parts of results would not be one piece of memory.
    """
    if _has_sums(plan.stage.program) or plan.listed is not None:
        return [task]
    for n, axis in enumerate(plan.stage.axes):
        dims = {name: axis.dims.get(name) for name in task.writes}
        if any(d is None or any(len(p) > 1 for p in task.writes[name][:d]) for name, d in dims.items()):
            continue
        own, inner = task.places[n], _inner(task, n, tensors)
        if not own.start <= inner.start < inner.stop <= own.stop or inner == own:
            continue
        rims = range(own.start, inner.start), range(inner.stop, own.stop)
        parts = [
            plan.task_of(task.cell, (*task.places[:n], places, *task.places[n + 1 :]))
            for places in (rims[0], inner, rims[1])
            if places
        ]
        if _is_in_chunks(max(parts, key=lambda part: len(part.places[n])), tensors):
            return parts
    return [task]


def _has_sums(program: Program) -> bool:
    terms = (d.body for d in program.definitions)
    return any(isinstance(term, Reduce) for term in reachable(terms)) or any(
        d.order is not None for d in program.definitions
    )


def _inner(task: BlockTask, axis: int, tensors: Mapping[str, Chunks]) -> range:
    """The block without as many places at each side as its boxes have in other chunks than the largest piece.

    Where one place reads what the next one does but one further, these read that piece alone.
    """
    before = after = 0
    for name, box in task.reads.items():
        for lengths in tensors[name].lengths_of(box):
            largest = max(range(len(lengths)), key=lengths.__getitem__, default=0)
            before = max(before, sum(lengths[:largest]))
            after = max(after, sum(lengths[largest + 1 :]))
    own = task.places[axis]
    return range(own.start + before, own.stop - after)


def _is_in_chunks(task: BlockTask, tensors: Mapping[str, Chunks]) -> bool:
    """Whether each box is in one chunk."""
    return all(len(lengths) < 2 for n, box in task.reads.items() for lengths in tensors[n].lengths_of(box))
