"""Maps that run one after the other over a few rows at a time, so that what one stores the next finds near.

    e[i, j] = exp …
    s[i] = sum j: e[i, j]

Where maps read what others of them compute in their own row alone, a row being all elements of one value of
the first index, their loops over it are one: for every few rows the first map runs, then the next. What is in
between stays in the caches however many rows there are, and threads divide all of them at once. A map that
reads much besides its rows would read it from memory again for every few of them, and runs alone.

A sum over rows takes part with sums of a few rows (`row_sums.py`); a map that waits for another on a thin set
alone takes part with all the rest (`thin_sets.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tadc.passes.maps.map import MapFunction, Marks, Tensor
from tadc.passes.maps.row_reads import RowReads, bytes_of
from tadc.passes.maps.row_sums import row_sum
from tadc.passes.maps.run_together import Guards, RunTogether
from tadc.passes.maps.thin_sets import late_addends

LEAST_BYTES = 768 << 10
"""Tensors of fewer bytes stay in the caches anyway."""

NEAR = 384 << 10
"""So many bytes stay near: a part of the second-level cache."""

ROWS = 12
"""Rows run in multiples of so many, where there are: most tiles fit."""

LEAST_SHARE = 4
"""Parts of sums are so many times smaller than what they are sums of, or more."""


def _is_small(tensors: Mapping[str, Tensor]) -> bool:
    """Whether all tensors together stay in the caches."""
    return sum(map(bytes_of, tensors.values())) < LEAST_BYTES


def chained(function: MapFunction, ranges: int) -> MapFunction:
    """The maps of a function, those marked that run in chains, each chain one after the other.

    Threads divide the rows of a chain into so many `ranges`.
    """
    tensors = function.tensors()
    if function.sizes or len(function.maps) < 2 or _is_small(tensors):
        return function
    taken = [item.marks.chain for item in function.maps if item.marks.chain is not None]
    number = max(taken, default=-1) + 1
    waiting = [RowReads(item, tensors) for item in function.maps]
    while waiting:
        chain = _chain(waiting, function)
        rows = _rows(chain, ranges)
        if not rows:
            waiting = waiting[1:]
            continue
        marks = Marks(chain=number, rows=rows)
        function, left = chain.arranged(marks, chain.summed(rows), gathers=True)
        number += 1
        tensors = function.tensors()
        wanted, known = set(map(id, left)), {id(member.item): member for member in waiting}
        waiting = [
            known.get(id(item)) or RowReads(item, tensors) for item in function.maps if id(item) in wanted
        ]
    return function


class _Chain(RunTogether):
    """Maps that run a few rows at a time, in the caches of a CPU."""

    @property
    def used(self) -> set[str]:
        """The tensors that the maps read in their rows, or compute."""
        return set[str]().union(*(m.near | m.made for m in self.members))

    @property
    def again(self) -> set[str]:
        """Those of which one map reads what another has just read or computed."""
        used: set[str] = set()
        again: set[str] = set()
        for member in self.members:
            again |= member.near & used
            used |= member.near | member.made
        return again

    def bytes(self, tensors: set[str]) -> int:
        """The bytes of tensors."""
        return sum(bytes_of(self.tensors[name]) for name in tensors)

    def summed(self, rows: int) -> list[RowReads]:
        """The sums that are worth parts of so many rows: these are few beside what they are sums of."""
        found: list[RowReads] = []
        for member in self.sums:
            parts = -(-self.count // rows) * bytes_of(member.item.tensors[0])
            if LEAST_SHARE * parts <= max(bytes_of(self.tensors[name]) for name in member.near & self.used):
                found.append(member)
        return found


def _chain(waiting: Sequence[RowReads], function: MapFunction) -> _Chain:
    """The first map with those after it that can run with it row by row, and read what is computed so."""
    first = waiting[0]
    chain = _Chain(function, first.tensors, [first])
    rows = first.rows
    if rows is None or first.again >= LEAST_BYTES:
        return chain
    made, later = set(first.made), set[str]()
    near = first.near | made

    def fits(member: RowReads) -> bool:
        found = later.isdisjoint(member.reads) and member.again < LEAST_BYTES
        return found and bool(member.near & near) and made & member.reads <= member.near

    for member in waiting[1:]:
        is_long = member.rows == rows
        guards: Guards = ()
        if is_long and not member.near.isdisjoint(near) and not fits(member):
            guards = late_addends(member.item, function)
            if guards:
                late = frozenset(let.names[0] for let, _ in guards)
                member = RowReads(member.item, member.tensors, without=late)
        if is_long and fits(member):
            chain.add(member, guards)
            made |= member.made
            near |= member.near | made
            continue
        later |= member.made
        chain.left.append(member.item)
        is_free = member.item.marks.chain is None and not made.isdisjoint(member.reads)
        whole = row_sum(member.item, rows) if is_free else None
        if whole is not None:
            parts = RowReads(member.item, member.tensors, row=whole.indices[0])
            if parts.near & made and fits(parts):
                chain.sums.append(parts)
    return chain


def _rows(chain: _Chain, ranges: int) -> int:
    """How many rows run at a time; 0 where a chain gains nothing."""
    again = chain.again.union(*(member.near & chain.used for member in chain.sums))
    if not again:
        return 0
    each = chain.bytes(again) // max(chain.count, 1)
    rows = max(1, min(NEAR // max(each, 1), -(-chain.count // ranges)))
    rows -= rows % ROWS if rows > ROWS else 0
    again = chain.again.union(*(member.near & chain.used for member in chain.summed(rows)))
    return rows if chain.count > 1 and chain.bytes(again) >= LEAST_BYTES else 0
