"""Maps that run one after the other over a few rows at a time, so that what one stores the next finds near.

    e[i, j] = exp …
    s[i] = sum j: e[i, j]

Where maps read what others of them compute in their own row alone, a row being all elements of one value of
the first index, their loops over it are one: for every few rows the first map runs, then the next. What is in
between stays in the caches however many rows there are, and threads divide all of them at once. A map that
reads much besides its rows would read it from memory again for every few of them, and runs alone.

What an index array says that a row reads is a tensor of these rows too: another map that reads by the same
array finds it near.

A sum over rows takes part with sums of a few rows (`row_sums.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from heapq import heappop, heappush

from tadc.passes.maps.map import Map, MapFunction, Marks
from tadc.passes.maps.row_reads import RowReads, bytes_of
from tadc.passes.maps.row_sums import row_sum
from tadc.passes.maps.run_together import RunTogether, with_between
from tadc.passes.terms.costs import SECOND
from tadc.passes.where import COMPILE_FOR_SIZES, LEAVE_OUT, SIZES_UNKNOWN, AtRows, Where

NEAR = 3 * SECOND // 16
"""So many bytes stay near."""

LEAST_BYTES = 2 * NEAR
"""Tensors of fewer bytes stay in the caches anyway."""

ROWS = 12
"""Rows run in multiples of so many, where there are: most tiles fit."""

LEAST_SHARE = 4
"""Parts of sums are so many times smaller than what they are sums of, or more."""


def _is_small(size: int) -> bool:
    """Whether so many bytes stay in the caches."""
    return size < LEAST_BYTES


def chained(function: MapFunction, ranges: int, where: Where) -> MapFunction:
    """The maps of a function, those marked that run in chains, each chain one after the other.

    Threads divide the rows of a chain into so many `ranges`. Steps that are given say which maps run in
    chains: raises CompileError where one does not fit.
    """
    if where.given is not None:
        return _as_given(function, where)
    tensors = function.tensors()
    if function.sizes or len(function.maps) < 2 or _is_small(sum(map(bytes_of, tensors.values()))):
        return function
    taken = [item.marks.chain for item in function.maps if item.marks.chain is not None]
    number, first = max(taken, default=-1) + 1, 0
    waiting = _Waiting([RowReads(item, tensors, gathers=True) for item in function.maps])
    while first < len(waiting.members):
        chain = None if _is_small(waiting.again[first]) else _chain(waiting, first, function)
        rows = _rows(chain, ranges) if chain else 0
        if not chain or not rows:
            first += 1
            continue
        marks = Marks(chain=number, rows=rows)
        known = {id(member.item): member for member in waiting.members}
        sums = chain.summed(rows)
        where.note(AtRows(chain.indices, rows, where.with_merged(chain.named(sums))))
        function, left = chain.arranged(marks, sums, gathers=True)
        number += 1
        first, tensors, wanted = 0, function.tensors(), set(map(id, left))
        waiting = _Waiting(
            [
                known.get(id(item)) or RowReads(item, tensors, gathers=True)
                for item in function.maps
                if id(item) in wanted
            ]
        )
    return function


def _as_given(function: MapFunction, where: Where) -> MapFunction:
    """The function with the chains that steps name."""
    number = 0
    for step in where.wanted(AtRows) or ():
        if step in where.made:
            continue
        number, tensors = number + 1, function.tensors()
        where.check_known(step, step.tensors, tensors)
        if function.sizes:
            where.refuse(step, SIZES_UNKNOWN, COMPILE_FOR_SIZES)
        function, wanted = with_between(function, step.tensors)
        if not wanted:
            continue
        taken = [item.marks.chain for item in function.maps if item.marks.chain is not None]
        chain = _given_chain(step, wanted, function, where)
        marks = Marks(chain=max(taken, default=-1) + 1, rows=step.rows)
        where.note(step)
        function, _ = chain.arranged(marks, chain.sums, gathers=True)
    return function


def _given_chain(step: AtRows, wanted: Sequence[Map], function: MapFunction, where: Where) -> _Chain:
    """The chain of some maps."""
    tensors = function.tensors()
    members = [RowReads(item, tensors, gathers=True) for item in wanted]
    first, made, others = members[0], set[str](), set[str]()
    if first.rows is None or not 0 < step.rows <= first.rows:
        where.refuse(step, f"`{step.tensors[0]}` has no such rows", LEAVE_OUT)
    known = {name: t for member in members for name, t in (*member.tensors.items(), *member.gathered.items())}
    chain = _Chain(function, known, [])
    if step.indices != first.item.indices[:1]:
        help = f"write `at {first.item.indices[0]} {step.rows}`"
        where.refuse(step, "rows are of the first index of the first tensor", help)
    for item in function.maps[function.maps.index(first.item) :]:
        name = item.tensors[0].name
        member = next((member for member in members if member.item is item), None)
        if member is None:
            others |= {tensor.name for tensor in item.tensors}
            continue
        is_whole = member.rows == first.rows and not made & member.reads - member.near
        found = None if is_whole or item.marks.chain is not None else row_sum(item, first.rows)
        if found is not None:
            member = RowReads(item, tensors, row=found.indices[0], gathers=True)
        far = made & member.reads - member.near
        if far or not (is_whole or found):
            text = f"reads other rows of `{min(far)}` than its own" if far else "has no such rows"
            where.refuse(step, f"`{name}` {text}", "leave it out")
        if is_whole:
            chain.add(member)
        else:
            chain.sums.append(member)
        if late := others & member.reads:
            where.refuse(step, f"`{name}` needs `{min(late)}`, which is computed after these", "leave it out")
        made, others = (made | member.made, others) if is_whole else (made, others | member.made)
    return chain


class _Waiting:
    """Maps that are in no chain yet, in order, and which of them use a tensor."""

    def __init__(self, members: Sequence[RowReads]) -> None:
        self.members = members
        self.tensors = {
            n: t for member in members for n, t in (*member.tensors.items(), *member.gathered.items())
        }
        self.makers = {name: n for n, member in enumerate(members) for name in member.made}
        self.readers: dict[str, list[int]] = {}
        for n, member in enumerate(members):
            for name in member.reads:
                self.readers.setdefault(name, []).append(n)

    @cached_property
    def again(self) -> list[int]:
        """No chain that begins with the map of this number reads more bytes again that are near.

        These are of tensors that a map of so many rows has in its rows, and another map uses.
        """
        users, total = Counter[str](), Counter[int | None]()
        in_rows: dict[str, set[int | None]] = {}
        found: list[int] = []
        for member in reversed(self.members):
            for name in member.reads | member.made:
                users[name] += 1
                rows, size = in_rows.setdefault(name, set()), bytes_of(self.tensors[name])
                if users[name] == 2:
                    total.update(dict.fromkeys(rows, size))
                if member.rows not in rows and (name in member.read_in_row or name in member.made):
                    rows.add(member.rows)
                    total[member.rows] += size if users[name] > 1 else 0
            found.append(total[member.rows])
        return found[::-1]


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
        found, used = list[RowReads](), self.used if self.sums else set[str]()
        for member in self.sums:
            parts = -(-self.count // rows) * bytes_of(member.item.tensors[0])
            if LEAST_SHARE * parts <= max(bytes_of(self.tensors[name]) for name in member.near & used):
                found.append(member)
        return found


def _chain(waiting: _Waiting, start: int, function: MapFunction) -> _Chain:
    """A map with those after it that can run with it row by row, and read what is computed so.

    Only maps that read what is near are looked at, so short chains of a long program cost little.
    """
    first = waiting.members[start]
    chain = _Chain(function, waiting.tensors, [first])
    rows, found, made, near = first.rows, {start}, set[str](), set[str]()
    if rows is None or first.again >= LEAST_BYTES:
        return chain
    todo: list[int] = []

    def add(n: int, member: RowReads) -> None:
        nonlocal made, near
        found.add(n)
        made |= member.made
        for name in (member.near | member.made) - near:
            for reader in waiting.readers.get(name, ()):
                if reader > n:
                    heappush(todo, reader)
        near |= member.near | member.made

    def fits(member: RowReads) -> bool:
        later = (waiting.makers.get(name, start) for name in member.reads)
        is_free = member.again < LEAST_BYTES and all(maker <= start or maker in found for maker in later)
        return is_free and bool(member.near & near) and made & member.reads <= member.near

    add(start, first)
    last = start
    while todo:
        n = heappop(todo)
        if n == last:
            continue
        last, member = n, waiting.members[n]
        is_long = member.rows == rows
        if is_long and fits(member):
            chain.add(member)
            add(n, member)
            continue
        is_free = member.item.marks.chain is None and not made.isdisjoint(member.reads)
        whole = row_sum(member.item, rows) if is_free else None
        if whole is not None:
            parts = RowReads(member.item, member.tensors, row=whole.indices[0], gathers=True)
            if parts.near & made and fits(parts):
                chain.sums.append(parts)
    chain.left = [member.item for n, member in enumerate(waiting.members) if n > start and n not in found]
    return chain


def _rows(chain: _Chain, ranges: int) -> int:
    """How many rows run at a time; 0 where a chain gains nothing."""
    known, used = chain.again, chain.used
    again = known.union(*(member.near & used for member in chain.sums))
    if not again:
        return 0
    each = chain.bytes(again) // max(chain.count, 1)
    rows = max(1, min(NEAR // max(each, 1), -(-chain.count // ranges)))
    rows -= rows % ROWS if rows > ROWS else 0
    again = known.union(*(member.near & used for member in chain.summed(rows)))
    return rows if chain.count > 1 and chain.bytes(again) >= LEAST_BYTES else 0
