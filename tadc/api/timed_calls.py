"""Which of two calls is faster, on a machine that does other things too."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from tadc.backend.runtime.thread_count import get_num_threads

Call = Callable[[], object]

BATCH = 5e-4
"""Calls are timed in a row until they take so many seconds: a clock is read in a part of a thousandth of
it."""

TURNS = 3
"""Both have so many turns at least: what else runs slows some of them, and the fastest counts."""


def clock() -> Callable[[], float]:
    """What tells the time of calls: of one thread its own, which other processes do not stretch."""
    return time.thread_time if get_num_threads() == 1 else time.perf_counter


def race(calls: Sequence[Call], seconds: float) -> list[float]:
    """The seconds of each call, the fastest of all turns, which they take one after the other for so many
    seconds."""
    now, end = clock(), time.perf_counter() + seconds
    with _no_collections():
        counts = [_in_a_row(call, now) for call in calls]
        fastest, turn = [math.inf] * len(calls), 0
        while turn < TURNS or time.perf_counter() < end:
            for number, call in enumerate(calls):
                begin = now()
                for _ in range(counts[number]):
                    call()
                fastest[number] = min(fastest[number], (now() - begin) / counts[number])
            turn += 1
    return fastest


def once(call: Call) -> float:
    """The seconds of a second call: the first one finds its data and its code asleep."""
    now = clock()
    call()
    begin = now()
    call()
    return now() - begin


def _in_a_row(call: Call, now: Callable[[], float]) -> int:
    return max(1, min(1000, math.ceil(BATCH / max(_time(call, now), 1e-7))))


def _time(call: Call, now: Callable[[], float]) -> float:
    begin = now()
    call()
    return now() - begin


@contextmanager
def _no_collections() -> Generator[None]:
    """Python's garbage collector waits meanwhile."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
