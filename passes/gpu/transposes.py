"""Maps without reductions that read along another index than they store: tiles through shared memory.

    %f[i, j] = %x[j, i]

A warp that runs along j reads a line of memory for each of its elements. A block that has a tile of both
indices copies what it reads along i, and reads it from shared memory along j: rows there have an element more
than they hold, so that neighbours along j are in different banks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from tadc.passes.gpu.block_tiles import Along, BlockTile
from tadc.passes.gpu.thread_costs import ThreadCost, warp_over
from tadc.passes.gpu.tile_choice import extent_or_open
from tadc.passes.maps.machine import Gpu
from tadc.passes.nest.primitives.boxes import padded, spans_of
from tadc.passes.schedule.accesses import Accesses, ElementRead
from tadc.passes.terms.costs import LANES

LEAST = LANES
"""An index of fewer values is not worth a tile."""


def transposing_tiles(gpu: Gpu, accesses: Accesses) -> Iterator[tuple[float, BlockTile]]:
    """The tiles for each index that something is read along, with their costs for the whole map."""
    if accesses.body.inner or len(accesses.names) < 2:
        return
    fast = accesses.names[-1]
    for slow in accesses.names[:-1]:
        transposed = [read for read in accesses.body.reads if is_transposed(read, fast, slow)]
        if transposed and min(extent_or_open(accesses, fast), extent_or_open(accesses, slow)) >= LEAST:
            tile = _tile(gpu, accesses, fast, slow, transposed)
            if tile is not None:
                yield tile


def is_transposed(read: ElementRead, fast: str, slow: str) -> bool:
    """Whether neighbours along `slow` are neighbours in memory, and those along `fast` far apart."""
    step = read.strides.get(fast, 0)
    return read.strides.get(slow, 0) in (1, -1) and step is not None and abs(step) > 1


def _tile(
    gpu: Gpu, accesses: Accesses, fast: str, slow: str, transposed: list[ElementRead]
) -> tuple[float, BlockTile] | None:
    """The tile, and its cost; None where shared memory does not hold the tiles."""
    size, threads = gpu.banks, gpu.usual_block // gpu.banks
    rows = min(extent_or_open(accesses, slow), size)
    own = {fast: Along(size, 1), slow: Along(threads, -(-rows // threads))}
    ranges = {name: along.extent for name, along in own.items()}
    used = 0
    for read in transposed:
        each = accesses.bytes_of(read)
        spans = spans_of(gpu, accesses.place(read), ranges, each)
        if spans is None:
            return None
        used += math.prod(padded(gpu, [n for n, _ in spans], False, 1)) * each
    if used > gpu.static_shared:
        return None
    tile = BlockTile(own, staged=frozenset(read.name for read in transposed))
    copies = own[slow].copies
    extents = {name: extent_or_open(accesses, name) for name in accesses.names}
    all_reads = ThreadCost(gpu, accesses, warp_over(gpu, [fast], extents, {}), {slow: copies})
    cost = all_reads.thread() - sum(all_reads.read(read, accesses.body) for read in transposed)
    cost += 2 * gpu.barrier + len(transposed) * copies * (2 + gpu.find + 3 * gpu.access)
    tiles = math.prod(-(-extents[name] // ranges.get(name, 1)) for name in accesses.names)
    # A thread with several independent elements needs fewer others beside it.
    return cost * max(tiles * tile.threads, gpu.busy / min(4, copies)), tile
