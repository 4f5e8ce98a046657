"""Maps whose neighbouring indices are one, in the order of memory.

Vectors go on from row to row; where there are reductions, so do tiles of rows, which share what they read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tadc.lattice.affine import Affine
from tadc.passes.maps.blocks import BlockNames
from tadc.passes.maps.map import Map, MapFunction
from tadc.passes.nest.nest import Nest
from tadc.passes.nest.plain import plain_nest
from tadc.passes.nest.primitives.joined_loops import join
from tadc.passes.nest.primitives.rewriting import DoesNotFit, computes_in, loops_in, names_taken
from tadc.passes.nest.steps import Join, Steps


def joins_of(item: Map, function: MapFunction) -> tuple[Join, ...]:
    """The steps that make one index of as many as are one in all that the map reads and writes."""
    used = item.read | set(item.names)
    # Which step of a recurrence is where in its window is told by each index.
    if item.order is not None or item.marks.in_place or not used.isdisjoint(function.windows):
        return ()
    nest, steps = plain_nest(function, item), list[Join]()
    folds = list(item.body.folds())
    for indices in (item.indices, *(fold.indices for fold in folds)):
        nest = _join_all(nest, indices, steps, rows=bool(folds) and indices is item.indices)
    return tuple(steps)


def _join_all(nest: Nest, indices: Sequence[str], steps: list[Join], *, rows: bool) -> Nest:
    """The nest where neighbours among indices are one as far as they can, and the steps added.

    Only those that the last one ends with, unless `rows`: in it vectors go on.
    """
    inner = indices[-1] if indices else ""
    for first in reversed(indices[:-1]):
        step = Join(first, inner, BlockNames(names_taken(nest)).new(first + inner))
        try:
            nest = join(nest, step)
        except DoesNotFit:
            if not rows:
                break
            inner = first
        else:
            steps.append(step)
            inner = step.joint
    return nest


def as_joined(item: Map, function: MapFunction, steps: Steps) -> tuple[Map, MapFunction]:
    """The map after those of these steps that join its loops, and its function as it sees it. Raises
    DoesNotFit."""
    joins = [step for step in steps if isinstance(step, Join)]
    if not joins:
        return item, function
    nest = plain_nest(function, item)
    for step in joins:
        nest = join(nest, step)
    loops, (compute,) = list(loops_in(nest.body)), computes_in(nest.body)
    views = {tensor.name: tensor for tensor in nest.tensors}
    made = replace(
        item,
        tensors=tuple(views[tensor.name] for tensor in item.tensors),
        indices=tuple(loop.index for loop in loops),
        extents=tuple(loop.stop for loop in loops if isinstance(loop.stop, Affine)),
        body=compute.block,
    )
    return made, function.seen(nest.tensors)
