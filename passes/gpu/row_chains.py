"""Maps that a block of threads computes for a few rows, one after the other, in one launch.

    %m[i] = max{k} (%x[i, k])
    %e[i, k] = exp(%x[i, k] - %m[i])
    %s[i] = sum{k} (%e[i, k])
    %y[i, k] = %e[i, k] / %s[i]

A row is all elements of one value of the first `depth` indices. Where maps read what others of them compute
in their own row alone, no block waits for another: each computes all of them for its rows. What is in between
stays in shared memory, and what several of them read comes from memory once. A sum over rows takes part with
sums of the rows of each block (`cut_into_parts`).

This says what runs together; `chain_kernels.py` makes the code.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from tadc.dialect.mlir import ir
from tadc.dialect.ops import indices_of
from tadc.dialect.shapes import sizes_of
from tadc.lattice.affine import Affine
from tadc.passes.cpu.gathers import gather_apart
from tadc.passes.cpu.in_place import split_thin, thin_addends
from tadc.passes.cpu.row_parts import cut_into_parts, row_sum
from tadc.passes.gpu.sum_gathers import gather_in_sums
from tadc.passes.maps.buffers import map_around, maps_of
from tadc.passes.maps.machine import Gpu
from tadc.passes.maps.marks import CHAIN, IN_PLACE, PARTS, STEPS
from tadc.passes.maps.operand_forms import subscripts
from tadc.passes.maps.tile_values import is_reduction, region_operations
from tadc.passes.nest.caches import element_bytes

LONG = 1024
"""A row of more elements has a block of its own, one of fewer a warp."""

WORTH_GATHERING = 32
"""So many rows at least read what is gathered for them in a launch of its own."""

LEAST_ROWS = 8
"""Parts of sums are of so many rows at least: they are few beside what they are sums of."""

LEAST_BLOCK, BLOCK = 64, 256
"""Threads of a block: the fewest and the most."""

MOST_CARRIED = 32
"""A thread carries so many sums over rows at most."""

ROOM = 2 << 10
"""Bytes of shared memory that are left for joining the results of warps."""


@dataclass(frozen=True)
class RowChain:
    """How a chain runs: rows of a block, the indices that number rows, threads of a row and of a block."""

    rows: int
    depth: int
    group: int
    block: int

    @property
    def by_turns(self) -> bool:
        """Whether a block runs all maps for one of its rows after the other."""
        return self.group == self.block and self.rows > 1

    @property
    def near_rows(self) -> int:
        """The rows that shared memory has at a time."""
        return 1 if self.by_turns else self.rows

    def marks(self, number: int) -> tuple[int, ...]:
        """As numbers of the attribute CHAIN."""
        return number, self.rows, self.depth, self.group, self.block

    @staticmethod
    def of(op: Any) -> RowChain:
        """The chain that a map is marked with."""
        numbers: list[int] = list(ir.DenseI64ArrayAttr(op.attributes[CHAIN]))
        return RowChain(*numbers[1:])


def mark_chains(function: Any, gpu: Gpu) -> None:
    """Mark the maps of a function that run together; those of a chain follow each other from now on."""
    if sizes_of(function):
        return
    with function.context, ir.Location.unknown(function.context):
        for op in maps_of(function):
            # Of maps with more indices, what is gathered may be as large as they are.
            type = op.results[0].type
            if op.name == "tad.map" and type.rank == 2 and type.shape[0] >= WORTH_GATHERING:
                gather_apart(op, op)
            if op.name != "tad.scan" and math.prod(type.shape) >= WORTH_GATHERING:
                gather_in_sums(op)
        waiting, number = maps_of(function), 0
        while waiting:
            found = [chain for depth in _depths(waiting[0]) if (chain := _chain(waiting, depth)).saved]
            chain = max(found, key=lambda chain: (chain.saved, chain.depth), default=None)
            plan = None if chain is None else _plan(chain, gpu)
            if chain is None or plan is None:
                waiting = waiting[1:]
                continue
            marks = ir.DenseI64ArrayAttr.get(plan.marks(number), function.context)
            for op in chain.together(plan.rows):
                op.attributes[CHAIN] = marks
            number += 1
            left = set(chain.left)
            waiting = [op for op in maps_of(function) if op in left]


def _depths(op: Any) -> range:
    """How many of its first indices may number the rows of a map."""
    is_plain = op.name != "tad.scan" and PARTS not in op.attributes and IN_PLACE not in op.attributes
    return range(1, op.results[0].type.rank + 1) if is_plain else range(0)


@dataclass(eq=False)
class _Member:
    """A map: its `near` tensors are read in its own row alone, its `far` ones elsewhere.

    It `fits` a block if all that it reads elsewhere is the same for all rows, and no more than a row is. Of a
    sum over rows, `row` is the index of a row. What guards on a `thin` set add to it is added later.
    """

    op: Any
    depth: int
    row: Any = None
    thin: Sequence[Any] = ()
    near: set[Any] = field(default_factory=set[Any])
    far: set[Any] = field(default_factory=set[Any])
    fits: bool = True

    def __post_init__(self) -> None:
        own = [f"d{n}" for n in range(self.depth)]
        forms = {value: Affine.var(f"d{n}") for n, value in enumerate(indices_of(self.op))}
        if self.row is not None:
            forms = {value: Affine.var(f"o{n}") for n, value in enumerate(forms)}
            forms[self.row] = Affine.var("d0")
        others = row_bytes(self.op.results[0].type, self.depth if self.row is None else 0)
        for inner in _operations(self.op.regions[0].blocks[0], self.thin):
            if inner.name == "tad.index" and all(v in forms for v in inner.operands):
                forms[inner.results[0]] = subscripts(inner, inner.operands, forms)[0]
            if inner.name != "tad.read":
                continue
            at = _subscripts(inner, forms)
            tensor = inner.operands[0]
            if list(at[: self.depth]) == [Affine.var(name) for name in own]:
                self.near.add(tensor)
                others = max(others, row_bytes(tensor.type, self.depth))
            else:
                self.far.add(tensor)
                used = frozenset[str]().union(*(form.variables for form in at))
                self.fits &= used.isdisjoint(own)
        self.near -= self.far
        self.fits &= all(row_bytes(tensor.type, 0) <= 2 * others for tensor in self.far)
        if self.row is None and self.op.results[0].type.rank > self.depth:
            self.fits &= not any(is_reduction(o) for o in region_operations(self.op.regions[0].blocks[0]))


def _operations(block: Any, without: Sequence[Any]) -> Iterator[Any]:
    """The operations in a block, but for some and those in their regions."""
    for operation in block.operations:
        op = operation.operation
        if op not in without:
            yield op
            for region in op.regions:
                yield from _operations(region.blocks[0], without)


def _subscripts(read: Any, forms: dict[Any, Affine]) -> Sequence[Affine]:
    """The subscripts of a read: forms of the map's indices, and of others by place."""
    operands = list(read.operands)[1:]
    unknown = {v: Affine.var(f"z{n}") for n, v in enumerate(operands) if v not in forms}
    return subscripts(read, operands, {**forms, **unknown})


def row_bytes(type: Any, depth: int) -> int:
    """The bytes of a row of a tensor, or of all of it."""
    return math.prod(type.shape[depth:]) * element_bytes(type)


@dataclass
class _Chain:
    """Maps that run together, sums over their rows that may, and the maps that are left."""

    depth: int
    members: list[_Member]
    sums: list[_Member] = field(default_factory=list["_Member"])
    left: list[Any] = field(default_factory=list[Any])

    @property
    def shape(self) -> Sequence[int]:
        """The extents of the indices that number rows."""
        return self.members[0].op.results[0].type.shape[: self.depth]

    @property
    def saved(self) -> int:
        """The bytes that are not read again because maps run together."""
        seen: set[Any] = set()
        total = 0
        for member in (*self.members, *self.sums):
            total += sum(row_bytes(tensor.type, 0) for tensor in member.near & seen)
            seen |= member.near | set(member.op.results)
        return total

    def is_near(self, gpu: Gpu) -> bool:
        """Whether shared memory holds what is computed of some rows, of a warp each."""
        made = [value for member in self.members for value in member.op.results]
        count = max(LEAST_ROWS if self.sums else 0, LEAST_BLOCK // gpu.warp)
        return count * sum(row_bytes(value.type, self.depth) for value in made) <= gpu.static_shared - ROOM

    @property
    def longest(self) -> int:
        """The most elements of a row."""
        tensors = [t for m in self.members for t in (*m.near, *m.op.results)]
        return max(math.prod(tensor.type.shape[self.depth :]) for tensor in tensors)

    def together(self, rows: int) -> list[Any]:
        """The maps that run together, one after the other in the function."""
        found: list[Any] = []
        for member in self.members:
            op = member.op
            if member.thin:
                op, last = split_thin(op, member.thin)
                self.left.append(last)
            found.append(op)
        count = math.prod(self.shape)
        for member in self.sums:
            found.append(cut_into_parts(member.op, count, rows))
        for before, op in pairwise(found):
            op.move_after(before)
        return found


def _chain(waiting: Sequence[Any], depth: int) -> _Chain:
    """The first map with those after it that can run with it row by row, and read what is computed so."""
    first = _Member(waiting[0], depth)
    chain = _Chain(depth, [first])
    if not first.fits:
        return chain
    shape = chain.shape
    made, later = set(first.op.results), set[Any]()
    near = first.near | made
    for op in waiting[1:]:
        type = op.results[0].type
        is_long = depth in _depths(op) and type.shape[:depth] == shape
        member = _Member(op, depth) if is_long else None
        if member is not None and not _joins(member, made, near, later) and (guards := thin_addends(op)):
            member = _Member(op, depth, None, guards)
        if member is not None and _joins(member, made, near, later):
            chain.members.append(member)
            made |= set(op.results)
            near |= member.near | made
            continue
        reads = _read_by(op)
        later |= set(op.results)
        chain.left.append(op)
        whole = row_sum(op, shape[0]) if depth == 1 and not near.isdisjoint(reads) else None
        if whole is not None:
            parts = _Member(op, depth, whole.regions[0].blocks[0].arguments[0])
            if _joins(parts, made, near, later - set(op.results)):
                chain.sums.append(parts)
    return chain


def _joins(member: _Member, made: set[Any], near: set[Any], later: set[Any]) -> bool:
    """Whether a map reads what others have in its row, and nothing that they compute elsewhere or later."""
    reads = member.near | member.far
    return (
        member.fits
        and not member.near.isdisjoint(near)
        and made.isdisjoint(member.far)
        and later.isdisjoint(reads)
    )


def _read_by(op: Any) -> set[Any]:
    """The tensors that a map reads."""
    inner = region_operations(op.regions[0].blocks[0])
    return {read.operands[0] for read in inner if read.name == "tad.read"}


def _plan(chain: _Chain, gpu: Gpu) -> RowChain | None:
    """How the chain runs; None where it is one map, or has too few rows to keep the multiprocessors busy."""
    count, longest = math.prod(chain.shape), chain.longest
    if len(chain.members) + len(chain.sums) < 2 or longest < 2:
        return None
    if count < gpu.multiprocessors and longest > 8 * LONG:
        return None
    block = BLOCK if longest <= MOST_CARRIED * BLOCK else 2 * BLOCK
    chain.sums = [one for one in chain.sums if _elements(one) <= MOST_CARRIED * block]
    group = gpu.warp if longest <= LONG and chain.is_near(gpu) else block
    while block > max(group, LEAST_BLOCK) and count * group < 2 * gpu.multiprocessors * block:
        block //= 2
    rows = block // group
    if chain.sums:
        rows = max(LEAST_ROWS, -(-count // (4 * gpu.multiprocessors)) // rows * rows)
        rows = -(-rows // (block // group)) * (block // group)
    if len(chain.members) + len(chain.sums) < 2:
        return None
    return RowChain(min(rows, count), chain.depth, group, block)


def _elements(member: _Member) -> int:
    """The sums over rows that a member computes."""
    return math.prod(member.op.results[0].type.shape)


def near_tensors(ops: Sequence[Any], chain: RowChain, gpu: Gpu) -> list[Any]:
    """The tensors that maps of a chain compute and later ones read, where shared memory has room for them."""
    made = {value: op for op in ops for value in op.results if STEPS not in op.attributes}
    read = {value for op in ops for value in _read_by(op) if value in made}
    room = gpu.static_shared - ROOM
    found: list[Any] = []
    for value in made:
        each = -(-row_bytes(value.type, chain.depth) // 16) * 16 * chain.near_rows
        if value in read and each <= room:
            room -= each
            found.append(value)
    return found


def is_inner(value: Any, ops: Sequence[Any]) -> bool:
    """Whether none but these maps reads a tensor."""
    owners = [getattr(use.owner, "operation", use.owner) for use in value.uses]
    return all(o.name != "func.return" and map_around(o) in ops for o in owners)
