"""Those who watch calls of functions: `tadc.profile`, `tadc.debug_nans`, settings that hold for some calls.

A call asks whether there are any, and does nothing else where there are none. Code that frameworks call
without Python (`tadc/native/door.ll`) is told of it.
"""

from __future__ import annotations

import atexit
import functools
import inspect
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import partial
from typing import Any, ParamSpec, Protocol, Self, TypeVar, cast

from tadc.frontend.diagnostics import Diagnostic, UsageError
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


class NativeDoor(Protocol):
    """Machine code by which a framework calls kernels."""

    def watch(self, is_watched: bool) -> None:
        """Whether calls are to be shown to those who watch."""
        ...

    def wait(self) -> Sequence[BaseException]:
        """Wait for the calls that were begun; the errors that some of them ended with."""
        ...


#: Those of this process, each as often as blocks name it; those who came last are the outer ones.
WATCHERS: list[CallWatcher] = []
_for_good: list[CallWatcher] = []
_doors: list[NativeDoor] = []
_lock = new_lock()


def watch(*watchers: CallWatcher) -> None:
    """Let these watch all calls until `unwatch` has been told of each as often as this."""
    with _lock:
        WATCHERS.extend(watchers)
        _tell_doors()


def unwatch(*watchers: CallWatcher) -> None:
    """Undo `watch`."""
    with _lock:
        for watcher in watchers:
            place = next((n for n, each in enumerate(WATCHERS) if each is watcher), None)
            if place is None:
                problem = Diagnostic("TAD0510", "a block ends that has not begun", helps=["write `with`"])
                raise UsageError([problem])
            WATCHERS.pop(place)
        _tell_doors()


def watch_for_good(watcher: CallWatcher) -> None:
    """Let one watch all calls from now on."""
    with _lock:
        if watcher not in _for_good:
            _for_good.append(watcher)
            WATCHERS.append(watcher)
            _tell_doors()


def unwatch_for_good(watcher: CallWatcher) -> None:
    """Undo `watch_for_good`, if that was told of this one; blocks that name it go on."""
    with _lock:
        if watcher in _for_good:
            _for_good.remove(watcher)
            WATCHERS.remove(watcher)
            _tell_doors()


def add_door(door: NativeDoor) -> None:
    """Let those who watch see the calls of machine code, too."""
    with _lock:
        if not _doors:
            atexit.register(_close_doors)
        _doors.append(door)
        door.watch(bool(WATCHERS))


def _close_doors() -> None:
    """Let no thread of a library call Python while that ends: it would wait for ever, and others for it."""
    with _lock:
        doors = [*_doors]
        _doors.clear()
        for door in doors:
            door.watch(False)
    for door in doors:
        door.wait()


def _tell_doors() -> None:
    for door in _doors:
        door.watch(bool(WATCHERS))


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


P = ParamSpec("P")
R = TypeVar("R")


class CallBlock:
    """A `with` block that calls inside know of; also the decorator of functions that are run in such a block.

    It may be entered again, within itself, and by several threads at once. At its end it waits for the calls
    inside that JAX has not run yet.
    """

    def watchers(self) -> Sequence[CallWatcher]:
        """Who watches the calls inside."""
        return ()

    def begin(self) -> None:
        """The block begins."""

    def end(self, errors: Sequence[BaseException]) -> None:
        """The block has ended, maybe with an error of its own, or with those of calls that ran until then."""

    def __enter__(self) -> Self:
        self.begin()
        watch(*self.watchers())
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        watchers, errors = self.watchers(), [error] if error is not None else []
        try:
            late = [each for door in [*_doors] for each in door.wait()] if watchers else []
        except BaseException:  # Ctrl-C: the block ends all the same
            unwatch(*watchers)
            self.end(errors)
            raise
        unwatch(*watchers)
        self.end(errors or late)

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """The function, run in such a block; of a generator the block holds until its last element.

        Raises UsageError for what is no function, and for a generator that waits (`async def` with `yield`).
        """
        is_waiting = inspect.isasyncgenfunction(function)
        if not callable(function) or inspect.isclass(function) or is_waiting:
            what = "an asynchronous generator" if is_waiting else repr(function)
            helps = [
                "write `with` inside of it" if is_waiting else "put it above `def`, as `@tadc.profile()`"
            ]
            problem = Diagnostic("TAD0510", f"a block decorates a function, not {what}", helps=helps)
            raise UsageError([problem])
        inner = cast("Callable[..., Any]", function)

        async def awaited(*args: Any, **kwargs: Any) -> Any:
            with self:
                return await inner(*args, **kwargs)

        def yielding(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
            with self:
                return cast("Any", (yield from inner(*args, **kwargs)))

        def called(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            with self:
                return inner(*args, **kwargs)

        made: Any = called
        if inspect.iscoroutinefunction(function):
            made = awaited
        elif inspect.isgeneratorfunction(function):
            made = yielding
        return functools.wraps(function)(made)
