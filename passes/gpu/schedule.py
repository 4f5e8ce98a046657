"""Which kernels a map gets on a GPU: of the cheapest tiles, or several where sizes are not known.

All costs are for the whole map: the cost of a thread times the threads, of which there count no fewer
than fill the device. So few elements of long sums get many threads each, and many elements get one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tadc.lattice.affine import Affine
from tadc.passes.gpu.occupancy import BLOCK_SIZE, VECTOR_BYTES
from tadc.passes.gpu.thread_costs import cost_of_element, cost_of_map
from tadc.passes.gpu.thread_tiles import LONG, group_tiles, is_flat, thread_tiles
from tadc.passes.gpu.tile_choice import block_tiles, transposing_tiles
from tadc.passes.gpu.tiles import Along, GpuTile, of_block, of_thread
from tadc.passes.maps.filled_tensors import set_in_place
from tadc.passes.maps.machine import Gpu
from tadc.passes.maps.map import Map, MapFunction
from tadc.passes.maps.size_tests import SizeTest
from tadc.passes.nest.plain import plain_nest
from tadc.passes.nest.primitives.rewriting import loops_in
from tadc.passes.nest.primitives.visited_points import points
from tadc.passes.nest.steps import Bind, InBlocks, Points, Steps, When
from tadc.passes.schedule.accesses import Accesses, Loop
from tadc.passes.schedule.orders import with_needed_orders
from tadc.passes.terms.costs import UNKNOWN, WRITTEN_OUT

FEW = 1 / 8
"""Where sizes are not known, and a map has no more than this part of the elements that keep a GPU busy, long
sums get a warp each; very long ones get a block each where so many warps do not keep it busy."""

#: A tile and the sizes that it is for.
Variant = tuple[GpuTile, tuple[SizeTest, ...]]


def kernels_of(gpu: Gpu, item: Map, function: MapFunction) -> Iterator[Steps]:
    """The steps of the kernels of a map, the sizes that each is for first."""
    if item.marks.in_place:
        yield _in_place(item, function)
        return
    for tile, when in tiles_of(gpu, item, function)[1]:
        steps = with_needed_orders(item.indices, tile.steps_of(item, function, gpu.warp))
        yield (When(when), *steps) if when else steps


def _in_place(item: Map, function: MapFunction) -> Steps:
    """The points of the set on which a map completes another in its memory, one a thread."""
    visit = Points(set_in_place(item))
    loops = tuple(loop.index for loop in loops_in(points(plain_nest(function, item), visit).body))
    return (visit, *((Bind("grid", loops),) if loops else ()), InBlocks(BLOCK_SIZE))


def tiles_of(gpu: Gpu, item: Map, function: MapFunction) -> tuple[float, list[Variant]]:
    """The tiles of a map of a function, each with the sizes it is for, the last for all others; and the cost:
    of the whole map, or of an element where sizes are not known."""
    accesses, sizes = Accesses(item, function), dict(zip(item.indices, item.extents, strict=True))
    # The trips of reductions may depend on sizes.
    bound = [name for loop in accesses.body.below() for name in loop.binders]
    known = all(size.is_constant for size in item.extents) and all(map(accesses.is_known, bound))
    candidates = [*thread_tiles(accesses)]
    if sizes and is_flat(accesses):
        flat = replace(of_thread(item.indices, {}, VECTOR_BYTES // accesses.widest), flat=True)
        if not known:
            return cost_of_map(gpu, accesses, flat), [(flat, ())]
        candidates.append(flat)
    costs = [(cost_of_map(gpu, accesses, tile), tile) for tile in candidates]
    groups = list(group_tiles(gpu, accesses))
    blocks = [*block_tiles(gpu, accesses), *transposing_tiles(gpu, accesses)]
    if known:
        extents = {name: size.constant for name, size in sizes.items()}
        costs += [(cost_of_map(gpu, accesses, tile), tile) for tile in groups]
        cost, best = min((*costs, *blocks), key=lambda pair: pair[0])
        return cost, [(best.with_block(gpu, extents), ())]
    cost, single = min(costs, key=lambda pair: pair[0])
    _, plain = min((pair for pair in costs if not pair[1].fits(sizes)), key=lambda pair: pair[0])
    when = single.fits(sizes)
    return cost, [
        *_open_blocks(gpu, accesses, blocks, cost, sizes),
        *_open_groups(gpu, accesses, groups, cost, sizes),
        *_open_rows(accesses, sizes),
        *([(single, when)] if when else []),
        (plain, ()),
    ]


def _open_blocks(
    gpu: Gpu,
    accesses: Accesses,
    found: Sequence[tuple[float, GpuTile]],
    single: float,
    sizes: Mapping[str, Affine],
) -> list[Variant]:
    """The best tile with shared memory, for sizes that give every multiprocessor one, where it costs no more
    than that of a `single` thread."""
    if not found:
        return []
    cost, tile = min(found, key=lambda pair: pair[0])
    elements = math.prod(size.constant if size.is_constant else UNKNOWN for size in sizes.values())
    if cost > elements * single:
        return []
    when: list[SizeTest] = []
    if tile.over is not None:
        when = [SizeTest(tuple(sizes.values()), least=gpu.multiprocessors * tile.elements // 2)]
    for name, along in tile.along.items():
        if not sizes[name].is_constant:
            when.append(SizeTest((sizes[name],), least=along.extent // 2))
    if tile.over is not None:
        loop = next(loop for loop in accesses.body.inner if loop.fold == tile.over)
        when.append(SizeTest(extents_of(accesses, loop), least=math.prod(tile.steps.values())))
    return [(tile, tuple(when))]


def _open_rows(accesses: Accesses, sizes: Mapping[str, Affine]) -> list[Variant]:
    """A block for a part of a row, for long rows: its threads divide by sizes once for several elements."""
    inner = [*sizes.items()][1:]
    if accesses.body.inner or all(size.is_constant for _, size in inner):
        return []
    name, size = inner[-1]
    along = Along(BLOCK_SIZE // 2, WRITTEN_OUT)
    tile = of_block(tuple(sizes), {name: along})
    return [(tile, (SizeTest((size,), least=along.extent // 2),))]


def _open_groups(
    gpu: Gpu, accesses: Accesses, groups: Sequence[GpuTile], single: float, sizes: Mapping[str, Affine]
) -> list[Variant]:
    """Tiles of groups where sizes are not known, each with the sizes that it is for; a warp for each element
    of few, where it costs more than a `single` thread."""
    found, shape = list[Variant](), tuple(sizes.values())
    costs = {id(tile): cost_of_element(gpu, accesses, tile) for tile in groups}
    blocks = [tile for tile in groups if not tile.in_columns and tile.size == BLOCK_SIZE]
    if blocks:
        tile = min(blocks, key=lambda tile: costs[id(tile)])
        # A reduction of fewer elements than two for each thread of a large block is not worth a block.
        long = _at_least(accesses, tile, 2 * gpu.block)
        found.append((tile, (*_no_more(shape, gpu.busy / gpu.warp), long)))
    others = [tile for tile in groups if tile.size <= gpu.warp]
    if not others:
        return found
    best = min(others, key=lambda tile: costs[id(tile)])
    when = [_at_least(accesses, best, LONG)]
    if costs[id(best)] > single:
        when += _no_more(shape, FEW * gpu.busy)
    return [*found, (best, tuple(when))]


def _no_more(sizes: tuple[Affine, ...], most: float) -> tuple[SizeTest, ...]:
    """That a map has no more elements; of one element there is nothing to ask."""
    return (SizeTest(sizes, most=int(most)),) if sizes else ()


def _at_least(accesses: Accesses, tile: GpuTile, least: int) -> SizeTest:
    """That the first reduction that a group shares has so many steps, one over fibres on average."""
    loop = next(loop for loop in accesses.body.below() if loop.fold in tile.lanes)
    ranges = [accesses.ranges[name] for name in loop.binders]
    if len(ranges) == 1 and (found := ranges[0]) is not None and found.shared is not None:
        return SizeTest((found.extent - found.shared * least + 1,), least=1)
    return SizeTest(extents_of(accesses, loop), least=least)


def extents_of(accesses: Accesses, loop: Loop) -> tuple[Affine, ...]:
    """The extents of the indices of a reduction, over sizes."""
    ranges = [accesses.ranges[name] for name in loop.binders]
    return tuple(found.extent for found in ranges if found is not None)
