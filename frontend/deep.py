"""Room for recursion over deep trees."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager

from tadc.frontend.forks import new_lock

#: Calls that `deep_recursion` makes room for. Since Python 3.11 a call from Python to
#: Python uses no C stack, so these cost heap only.
FRAMES = 60_000

_lock = new_lock()
_users = 0
_limit_outside = 0


@contextmanager
def deep_recursion() -> Generator[None]:
    """Allow `FRAMES` more nested calls inside the block; blocks nest, threads may overlap.

    The recursion limit belongs to the interpreter, not to a thread, so the last block
    that ends restores it.
    """
    global _users, _limit_outside
    with _lock:
        if _users == 0:
            _limit_outside = sys.getrecursionlimit()
            sys.setrecursionlimit(_limit_outside + FRAMES)
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                sys.setrecursionlimit(_limit_outside)
