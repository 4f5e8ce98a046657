"""Those who watch calls of functions: `tadc.profile`, `tadc.debug_nans`, settings that hold for some calls.

A call asks whether there are any, and does nothing else where there are none.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol

from tadc.frontend.forks import new_lock
from tadc.lattice.late_dataclasses import dataclass


@dataclass(frozen=True)
class WatchedCall:
    """A call of a `Function` or a `Compiled`: what is called, and what it is given."""

    called: Any
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    out: Any


class CallWatcher(Protocol):
    """Is asked to run each call, in any thread of the process."""

    def around(self, call: WatchedCall, run: Callable[[], Any]) -> Any:
        """What the call gives, which `run` does."""
        ...


#: Those of this process; those who came last are the outer ones.
WATCHERS: list[CallWatcher] = []
_lock = new_lock()


@contextmanager
def watching(*watchers: CallWatcher) -> Generator[None]:
    """Let these watch all calls inside the block."""
    with _lock:
        WATCHERS.extend(watchers)
    try:
        yield
    finally:
        with _lock:
            for watcher in watchers:
                WATCHERS.pop(next(n for n, each in enumerate(WATCHERS) if each is watcher))


def watched(call: WatchedCall, run: Callable[[], Any]) -> Any:
    """What a call gives while others watch it."""
    __tracebackhide__ = True
    for watcher in (*WATCHERS,):
        run = partial(watcher.around, call, run)
    return run()
