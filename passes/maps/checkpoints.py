"""How many steps are taken where some states are saved to go back over all of them.

Griewank and Walther, Algorithm 799: revolve, ACM Transactions on Mathematical Software 26 (2000): with s
states at hand, each step taken at most r times, as many as β(s, r) = (s + r)! / s! r! steps can be gone back
over.
`passes/cpu/tape_loops.py` makes the loops.
"""

from __future__ import annotations

from math import comb

from tadc.passes.maps.map import Tape


def steps_taken(count: int, tape: Tape) -> int:
    """How many steps are taken, for the first time and again, to go back over `count` of them."""
    at_hand = sorted({min(step + tape.ahead, count - 1) for step in range(count)} - {*range(-count, 0)})
    if not at_hand:
        return count
    *others, last = at_hand
    # What a recurrence begins with is a state that takes no slot.
    moves = advances(max(last - tape.fresh, -1) + 2, tape.slots + 1)
    return moves + min(last + 1, tape.fresh) + count - 1 - last + sum(min(n + 1, tape.fresh) for n in others)


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
