"""Chains of maps (`maps/block_chains.py`): their plain nest, the nests of the maps one after the other, and
the steps that are chosen for them.

    for i = 0 to 64:                        split i 8 -> i0, i1; merge i0; block i0
        m[i] = max m.k: x[i, m.k]           a team of threads takes a row: thread i1 teams 2,
    for i = 0 to 64:                        and divides its elements: thread y.k teams 32
        for y.k = 0 to 256:                 split m.k 32 -> m.k0, m.k1; thread m.k1 warp 32
            y[i, k] = x[i, k] - m[i]        stage m in shared inside i0

All maps have one loop over rows of one name, `i`; each other index has the name of its tensor too. Where rows
are long, all threads run all maps for one row after the other, `merge i1`: shared memory has a row of each
tensor then, and registers have the sums over rows, which are `cut` for it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tadc.lattice.affine import ZERO, Affine
from tadc.passes.gpu.groups import lanes_along, sharing
from tadc.passes.gpu.thread_tiles import can_be_vector
from tadc.passes.maps.blocks import BlockNames, Renaming, indices_bound, values_of
from tadc.passes.maps.machine import Gpu
from tadc.passes.maps.map import Block, Fold, Map, MapFunction, TensorDecl
from tadc.passes.maps.memory_of_tensors import chains_in
from tadc.passes.maps.row_reads import bytes_of
from tadc.passes.nest.loop_bounds import around
from tadc.passes.nest.nest import At, Body, Compute, For, Nest, Stage, Store
from tadc.passes.nest.plain import plain_nest
from tadc.passes.nest.primitives.boxes import row_major
from tadc.passes.nest.primitives.rewriting import with_places
from tadc.passes.nest.steps import Bind, Cut, InBlocks, MergeLoops, Room, Split, Step, Steps
from tadc.passes.schedule.accesses import Accesses


class Chain:
    """The maps of a chain in a function; `depth` indices number rows."""

    def __init__(self, function: MapFunction, items: Sequence[Map]) -> None:
        self.function, self.items = function, items
        first, (self.depth, *_) = items[0].indices, items[0].marks.blocks
        self.rows = [extent.constant for extent in items[0].extents[: self.depth]]
        self.made = {tensor.name: tensor for item in items for tensor in item.tensors}
        self.read = {name for item in items for name in item.read}
        others = (name for item in function.maps if item not in items for name in item.read)
        # What none but these maps reads.
        self.inner = self.made.keys() - {*others, *function.results}
        names = BlockNames({*function.tensors(), *(name for item in items for name in item.indices)})
        self.row = first[0] if self.depth == 1 else names.new("row")
        self.part, numbers = names.new("part"), itertools.count()
        self.taken = names.taken
        # By the first tensor that a map computes: the names of its values and indices in the nest.
        self.values, self.forms = dict[str, dict[str, str]](), dict[str, dict[str, str]]()
        for item in items:
            tensor, outer = item.name, (self.part,) if item.marks.steps else first[: self.depth]
            own = [*outer, *(f"{tensor}.{name}" for name in item.indices[len(outer) :])]
            names.taken.update(own)
            self.forms[tensor] = {name: names.new(f"{tensor}.{name}") for name in indices_bound(item.body)}
            self.forms[tensor] |= zip(item.indices, own, strict=True)
            self.values[tensor] = {name: f"%{next(numbers)}" for name in values_of(item.body)}

    def plain(self) -> Nest:
        """The nest of each map, one after the other; what only they read is staged in memory."""
        used = self.read - self.made.keys()
        read = (tensor for name, tensor in self.function.tensors().items() if name in used)
        stages = (Stage(self.shaped(self.made[name]), "global") for name in self.made if name in self.inner)
        made = tuple(name for name in self.made if name not in self.inner)
        tensors = (*read, *(self.shaped(self.made[name]) for name in made))
        body = (*stages, *map(self.of_map, self.items))
        return Nest("_".join(made), tensors, (), (), (), made, body)

    def own(self, item: Map) -> list[str]:
        """The loops over the elements of a row of a map, or over those of a part."""
        tensor, names = item.name, item.indices[1 if item.marks.steps else self.depth :]
        if item.marks.steps and len(names) != 1:
            # Threads divide all elements together.
            return [f"{tensor}.element"]
        return [f"{tensor}.{name}" for name in names]

    def block(self, item: Map) -> Block:
        """The body of a map, with these indices and values."""
        tensor = item.name
        forms = {name: Affine.var(form) for name, form in self.forms[tensor].items()}
        return Renaming(self.values[tensor], forms).block(item.body)

    def of_map(self, item: Map) -> For:
        """The loops of a map."""
        block, own = self.block(item), self.own(item)
        indices = [self.forms[item.name][index] for index in item.indices]
        at = tuple(map(Affine.var, indices))
        stores = [Store(t.name, at, value) for t, value in zip(item.tensors, block.gives, strict=True)]
        body: Body = with_places((Compute(block, tuple(stores)),), self.place)
        sizes = [extent.constant for extent in item.extents[1 if item.marks.steps else self.depth :]]
        if len(own) != len(sizes):
            body, sizes = (*_places(indices[1:], own[0], sizes), *body), [math.prod(sizes)]
        ends = ((index, ZERO, Affine.const(size)) for index, size in zip(own, sizes, strict=True))
        body = around(body, *ends)
        if item.marks.steps:
            return For(self.part, ZERO, item.extents[0], 1, "seq", body)
        places = _places(indices[: self.depth], self.row, self.rows) if self.depth > 1 else ()
        return For(self.row, ZERO, Affine.const(math.prod(self.rows)), 1, "seq", (*places, *body))

    def shaped(self, tensor: TensorDecl) -> TensorDecl:
        """A tensor as it is seen: one that is computed with one dimension for those of rows."""
        if self.depth == 1 or tensor.name not in self.made:
            return tensor
        return replace(tensor, shape=(Affine.const(math.prod(self.rows)), *tensor.shape[self.depth :]))

    def place(self, tensor: str, at: tuple[Affine, ...]) -> tuple[str, tuple[Affine, ...]]:
        """The place of an element, by the number of its row: what is computed is read in its own."""
        is_seen = self.depth > 1 and tensor in self.made
        return tensor, (Affine.var(self.row), *at[self.depth :]) if is_seen else at

    # -- what is chosen ----------------------------------------------------------------------------

    def chosen(self, gpu: Gpu) -> Steps:
        """The steps as its mark says: all that later maps read is kept near, if there is room."""
        rows, (_, group, block) = self.items[0].marks.rows, self.items[0].marks.blocks
        by_turns, parts = group == block and rows > 1, [item for item in self.items if item.marks.steps]
        outer, turn = (f"{self.row}0", f"{self.row}1") if rows > 1 else (self.row, "")
        blocks, cuts = self.part if parts else outer, [f"{turn}.{n}" for n in range(len(parts) * by_turns)]
        steps: list[Step] = [_split(self.row, math.prod(self.rows), rows)] if rows > 1 else []
        steps += self.shared_sums(gpu, group)
        for item, name in zip(parts, cuts):
            ((let, fold),) = [
                (let, let.value) for let in self.block(item).lets if isinstance(let.value, Fold)
            ]
            steps.append(Cut(let.names[0], fold.indices[0], 1, name, self.part))
        steps += [MergeLoops(tuple(dict.fromkeys((blocks, outer)))), Bind("block", (blocks,))]
        if by_turns:
            steps.append(MergeLoops((turn, *cuts)))
        elif rows > 1:
            steps.append(Bind("thread", (turn,), teams=block // group))
        steps += self.elements(group)
        for item in parts:
            (index,), count = self.own(item), math.prod(extent.constant for extent in item.extents[1:])
            if by_turns:
                # Each thread has every so many of the sums in registers.
                steps += [_split(index, count, block), Bind("unroll", (f"{index}0",))]
            steps.append(Bind("thread", (f"{index}1" if by_turns else index,), teams=block))
            steps += [Room((item.name,), "register", self.part)] if by_turns else []
        kept = self.kept(gpu, 1 if by_turns else rows)
        steps += [Room(kept, "shared", turn if by_turns else blocks)] if kept else []
        return (*steps, InBlocks(block))

    def shared_sums(self, gpu: Gpu, group: int) -> Iterator[Step]:
        """The outermost sums of maps of one element a row, which the threads of a row share."""
        fresh = BlockNames({*self.taken})
        for item in self.items:
            if not item.marks.steps and len(item.indices) == self.depth:
                body, names = Accesses(item, self.function).body, self.values[item.name]
                found = {
                    names[each.fold]: lanes_along(each.trips, group) for each in body.inner if each.binders
                }
                yield from sharing(self.block(item), found, gpu.warp, fresh)

    def elements(self, group: int) -> Iterator[Step]:
        """The elements of a row, divided among its threads, in vectors where these are consecutive."""
        lanes, threads = list[str](), list[str]()
        for item in self.items:
            *others, last = ["", *self.own(item)]
            if item.marks.steps or not last:
                continue
            accesses = Accesses(item, self.function)
            width = next((width for width in (4, 2) if can_be_vector(accesses, item.indices[-1], width)), 1)
            if width > 1:
                yield Split(last, width, "exact", f"{last}0", f"{last}1")
                lanes.append(f"{last}1")
            threads += [*others[1:], f"{last}0" if width > 1 else last]
        yield from [Bind("lane", tuple(lanes))] if lanes else []
        yield from [Bind("thread", tuple(threads), teams=group)] if threads else []

    def kept(self, gpu: Gpu, rows: int) -> tuple[str, ...]:
        """What maps compute and later ones read, where shared memory has room for so many rows."""
        room, found = gpu.static_shared - gpu.shared_of_warps, list[str]()
        for tensor in (t for item in self.items if not item.marks.steps for t in item.tensors):
            each = -(-bytes_of(tensor, self.depth) // 16) * 16 * rows
            if tensor.name in self.read and each <= room:
                room -= each
                found.append(tensor.name)
        return tuple(found)


def plain_nests(function: MapFunction) -> Iterator[Nest]:
    """The plain nests of the maps of a function for a GPU, those of a chain as one."""
    for together in chains_in(function.maps):
        items = [function.maps[number] for number in together]
        yield Chain(function, items).plain() if items[0].marks.blocks else plain_nest(function, items[0])


def _split(index: str, count: int, factor: int) -> Split:
    return Split(index, factor, "clip" if count % factor else "exact", f"{index}0", f"{index}1")


def _places(indices: Sequence[str], number: str, sizes: Sequence[int]) -> Body:
    return tuple(At(index, form) for index, form in zip(indices, row_major(Affine.var(number), sizes)))
