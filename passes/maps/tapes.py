"""Recurrences that keep checkpoints, for another that runs backwards over their steps.

    let scan{t} u[t: T, i: N] = … u[t - 1, i] …
    let scan{-t} du[t: T, i: N] = … du[t + 1, i] … u[t, i] …

The gradient reads all states of u, from the last one on. If these exceed the memory limit, or without one
cost more to store than to recompute, some are saved as checkpoints, and the steps between two of them are
recomputed when `du` reaches them (Griewank and Walther, Algorithm 799: revolve, 2000; `checkpoints.py`
chooses them). Every map that reads u must run along with it or with `du`, at steps that are proven, or read
its last steps before `du` begins.

Results have the same bits for any limit: the same maps run step by step, and sums over steps keep their
order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce

from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine
from tadc.lattice.amounts import Count
from tadc.lattice.polyhedron import implied
from tadc.passes.maps.blocks import BlockNames, with_reads
from tadc.passes.maps.map import Block, Let, Load, Map, MapFunction, Marks, Tape, TensorDecl, Window
from tadc.passes.maps.memory_of_tensors import memory_of
from tadc.passes.maps.recurrence import reads_of
from tadc.passes.maps.run_together import chain_number
from tadc.passes.maps.sweeps import Followers, arranged, followers_of, with_maps
from tadc.passes.maps.taped_pairs import MOST_SLOTS, Pair, all_kept, bytes_in_lines
from tadc.passes.maps.windows import MOST_STEPS, most_of, steps_along, steps_of, window_of
from tadc.passes.where import COMPILE_FOR_SIZES, LEAVE_OUT, SIZES_UNKNOWN, OnTape, Where

MORE = 8
"""Where a limit cannot be met, states may take this part of what tensors take at least."""


def with_tapes(
    function: MapFunction, limit: int | None, work: Callable[[Map], Count], where: Where
) -> MapFunction:
    """The function where recurrences and those that go back over their steps have marks of how they run, so
    that its tensors in between take `limit` bytes, as far as they can; `work` tells the operations of a map.

    Without a limit (None) that is so for recurrences whose steps take less time to take again than to keep.
    Where sizes are not known, all steps are kept. Steps that are given say it in the place of that: raises
    CompileError where one does not fit.
    """
    if where.given is not None:
        return _as_given(function, where)
    found = _chosen(function, limit, work)
    for item in found.maps:
        tape = item.marks.tape
        if tape is not None and item.order is not None:
            where.note(OnTape(item.name, tape.slots, tape.block))
    return found


def _as_given(function: MapFunction, where: Where) -> MapFunction:
    """The function where recurrences save the states that steps say."""
    for step in where.wanted(OnTape) or ():
        where.check_known(step, [step.tensor], function.tensors())
        seed = next((m for m in function.maps if any(t.name == step.tensor for t in m.tensors)), None)
        if seed is None:
            continue
        if function.sizes:
            where.refuse(step, SIZES_UNKNOWN, COMPILE_FOR_SIZES)
        is_free = seed.order is not None and seed.marks == Marks()
        pair = _pair(seed, function, chain_number(function)) if is_free else None
        if pair is None:
            text = "no other recurrence alone goes back over the steps"
            where.refuse(step, f"{text} of `{step.tensor}`", LEAVE_OUT)
        if not step.states <= min(pair.count, MOST_SLOTS) or step.block > pair.count:
            where.refuse(step, f"there are {pair.count} steps, and states for {MOST_SLOTS}", "write fewer")
        function = pair.taped(pair.function, step.block, step.states)
        where.note(step)
    return function


def _chosen(function: MapFunction, limit: int | None, work: Callable[[Map], Count]) -> MapFunction:
    """The function where recurrences save states by a limit, or by cost."""
    if limit is None and function.sizes:
        return function
    pairs: list[Pair] = []
    for seed in [item.name for item in function.maps if item.order is not None]:
        item = next(item for item in function.maps if item.name == seed)
        pair = _pair(item, function, chain_number(function)) if item.marks == Marks() else None
        if pair is not None and (limit is not None or pair.is_taken_again(work)):
            function = pair.function
            pairs.append(pair)
    if limit is None or not pairs:
        return reduce(lambda made, pair: pair.taped(made, *pair.few_states()), pairs, function)
    return _within(limit, function, pairs)


def _within(limit: int, function: MapFunction, pairs: Sequence[Pair]) -> MapFunction:
    """The function where pairs have states for a limit."""
    whole = all_kept(function, pairs)
    if function.sizes:
        return whole
    least = peak_bytes(function)
    if least > limit:
        # More memory for a few states is little beside that, and without any steps are taken very often.
        limit = least + least // MORE
    if peak_bytes(whole) <= limit:
        return whole
    room, total = max(limit - least, 0), sum(pair.bytes_of_all() for pair in pairs)
    while True:
        found = function
        for pair in pairs:
            found = pair.with_states(found, room * pair.bytes_of_all() // max(total, 1))
        if room == 0 or (over := peak_bytes(found) - limit) <= 0:
            return found
        # What is saved ends with a line of the cache.
        room = max(room - over, 0)


def peak_bytes(function: MapFunction) -> int:
    """The most bytes that tensors in between take at a time."""
    memory = memory_of(function)
    at = [0] * (len(function.maps) + 1)
    for tensor, (first, last) in zip(memory.temporaries, memory.spans, strict=True):
        for number in range(first, last + 1):
            at[number] += bytes_in_lines(tensor)
    return max(at)


def _pair(seed: Map, function: MapFunction, number: int) -> Pair | None:
    """A recurrence with those that run along, and the one that goes back over its steps with those."""
    for item in function.maps:
        if item.marks == Marks() and item.order is not None and _goes_back(item, seed):
            later = frozenset(item.names)
            forward = followers_of(seed, function, later=later, any_size=True)
            back = forward and followers_of(item, forward.function, any_size=True)
            found = forward and back and _Sides(forward, back, number).pair()
            if found:
                return found
    return None


def _goes_back(item: Map, seed: Map) -> bool:
    """Whether a recurrence is over the steps of another one, in the other direction."""
    one, other = steps_along(item), steps_along(seed)
    if one is None or other is None:
        return False
    return one.down != other.down and item.extents[one.index] == seed.extents[other.index]


class _Sides:
    """Maps that run along with a recurrence, and those that run back over its steps.

    Of the first side `made` has the tensors in between whose index counts steps.
    """

    def __init__(self, forward: Followers, back: Followers, number: int) -> None:
        self.number, self.function = number, back.function
        self.forward = {member.name: member for member in forward.members}
        self.back = {member.name: member for member in back.members}
        sweep = forward.first.marks.sweep
        assert sweep is not None
        self.sign, self.count = -1 if sweep.down else 1, steps_of(forward.first)
        between = {tensor.name for tensor in memory_of(self.function).temporaries}
        self.made = {
            tensor.name: member
            for member in self.forward.values()
            for tensor in member.tensors
            if tensor.name in between and member.marks.sweep is not None and member.marks.sweep.is_step
        }

    def pair(self) -> Pair | None:
        """The function with marks; None where something else reads the steps."""
        read = self.read_on_the_way()
        again = self.needed(read)
        lost = {*memory_of(self.function).replaced, *_computed_again(self.function)}
        is_lost = any(not lost.isdisjoint(self.forward[name].read) for name in again)
        if not read or is_lost or not self.back.keys().isdisjoint(self.forward):
            return None
        reach = {name: self.reach(name) for name in read}
        if None in reach.values():
            return None
        before = {name: ends[0] for name, ends in reach.items() if ends is not None}
        ahead = max(ends[1] for ends in reach.values() if ends is not None)
        windows = {name: self.window(member, before.keys(), ahead) for name, member in self.forward.items()}
        depths = {name: self.depth(name, again) or 0 for name in self.made}
        if any(windows[self.made[name].name] is None for name in read):
            return None
        fresh = max(0, *(before[name] + ahead + 1 - depths[name] for name in read))
        marked, tapes = list[Map](), dict[str, Tape]()
        for name, member in self.forward.items():
            depth = max((depths[t.name] for t in member.tensors if t.name in self.made), default=0)
            if name in again:
                tapes[name] = Tape(self.number + 1, 0, depth if windows[name] else 0, ahead, fresh)
            marks = Marks(chain=self.number, rows=1, sweep=member.marks.sweep, window=windows[name])
            marked.append(replace(member, marks=marks))
        function = self.placed(marked, again)
        if function is None:
            return None
        made = {item.name: item for item in function.maps}
        taped = {n: replace(made[n], marks=replace(made[n].marks, tape=tape)) for n, tape in tapes.items()}
        return Pair(with_maps(function, taped), self.number, frozenset(read))

    def read_on_the_way(self) -> set[str]:
        """What the other side reads, but for the last steps of tensors that do not run again."""
        read = {name for item in self.back.values() for name in item.read} & self.made.keys()
        found = {name for name in read if not self.at_the_end(name)}
        while more := {n for n in read - found if self.made[n].name in self.needed(found)}:
            found |= more
        return found

    def needed(self, read: Iterable[str]) -> set[str]:
        """The maps of the first side that compute what is read, and what these read."""
        left, found = list(read), set[str]()
        while left:
            member = self.made.get(left.pop())
            if member is not None and member.name not in found:
                found.add(member.name)
                left += member.read
        return found

    def reach(self, name: str) -> tuple[int, int] | None:
        """How many steps before and after its own step the other side reads a tensor; None where that is not
        known to be few, or where the own step is not known to be one."""
        for item in self.back.values():
            for _, facts in reads_of(item, name):
                here, known = _own_step(item), facts + self.function.known
                if not (implied(here, known) and implied(self.count - 1 - here, known)):
                    return None
        sides = self.behind(name, self.back.values())
        before = most_of(sides, -MOST_STEPS)
        after = most_of([(-form, facts) for form, facts in sides], -MOST_STEPS)
        return None if before is None or after is None else (before, after)

    def depth(self, name: str, readers: Iterable[str]) -> int | None:
        """How many steps before their own step some maps of the first side read a tensor; None where that is
        not known to be few."""
        return most_of(self.behind(name, [self.forward[n] for n in readers]))

    def behind(
        self, name: str, readers: Iterable[Map], here: Affine | None = None
    ) -> list[tuple[Affine, Domain]]:
        """How many steps before their own, or that which is `here`, maps read a tensor; what holds there."""
        sweep, known = self.made[name].marks.sweep, self.function.known
        assert sweep is not None
        return [
            (((_own_step(reader) if here is None else here) - sweep.step(at)) * self.sign, facts + known)
            for reader in readers
            for at, facts in reads_of(reader, name)
        ]

    def at_the_end(self, name: str) -> bool:
        """Whether the other side reads no other steps than those that are there when it begins."""
        end = Affine.const(0) if self.sign < 0 else self.count - 1
        most = most_of(self.behind(name, self.back.values(), end))
        return most is not None and most <= (self.depth(name, self.forward) or 0)

    def window(self, member: Map, read: Collection[str], ahead: int) -> Window | None:
        """The window of a member's tensors, where the other side goes back over those that are `read`."""
        is_read = any(tensor.name in read for tensor in member.tensors)
        sides = [*self.forward.values(), *(self.back.values() if is_read else ())]
        return window_of(member, self.function, sides, 1, ahead=max(ahead, 0), is_given=True)

    def placed(self, forward: Sequence[Map], again: Iterable[str]) -> MapFunction | None:
        """The function with the maps of each side one after the other; None where that cannot be.

        What is computed again has other steps then: maps that need not run before that, or may run again
        themselves, read copies of the last ones.
        """
        maps = arranged(self.function, forward)
        if maps is None:
            return None
        function, chain = replace(self.function, maps=maps), self.number + 1
        back = [replace(m, marks=Marks(chain=chain, rows=1, sweep=m.marks.sweep)) for m in self.back.values()]
        windows = [window_of(item, function, back, 1, any_size=True) for item in back]
        pairs = zip(back, windows, strict=True)
        maps = arranged(function, [replace(m, marks=replace(m.marks, window=w)) for m, w in pairs])
        if maps is None:
            return None
        tensors = {tensor.name for name in again for tensor in self.forward[name].tensors} & self.made.keys()
        others = [item for item in maps if item.marks.chain not in (self.number, chain)]
        safe = _before(back, maps)
        # One that runs again for another chain, or may when that is found, is one of them.
        again_too = [item for item in others if item.order is not None or item.marks.tape is not None]
        readers = [item for item in others if item.name not in safe or item in again_too]
        late = tensors & {name for item in readers for name in item.read}
        names, ends = BlockNames(set(function.tensors()) | set(function.sizes)), dict[str, End]()
        for item in forward:
            for tensor in item.tensors:
                if tensor.name in late:
                    window = item.marks.window
                    if window is None or not implied(self.count - window.rows, function.known):
                        return None
                    ends[tensor.name] = last_steps(tensor, item, names)
        instead = {id(item): replace(item, body=with_last_steps(item.body, ends)) for item in readers if ends}
        made = [instead.get(id(item), item) for item in maps]
        end = 1 + max(n for n, item in enumerate(maps) if item.marks.chain == self.number)
        copies = (copy for copy, _, _ in ends.values())
        return replace(function, maps=(*made[:end], *copies, *made[end:]))


def _before(items: Iterable[Map], maps: Sequence[Map]) -> set[str]:
    """The maps that have to run before some others, which need what they compute."""
    needed = {name for item in items for name in item.read}
    found = set[str]()
    for item in reversed(maps):
        if any(tensor.name in needed for tensor in item.tensors):
            found.add(item.name)
            needed |= item.read
    return found


def _own_step(item: Map) -> Affine:
    """The step with which a map computes an element."""
    assert item.marks.sweep is not None
    return item.marks.sweep.step([Affine.var(index) for index in item.indices])


def _computed_again(function: MapFunction) -> set[str]:
    """The tensors whose memory has other steps after a chain that they are computed again for."""
    taped = (item for item in function.maps if item.marks.tape is not None)
    return {name for item in taped for name in item.names if name in function.windows}


End = tuple[Map, int, Affine]
"""A map that copies the last steps of a tensor; which subscript counts steps, and from where on it does."""


def last_steps(tensor: TensorDecl, item: Map, names: BlockNames) -> End:
    """The map that copies the last steps of a map's tensor, those of its window."""
    window, sweep = item.marks.window, item.marks.sweep
    assert window is not None
    assert sweep is not None
    rows, axis = Affine.const(window.rows), window.axis
    begin = Affine.const(0) if sweep.down else tensor.shape[axis] - rows
    shape = (*tensor.shape[:axis], rows, *tensor.shape[axis + 1 :])
    at = [Affine.var(name) for name in item.indices]
    at[axis] += begin
    read = Let(("%0",), Load(tensor.name, tuple(at), tensor.type))
    copy = replace(tensor, name=names.new(f"{tensor.name}_end"), shape=shape)
    return Map((copy,), item.indices, shape, Block((read,), ("%0",)), place=item.place), axis, begin


def with_last_steps(block: Block, ends: Mapping[str, End]) -> Block:
    """A block that reads copies of last steps."""

    def place(tensor: str, at: tuple[Affine, ...]) -> tuple[str, tuple[Affine, ...]]:
        if tensor not in ends:
            return tensor, at
        copy, axis, begin = ends[tensor]
        return copy.name, (*at[:axis], at[axis] - begin, *at[axis + 1 :])

    return with_reads(block, place)
