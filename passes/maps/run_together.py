"""Maps that run one after the other over the same rows, in the place of the first of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tadc.passes.maps.blocks import Names
from tadc.passes.maps.gather_rows import gathered
from tadc.passes.maps.map import Choice, Let, Map, MapFunction, Marks, Tensor
from tadc.passes.maps.row_reads import RowReads
from tadc.passes.maps.row_sums import cut_into_parts
from tadc.passes.maps.thin_sets import split_thin

Guards = Sequence[tuple[Let, Choice]]


def with_between(function: MapFunction, tensors: Iterable[str]) -> tuple[MapFunction, list[Map]]:
    """The maps of some tensors and those between, which need one and are needed by another; the function with
    all else that they need before them, unless it runs with others."""
    named, needed, found, last = set(tensors), set(tensors), list[Map](), list[Map]()
    uses = [(m, {load.tensor for load in m.loads()}, {t.name for t in m.tensors}) for m in function.maps]
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


@dataclass
class RunTogether:
    """Maps of a function that run together, what they add late on `thin` sets, sums over their rows that may
    run with them, and the maps that are left."""

    function: MapFunction
    tensors: Mapping[str, Tensor]
    members: list[RowReads]
    thin: dict[int, Guards] = field(default_factory=dict[int, Guards])
    sums: list[RowReads] = field(default_factory=list[RowReads])
    left: list[Map] = field(default_factory=list[Map])

    @property
    def count(self) -> int:
        """The number of rows."""
        first = self.members[0]
        return math.prod(extent.constant for extent in first.item.extents[: first.depth])

    @property
    def indices(self) -> tuple[str, ...]:
        """The indices of the first map that number rows."""
        first = self.members[0]
        return first.item.indices[: first.depth]

    def named(self, sums: Sequence[RowReads]) -> tuple[str, ...]:
        """The tensors of the maps, and of those of the sums that run with them."""
        return tuple(tensor.name for member in (*self.members, *sums) for tensor in member.item.tensors)

    def add(self, member: RowReads, guards: Guards = ()) -> None:
        """Let a map run with the others, but for what guards on a thin set add to it."""
        self.members.append(member)
        if guards:
            self.thin[id(member.item)] = guards

    def arranged(
        self, marks: Marks, sums: Sequence[RowReads], *, gathers: bool
    ) -> tuple[MapFunction, list[Map]]:
        """The function where these run together, with marks and so many rows, and the maps that are left.

        Some of the `sums` have parts for these rows. If `gathers`, what all rows read apart is gathered.
        """
        names, before, found = Names(set(self.tensors)), list[Map](), list[Map]()
        instead: dict[int, Map | None] = {}
        for member in self.members:
            item = member.item
            instead[id(item)] = None
            if guards := self.thin.get(id(item)):
                whole, last = split_thin(item, guards, names.like(item.tensors[0].name))
                instead[id(item)], item = last, whole
            if gathers:
                made, item = gathered(item, self.tensors, names)
                before += made
            found.append(item)
        for member in sums:
            name = names.like(member.item.tensors[0].name)
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
