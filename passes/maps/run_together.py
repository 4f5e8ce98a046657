"""Maps that run one after the other over a few rows at a time, so that their results stay in a cache.

    m[i] = max j: x[i, j]
    e[i, j] = exp(x[i, j] - m[i])
    s[i] = sum j: e[i, j]

A row is all elements with one value of the first index, on a GPU of the first few indices. If maps read only
their own row of each other, their loops over rows become one: for every few rows the first map runs, then the
next. Rows are divided among threads once for all maps, and no thread waits for another.

A sum over rows takes part with partial sums of a few rows (`row_sums.py`). A machine model chooses the number
of rows, and decides whether this pays (`chains.py` for the caches of a CPU, `block_chains.py` for the blocks
of a GPU).
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from heapq import heappop, heappush

from tadc.lattice.late_dataclasses import dataclass, field, replace
from tadc.passes.maps.blocks import BlockNames
from tadc.passes.maps.gather_rows import gathered
from tadc.passes.maps.map import Choice, Let, Map, MapFunction, Marks, TensorDecl
from tadc.passes.maps.row_reads import RowReads, bytes_of, has_rows
from tadc.passes.maps.row_sums import cut_into_parts, row_sum
from tadc.passes.maps.thin_sets import late_addends, split_thin
from tadc.passes.where import COMPILE_FOR_SIZES, LEAVE_OUT, SIZES_UNKNOWN, AtRows, Where

Guards = Sequence[tuple[Let, Choice]]
NO_GUARDS: Guards = ()


@dataclass(frozen=True, kw_only=True)
class RowMachine:
    """What a machine says of maps that run for some rows at a time.

    Up to so many first indices as are `deepest` number rows. It `gathers` what index arrays say that a row
    reads, or else stores later what is added late on thin sets. With `sums_of_read` it gains by sums over
    rows that others read too, and none computes; fewer bytes than the `least` gain nothing.
    """

    deepest: int = sys.maxsize
    gathers: bool = False
    sums_of_read: bool = True
    least: int = 1

    def fits(self, member: RowReads) -> bool:
        """Whether what a map reads elsewhere may be read for each few rows anew."""
        raise NotImplementedError

    def marks(self, together: RunTogether, number: int, given: int = 0) -> Marks | None:
        """How maps run, for so many rows at a time if these are `given`, with those of the sums alone that
        are worth it; None where they had better not."""
        raise NotImplementedError


def with_rows_together(function: MapFunction, machine: RowMachine, where: Where) -> MapFunction:
    """The maps of a function, those marked that run together.

    Steps that are given say which: raises CompileError where one does not fit.
    """
    if where.given is not None:
        return _as_given(function, machine, where)
    total = 0 if function.sizes else sum(map(bytes_of, function.tensors().values()))
    if function.sizes or len(function.maps) < 2 or total < machine.least:
        return function
    maps, known, depths = function.maps, dict[tuple[int, int], RowReads](), dict[int, _LoneMaps]()
    while maps:
        found = list[RunTogether]()
        for depth in _depths(maps[0], machine):
            if depth not in depths:
                depths[depth] = _LoneMaps(function, maps, machine, depth, known)
            start = len(depths[depth].members) - len(maps)
            if depths[depth].most_saved[start] >= machine.least:
                found.append(depths[depth].together(start))
        together = max(found, key=lambda each: (each.saved, each.depth), default=None)
        marks = (
            together and together.saved >= machine.least and machine.marks(together, chain_number(function))
        )
        if not together or not marks:
            maps = maps[1:]
            continue
        where.note(AtRows(together.indices, marks.rows, where.with_merged(together.named)))
        function, maps = together.arranged(marks, gathers=machine.gathers)
        depths = {}
    return function


def _as_given(function: MapFunction, machine: RowMachine, where: Where) -> MapFunction:
    """The function where those maps run together that steps name."""
    for step in where.wanted(AtRows) or ():
        if step in where.made:
            continue
        where.check_known(step, step.tensors, function.tensors())
        if function.sizes:
            where.refuse(step, SIZES_UNKNOWN, COMPILE_FOR_SIZES)
        function, items = with_between(function, step.tensors)
        if not items:
            continue
        depth, numbers = len(step.indices), list(map(function.maps.index, items))
        if depth not in _depths(items[0], machine) or not step.rows:
            where.refuse(step, f"`{step.tensors[0]}` has no such rows, or runs with others above", LEAVE_OUT)
        if step.indices != (own := items[0].indices[:depth]):
            help = f"write `at {', '.join(own)} {step.rows}`"
            where.refuse(step, "rows are of the first indices of the first tensor", help)
        together = _LoneMaps(function, function.maps, machine, depth, {}).together(numbers[0], numbers[1:])
        marks = machine.marks(together, chain_number(function), step.rows)
        for item in items:
            name = next((t.name for t in item.tensors if t.name in step.tensors), item.name)
            if name not in together.named:
                problem = together.problem(name, RowReads(item, function.tensors(), depth))
                where.refuse(step, problem, "leave it out")
        if marks is None or not 0 < step.rows <= together.count:
            text = f"`{step.tensors[0]}` has no such rows: there are {together.count}"
            where.refuse(step, text, "name more tensors, or write fewer rows")
        where.note(step)
        function, _ = together.arranged(marks, gathers=machine.gathers)
    return function


def _depths(item: Map, machine: RowMachine) -> range:
    """How many of its first indices may number the rows of a map."""
    return range(1, 1 + min(len(item.extents), machine.deepest)) if has_rows(item) else range(0)


def chain_number(function: MapFunction) -> int:
    """A number for maps that run together, which no others have."""
    return 1 + max((m.marks.chain for m in function.maps if m.marks.chain is not None), default=-1)


def with_between(function: MapFunction, tensors: Iterable[str]) -> tuple[MapFunction, list[Map]]:
    """The maps of some tensors and those between, which need one and are needed by another; the function with
    all else that they need before them, unless it runs with others."""
    named, needed, found, last = set(tensors), set(tensors), list[Map](), list[Map]()
    uses = [(m, m.read, set(m.names)) for m in function.maps]
    for _, read, made in reversed(uses):
        needed |= read if made & needed else set()
    first = list[Map]()
    for item, read, made in uses:
        if made & named or (read & named and made & needed):
            found.append(item)
            named |= made
        is_early = not found or (item is not found[-1] and made & needed and item.marks.chain is None)
        (first if is_early else last).append(item)
    return replace(function, maps=(*first, *last)), found


class _LoneMaps:
    """Maps that run with no others yet, in order, and what they read of rows that so many indices number."""

    def __init__(
        self,
        function: MapFunction,
        maps: Sequence[Map],
        machine: RowMachine,
        depth: int,
        known: dict[tuple[int, int], RowReads],
    ) -> None:
        self.function, self.machine, self.depth = function, machine, depth
        self.members = [known.get((id(item), depth)) or self.reads(item) for item in maps]
        known |= {(id(member.item), depth): member for member in self.members}
        self.tensors = {n: t for m in self.members for n, t in (*m.tensors.items(), *m.gathered.items())}
        self.makers = {name: n for n, member in enumerate(self.members) for name in member.made}
        self.readers: dict[str, list[int]] = {}
        for n, member in enumerate(self.members):
            for name in member.reads:
                self.readers.setdefault(name, []).append(n)

    def reads(self, item: Map, row: str = "", without: frozenset[str] = frozenset()) -> RowReads:
        gathers = self.machine.gathers
        return RowReads(item, self.function.tensors(), self.depth, row, without, gathers)

    @cached_property
    def most_saved(self) -> list[int]:
        """No maps together of which the one of this number is the first save more bytes.

        These are of tensors that a map of such rows has in its rows, and another map uses.
        """
        users, total = Counter[str](), Counter[object]()
        in_rows: dict[str, set[object]] = {}
        found: list[int] = []
        for member in reversed(self.members):
            shape = member.item.extents[: self.depth]
            for name in member.reads | member.made:
                users[name] += 1
                rows, size = in_rows.setdefault(name, set()), bytes_of(self.tensors[name])
                if users[name] == 2:
                    total.update(dict.fromkeys(rows, size))
                if shape not in rows and (name in member.read_in_row or name in member.made):
                    rows.add(shape)
                    total[shape] += size if users[name] > 1 else 0
            found.append(total[shape])
        return found[::-1]

    def together(self, start: int, wanted: Collection[int] | None = None) -> RunTogether:
        """A map with those after it that can run with it row by row, and read what is computed so; of these
        those that are `wanted`.

        Only maps that read what is near are looked at, so few maps of a long program cost little.
        """
        first = self.members[start]
        chain = RunTogether(self.function, self.tensors, [first])
        if not self.machine.fits(first):
            return chain
        found, made, near = {start}, set(first.made), first.near | first.made
        todo = sorted(wanted or ())

        def reach(names: Iterable[str], start: int) -> None:
            for n in (n for name in names for n in self.readers.get(name, ())):
                if wanted is None and n > start:
                    heappush(todo, n)

        def joins(member: RowReads) -> bool:
            """Whether a map reads what others have in its row, nothing they compute elsewhere or later."""
            makers = (self.makers.get(name, start) for name in member.reads)
            is_near = wanted is not None or not member.near.isdisjoint(near)
            is_near = is_near and made & member.reads <= member.near and self.machine.fits(member)
            return is_near and all(maker <= start or maker in found for maker in makers)

        reach(near, start)
        last = start
        while todo:
            n, before = heappop(todo), last
            last, member = n, self.members[n]
            item, guards = member.item, NO_GUARDS
            if n == before or item.marks.chain is not None:
                continue
            is_long = has_rows(item) and item.extents[: self.depth] == first.item.extents[: self.depth]
            if is_long and not joins(member) and not self.machine.gathers:
                if guards := late_addends(item, self.function):
                    member = self.reads(item, without=frozenset(let.names[0] for let, _ in guards))
            if is_long and joins(member):
                chain.add(member, guards)
                found.add(n)
                made |= member.made
                new = (member.near | member.made) - near
                near |= new
                reach(new, n)
                continue
            shared = near if self.machine.sums_of_read else made
            is_row = self.depth == 1 and not shared.isdisjoint(member.reads)
            whole = row_sum(item, chain.count) if is_row else None
            if whole is not None and joins(parts := self.reads(item, whole.indices[0])):
                chain.sums.append(parts)
        chain.left = [m.item for n, m in enumerate(self.members) if n > start and n not in found]
        return chain


@dataclass
class RunTogether:
    """Maps of a function that run together, what they add late on `thin` sets, sums over their rows that may
    run with them, and the maps that are left."""

    function: MapFunction
    tensors: Mapping[str, TensorDecl]
    members: list[RowReads]
    thin: dict[int, Guards] = field(default_factory=dict[int, Guards])
    sums: list[RowReads] = field(default_factory=list[RowReads])
    left: list[Map] = field(default_factory=list[Map])

    @property
    def depth(self) -> int:
        """How many indices number rows."""
        return self.members[0].depth

    @property
    def count(self) -> int:
        """The number of rows."""
        return math.prod(extent.constant for extent in self.members[0].item.extents[: self.depth])

    @property
    def indices(self) -> tuple[str, ...]:
        """The indices of the first map that number rows."""
        return self.members[0].item.indices[: self.depth]

    @property
    def named(self) -> tuple[str, ...]:
        """The tensors of the maps, and of those of the sums that run with them."""
        return tuple(tensor.name for member in (*self.members, *self.sums) for tensor in member.item.tensors)

    @property
    def used(self) -> set[str]:
        """The tensors that the maps read in their rows, or compute."""
        return set[str]().union(*(member.near | member.made for member in self.members))

    @property
    def again(self) -> set[str]:
        """The tensors of which a map has in its rows what another has just read or computed."""
        seen, again = set[str](), set[str]()
        for member in (*self.members, *self.sums):
            again |= member.near & seen
            seen |= member.near | member.made
        return again

    @property
    def saved(self) -> int:
        """The bytes that are not read again because maps run together."""
        tensors = {**self.tensors, **{n: t for member in self.sums for n, t in member.gathered.items()}}
        return sum(bytes_of(tensors[name]) for name in self.again)

    def problem(self, name: str, reads: RowReads) -> str:
        """Why the map of a tensor does not run with the others."""
        made = set[str]().union(*(member.made for member in self.members))
        if far := made & reads.far.keys():
            return f"`{name}` reads other rows of `{min(far)}` than its own"
        return f"`{name}` has no such rows, or needs what is computed after these"

    def add(self, member: RowReads, guards: Guards = ()) -> None:
        """Let a map run with the others, but for what guards on a thin set add to it."""
        self.members.append(member)
        if guards:
            self.thin[id(member.item)] = guards

    def arranged(self, marks: Marks, *, gathers: bool) -> tuple[MapFunction, Sequence[Map]]:
        """The function where these run together, with marks and so many rows, and the maps that are left.

        If it `gathers`, what all rows read apart is gathered.
        """
        names, before, found = BlockNames(set(self.tensors)), list[Map](), list[Map]()
        instead: dict[int, Map | None] = {}
        for member in self.members:
            item = member.item
            instead[id(item)] = None
            if guards := self.thin.get(id(item)):
                whole, last = split_thin(item, guards, names.like(item.name))
                instead[id(item)], item = last, whole
            if gathers:
                made, item = gathered(item, self.tensors, names)
                before += made
            found.append(item)
        for member in self.sums:
            name = names.like(member.item.name)
            parts, rest = cut_into_parts(member.item, self.count, marks.rows, name)
            instead[id(member.item)] = rest
            found.append(parts)
        marked = [replace(item, marks=replace(marks, steps=item.marks.steps)) for item in found]
        maps: list[Map] = []
        for item in self.function.maps:
            if item is self.members[0].item:
                maps += [*before, *marked]
            last = instead.get(id(item), item)
            if last is not None:
                maps.append(last)
        changed = [last for last in instead.values() if last is not None]
        left = [*(item for item in self.left if id(item) not in instead), *changed]
        return replace(self.function, maps=tuple(maps)), left
