"""Schedules that are given for chains of maps on a GPU: what of their steps teams of threads cannot do."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from tadc.passes.gpu.thread_loops import nested
from tadc.passes.maps.machine import Gpu
from tadc.passes.maps.map import Fold, Map
from tadc.passes.nest.loop_bounds import turns_of
from tadc.passes.nest.nest import DIVIDED, Body, Compute, For, Nest, Stage
from tadc.passes.nest.primitives.rewriting import computes_in, shared_folds, statements_in
from tadc.passes.nest.steps import Bind, Cut, InBlocks, MergeLoops, Room, Split, Step, Steps
from tadc.passes.schedule.given import Problem

TAKEN = Split, Bind, InBlocks, MergeLoops, Room, Cut
"""The steps that chains take."""


def problems_of_steps(steps: Steps, plain: Nest, items: Sequence[Map]) -> Iterator[Problem]:
    """What of the steps cannot be done for the maps of a chain, whatever the loops are."""
    outer = [statement for statement in plain.body if isinstance(statement, For)]
    rows, bound, row = {loop.index for loop in outer}, set[str](), outer[0].index
    for number, step in enumerate(steps):
        match step:
            case Split(index=index) if index in bound:
                yield number, f"`{index}` has its kind already", "split it before"
            case Bind(indices=indices) if not bound.isdisjoint(indices):
                yield number, "its kind stands above already", "leave the step out"
            case Bind(indices=indices):
                bound.update(indices)
            case Split(tail=tail) if tail not in ("exact", "clip"):
                yield number, "tiles that teams of threads divide do not end so", "write `clip`"
            case Split(index=index, factor=factor, outer=first, inner=second) if index in rows:
                rows |= {first, second}
                each = items[0].marks.rows
                if index == row and factor != each and any(item.marks.steps for item in items):
                    text = f"parts of the sums over rows are of {each} rows"
                    yield number, text, f"write `split {row} {each}`"
            case Cut(inside="", index=index):
                yield number, "the loop would be around all maps", "name the loop over parts: `inside`"
            case Cut(outer=first):
                rows.add(first)
            case MergeLoops(indices=indices) if not rows.issuperset(indices):
                name = min(set(indices) - rows)
                yield number, f"`{name}` is no loop over rows", "merge these alone"
            case _ if not isinstance(step, TAKEN):
                text = "a block runs the maps of a chain one after the other, and takes no such step"
                yield number, text, "leave the step out"
            case _:
                pass


def problems_of_teams(steps: Steps, nest: Nest, gpu: Gpu) -> Iterator[Problem]:
    """What of the nest of a chain cannot be divided among blocks, and in these among teams of threads."""
    bound = last_of(steps, Bind)
    (first, *others) = nest.body
    if others or not isinstance(first, For) or first.kind != "block":
        help = "`merge` the loops over rows, and bind the one that they become to `block`"
        yield bound, "its maps do not run in one loop over blocks", help
    else:
        yield from _in_team(first.body, nest.block, steps, nest, gpu)
    for stage in statements_in(nest.body):
        if isinstance(stage, Stage) and stage.space == "register":
            each = math.prod(extent.constant for extent in stage.tensor.shape[:-1])
            if each > gpu.carried:
                text = f"a thread would carry {each} sums over rows, and carries {gpu.carried}"
                yield last_of(steps, Room), text, "take more threads a block"


def _in_team(body: Body, threads: int, steps: Steps, nest: Nest, gpu: Gpu) -> Iterator[Problem]:
    """What a team of so many threads cannot do in a body."""
    bound, stored = last_of(steps, Bind), set[str]()
    for statement in body:
        computes = list(computes_in((statement,)))
        if threads < nest.block:
            if any(load.tensor in stored for c in computes for load in c.block.loads()):
                text = f"{threads} of {nest.block} threads do not wait for each other to read what they store"
                yield bound, text, "let each map have its own loop over rows, or all threads take one"
                return
            stored |= {store.tensor for c in computes for store in c.stores}
        if isinstance(statement, Compute):
            yield from _of_sums(statement, threads, steps, nest, gpu)
        elif isinstance(statement, For) and statement.kind not in DIVIDED:
            yield from _in_team(statement.body, threads, steps, nest, gpu)
        elif isinstance(statement, For):
            if statement.kind != "thread" or not statement.teams or threads % statement.teams:
                text = f"`{statement.index}` is not divided among teams of {threads} threads"
                yield bound, text, f"write `thread {statement.index} teams {threads}`"
                return
            loops = nested(statement)
            if len(loops) > 1 and any(turns_of(loop) is None for loop in loops):
                yield bound, "how many points its loops have is not known", "give each its own `teams`"
                return
            yield from _in_team(loops[-1].body, threads // statement.teams, steps, nest, gpu)


def _of_sums(compute: Compute, threads: int, steps: Steps, nest: Nest, gpu: Gpu) -> Iterator[Problem]:
    """What keeps the threads of a team from sharing reductions."""
    own = [let.value for let in compute.block.lets]
    for fold in shared_folds((compute,)):
        number = sharing_of(steps, fold)
        if fold.count != threads or fold.warp != gpu.warp or threads not in (gpu.warp, nest.block):
            text = f"{fold.count} threads share a reduction where {threads} come, of a block of {nest.block}"
            help = f"let a row have {gpu.warp} threads or {nest.block}, who share it, `warp {gpu.warp}`"
            yield number, text, help
        elif fold not in own:
            yield number, "not all threads come to this reduction", "share an outer one"


def sharing_of(steps: Steps, fold: Fold) -> int:
    """The number of the step by which threads share a reduction."""
    bound = (n for n, step in enumerate(steps) if {*fold.indices} <= {*getattr(step, "indices", ())})
    return max(bound, default=len(steps) - 1)


def last_of(steps: Steps, kinds: type[Step] | tuple[type[Step], ...], kind: str = "") -> int:
    """The number of the last step of some kinds, or of all."""
    numbers = (n for n, step in enumerate(steps) if isinstance(step, kinds))
    own = (n for n in numbers if not kind or getattr(steps[n], "kind", "") == kind)
    return max(own, default=len(steps) - 1)
