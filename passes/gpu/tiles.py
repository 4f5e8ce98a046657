"""Tiles of elements that a thread, a group of threads or a block computes, and the steps that they are."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Literal

from tadc.lattice.affine import Affine
from tadc.lattice.late_dataclasses import dataclass, field, replace
from tadc.passes.gpu.groups import sharing
from tadc.passes.gpu.occupancy import BLOCK_SIZE, block_of
from tadc.passes.maps.blocks import BlockNames, forms_of, names_in
from tadc.passes.maps.machine import Gpu
from tadc.passes.maps.map import Fold, Load, Map, MapFunction
from tadc.passes.maps.size_tests import SizeTest
from tadc.passes.nest.primitives.boxes import spans_inside
from tadc.passes.nest.steps import Bind, Flatten, InBlocks, Reorder, Split, StageRead, Step
from tadc.passes.schedule.orders import Loops, Within, divided, in_order
from tadc.passes.terms.costs import MUCH_CODE


@dataclass(frozen=True)
class Along:
    """The elements of a tile along an index: `threads` of a block, with `copies` each, `run` of them
    consecutive, which may be the lanes of a vector."""

    threads: int = 1
    copies: int = 1
    run: int = 1
    kind: Literal["jam", "lane"] = "jam"

    @property
    def extent(self) -> int:
        """How many they are."""
        return self.threads * self.copies

    @property
    def within(self) -> Within:
        """The loops of a tile, outermost first: copies that are far apart, threads, what is consecutive."""
        return ("jam", self.copies // self.run), ("thread", self.threads), (self.kind, self.run)


@dataclass(frozen=True)
class GpuTile:
    """Elements `along` indices that a thread of a `grid`, a group of `size`, or a `block` computes.

    Along the last index of `order` consecutive tiles are. What is not in `order` has all of its values in a
    tile. `lanes` says how the threads of a group share each reduction. They are consecutive, but those
    `in_columns`: then a block has a tile for each thread of a warp, and each of its warps takes a part of all
    of them. Where all that is read lies as the elements do, they may be `flat`: vectors in the order of
    memory, whatever rows they are of.

    The threads of one for a `block` are `along` indices: consecutive ones run along the first. What is
    `staged` goes through shared memory: `steps` has the steps of the reduction `over` between two barriers,
    for each of its indices; without a reduction all is copied before anything is computed.
    """

    order: tuple[str, ...]
    along: Mapping[str, Along] = field(default_factory=dict[str, Along])
    outer: Literal["grid", "block"] = "grid"
    block: int = BLOCK_SIZE
    flat: bool = False
    size: int = 1
    lanes: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    in_columns: bool = False
    over: str | None = None
    steps: Mapping[str, int] = field(default_factory=dict[str, int])
    staged: frozenset[str] = frozenset()

    def extent(self, index: str) -> int:
        """The elements along an index."""
        return self.along[index].extent if index in self.along else 1

    @cached_property
    def results(self) -> int:
        """The elements of a thread."""
        return math.prod(one.copies for one in self.along.values())

    @cached_property
    def elements(self) -> int:
        """The elements of a block of threads."""
        return self.block * self.results

    @property
    def fast(self) -> str | None:
        """The index along which consecutive threads of a block run."""
        return next(iter(self.along), None)

    @cached_property
    def vector(self) -> str | None:
        """The index of which a thread has vectors."""
        return next((name for name, one in self.along.items() if one.kind == "lane"), None)

    @property
    def width(self) -> int:
        """The elements of a vector."""
        return 1 if self.vector is None else self.along[self.vector].run

    def copies(self, names: frozenset[str]) -> int:
        """The copies of a value that depends on names."""
        return math.prod(one.copies for name, one in self.along.items() if name in names)

    def threads(self, extents: Mapping[str, int]) -> int:
        """The threads of a grid for all elements."""
        return self.size * math.prod(-(-n // self.extent(name)) for name, n in extents.items())

    def with_block(self, gpu: Gpu, extents: Mapping[str, int]) -> GpuTile:
        """The tile with blocks that are small enough for all multiprocessors to have some."""
        if self.in_columns or self.outer == "block":
            return self
        threads = math.prod(extents.values()) // self.width if self.flat else self.threads(extents)
        return replace(self, block=max(self.size, block_of(gpu, threads, self.block)))

    def fits(self, sizes: Mapping[str, Affine]) -> tuple[SizeTest, ...]:
        """What must hold of sizes that are not known, so that tiles of a grid fit."""
        found: list[SizeTest] = []
        for index, size in sizes.items() if not self.flat else ():
            if self.extent(index) > 1 and not size.is_constant:
                found.append(SizeTest((size,), least=self.extent(index)))
                if index == self.vector:
                    found.append(SizeTest((size.mod(self.width),), most=0))
        return tuple(found)

    # -- steps -----------------------------------------------------------------------------------

    def steps_of(self, item: Map, function: MapFunction, warp: int) -> tuple[Step, ...]:
        """The steps that it is: loops over tiles, copies that are far apart, threads, what is consecutive."""
        fresh = names_in(item, function.sizes)
        if self.flat:
            fresh.taken |= function.tensors().keys()
            index = fresh.new("n")
            outer, lane = fresh.part(index), fresh.part(index)
            split = Split(index, self.width, "branch", outer, lane)
            return Flatten(index), split, Bind("lane", (lane,)), Bind("grid", (outer,)), InBlocks(self.block)
        splits, loops, last = list[Step](), Loops(), Loops()
        for index in self.order:
            one = self.along.get(index, Along())
            tail = "exact" if one.kind == "lane" else "guard"
            made, found = divided(fresh.part, index, self.outer, one.within, tail)
            splits, loops = [*splits, *made], [*loops, *found]
            last += found if index == self.fast else []
        loops.sort(key=lambda loop: loop[0] == "thread" and loop in last)
        loops.extend(("jam", index) for index in item.indices if index not in self.order)
        shared = sharing(item.body, self.lanes, 0 if self.in_columns else warp, fresh)
        return (*splits, *in_order(loops), *shared, *self.stages(item, fresh), InBlocks(self.block))

    def stages(self, item: Map, fresh: BlockNames) -> Iterator[Step]:
        """The steps of a reduction in blocks, all loops over these outside of all in a block, and what is
        copied. Of its innermost loop as many steps are written out as make little code."""
        fold, outer = next((let.value for let in item.body.lets if self.over in let.names), None), [""]
        if isinstance(fold, Fold):
            outer, inner, all_loops = list[str](), list[str](), list[str]()
            for index in fold.indices:
                splits, found = divided(fresh.part, index, "", [("", self.steps[index])], "clip")
                yield from splits
                names = [name for _, name in found]
                outer, inner, all_loops = [*outer, names[0]], [*inner, *names[1:]], [*all_loops, *names]
            if all_loops != [*outer, *inner]:
                yield Reorder((*outer, *inner))
            if inner:
                count = [count for index in fold.indices if (count := self.steps[index]) > 1][-1]
                written = self.written_out(fold, count)
                if written > 1:
                    yield Bind("unroll", (inner[-1],), written if written < count else 0)
        yield from (StageRead(read, outer[-1], fill="threads") for read in self.copied(item, fold))

    def written_out(self, fold: Fold, count: int) -> int:
        """So many of a number of steps as make little code, a divisor of it."""
        moving = frozenset[str]().union(*(form.variables for form in forms_of(fold.body)), *(
            row.form.variables for row in fold.rows
        ))  # fmt: skip
        inside = math.prod(values for _, values in spans_inside(fold.body).values())
        most = max(1, MUCH_CODE // max(self.copies(moving) * len(fold.body.gives) * 2 * inside, 1))
        return max(n for n in range(1, count + 1) if count % n == 0 and n <= most)

    def copied(self, item: Map, fold: object) -> list[str]:
        """The reads that threads copy, in the order of the map; no box is known of one inside of a further
        reduction, unless rows of this one say which values its indices have."""
        open = set[str]()
        if isinstance(fold, Fold):
            further = {name for one in fold.body.folds() for name in one.indices}
            open = further - spans_inside(fold.body).keys()
        return [
            let.names[0]
            for let in item.body.all_lets()
            if isinstance(let.value, Load)
            and let.names[0] in self.staged
            and not any(form.variables & open for form in let.value.at)
        ]


def of_thread(order: tuple[str, ...], copies: Mapping[str, int], width: int = 1) -> GpuTile:
    """The tile of a thread: copies along indices, a vector along the last one of an order."""
    along = {name: Along(1, count) for name, count in copies.items()}
    return GpuTile(order, along | ({order[-1]: Along(1, width, width, "lane")} if width > 1 else {}))


def of_block(order: tuple[str, ...], along: Mapping[str, Along]) -> GpuTile:
    """The tile of a block, whose threads are along indices."""
    return GpuTile(order, along, "block", math.prod(one.threads for one in along.values()))
