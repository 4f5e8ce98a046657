"""How many threads a call of a kernel may use.

Results do not depend on it: an element is computed whole by one thread, in an order of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from time import monotonic
from typing import Any

from tadc.backend.environment import (
    OPTIONS,
    choose_for_process,
    current,
    for_process,
    settings_of_blocks,
    whole_number,
)
from tadc.frontend.diagnostics import ArgumentError, Diagnostic
from tadc.frontend.forks import new_lock

VARIABLE = OPTIONS["threads"].variable
MOST = 1024

#: The symbol of what calls a function on ranges, from several threads.
PARALLEL = "tadc_parallel"

#: What is told of a new number: the pool, once there is one.
_listeners: list[Callable[[int], None]] = []
#: How many are within `sharing_threads`; the most of late, and when that was.
_sharers, _most, _since = 0, 0, 0.0
_lock = new_lock()

LATELY = 0.1
"""Who was within `sharing_threads` so many seconds ago is expected again: a task follows another."""


def get_num_threads() -> int:
    """How many threads a call may use, the caller's one of them.

    What `tadc.config(threads=…)` says here, or `set_num_threads` for the process; at first what the
    environment variable TADC_NUM_THREADS says, or as many as there are processors that this process may run
    on.

    Raises:
        ArgumentError: TAD0509, the variable is no such number.

    >>> import tadc
    >>> tadc.get_num_threads() >= 1
    True
    """
    return _number(current("threads"))


def _number(chosen: int | str | None) -> int:
    """The number that was chosen, or that a text of the environment says."""
    if isinstance(chosen, int):
        return chosen
    text = (chosen or "").strip()
    if not text:
        return min(_processors(), MOST)
    if text.isascii() and text.isdecimal() and len(text) < 9 and 1 <= int(text) <= MOST:
        return int(text)
    help = f"write `{VARIABLE}=2`, or leave it unset for all processors"
    raise _wrong(f"`{VARIABLE}={text}`", help)


def set_num_threads(count: int) -> None:
    """Let further calls use so many threads, in all Python threads; 1 is the caller's alone.

    Raises:
        ArgumentError: TAD0509, no integer from 1 to 1024.

    >>> import tadc
    >>> before = tadc.get_num_threads()
    >>> tadc.set_num_threads(1)
    >>> tadc.get_num_threads()
    1
    >>> tadc.set_num_threads(before)
    """
    number = checked_threads(count)
    choose_for_process({"threads": number})
    _tell_all(number)


def checked_threads(count: Any) -> int:
    """A number of threads. Raises ArgumentError (TAD0509) for what is none."""
    number = whole_number(count)
    if number is None:
        raise _wrong(f"`{count!r}`, of type {type(count).__name__},", "pass an integer")
    if not 1 <= number <= MOST:
        raise _wrong(f"`{number}`", "`tadc.set_num_threads(1)` uses the caller's thread alone")
    return number


@contextmanager
def sharing_threads() -> Generator[None]:
    """Let a call be one of several at a time: all that are in here have as many threads as one has alone,
    or each has those that a block says, though it may be the thread of a library that calls.

    A process that others started, as the workers of Dask, has one, for it does not know of its likes; unless
    the environment says how many.
    """
    _count_sharer(1)
    try:
        with settings_of_blocks():
            yield
    finally:
        _count_sharer(-1)


def _count_sharer(change: int) -> None:
    global _sharers, _most, _since
    with _lock:
        _sharers += change
        now = monotonic()
        if _sharers >= _most or now - _since > LATELY:
            _most, _since = _sharers, now
        threads = _number(for_process("threads"))
        if _sharers and _is_worker() and not os.environ.get(VARIABLE):
            threads = 1
        _tell_all(max(1, threads // max(1, _most)) if _sharers else threads)


def _is_worker() -> bool:
    """Whether another process of Python started this one."""
    from multiprocessing import parent_process

    return parent_process() is not None


def _tell_all(number: int) -> None:
    for listener in _listeners:
        listener(number)


def tell(listener: Callable[[int], None]) -> None:
    """Call this with the number of threads, now and when it changes."""
    _listeners.append(listener)
    listener(_number(for_process("threads")))


def _processors() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        return os.cpu_count() or 1


def _wrong(what: str, help: str) -> ArgumentError:
    message = f"{what} is no number of threads"
    note = f"it is an integer from 1 to {MOST}"
    return ArgumentError([Diagnostic("TAD0509", message, notes=[note], helps=[help])])
