"""Schedules that are given for chains of maps on a GPU: what of their steps a block cannot do."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial

from tadc.passes.gpu.chain_steps import ChainSteps, may_have_lanes
from tadc.passes.gpu.row_chains import RowChain, bytes_near, may_be_near
from tadc.passes.maps.block_chains import MOST_CARRIED, ROOM
from tadc.passes.maps.machine import Gpu
from tadc.passes.maps.map import Map, MapFunction
from tadc.passes.nest.steps import InBlocks, Keep, RowBlocks, Steps, Vectors
from tadc.passes.schedule.given import Problem

TAKEN = RowBlocks, Keep, Vectors, InBlocks
"""The steps that chains take."""


def problems_of_chain(
    steps: Steps, items: Sequence[Map], function: MapFunction, gpu: Gpu
) -> Iterator[Problem]:
    """What of the steps cannot be done for the maps of a chain."""
    last = len(steps) - 1
    for number, step in enumerate(steps):
        if not isinstance(step, TAKEN):
            help = "write `row_blocks`, `keep`, `vectors` and `in_blocks`"
            yield number, "a block runs the maps of a chain one after the other, and takes no such step", help
        elif isinstance(step, InBlocks) and (step.threads % gpu.warp or step.threads > gpu.block):
            text = f"a block has whole warps of {gpu.warp} threads, and no more than {gpu.block}"
            yield number, text, f"write `in_blocks {8 * gpu.warp}`"
        elif any(isinstance(other, type(step)) for other in steps[:number]):
            yield number, "it stands above already", "leave the step out"
    for kind, text in (
        (RowBlocks, f"row_blocks 8 threads {gpu.warp}"),
        (InBlocks, f"in_blocks {8 * gpu.warp}"),
    ):
        if not any(isinstance(step, kind) for step in steps):
            yield last, "rows of a block, or its threads, are missing", f"add `{text}`"
            return
    said = ChainSteps.of(steps, items)
    for number, step in enumerate(steps):
        match step:
            case RowBlocks():
                yield from map(partial(_problem, number), _of_rows(said.chain, items, gpu))
            case Keep():
                yield from map(partial(_problem, number), _of_keep(said, items, function, gpu))
            case Vectors():
                yield from map(partial(_problem, number), _of_vectors(step, items, function))
            case _:
                pass


def _problem(number: int, found: tuple[str, str]) -> Problem:
    return number, *found


def _of_rows(chain: RowChain, items: Sequence[Map], gpu: Gpu) -> Iterator[tuple[str, str]]:
    """What a block cannot do with so many rows, and a help."""
    if chain.group not in (gpu.warp, chain.block):
        text = f"{chain.group} threads are neither a warp nor a block"
        yield text, f"write `threads {gpu.warp}` or `threads {chain.block}`"
    count = math.prod(extent.constant for extent in items[0].extents[: chain.depth])
    if chain.rows > count:
        yield f"there are {count} rows", f"write `row_blocks {count}`, or less"
    sums = [item for item in items if item.marks.steps]
    if sums and chain.rows != sums[0].marks.rows:
        rows = sums[0].marks.rows
        yield f"parts of the sums over rows are of {rows} rows", f"write `row_blocks {rows}`"
    each = max((math.prod(extent.constant for extent in item.extents[1:]) for item in sums), default=0)
    if chain.by_turns and each > MOST_CARRIED * chain.block:
        text = f"a thread would carry {-(-each // chain.block)} sums over rows, and carries {MOST_CARRIED}"
        yield text, "take more threads a block"


def _of_keep(
    said: ChainSteps, items: Sequence[Map], function: MapFunction, gpu: Gpu
) -> Iterator[tuple[str, str]]:
    """What a block cannot keep of its rows, and a help."""
    near, tensors = may_be_near(items), function.tensors()
    for name in said.keep:
        if name not in near:
            yield f"no map of the chain reads what another computes of `{name}`", "leave it out"
            return
    used = sum(bytes_near(tensors[name], said.chain) for name in said.keep)
    if used > gpu.static_shared - ROOM:
        text = f"a block would keep {used} bytes, and has memory for {gpu.static_shared - ROOM}"
        yield text, "take fewer rows, or leave a tensor out"


def _of_vectors(step: Vectors, items: Sequence[Map], function: MapFunction) -> Iterator[tuple[str, str]]:
    """What is not in vectors of so many elements, and a help."""
    known = {item.tensors[0].name: item for item in items}
    for name, width in zip(step.tensors, step.widths, strict=True):
        item = known.get(name)
        if item is None:
            yield f"no map of the chain computes `{name}` first", "leave it out"
        elif width not in (2, 4) or not may_have_lanes(item, function, width):
            yield f"what is read for `{name}` is not in vectors of {width}", "leave it out, or take fewer"
