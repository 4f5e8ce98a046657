"""How many states a recurrence saves for another that goes back over its steps, and how many are at hand.

Steps are taken again from a state that is saved, as many at a time as the window has room for: a block. With
s states saved and blocks of b steps, s * b steps are gone back over with each taken once more, so about twice
the root of the number of steps are enough for that. `checkpoints.py` counts the steps for any number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import isqrt, log, prod

from tadc.lattice.amounts import Count
from tadc.lattice.late_dataclasses import dataclass, replace
from tadc.passes.maps.checkpoints import steps_taken
from tadc.passes.maps.map import Map, MapFunction, Tape, TensorDecl, Window
from tadc.passes.maps.row_reads import bytes_of
from tadc.passes.maps.sweeps import with_maps
from tadc.passes.maps.windows import steps_of
from tadc.passes.rewrites.recomputed import TRAFFIC
from tadc.passes.terms.costs import LINE
from tadc.passes.terms.long_steps import LARGE_BYTES, LEAST_ROW

MOST_SLOTS = 4096
"""No more states are saved: their numbers are on the stack of a call. With so many, each of eight million
steps is taken twice at most."""

BLOCKS = 1.2
"""Each number of steps that is tried for a block is so many times the one before."""


@dataclass(frozen=True)
class Pair:
    """A function with two chains, one over the steps of a recurrence and one back over them.

    The maps of the first that the second needs have a tape; `read` are the tensors that the second reads.
    """

    function: MapFunction
    number: int
    read: frozenset[str]

    def members(self, function: MapFunction) -> list[Map]:
        """The maps of the first chain."""
        return [item for item in function.maps if item.marks.chain == self.number]

    @property
    def count(self) -> int:
        """The number of steps."""
        return steps_of(self.members(self.function)[0]).constant

    def bytes_of_state(self) -> int:
        """The bytes of what is saved of a step."""
        return sum(
            tape.depth * _bytes_of_step(tensor, window)
            for item in self.members(self.function)
            if (tape := item.marks.tape) is not None and (window := item.marks.window) is not None
            for tensor in item.tensors
        )

    def bytes_of_step(self) -> int:
        """The bytes of a step of what the second chain reads."""
        return sum(
            _bytes_of_step(tensor, window)
            for item in self.members(self.function)
            if (window := item.marks.window) is not None
            for tensor in item.tensors
            if tensor.name in self.read
        )

    def bytes_of_all(self) -> int:
        """The bytes of all steps of what the second chain reads."""
        items = [item for item in self.members(self.function) if item.marks.window is not None]
        return sum(
            bytes_in_lines(tensor) for item in items for tensor in item.tensors if tensor.name in self.read
        )

    def is_taken_again(self, work: Callable[[Map], Count]) -> bool:
        """Whether steps take less time to take again than states take to memory and back, where these are in
        no cache, and few of them are half of all or less."""
        (block, slots), whole = self.few_states(), self.bytes_of_all()
        few = block * self.bytes_of_step() + slots * self.bytes_of_state()
        if whole < max(LARGE_BYTES, 2 * few) or self.bytes_of_step() < LEAST_ROW:
            return False
        members = self.members(self.function)
        read = [t for item in members for t in item.tensors if t.name in self.read]
        elements = sum(prod(extent.constant for extent in tensor.shape) for tensor in read)
        counts = [work(item) for item in members if item.marks.tape is not None]
        operations = sum(count for count in counts if isinstance(count, int))
        return operations <= 2 * TRAFFIC * elements

    def few_states(self) -> tuple[int, int]:
        """The steps of a block and the states to save for which each step is taken once more, about as many
        bytes at hand as saved: the fewest in all."""
        block = isqrt(self.count * self.bytes_of_state() // max(self.bytes_of_step(), 1))
        block = max(block, -(-self.count // MOST_SLOTS), 1)
        return block, -(-self.count // block)

    def with_states(self, function: MapFunction, room: int) -> MapFunction:
        """The function where so many bytes are for states, at hand or saved: as many of each as have the
        fewest steps taken."""
        tapes = [item.marks.tape for item in self.members(function)]
        state, step = max(self.bytes_of_state(), 1), max(self.bytes_of_step(), 1)

        def slots(block: int) -> int:
            return min((room - (block - 1) * step) // state, self.count, MOST_SLOTS)

        def taken(block: int) -> int:
            tape = next(tape for tape in tapes if tape is not None)
            return steps_taken(self.count, _with_block(tape, block, slots(block)))

        blocks = dict.fromkeys(int(BLOCKS**n) for n in range(int(log(room // step + 1, BLOCKS)) + 1))
        few = [block for block in blocks if self.count <= block * MOST_SLOTS] or [max(blocks)]
        best = min(few, key=taken)
        return self.taped(function, best, slots(best))

    def taped(self, function: MapFunction, block: int, slots: int) -> MapFunction:
        """The function with room for so many states that are saved, and for such blocks."""
        instead: dict[str, Map] = {}
        for item in self.members(function):
            marks, window = item.marks, item.marks.window
            if marks.tape is None:
                continue
            own = _with_block(marks.tape, block, slots)
            if window is not None:
                is_read = any(tensor.name in self.read for tensor in item.tensors)
                rows = window.rows + (block - 1) * is_read
                window = replace(window, rows=rows, saved=slots * own.depth)
            instead[item.name] = replace(item, marks=replace(marks, tape=own, window=window))
        return with_maps(function, instead)


def _with_block(tape: Tape, block: int, slots: int) -> Tape:
    """A tape for one step at a time with room for so many."""
    return replace(tape, slots=slots, fresh=tape.fresh + block - 1, block=block)


def all_kept(function: MapFunction, pairs: Iterable[Pair]) -> MapFunction:
    """The function where all steps of what the second chains read are kept."""
    for pair in pairs:
        instead: dict[str, Map] = {}
        for item in pair.members(function):
            is_read = any(tensor.name in pair.read for tensor in item.tensors)
            window = None if is_read else item.marks.window
            instead[item.name] = replace(item, marks=replace(item.marks, tape=None, window=window))
        function = with_maps(function, instead)
    return function


def _bytes_of_step(tensor: TensorDecl, window: Window) -> int:
    return bytes_in_lines(tensor) // max(tensor.shape[window.axis].constant, 1)


def bytes_in_lines(tensor: TensorDecl) -> int:
    """The bytes of a tensor, which begins with a line of the cache."""
    return -(-bytes_of(tensor) // LINE) * LINE
