"""How many steps are taken where some states are saved to go back over all of them.

Griewank and Walther, Algorithm 799: revolve, ACM Transactions on Mathematical Software 26 (2000): with s
states at hand, each step taken at most r times, as many as β(s, r) = (s + r)! / s! r! steps can be gone back
over.
`passes/cpu/tape_nests.py` makes the loops.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import comb

from tadc.lattice.late_dataclasses import dataclass, replace
from tadc.passes.maps.map import Tape


def steps_taken(count: int, tape: Tape) -> int:
    """How many steps are taken, for the first time and again, to go back over `count` of them.

    The states that are gone back to are a block apart, so these are steps of that problem; the first of them
    may be shorter.
    """
    first, states = first_state(count, tape), tape.slots + 1
    legs = -(-(first + 1) // tape.block) + 1
    shorter = tape.block * (legs - 1) - (first + 1)
    moves = tape.block * advances(legs, states) - shorter * _beginnings(legs, states)
    return moves + count - 1 - first + _fresh(count, tape)


def first_state(count: int, tape: Tape) -> int:
    """The step after which those that are gone back over first are taken without a state saved among them;
    -1 where these are all."""
    return max(count - 1 - (_first_block(tape) - 1) * tape.block + tape.ahead - tape.fresh, -1)


def _first_block(tape: Tape) -> int:
    """The first block for which steps are taken again: those before have the last steps at hand."""
    return max(1, -(-(tape.ahead + 1) // tape.block))


def _fresh(count: int, tape: Tape) -> int:
    """How many steps are taken just before blocks: as many for each, where there are so many before."""
    blocks = range(_first_block(tape), (count - 1 + min(tape.ahead, 0)) // tape.block + 1)
    last = blocks[max(0, len(blocks) - 1 - -(-tape.fresh // tape.block)) :]
    few = sum(max(0, tape.fresh - (count - n * tape.block + tape.ahead)) for n in last)
    return tape.fresh * len(blocks) - few


def _beginnings(steps: int, states: int) -> int:
    """How often the first of so many steps is taken, to go back over them with so many states."""
    times = 0
    while steps > 1:
        steps, times = next_state(steps, states), times + 1
    return times


def next_state(steps: int, states: int) -> int:
    """How many steps to take to the next state to save: β(s, r - 1) of those that need no more than r - 1
    repetitions with s states, as long as β(s - 1, r) are enough for those after it."""
    times = repetitions(steps, states)
    before = comb(states + times - 1, times - 1)
    after = comb(states + times - 2, times - 1)
    return min(before, steps - after)


def advances(steps: int, states: int) -> int:
    """The fewest steps taken before each of so many, from the last to the first, has the state before it at
    hand, where so many states fit in memory, the one before all steps among them."""
    if steps < 2:
        return 0
    times = repetitions(steps, states)
    return times * steps - comb(states + times, times - 1)


def repetitions(steps: int, states: int) -> int:
    """How often a step is taken at most, to go back over so many steps with so many states."""
    times, most = 1, states + 1
    while most < steps:
        times += 1
        most = most * (states + times) // times
    return times


@dataclass(frozen=True)
class Leg:
    """A leg of the way along a recurrence and back: the state `restore` is restored, steps are taken from
    `begin` to before `end`, the state after them is saved as `save`, and another recurrence goes back over
    its steps from `back_begin` to before `back_end`. States are numbered from 1 on; 0 is none."""

    restore: int
    begin: int
    end: int
    save: int
    back_begin: int
    back_end: int


class Checkpoints:
    """The legs of a recurrence of `count` steps, which saves states as its tape says: `there`, from the first
    step to the last, and `back`."""

    def __init__(self, count: int, tape: Tape) -> None:
        self.tape, self.saved = tape, [-1]
        self.there = list(self._to(-1, first_state(count, tape), count - 1))
        self.back = list[Leg]()
        starts = [
            step
            for step in range(tape.block, count, tape.block)
            if 0 <= count - 1 - step + tape.ahead < count - 1
        ]
        for begin, end in pairwise([0, *starts, count]):
            legs = self._again(count - 1 - begin + tape.ahead) if begin else [Leg(0, 0, 0, 0, 0, 0)]
            legs[-1] = replace(legs[-1], back_begin=begin, back_end=end)
            self.back += legs

    def _again(self, here: int) -> list[Leg]:
        """From the last state that is saved to a step that is to be at hand."""
        wanted = max(here - self.tape.fresh, -1)
        while self.saved[-1] > wanted:
            self.saved.pop()
        start, slot = self.saved[-1], len(self.saved) - 1
        first, *legs = self._to(start, wanted, here)
        return [replace(first, restore=slot), *legs]

    def _to(self, start: int, wanted: int, here: int) -> Iterator[Leg]:
        """From a step to another, with states that are saved on the way, and on `here`."""
        while start < wanted:
            steps = -(-(wanted - start) // self.tape.block) + 1
            ahead = next_state(steps, self.tape.slots + 2 - len(self.saved))
            end = wanted - (steps - ahead - 1) * self.tape.block
            if end == wanted:
                break
            yield Leg(0, start + 1, end + 1, len(self.saved), 0, 0)
            self.saved.append(end)
            start = end
        yield Leg(0, start + 1, here + 1, 0, 0, 0)
