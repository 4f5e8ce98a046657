"""The nest of a chain of maps (`maps/block_chains.py`): a block runs them one after the other over its rows.

    for s = 0 to 32 block {
        stage m_near: f32[8] in shared
        for r = 0 to 8 thread teams 8 {       a warp for a row: what it has one of
            at i = 8*s + r
            m_near[r] = max k threads 32 warp 32: x[i, k]
        }
        for r = 0 to 8 thread teams 8 {       and its elements
            at i = 8*s + r
            for k = 0 to 256 thread teams 32 {
                y[i, k] = x[i, k] - m_near[r]

Where rows are long, all threads run all maps for one row after the other: shared memory has a row of each
tensor, and registers the sums over rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from tadc.lattice.affine import ZERO, Affine, Constraint
from tadc.passes.gpu.groups import lanes_along
from tadc.passes.gpu.row_chains import RowChain
from tadc.passes.maps.blocks import Names, Renaming
from tadc.passes.maps.map import Apply, Block, Fold, Let, Load, Map, MapFunction, Number, Tensor
from tadc.passes.nest.nest import At, Body, Bound, Compute, Extreme, For, If, Nest, Stage, Statement, Store
from tadc.passes.nest.primitives.reductions import in_threads
from tadc.passes.nest.primitives.rewriting import expand_lets, rewrite_lets
from tadc.passes.schedule.accesses import Accesses


@dataclass
class ChainNest:
    """The nest of some maps on its way; `tensors` are those that shared memory has rows of, of which those
    that are `inner` are nowhere else. `widths` has the elements of a vector of each map."""

    function: MapFunction
    items: Sequence[Map]
    chain: RowChain
    tensors: Sequence[Tensor]
    inner: frozenset[str]
    widths: Mapping[str, int]
    warp: int

    def __post_init__(self) -> None:
        taken = {*self.function.sizes, *self.function.tensors()}
        for item in self.items:
            taken |= set(item.indices)
            for let in item.body.all_lets():
                taken |= set(let.value.indices) if isinstance(let.value, Fold) else set()
        names = Names(taken)
        self.names, self.step, self.row = names, names.new("s"), names.new("r")
        rows = Affine.const(self.chain.near_rows)
        self.near = {
            tensor.name: replace(
                tensor, name=names.new(f"{tensor.name}_near"), shape=(rows, *tensor.shape[self.chain.depth :])
            )
            for tensor in self.tensors
        }

    @property
    def own(self) -> Affine:
        """The number of a row of the block."""
        return Affine.var(self.row)

    @property
    def first(self) -> Affine:
        """The number of the first row of the block."""
        return Affine.var(self.step) * self.chain.rows

    def new(self, name: str) -> str:
        """A name that nothing else has."""
        return self.names.new(name)

    def nest(self) -> Nest:
        """All of it."""
        made = tuple(t.name for item in self.items for t in item.tensors if t.name not in self.inner)
        used = {load.tensor for item in self.items for load in item.loads()}
        tensors = self.function.tensors()
        read = [tensors[name] for name in tensors if name in used and name not in {*made, *self.inner}]
        stages = tuple(Stage(tensor, "shared") for tensor in self.near.values())
        body = self.turns() if self.chain.by_turns else self.maps()
        blocks = For(self.step, ZERO, Affine.const(self.blocks), 1, "block", (*stages, *body))
        return Nest(
            "_".join(made), (*read, *(tensors[name] for name in made)), (), (), (), made, (blocks,),
            self.chain.block,
        )  # fmt: skip

    @property
    def count(self) -> int:
        """The number of rows."""
        (first, *_) = self.items
        return math.prod(extent.constant for extent in first.extents[: self.chain.depth])

    @property
    def blocks(self) -> int:
        """The number of blocks."""
        return -(-self.count // self.chain.rows)

    @property
    def stop(self) -> Bound:
        """The number of rows that a block has."""
        if self.count % self.chain.rows == 0:
            return Affine.const(self.chain.rows)
        return Extreme("min", (Affine.const(self.chain.rows), self.count - self.first))

    # -- one map after the other -----------------------------------------------------------------

    def maps(self) -> Body:
        """Each map over all rows of the block, a row a team."""
        teams = self.chain.block // self.chain.group
        made: list[For] = []
        for item in self.items:
            if item.marks.steps:
                made.append(self.part(item))
            else:
                index = self.row
                made.append(For(index, ZERO, self.stop, 1, "thread", self.of_row(item), teams=teams))
        return tuple(made)

    def of_row(self, item: Map) -> Body:
        """A map for one row, by the threads of a team."""
        depth, position = self.chain.depth, self.first + self.own
        sizes = [extent.constant for extent in item.extents]
        named = tuple(
            At(index, form)
            for index, form in zip(item.indices, unravelled(position, sizes[:depth]), strict=False)
        )
        row = ZERO if self.chain.by_turns else self.own
        if len(item.indices) == depth:
            return (*named, self.compute(item, lambda at: (row, *at[depth:]), self.shared(item)))
        compute = self.compute(item, lambda at: (row, *at[depth:]), item.body)
        last, width = item.indices[-1], self.widths[item.tensors[0].name]
        body: Body = (compute,)
        if width > 1:
            tile, lane = self.new(f"{last}0"), self.new(f"{last}1")
            value = At(last, Affine.var(tile) + Affine.var(lane))
            body = (For(lane, ZERO, Affine.const(width), 1, "lane", (value, *body)),)
            body = (For(tile, ZERO, item.extents[-1], width, "thread", body),)
        else:
            body = (For(last, ZERO, item.extents[-1], 1, "thread", body),)
        return (*named, self.among(self.boxed(item.indices[depth:-1], item.extents[depth:-1], body)))

    def among(self, body: Body) -> For:
        """Loops that the threads of a row divide."""
        (loop,) = body
        assert isinstance(loop, For)
        return replace(loop, teams=self.chain.group)

    def boxed(self, indices: Sequence[str], extents: Sequence[Affine], body: Body) -> Body:
        """Loops over the elements of a row around a body."""
        for index, extent in zip(reversed(indices), reversed(extents), strict=True):
            body = (For(index, ZERO, extent, 1, "thread", body),)
        return body

    def shared(self, item: Map) -> Block:
        """The body of a map whose outermost sums the threads of a row share."""
        accesses = Accesses(item, self.function, item.extents, [1] * len(item.extents))
        lanes = {
            one.fold: lanes_along(one.trips, self.chain.group) for one in accesses.body.inner if one.binders
        }

        def share(let: Let) -> tuple[Let, ...]:
            if isinstance(let.value, Fold) and let.names[0] in lanes:
                return in_threads(let, lanes[let.names[0]], self.warp)
            return (let,)

        return expand_lets(item.body, share)

    def compute(
        self, item: Map, place: Callable[[tuple[Affine, ...]], tuple[Affine, ...]], block: Block
    ) -> Compute:
        """The body of a map, which reads and stores near tensors at their places."""
        at = tuple(map(Affine.var, item.indices))
        stores: list[Store] = []
        for tensor, value in zip(item.tensors, block.gives, strict=True):
            if tensor.name in self.near:
                stores.append(Store(self.near[tensor.name].name, place(at), value))
            if tensor.name not in self.inner:
                stores.append(Store(tensor.name, at, value))
        return Compute(self.reading(block, place), tuple(stores))

    def reading(self, block: Block, place: Callable[[tuple[Affine, ...]], tuple[Affine, ...]]) -> Block:
        """A block that reads near tensors at their places."""

        def read(let: Let) -> Let:
            value = let.value
            if not isinstance(value, Load) or value.tensor not in self.near:
                return let
            near = self.near[value.tensor].name
            return replace(let, value=replace(value, tensor=near, at=place(value.at)))

        return rewrite_lets(block, read)

    def part(self, item: Map) -> For:
        """Sums over the rows of a block, each by one thread."""
        step, *indices = item.indices
        renamed = Renaming(forms={step: Affine.var(self.step)}).block(item.body)
        made = self.compute(replace(item, body=renamed), self.in_block, renamed)
        stores = tuple(replace(store, at=self.at_step(store.at)) for store in made.stores)
        body: Body = (replace(made, stores=stores),)
        if not indices:
            body = (For(self.new("one"), ZERO, Affine.const(1), 1, "thread", body),)
        (loop,) = self.boxed(indices, item.extents[1:], body)
        assert isinstance(loop, For)
        return replace(loop, teams=self.chain.block)

    def at_step(self, at: tuple[Affine, ...]) -> tuple[Affine, ...]:
        """The place of a part: that of the block."""
        return (Affine.var(self.step), *at[1:])

    def in_block(self, at: tuple[Affine, ...]) -> tuple[Affine, ...]:
        """The place near of an element of any row of the block."""
        return (at[0] - self.first, *at[1:])

    # -- by turns --------------------------------------------------------------------------------

    def turns(self) -> Body:
        """All maps for one row, then for the next; sums over rows are in registers."""
        sums = {item.tensors[0].name: self.sums(item) for item in self.items if item.marks.steps}
        body: list[Statement] = []
        for item in self.items:
            found = sums.get(item.tensors[0].name)
            body.extend(self.of_row(item) if found is None else self.held(found, self.added(item, found)))
        rows = For(self.row, ZERO, self.stop, 1, "seq", tuple(body))
        stages = tuple(Stage(held, "register") for held in sums.values())
        start, end = list[For](), list[For]()
        for item in self.items:
            held = sums.get(item.tensors[0].name)
            if held is not None:
                start += self.held(held, lambda at, _, held=held: self.nothing(held, at))
                end += self.held(held, self.stored(item, held))
        return (*stages, *start, rows, *end)

    def sums(self, item: Map) -> Tensor:
        """Registers for the sums of a part, of which each thread has every so many."""
        (tensor,) = item.tensors
        each = -(-math.prod(extent.constant for extent in item.extents[1:]) // self.chain.block)
        shape = (Affine.const(each), Affine.const(self.chain.block))
        return replace(tensor, name=self.new(f"{tensor.name}_held"), shape=shape)

    def held(self, held: Tensor, fill: Callable[[tuple[Affine, ...], Affine], Body]) -> list[For]:
        """Loops over the sums of all threads, by the number of a sum."""
        turn, thread = self.new("q"), self.new("t")
        at = (Affine.var(turn), Affine.var(thread))
        body = fill(at, at[0] * self.chain.block + at[1])
        inner = For(thread, ZERO, held.shape[1], 1, "thread", body, teams=self.chain.block)
        return [For(turn, ZERO, held.shape[0], 1, "unroll", (inner,))]

    def nothing(self, held: Tensor, at: tuple[Affine, ...]) -> Body:
        """No sum yet."""
        zero = Let(("%0",), Number(0.0, held.type))
        return (Compute(Block((zero,), ("%0",)), (Store(held.name, at, "%0"),)),)

    def added(self, item: Map, held: Tensor) -> Callable[[tuple[Affine, ...], Affine], Body]:
        """What a row adds to a sum."""
        (own,) = [let for let in item.body.lets if isinstance(let.value, Fold)]
        fold = own.value
        assert isinstance(fold, Fold)
        row = Renaming(forms={fold.indices[0]: self.own, item.indices[0]: self.first_step})
        inner = self.reading(row.block(fold.body), lambda at: (ZERO, *at[1:]))
        numbers = tuple(let for let in item.body.lets if let is not own)

        def body(at: tuple[Affine, ...], number: Affine) -> Body:
            before = Let(("%before",), Load(held.name, at, held.type), own.place)
            total = Let(("%after",), Apply("add", ("%before", *inner.gives), held.type), own.place)
            block = Block((*numbers, *inner.lets, before, total), ("%after",))
            return self.if_any(item, number, Compute(block, (Store(held.name, at, "%after"),)))

        return body

    @property
    def first_step(self) -> Affine:
        """The number of the block."""
        return Affine.var(self.step)

    def stored(self, item: Map, held: Tensor) -> Callable[[tuple[Affine, ...], Affine], Body]:
        """The sums of a thread go to memory."""

        def body(at: tuple[Affine, ...], number: Affine) -> Body:
            read = Let(("%0",), Load(held.name, at, held.type))
            place = (self.first_step, *map(Affine.var, item.indices[1:]))
            store = Store(item.tensors[0].name, place, "%0")
            return self.if_any(item, number, Compute(Block((read,), ("%0",)), (store,)))

        return body

    def if_any(self, item: Map, number: Affine, compute: Compute) -> Body:
        """A computation at the sum of a number, if there is one."""
        sizes = [extent.constant for extent in item.extents[1:]]
        places = unravelled(number, sizes)
        named = tuple(At(index, form) for index, form in zip(item.indices[1:], places, strict=True))
        body: Body = (*named, compute)
        total = math.prod(sizes)
        return body if total % self.chain.block == 0 else (If((Constraint(total - 1 - number),), body),)


def unravelled(position: Affine, sizes: Sequence[int]) -> list[Affine]:
    """The indices of a row-major position."""
    found: list[Affine] = []
    for n, size in enumerate(sizes):
        form = position.floordiv(math.prod(sizes[n + 1 :]))
        found.append(form.mod(size) if n else form)
    return found
