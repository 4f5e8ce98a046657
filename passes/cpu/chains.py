"""Maps that run one after the other over a few rows at a time, so that what one stores the next finds near.

    %e[i, j] = exp …
    %s[i] = sum{j} (%e[i, j])

Where maps read what others of them compute in their own row alone, a row being all elements of one value of
the first index, their loops over it are one: for every few rows the first map runs, then the next. What is in
between stays in the caches however many rows there are, and threads divide all of them at once. A map that
reads much besides its rows would read it from memory again for every few of them, and runs alone.

A sum over rows takes part with sums of a few rows (`row_parts.py`); a map that waits for another on a thin
set alone takes part with all the rest (`in_place.py`).
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
from tadc.passes.cpu.divide import RANGES
from tadc.passes.cpu.gathers import gather_apart
from tadc.passes.cpu.in_place import split_thin, thin_addends
from tadc.passes.cpu.row_parts import cut_into_parts, row_sum
from tadc.passes.maps.buffers import maps_of
from tadc.passes.maps.marks import CHAIN, PARTS
from tadc.passes.maps.operand_forms import subscripts
from tadc.passes.nest.caches import element_bytes

LEAST_BYTES = 768 << 10
"""Tensors of fewer bytes stay in the caches anyway."""

NEAR = 384 << 10
"""So many bytes stay near: a part of the second-level cache."""

ROWS = 12
"""Rows run in multiples of so many, where there are: most tiles fit."""

LEAST_SHARE = 4
"""Parts of sums are so many times smaller than what they are sums of, or more."""


def chain_function(function: Any) -> None:
    """Mark the maps of a function that run in chains, each chain one after the other."""
    if sizes_of(function):
        return
    with function.context, ir.Location.unknown(function.context):
        _mark(function)


def _mark(function: Any) -> None:
    waiting: list[_Member] = [_Member(op) for op in maps_of(function)]
    number = 0
    while waiting:
        chain = _chain(waiting)
        rows = _rows(chain)
        if not rows:
            waiting = waiting[1:]
            continue
        numbers = ir.DenseI64ArrayAttr.get([number, rows], function.context)
        for op in chain.together(rows):
            op.attributes[CHAIN] = numbers
        number += 1
        waiting = [_Member(op) for op in maps_of(function) if op in chain.left]


@dataclass(eq=False)
class _Member:
    """A map: the tensors that it reads, and whether only in the row that it computes; about how many bytes it
    reads for each step of a chain anew.

    What it reads under guards on a `thin` set comes later. Of a sum over rows, `row` is the index of a row.
    """

    op: Any
    thin: Sequence[Any] = ()
    row: Any = None

    def __post_init__(self) -> None:
        forms = {value: Affine.var(f"d{n}") for n, value in enumerate(indices_of(self.op))}
        if self.row is not None:
            forms = {value: Affine.var(f"o{n}") for n, value in enumerate(forms)}
            forms[self.row] = Affine.var("d0")
        self.reads: dict[Any, bool] = {}
        whole: dict[Any, int] = {}
        for inner in _operations(self.op.regions[0].blocks[0], self.thin):
            if inner.name == "tad.index":
                known = all(v in forms for v in inner.operands)
                if known:
                    forms[inner.results[0]] = subscripts(inner, inner.operands, forms)[0]
            elif inner.name == "tad.read":
                tensor = inner.operands[0]
                at = _subscripts(inner, forms)
                is_row = bool(at) and at[0] == Affine.var("d0")
                self.reads[tensor] = self.reads.get(tensor, True) and is_row
                if not is_row:
                    whole[tensor] = max(whole.get(tensor, 0), _distinct(tensor.type, at))
        self.again: int = sum(whole.values())

    @property
    def in_row(self) -> set[Any]:
        """The tensors that are read in the row alone."""
        return {tensor for tensor, is_row in self.reads.items() if is_row}

    @property
    def rows(self) -> int | None:
        """The number of rows; None where a map cannot run over some of them."""
        type = self.op.results[0].type
        if self.op.name == "tad.scan" or PARTS in self.op.attributes or not type.rank:
            return None
        return type.shape[0]


def _subscripts(read: Any, forms: dict[Any, Affine]) -> Sequence[Affine]:
    """The subscripts of a read: forms of the map's indices, and of others by place."""
    operands = list(read.operands)[1:]
    unknown = {v: Affine.var(f"z{n}") for n, v in enumerate(operands) if v not in forms}
    return subscripts(read, operands, {**forms, **unknown})


def _distinct(tensor: Any, at: Sequence[Affine]) -> int:
    """About how many bytes of a tensor are read at such subscripts, where the first index has few values."""
    seen, count = {"d0"}, 1
    for form, extent in zip(at, tensor.shape, strict=True):
        count *= 1 if form.variables <= seen else extent
        seen |= form.variables
    return count * element_bytes(tensor)


@dataclass
class _Chain:
    """Maps that run together, sums over their rows that may, and the operations that are left."""

    members: list[_Member]
    sums: list[_Member] = field(default_factory=list["_Member"])
    left: list[Any] = field(default_factory=list[Any])

    @property
    def count(self) -> int:
        """The number of rows."""
        return self.members[0].op.results[0].type.shape[0]

    @property
    def used(self) -> set[Any]:
        """The tensors that the maps read in their rows, or compute."""
        return set[Any]().union(*(m.in_row | set(m.op.results) for m in self.members))

    @property
    def again(self) -> set[Any]:
        """Those of which one map reads what another has just read or computed."""
        used: set[Any] = set()
        again: set[Any] = set()
        for member in self.members:
            again |= member.in_row & used
            used |= member.in_row | set(member.op.results)
        return again

    def summed(self, rows: int) -> list[_Member]:
        """The sums that are worth parts of so many rows: these are few beside what they are sums of."""
        found: list[_Member] = []
        for member in self.sums:
            parts = -(-self.count // rows) * _bytes(member.op.results[0].type)
            if LEAST_SHARE * parts <= max(_bytes(tensor.type) for tensor in member.in_row & self.used):
                found.append(member)
        return found

    def together(self, rows: int) -> list[Any]:
        """The operations that run together, one after the other in the function."""
        found: list[Any] = []
        sums, count = self.summed(rows), self.count
        for member in self.members:
            op = member.op
            if member.thin:
                op, last = split_thin(op, member.thin)
                self.left.append(last)
            gather_apart(op, found[0] if found else op)
            found.append(op)
        for member in sums:
            found.append(cut_into_parts(member.op, count, rows))
        for before, op in pairwise(found):
            op.move_after(before)
        return found


def _chain(waiting: Sequence[_Member]) -> _Chain:
    """The first map with those after it that can run with it row by row, and read what is computed so."""
    first = waiting[0]
    chain = _Chain([first])
    rows = first.rows
    if rows is None or first.again >= LEAST_BYTES:
        return chain
    made, later = set(first.op.results), set[Any]()
    near = first.in_row | made

    def fits(member: _Member) -> bool:
        found = later.isdisjoint(member.reads) and member.again < LEAST_BYTES
        return found and bool(member.in_row & near) and made & member.reads.keys() <= member.in_row

    for member in waiting[1:]:
        is_long = member.rows == rows
        if (
            is_long
            and not member.in_row.isdisjoint(near)
            and not fits(member)
            and (guards := thin_addends(member.op))
        ):
            member = _Member(member.op, guards)
        if is_long and fits(member):
            chain.members.append(member)
            made |= set(member.op.results)
            near |= member.in_row | made
            continue
        later |= set(member.op.results)
        chain.left.append(member.op)
        whole = None if made.isdisjoint(member.reads) else row_sum(member.op, rows)
        if whole is not None:
            parts = _Member(member.op, row=whole.regions[0].blocks[0].arguments[0])
            if parts.in_row & made and fits(parts):
                chain.sums.append(parts)
    return chain


def _operations(block: Any, without: Sequence[Any]) -> Iterator[Any]:
    """The operations in a block, but for some and those in their regions."""
    for operation in block.operations:
        op = operation.operation
        if op not in without:
            yield op
            for region in op.regions:
                yield from _operations(region.blocks[0], without)


def _rows(chain: _Chain) -> int:
    """How many rows run at a time; 0 where a chain gains nothing."""
    again = chain.again.union(*(member.in_row & chain.used for member in chain.sums))
    if not again:
        return 0
    each = sum(_bytes(tensor.type) for tensor in again) // max(chain.count, 1)
    rows = max(1, min(NEAR // max(each, 1), -(-chain.count // RANGES)))
    rows -= rows % ROWS if rows > ROWS else 0
    again = chain.again.union(*(member.in_row & chain.used for member in chain.summed(rows)))
    return rows if chain.count > 1 and sum(_bytes(tensor.type) for tensor in again) >= LEAST_BYTES else 0


def _bytes(tensor: Any) -> int:
    return math.prod(tensor.shape) * element_bytes(tensor)
