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
    #: What runs in the place of what would run otherwise.
    instead: Callable[[], Any] | None = None


class CallWatcher(Protocol):
    """Is asked to run each call, in any thread of the process."""

    def around(self, call: WatchedCall, run: Callable[[WatchedCall], Any]) -> Any:
        """What the call gives, which `run` does, or another that is made of it."""
        ...


#: Those of this process, each as often as blocks name it; those who came last are the outer ones.
WATCHERS: list[CallWatcher] = []
_for_good: list[CallWatcher] = []
_lock = new_lock()


@contextmanager
def watching(*watchers: CallWatcher) -> Generator[None]:
    """Let these watch all calls inside the block."""
    watch(*watchers)
    try:
        yield
    finally:
        unwatch(*watchers)


def watch(*watchers: CallWatcher) -> None:
    """Let these watch all calls until `unwatch` has been told of each as often as this."""
    with _lock:
        WATCHERS.extend(watchers)


def unwatch(*watchers: CallWatcher) -> None:
    """Undo `watch`."""
    with _lock:
        for watcher in watchers:
            WATCHERS.pop(next(n for n, each in enumerate(WATCHERS) if each is watcher))


def watch_for_good(watcher: CallWatcher) -> None:
    """Let one watch all calls from now on."""
    with _lock:
        if watcher not in _for_good:
            _for_good.append(watcher)
            WATCHERS.append(watcher)


def watched(call: WatchedCall, run: Callable[[], Any]) -> Any:
    """What a call gives while others watch it."""
    __tracebackhide__ = True
    inner: Callable[[WatchedCall], Any] = partial(_run, run)
    for watcher in dict.fromkeys((*WATCHERS,)):
        inner = partial(watcher.around, run=inner)
    return inner(call)


def _run(run: Callable[[], Any], call: WatchedCall) -> Any:
    __tracebackhide__ = True
    return (call.instead or run)()
