"""Ctrl-C while native code works that does not look for it."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable
from contextvars import copy_context
from functools import cache
from typing import TypeVar

from tadc.frontend.forks import new_lock

T = TypeVar("T")

#: Room for the recursion of LLVM, as much as a main thread has.
STACK = 8 << 20

_stack_lock = new_lock()


def interruptible(work: Callable[[], T]) -> T:
    """Do work that releases the GIL; Ctrl-C raises KeyboardInterrupt at once, wherever the work is.

    Python runs handlers of signals in the main thread, when that gets to run Python: so it waits, and another
    thread does the work. One that is interrupted goes on to its end, for which nothing waits, not even the
    end of the process; it must not hold what the main thread needs. In another thread the work is just done.

    Raises what the work raises.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    results: list[T] = []
    problems: list[BaseException] = []

    def do() -> None:
        try:
            results.append(work())
        except BaseException as problem:
            problems.append(problem)

    thread = threading.Thread(target=copy_context().run, args=(do,), name="tadc-native", daemon=True)
    try:
        _start(thread)
    except RuntimeError:  # no more threads, or the process ends: Python 3.12 starts none in `atexit`
        return work()
    try:
        thread.join()
    except BaseException:
        _end_without_destructors()
        raise
    if problems:
        raise problems[0]
    return results[0]


@cache
def _end_without_destructors() -> None:
    """Let the process end, when Python has ended, without C++'s destructors: the work may still use what they
    destroy, and would crash.
    """
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None
    if hasattr(libc, "on_exit"):  # glibc
        # What is registered last is called first, with the exit code.
        libc.on_exit(libc._exit, None)
        libc.on_exit(libc.fcloseall, None)


def _start(thread: threading.Thread) -> None:
    """Start a thread with room of its own choice; other threads keep theirs."""
    with _stack_lock:
        before = threading.stack_size(STACK)
        try:
            thread.start()
        finally:
            threading.stack_size(before)
