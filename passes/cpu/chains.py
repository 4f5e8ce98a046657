"""Maps that run one after the other over a few rows at a time, so that what one stores the next finds near.

    %e[i, j] = exp …
    %s[i] = sum{j} (%e[i, j])

Where maps read what others of them compute in their own row alone, a row being all elements of one value of
the first index, their loops over it are one: for every few rows the first map runs, then the next. What is in
between stays in the caches however many rows there are, and threads divide all of them at once. A map that
reads much besides its rows would read it from memory again for every few of them, and runs alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tadc.dialect.mlir import ir
from tadc.dialect.ops import indices_of
from tadc.dialect.shapes import sizes_of
from tadc.lattice.affine import Affine
from tadc.passes.cpu.caches import element_bytes
from tadc.passes.cpu.divide import RANGES
from tadc.passes.maps.buffers import maps_of
from tadc.passes.maps.marks import CHAIN, PARTS
from tadc.passes.maps.operand_forms import subscripts
from tadc.passes.maps.tile_values import region_operations

LEAST_BYTES = 768 << 10
"""Tensors of fewer bytes stay in the caches anyway."""

NEAR = 256 << 10
"""So many bytes stay near: a part of the second-level cache."""

ROWS = 12
"""Rows run in multiples of so many, where there are: most tiles fit."""


def chain_function(function: Any) -> None:
    """Mark the maps of a function that run in chains, each chain one after the other."""
    if sizes_of(function):
        return
    waiting: list[_Member] = [_Member(op) for op in maps_of(function)]
    number = 0
    while waiting:
        chain = _chain(waiting)
        rows = _rows(chain) if len(chain) > 1 else 0
        if not rows:
            waiting = waiting[1:]
            continue
        numbers = ir.DenseI64ArrayAttr.get([number, rows], function.context)
        last = chain[0].op
        for member in chain:
            if member is not chain[0]:
                member.op.move_after(last)
            last = member.op
            member.op.attributes[CHAIN] = numbers
        number += 1
        waiting = [member for member in waiting if member not in chain]


@dataclass(eq=False)
class _Member:
    """A map: the tensors that it reads, and whether only in the row that it computes; about how many bytes it
    reads for each step of a chain anew."""

    op: Any

    def __post_init__(self) -> None:
        forms = {value: Affine.var(f"d{n}") for n, value in enumerate(indices_of(self.op))}
        self.reads: dict[Any, bool] = {}
        whole: dict[Any, int] = {}
        for inner in region_operations(self.op.regions[0].blocks[0]):
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


def _chain(waiting: Sequence[_Member]) -> list[_Member]:
    """The first map with those after it that can run with it row by row, and read what is computed so."""
    chain = [waiting[0]]
    rows = waiting[0].rows if waiting[0].again < LEAST_BYTES else None
    made, later = set(waiting[0].op.results), set[Any]()
    near = {tensor for tensor, is_row in waiting[0].reads.items() if is_row} | made
    for member in waiting[1:]:
        fits = rows is not None and member.rows == rows and later.isdisjoint(member.reads)
        fits &= member.again < LEAST_BYTES
        in_row = {tensor for tensor, is_row in member.reads.items() if is_row}
        if fits and in_row & near and made & member.reads.keys() <= in_row:
            chain.append(member)
            made |= set(member.op.results)
            near |= in_row | made
        else:
            later |= set(member.op.results)
    return chain


def _rows(chain: Sequence[_Member]) -> int:
    """How many rows run at a time; 0 where a chain gains nothing."""
    used: set[Any] = set()
    again: set[Any] = set()
    for member in chain:
        in_row = {tensor for tensor, is_row in member.reads.items() if is_row}
        again |= in_row & used
        used |= in_row | set(member.op.results)
    if sum(_bytes(tensor.type) for tensor in again) < LEAST_BYTES:
        return 0
    count = chain[0].op.results[0].type.shape[0]
    each = sum(_bytes(tensor.type) for tensor in used) // count
    rows = min(NEAR // max(each, 1), -(-count // RANGES))
    if rows >= ROWS:
        return rows // ROWS * ROWS
    return max(rows, 1) if count > 1 else 0


def _bytes(tensor: Any) -> int:
    return math.prod(tensor.shape) * element_bytes(tensor)
