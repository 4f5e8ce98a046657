"""What a map costs on a GPU, by how its elements are laid over threads.

Strides, trip counts and what depends on what go in, as for the CPU (`schedule`), and the facts of the GPU.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product

from tadc.lattice.affine import Affine
from tadc.passes.gpu.tiles import GpuTile
from tadc.passes.maps.machine import Gpu
from tadc.passes.schedule.accesses import Accesses, ElementRead, Loop
from tadc.passes.schedule.body_cost import BodyCost
from tadc.passes.terms.costs import ELEMENT, LARGE

#: The index values of the lanes of a warp, relative to the first, by name.
Warp = Sequence[Mapping[str, int]]


def warp_over(gpu: Gpu, names: Sequence[str], extents: Mapping[str, int], steps: Mapping[str, int]) -> Warp:
    """The lanes of a warp where consecutive threads run along names, the last one fastest."""
    lanes: list[dict[str, int]] = []
    for lane in range(gpu.warp):
        values: dict[str, int] = {}
        left = lane
        for name in reversed(names):
            step = steps.get(name, 1)
            count = max(1, -(-extents[name] // step))
            values[name] = left % count * step
            left //= count
        lanes.append(values)
    return lanes


def lines(gpu: Gpu, read: ElementRead, warp: Warp, bytes_each: int, width: int = 1) -> float:
    """The lines that a warp touches with one load of `width` elements a thread."""
    touched: set[int | tuple[str, int]] = set()
    for lane, values in enumerate(warp):
        offset = 0
        for name, value in values.items():
            stride = read.strides.get(name, 0)
            if stride is None:
                if value:
                    touched.add(("far", lane))
                continue
            offset += stride * value
        first, last = offset * bytes_each, (offset + width) * bytes_each - 1
        touched.update(range(first // gpu.line, last // gpu.line + 1))
    return len(touched)


def shares_of_windows(
    accesses: Accesses, reads: Sequence[ElementRead], copies: Mapping[str, int]
) -> dict[str, float]:
    """For each read of a map how many of its elements are loaded, where copies of several reads are the same.

    `%x[i]` and `%x[i + 1]` in 4 copies along i are 5 elements, not 8.
    """
    windows: dict[tuple[str, tuple[Affine, ...]], list[tuple[str, tuple[int, ...]]]] = {}
    for read in reads:
        forms = accesses.place(read)
        key = read.tensor, tuple(form - form.constant for form in forms)
        windows.setdefault(key, []).append((read.name, tuple(form.constant for form in forms)))
    found: dict[str, float] = {}
    for (_, forms), members in windows.items():
        names = [name for name in copies if any(name in form.variables for form in forms)]
        steps = [tuple(form.coefficient(name) for form in forms) for name in names]
        elements: set[tuple[int, ...]] = set()
        for _, at in members:
            for numbers in product(*(range(copies[name]) for name in names)):
                moved = [
                    place + sum(n * step[d] for n, step in zip(numbers, steps, strict=True))
                    for d, place in enumerate(at)
                ]
                elements.add(tuple(moved))
        share = len(elements) / (len(members) * math.prod(copies[name] for name in names))
        found |= {name: share for name, _ in members}
    return found


def stored_at(accesses: Accesses) -> tuple[ElementRead, int]:
    """The store of an element as an access, and its bytes."""
    tensor = accesses.map.tensors[0]
    strides: dict[str, int | None] = {}
    step = 1
    for name, size in zip(reversed(accesses.names), reversed(tensor.shape), strict=True):
        strides[name] = step
        step *= size.constant if size.is_constant and size.constant > 0 else LARGE
    return ElementRead("", tensor.name, strides, True), ELEMENT[tensor.type]


def cost_of_map(gpu: Gpu, accesses: Accesses, tile: GpuTile) -> float:
    """The cost of a map by tiles of a grid, or of an element where extents are not known."""
    if not all(accesses.is_known(name) for name in accesses.names):
        return cost_of_element(gpu, accesses, tile)
    threads = tile.threads({name: accesses.extent(name) for name in accesses.names})
    return _cost_of_thread(gpu, accesses, tile) * max(threads, gpu.busy)


def cost_of_element(gpu: Gpu, accesses: Accesses, tile: GpuTile) -> float:
    """The cost of an element, by all of its threads."""
    return _cost_of_thread(gpu, accesses, tile) * tile.size / math.prod(map(tile.extent, accesses.names))


def _cost_of_thread(gpu: Gpu, accesses: Accesses, tile: GpuTile) -> float:
    warp: Warp = [dict.fromkeys(accesses.names, 0)] * gpu.warp
    if tile.size == 1 or tile.in_columns:
        extents = {name: accesses.extent(name) for name in accesses.names}
        warp = warp_over(gpu, tile.order, extents, {name: tile.extent(name) for name in tile.order})
    return ThreadCost(gpu, accesses, tile, warp).thread()


class ThreadCost(BodyCost[Gpu]):
    """The cost of what a thread of a tile does, of a warp that lies so.

    In a column, all threads along the indices of a reduction that they share are in different warps."""

    def __init__(self, gpu: Gpu, accesses: Accesses, tile: GpuTile, warp: Warp) -> None:
        self.machine, self.accesses, self.tile, self.warp = gpu, accesses, tile, warp
        copies = {name: one.copies for name, one in tile.along.items()}
        self.windows = shares_of_windows(accesses, accesses.body.reads, copies)
        self.warps = dict[str, Warp]()
        self.lay(accesses.body, warp)

    def lay(self, loop: Loop, warp: Warp) -> None:
        """Note how a warp lies in a loop and those inside."""
        if loop.fold in self.tile.lanes and not self.tile.in_columns:
            places = dict(zip(loop.binders, self.tile.lanes[loop.fold], strict=True))
            warp = warp_over(self.machine, loop.binders, places, {})
        self.warps[loop.fold] = warp
        for inner in loop.inner:
            self.lay(inner, warp)

    def thread(self) -> float:
        """The cost of what one thread does, its stores included."""
        (stored, each), width = stored_at(self.accesses), self.tile.width
        count = self.accesses.results * self.tile.results // width
        store = count * (1 + self.machine.access * lines(self.machine, stored, self.warp, each, width))
        return self.loop(self.accesses.body) + store

    def copies(self, names: frozenset[str]) -> int:
        """The copies of a value that depends on names."""
        return self.tile.copies(names)

    def steps(self, loop: Loop, step: float) -> float:
        """The cost of the steps that a thread runs, and of joining what threads share."""
        gpu, lanes = self.machine, self.tile.lanes.get(loop.fold, (1,) * len(loop.trips))
        trips = math.prod(-(-count // lane) for count, lane in zip(loop.trips, lanes, strict=True))
        ending, results = 4.0, self.copies(loop.result)
        if loop.fold in self.tile.lanes:
            size, is_column = math.prod(lanes), self.tile.in_columns
            stored = size if is_column else size // gpu.warp
            ending += 0.0 if is_column else results * gpu.join * math.log2(gpu.warp)
            ending += results * (gpu.access + 4.0) * stored if stored > 1 else 0.0
        return trips * (step + gpu.step) + ending

    def read(self, read: ElementRead, loop: Loop) -> float:
        """The cost of all copies of a read."""
        copies, each, width = self.copies(read.names), self.accesses.bytes_of(read), 1
        if self.tile.vector is not None and read.strides.get(self.tile.vector, 0) == 1:
            width = self.tile.width
        touched = lines(self.machine, read, self.warps[loop.fold], each, width)
        return copies // width * (1 + self.machine.access * touched) * self.windows.get(read.name, 1.0)
