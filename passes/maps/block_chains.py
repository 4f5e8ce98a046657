"""Maps that a block of threads computes for a few rows, one after the other, in one launch.

    m[i] = max k: x[i, k]
    e[i, k] = exp(x[i, k] - m[i])
    s[i] = sum k: e[i, k]
    y[i, k] = e[i, k] / s[i]

A row is all elements of one value of the first few indices. Where maps read what others of them compute in
their own row alone, no block waits for another: each computes all of them for its rows. What is in between
stays in shared memory, and what several of them read comes from memory once. A sum over rows takes part with
sums of the rows of each block (`row_sums.py`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from tadc.passes.maps.blocks import Names
from tadc.passes.maps.chains import LEAST_SHARE
from tadc.passes.maps.gather_rows import gathered, gathered_in_sums
from tadc.passes.maps.machine import Gpu
from tadc.passes.maps.map import Fold, Map, MapFunction, Marks
from tadc.passes.maps.row_reads import RowReads, bytes_of
from tadc.passes.maps.row_sums import row_sum
from tadc.passes.maps.run_together import Guards, RunTogether, with_between
from tadc.passes.maps.thin_sets import late_addends
from tadc.passes.where import COMPILE_FOR_SIZES, LEAVE_OUT, SIZES_UNKNOWN, AtRows, Where

WORTH_GATHERING = 32
"""So many rows at least read what is gathered for them in a launch of its own."""

LEAST_ROWS = 2 * LEAST_SHARE
"""Parts of sums are of so many rows at least: they are few beside what they are sums of."""


def chained_in_blocks(function: MapFunction, gpu: Gpu, where: Where) -> MapFunction:
    """The maps of a function, those marked that a block runs for its rows, one after the other.

    Steps that are given say which: raises CompileError where one does not fit.
    """
    if function.sizes:
        for step in where.wanted(AtRows) or ():
            where.refuse(step, SIZES_UNKNOWN, COMPILE_FOR_SIZES)
        return function
    function = _gathered(function)
    if where.given is not None:
        return _as_given(function, gpu, where)
    waiting, number = function.maps, 0
    while waiting:
        found = [chain for depth in _depths(waiting[0]) if (chain := _chain(waiting, depth, function)).saved]
        chain = max(found, key=lambda chain: (chain.saved, chain.depth), default=None)
        marks = None if chain is None else _marks(chain, number, gpu)
        if chain is None or marks is None:
            waiting = waiting[1:]
            continue
        where.note(AtRows(chain.indices, marks.rows, where.with_merged(chain.named(chain.sums))))
        function, left = chain.arranged(marks, chain.sums, gathers=False)
        number += 1
        wanted = set(map(id, left))
        waiting = tuple(item for item in function.maps if id(item) in wanted)
    return function


def _as_given(function: MapFunction, gpu: Gpu, where: Where) -> MapFunction:
    """The function with the chains that steps name."""
    for number, step in enumerate(where.wanted(AtRows) or ()):
        where.check_known(step, step.tensors, function.tensors())
        function, items = with_between(function, step.tensors)
        if not items:
            continue
        wanted = frozenset(tensor.name for item in items for tensor in item.tensors)
        start = function.maps.index(items[0])
        first, depth = function.maps[start], len(step.indices)
        if depth not in _depths(first) or first.marks.chain is not None:
            where.refuse(step, f"`{step.tensors[0]}` has no such rows, or runs with others above", LEAVE_OUT)
        if step.indices != (own := first.indices[:depth]):
            help = f"write `at {', '.join(own)} {step.rows}`"
            where.refuse(step, "rows are of the first indices of the first tensor", help)
        chain = _chain(function.maps[start:], depth, function, wanted)
        marks = _marks(chain, number, gpu, step.rows)
        found = {*chain.named(chain.sums), *where.formulas}
        for name in step.tensors:
            if name not in found:
                text = f"a block that computes rows of the others cannot compute `{name}`"
                where.refuse(step, text, "leave it out", "it reads other rows, or what comes later")
        if marks is None or not 0 < step.rows <= chain.count:
            text = f"there are {chain.count} rows, and no chain of one map"
            where.refuse(step, text, "name others, or write fewer rows")
        where.note(step)
        function, _ = chain.arranged(marks, chain.sums, gathers=False)
    return function


def _gathered(function: MapFunction) -> MapFunction:
    """The function where what all rows of a matrix read apart is gathered.

    Of maps with more indices, what is gathered may be as large as they are.
    """
    tensors = function.tensors()
    names, maps = Names(set(tensors)), list[Map]()
    for item in function.maps:
        is_matrix = item.order is None and len(item.tensors) == 1 and len(item.extents) == 2
        if is_matrix and item.extents[0].constant >= WORTH_GATHERING:
            made, item = gathered(item, tensors, names)
            maps += made
        if item.order is None and math.prod(extent.constant for extent in item.extents) >= WORTH_GATHERING:
            made, item = gathered_in_sums(item, tensors, names)
            maps += made
        maps.append(item)
    return replace(function, maps=tuple(maps))


def _depths(item: Map) -> range:
    """How many of its first indices may number the rows of a map."""
    is_plain = item.order is None and not item.marks.parts and not item.marks.in_place
    return range(1, len(item.extents) + 1) if is_plain else range(0)


class _Chain(RunTogether):
    """Maps that run in the blocks of a GPU, each for its rows."""

    @property
    def depth(self) -> int:
        """How many indices number rows."""
        return self.members[0].depth

    @property
    def saved(self) -> int:
        """The bytes that are not read again because maps run together."""
        seen: set[str] = set()
        total = 0
        for member in (*self.members, *self.sums):
            total += sum(bytes_of(self.tensors[name]) for name in member.near & seen)
            seen |= member.near | member.made
        return total

    def is_near(self, gpu: Gpu) -> bool:
        """Whether shared memory holds what is computed of some rows, of a warp each."""
        made = [tensor for member in self.members for tensor in member.item.tensors]
        count = max(LEAST_ROWS if self.sums else 0, gpu.least_block // gpu.warp)
        return (
            count * sum(bytes_of(tensor, self.depth) for tensor in made)
            <= gpu.static_shared - gpu.shared_of_warps
        )

    @property
    def longest(self) -> int:
        """The most elements of a row."""
        shapes = [self.tensors[name].shape for m in self.members for name in m.near | m.made]
        return max(math.prod(extent.constant for extent in shape[self.depth :]) for shape in shapes)


def _fits(member: RowReads) -> bool:
    """Whether all that a map reads elsewhere is the same for all rows, and no more than a row is."""
    item, tensors, depth = member.item, member.tensors, member.depth
    rows = {f"?{n}" for n in range(depth)}
    forms = (form for found in member.far.values() for at in found for form in at)
    if any(not rows.isdisjoint(form.variables) for form in forms):
        return False
    own = bytes_of(item.tensors[0], 0 if member.row else depth)
    most = max([own, *(bytes_of(tensors[name], depth) for name in member.read_in_row)])
    if any(bytes_of(tensors[name]) > 2 * most for name in member.far):
        return False
    is_longer = not member.row and len(item.extents) > depth
    return not (is_longer and any(isinstance(let.value, Fold) for let in item.body.all_lets()))


def _chain(
    waiting: Sequence[Map], depth: int, function: MapFunction, wanted: frozenset[str] | None = None
) -> _Chain:
    """The first map with those after it that can run with it row by row, and read what is computed so; of
    these those that are `wanted`."""
    tensors = function.tensors()
    first = RowReads(waiting[0], tensors, depth)
    chain = _Chain(function, tensors, [first])
    if not _fits(first):
        return chain
    shape = first.item.extents[:depth]
    made, later = set(first.made), set[str]()
    near = first.near | made

    def joins(member: RowReads, later: set[str]) -> bool:
        """Whether a map reads what others have in its row, nothing that they compute elsewhere or later."""
        is_near = wanted is not None or not member.near.isdisjoint(near)
        return is_near and made.isdisjoint(member.far) and later.isdisjoint(member.reads) and _fits(member)

    for item in waiting[1:]:
        member = RowReads(item, tensors, depth)
        if item.marks.chain is not None or (wanted is not None and wanted.isdisjoint(member.made)):
            chain.left.append(item)
            later |= member.made
            continue
        is_long = depth in _depths(item) and item.extents[:depth] == shape
        guards: Guards = ()
        if is_long and not joins(member, later) and (guards := late_addends(item, function)):
            late = frozenset(let.names[0] for let, _ in guards)
            member = RowReads(item, tensors, depth, without=late)
        if is_long and joins(member, later):
            chain.add(member, guards)
            made |= member.made
            near |= member.near | made
            continue
        chain.left.append(item)
        whole = row_sum(item, shape[0].constant) if depth == 1 and not near.isdisjoint(member.reads) else None
        if whole is not None:
            parts = RowReads(item, tensors, depth, row=whole.indices[0])
            if joins(parts, later):
                chain.sums.append(parts)
        later |= member.made
    return chain


def _marks(chain: _Chain, number: int, gpu: Gpu, given: int = 0) -> Marks | None:
    """How the chain runs, for so many rows at a time if these are `given`; None where it is one map, or has
    too few rows to keep the multiprocessors busy."""
    count, longest = chain.count, chain.longest
    if len(chain.members) + len(chain.sums) < 2 or longest < 2:
        return None
    if not given and count < gpu.multiprocessors and longest > 8 * gpu.row_of_warp:
        return None
    block = gpu.usual_block * (1 if longest <= gpu.carried * gpu.usual_block else 2)
    chain.sums = [one for one in chain.sums if _elements(one.item) <= gpu.carried * block]
    group = gpu.warp if longest <= gpu.row_of_warp and chain.is_near(gpu) else block
    while block > max(group, gpu.least_block) and count * group < 2 * gpu.multiprocessors * block:
        block //= 2
    rows = block // group
    if chain.sums:
        rows = max(LEAST_ROWS, -(-count // (4 * gpu.multiprocessors)) // rows * rows)
        rows = -(-rows // (block // group)) * (block // group)
    if len(chain.members) + len(chain.sums) < 2:
        return None
    return Marks(chain=number, rows=min(given or rows, count), blocks=(chain.depth, group, block))


def _elements(item: Map) -> int:
    """The sums over rows that a map computes."""
    return math.prod(extent.constant for extent in item.extents)
