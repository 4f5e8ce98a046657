"""Times of several calls, taken in turns: what else runs on the machine then slows all of them alike."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping

from bench.timing import seconds

#: Calls in turns until the time is up, but so often at least and at most.
LEAST, MOST = 3, 100
#: A call so many times slower than the fastest is timed once: nobody asks how far behind it is.
SLOW = 5
#: Threads of a library may spin for a while after its call.
PAUSE = 0.003
#: A call shorter than this comes after one that is not timed, to find its data and its threads awake.
SHORT = 0.005


def interleaved(
    calls: Mapping[str, Callable[[], object]], budget: float, always: str = ""
) -> dict[str, list[float]]:
    """The times of each call, in about `budget` seconds; `always` is in every turn, however slow.

    Every call has run once before.
    """
    gc.collect()
    gc.disable()
    try:
        begin = time.perf_counter()
        times = {name: [_timed(call)] for name, call in calls.items()}
        fastest = min(first for (first,) in times.values())
        racing = {
            name: call
            for name, call in calls.items()
            if name == always or times[name][0] < SLOW * fastest
        }
        turns = 1
        while turns < LEAST or (turns < MOST and time.perf_counter() - begin < budget):
            for name, call in racing.items():
                times[name].append(_timed(call, times[name][-1]))
            turns += 1
        return times
    finally:
        gc.enable()


def _timed(call: Callable[[], object], expected: float = 1.0) -> float:
    time.sleep(PAUSE)
    if expected < SHORT:
        call()
    return seconds(call)
