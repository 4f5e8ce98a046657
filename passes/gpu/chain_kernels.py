"""The kernel of a chain (`row_chains.py`): a block runs its maps one after the other over its rows.

The threads of a block are in groups of a warp, or one group; a group takes every so many rows of the block.
An element of a row is computed by one thread of the group; what a row has one of, by all of them together,
who share its sums. Between maps of which one reads what the other computes, all threads of the block meet.

Where rows are long, all threads of a block run all maps for one row after the other: shared memory has a row
of each tensor, and threads keep their sums over rows in registers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tadc.dialect.locations import unnamed
from tadc.dialect.mlir import ir
from tadc.lattice.affine import Affine, Constraint
from tadc.passes.cpu.tile_body import Context
from tadc.passes.gpu.groups import Group, lanes_along
from tadc.passes.gpu.kernel import Kernel
from tadc.passes.gpu.positions import unravel
from tadc.passes.gpu.row_chains import RowChain
from tadc.passes.gpu.thread_plans import can_be_vector
from tadc.passes.maps.accesses import Accesses
from tadc.passes.maps.lower_body import box_rows
from tadc.passes.maps.marks import STEPS
from tadc.passes.maps.tile_values import LANE, Tile, owner, region_operations, yielded

Fill = Callable[[Affine, Any], None]


@dataclass(frozen=True)
class NearRows:
    """The tensors of which shared memory has the rows of a block, and the form of the first of these."""

    buffers: Mapping[Any, Any]
    first: Affine
    depth: int

    def place(self, forms: Sequence[Affine], row: Affine | None) -> list[Affine]:
        """Where an element is, in the row of the block that is computed, or that its subscript says."""
        return [forms[0] - self.first if row is None else row, *forms[self.depth :]]


class ChainKernel:
    """A kernel on its way; `kernels` has for each map one that makes its code in the function they share."""

    def __init__(self, chain: RowChain, kernels: Sequence[Kernel], near: Mapping[Any, Any]) -> None:
        self.chain, self.kernels = chain, kernels
        first = kernels[0]
        self.thread, self.block = first.register("gpu.thread_id"), first.register("gpu.block_id")
        self.near = NearRows(near, self.block * chain.rows, chain.depth)
        self.count = math.prod(size.constant for size in first.sizes[: chain.depth])

    def emit(self, point: Any) -> None:
        """Fill the function."""
        for kernel in self.kernels:
            kernel.near = self.near
        if self.chain.by_turns:
            self.turns(point)
            return
        unseen: set[Any] = set()
        for kernel in self.kernels:
            self.meet(kernel, unseen, point)
            if STEPS in kernel.op.attributes:
                self.part(kernel, point)
            else:
                self.rows(kernel, point)

    def meet(self, kernel: Kernel, unseen: set[Any], point: Any) -> None:
        """Let all threads meet where a map reads what not all have seen yet; then it computes more."""
        block = kernel.op.regions[0].blocks[0]
        reads = {o.operands[0] for o in region_operations(block) if o.name == "tad.read"}
        if not reads.isdisjoint(unseen):
            kernel.barrier(point)
            unseen.clear()
        unseen |= set(kernel.op.results)

    def turns(self, point: Any) -> None:
        """All maps for one row of the block, then for the next; sums over rows are carried along."""
        low, chain = self.kernels[0].low, self.chain
        sums = [RowSum(kernel, self) for kernel in self.kernels if STEPS in kernel.op.attributes]
        first = [value for one in sums for value in one.nothing(point)]
        ends = [low.index(n, point) for n in (0, chain.rows, 1)]
        made = low.create("scf.for", [v.type for v in first], [*ends, *first], point, regions=1)
        block = ir.Block.create_at_start(
            made.regions[0], [low.index_type, *(v.type for v in first)], [low.location] * (1 + len(first))
        )
        inside, carried = ir.InsertionPoint(block), list(block.arguments)[1:]
        place = self.kernels[0].named(block.arguments[0])
        unseen: set[Any] = set()
        found, waiting = list[Any](), iter(sums)
        for kernel in self.kernels:
            self.meet(kernel, unseen, inside)
            if STEPS not in kernel.op.attributes:
                self.row(kernel, place, Affine.const(0), self.thread, inside)
                continue
            one = next(waiting)
            found += one.add(place, carried[: one.count], inside)
            del carried[: one.count]
        # The next row is stored where this one is.
        self.kernels[0].barrier(inside)
        low.create("scf.yield", [], found, inside)
        results = list(made.results)
        for one in sums:
            one.store(results[: one.count], point)
            del results[: one.count]

    def rows(self, kernel: Kernel, point: Any) -> None:
        """One of the maps, over the rows of the block."""
        chain = self.chain
        groups = chain.block // chain.group
        lane = (
            self.thread
            if groups == 1
            else kernel.named(kernel.low.affine([self.thread.mod(chain.group)], point))
        )
        number = Affine.const(0)
        if groups > 1:
            number = kernel.named(kernel.low.affine([self.thread.floordiv(chain.group)], point))

        def row(place: Affine, inside: Any) -> None:
            self.row(kernel, place, place, lane, inside)

        if chain.rows == groups:
            row(number, point)
        else:
            loop(kernel, number, chain.rows, groups, row, point)

    def row(self, kernel: Kernel, place: Affine, near: Affine, lane: Affine, point: Any) -> None:
        """One of the maps for a row of the block, whose place in shared memory is `near`."""
        depth = self.chain.depth
        kernel.near_row = near
        position, rows = self.position(kernel, place, point)
        leading = unravel(position, kernel.sizes[:depth], kernel.low, point)
        if len(kernel.sizes) == depth:
            self.together(kernel, leading, lane, rows, point)
        else:
            self.elements(kernel, leading, lane, rows, point)
        kernel.near_row = None

    def position(self, kernel: Kernel, place: Affine, point: Any) -> tuple[Affine, tuple[Constraint, ...]]:
        """The number of a row of the block among all, and whether there is one.

        Groups without a row of their own help to compute the last one again: all threads meet.
        """
        position = self.near.first + place
        if self.count % self.chain.rows == 0:
            return position, ()
        last = Affine.const(self.count - 1)
        found = kernel.named(kernel.low.affine([position, last], point, "affine.min"))
        return found, (Constraint(self.count - 1 - position),)

    def together(
        self, kernel: Kernel, forms: Sequence[Affine], lane: Affine, rows: Sequence[Constraint], point: Any
    ) -> None:
        """What a row has one of, by the threads of a group together."""
        lanes = {loop.op: lanes for loop, lanes in shared_sums(kernel, self.chain.group)}
        body = kernel.body(forms, Tile(1))
        body.group = Group(kernel, self.chain.group, lane, lanes)
        made = kernel.values(body, forms, (), point)
        kernel.store(made, forms, (*rows, Constraint(lane, equality=True)), 1, point)

    def elements(
        self, kernel: Kernel, leading: Sequence[Affine], lane: Affine, rows: Sequence[Constraint], point: Any
    ) -> None:
        """The elements of a row, each by one thread of a group, or as many at once as make a vector."""
        sizes = kernel.sizes[len(leading) :]
        accesses = Accesses(kernel.op, kernel.sizes, [1] * len(kernel.sizes), {})
        order = range(len(kernel.sizes))
        width = next((w for w in (4, 2) if can_be_vector(accesses, order, w)), 1)
        counts = [*sizes[:-1], sizes[-1].floordiv(width)]

        def element(place: Affine, inside: Any) -> None:
            trailing = unravel(place, counts, kernel.low, inside)
            last = trailing[-1] * width + (Affine.var(LANE) if width > 1 else 0)
            forms = [*leading, *trailing[:-1], last]
            made = kernel.values(kernel.body(forms, Tile(width)), forms, (), inside)
            kernel.store(made, forms, tuple(rows), width, inside)

        loop(kernel, lane, math.prod(n.constant for n in counts), self.chain.group, element, point)

    def part(self, kernel: Kernel, point: Any) -> None:
        """Sums over the rows of the block, each by one thread."""
        sizes = kernel.sizes[1:]

        def element(place: Affine, inside: Any) -> None:
            forms = [self.block, *unravel(place, sizes, kernel.low, inside)]
            made = kernel.values(kernel.body(forms, Tile(1)), forms, (), inside)
            kernel.store(made, forms, (), 1, inside)

        loop(kernel, self.thread, math.prod(n.constant for n in sizes), self.chain.block, element, point)


class RowSum:
    """Sums over the rows of a block, of which each thread carries every so many."""

    def __init__(self, kernel: Kernel, chain: ChainKernel) -> None:
        self.kernel, self.chain = kernel, chain
        self.sizes = kernel.sizes[1:]
        self.total = math.prod(n.constant for n in self.sizes)
        self.count = -(-self.total // chain.chain.block)
        self.sum = owner(yielded(kernel.block))

    def nothing(self, point: Any) -> list[Any]:
        """The sums over no row."""
        return [self.kernel.low.constant(self.sum.results[0].type, 0.0, point)] * self.count

    def places(self, point: Any) -> list[Affine]:
        """The numbers of the sums of a thread; past the last one, which is stored nowhere, that again."""
        kernel, block = self.kernel, self.chain.chain.block
        found: list[Affine] = []
        for n in range(self.count):
            place = self.chain.thread + n * block
            if (n + 1) * block > self.total:
                last = Affine.const(self.total - 1)
                place = kernel.named(kernel.low.affine([place, last], point, "affine.min"))
            found.append(place)
        return found

    def add(self, place: Affine, sums: Sequence[Any], point: Any) -> list[Any]:
        """The sums with those of a row of the block more."""
        kernel, low, inner = self.kernel, self.kernel.low, self.sum.regions[0].blocks[0]
        kernel.near_row = Affine.const(0)
        number, rows = self.chain.position(kernel, place, point)
        is_row = low.holds(rows, point) if rows else None
        found: list[Any] = []
        for own, total in zip(self.places(point), sums, strict=True):
            forms = [self.chain.block, *unravel(own, self.sizes, kernel.low, point)]
            body = kernel.body(forms, Tile(1))
            low.forms[inner.arguments[0]] = number - self.chain.near.first
            value = body.value(body.region(inner, Context(point, box_rows(forms, kernel.sizes))), {})
            low.location = unnamed(kernel.op.location)
            more = low.create("arith.addf", [total.type], [total, value], point).results[0]
            found.append(more if is_row is None else low.select(is_row, more, total, point))
        kernel.near_row = None
        return found

    def store(self, sums: Sequence[Any], point: Any) -> None:
        """Store the sums of a thread, each once."""
        kernel, block = self.kernel, self.chain.chain.block
        for n, total in enumerate(sums):
            flat = self.chain.thread + n * block
            rows = (Constraint(self.total - 1 - flat),) if (n + 1) * block > self.total else ()

            def store(inside: Any, flat: Affine = flat, total: Any = total) -> None:
                forms = [self.chain.block, *unravel(flat, self.sizes, kernel.low, inside)]
                kernel.store([[({}, total)]], forms, (), 1, inside)

            kernel.where(rows, store, point)


def shared_sums(kernel: Kernel, size: int) -> list[tuple[Any, tuple[int, ...]]]:
    """The outermost reductions of a map, with the threads of a group along each of their indices."""
    accesses = Accesses(kernel.op, kernel.sizes, [1] * len(kernel.sizes), {})
    return [(one, lanes_along(one.trips, size)) for one in accesses.body.inner if one.binders]


def loop(kernel: Kernel, start: Affine, stop: int, step: int, fill: Fill, point: Any) -> None:
    """A loop from a form below a number by steps; without one where every thread has exactly one step."""
    low = kernel.low
    if stop <= step:
        rows = (Constraint(stop - 1 - start),) if stop < step else ()
        kernel.where(rows, lambda inside: fill(start, inside), point)
        return
    low.location = unnamed(kernel.op.location)
    ends = [low.affine([start], point), low.index(stop, point), low.index(step, point)]
    made = low.create("scf.for", [], ends, point, regions=1)
    block = ir.Block.create_at_start(made.regions[0], [low.index_type], [low.location])
    inside = ir.InsertionPoint(block)
    fill(kernel.named(block.arguments[0]), inside)
    low.create("scf.yield", [], [], inside)
