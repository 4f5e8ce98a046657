"""Times of several calls, taken in turns: what else runs on the machine then slows all of them alike."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping, Sequence

from bench.timing import seconds

#: Calls in turns until the time is up, but so often at least, if a call is not very long, and at most.
LEAST, MOST = 3, 40
#: A call so many times slower than the fastest leaves the race: nobody asks how far behind it is.
SLOW = 5
#: Then a first call longer than this is enough.
LONG = 0.5
#: Threads of a library may spin for a while after its call: those of OpenBLAS for 2**26 cycles.
PAUSE = 0.025
#: So many calls are timed after a pause at most.
MOST_IN_A_ROW = 5
#: A call shorter than this comes after one that is not timed, to find its data and its threads awake.
SHORT = 0.005


def interleaved(
    calls: Mapping[str, Callable[[], object]],
    budget: float,
    first: Mapping[str, float],
    always: str = "",
) -> dict[str, list[float]]:
    """The times of each call, in about `budget` seconds; `always` is in every turn, however slow.

    Every call has run once before, in `first` seconds.
    """
    gc.collect()
    gc.disable()
    try:
        begin = time.perf_counter()
        hopeless = max(LONG, SLOW * min(first.values()))
        times = {
            name: _heat(call, first[name]) if name == always or first[name] < hopeless else [first[name]]
            for name, call in calls.items()
        }
        fastest = min(map(min, times.values()))
        racing = {
            name: call for name, call in calls.items() if name == always or min(times[name]) < SLOW * fastest
        }
        for turn in range(1, MOST):
            spent = time.perf_counter() - begin
            if spent > (budget if turn >= LEAST else 5 * budget):
                break
            for name in _rotated([*racing], turn):
                times[name] += _timed(racing[name], times[name][-1])
        return times
    finally:
        gc.enable()


def _rotated(names: Sequence[str], turn: int) -> Sequence[str]:
    """Nobody comes after the same one in every turn."""
    start = turn % len(names)
    return [*names[start:], *names[:start]]


def _heat(call: Callable[[], object], first: float) -> list[float]:
    """One time of a long call, some of a short one: what else runs may make any of them long."""
    return _timed(call, first) if first > LONG else [t for _ in range(LEAST) for t in _timed(call, first)]


def _timed(call: Callable[[], object], expected: float) -> list[float]:
    """The times of some calls in a row, or of one that is longer than the pause before."""
    time.sleep(PAUSE)
    if expected < SHORT:
        call()
    return [seconds(call) for _ in range(min(MOST_IN_A_ROW, max(1, int(PAUSE / max(expected, 1e-9)))))]
