"""The steps of compiling, told to those who listen: what takes the time, and what is done now.

Python's `logging` hears of them too, under the name `tadc`: of kernels at level INFO, of steps at DEBUG. What
`tadc.config(log=…)` or TADC_LOG asks for is written to stderr as well, whatever `logging` does.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, Protocol

from tadc.backend.environment import current

LOG = logging.getLogger("tadc")

_LEVELS = {"off": logging.CRITICAL + 1, "info": logging.INFO, "debug": logging.DEBUG}


class _Stderr(logging.Handler):
    """Writes to what is stderr at the moment: notebooks and tests put others in its place, and close them."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record, if there is something to write to."""
        with suppress(AttributeError, OSError, ValueError):
            sys.stderr.write(f"{self.format(record)}\n")
            sys.stderr.flush()


_stderr = _Stderr()
_stderr.setFormatter(logging.Formatter("%(relativeCreated)8.0f ms  tadc: %(message)s"))


def is_logged(level: int) -> bool:
    """Whether somebody wants to know of what has a level of Python's `logging`."""
    return LOG.isEnabledFor(level) or level >= _LEVELS[current("log")]


def log(level: int, text: str, *values: Any) -> None:
    """Tell those who want to know; the text is of the `%` kind."""
    if LOG.isEnabledFor(level):
        LOG.log(level, text, *values)
    if level >= _LEVELS[current("log")]:
        _stderr.handle(LOG.makeRecord(LOG.name, level, "", 0, text, values, None))


class Listener(Protocol):
    """Hears when a step begins and ends; steps nest."""

    def begin(self, name: str) -> None:
        """A step begins."""
        ...

    def end(self, name: str, seconds: float) -> None:
        """A step, the one that began last of those that have not ended, ends."""
        ...


_listeners: ContextVar[tuple[Listener, ...]] = ContextVar("listeners", default=())


@contextmanager
def listening(*listeners: Listener) -> Generator[None]:
    """Tell them of all steps inside the block, once."""
    listen(*listeners)
    try:
        yield
    finally:
        unlisten(*listeners)


def listen(*listeners: Listener) -> None:
    """Tell them of all steps in this context until `unlisten` has been told of each as often as this."""
    _listeners.set((*_listeners.get(), *listeners))


def unlisten(*listeners: Listener) -> None:
    """Undo `listen`, if this is the context of it: a generator may end in another than it began in."""
    for listener in listeners:
        found = _listeners.get()
        last = next((n for n in reversed(range(len(found))) if found[n] is listener), len(found))
        _listeners.set((*found[:last], *found[last + 1 :]))


def listens(kind: type) -> bool:
    """Whether a listener of this kind hears of the steps that are done now."""
    return any(isinstance(each, kind) for each in _listeners.get())


@contextmanager
def step(name: str) -> Generator[None]:
    """What the block does is a step of this name."""
    listeners = dict.fromkeys(_listeners.get())
    for listener in listeners:
        listener.begin(name)
    begin = time.perf_counter()
    try:
        yield
    finally:
        seconds = time.perf_counter() - begin
        for listener in reversed(listeners):
            listener.end(name, seconds)
        if is_logged(logging.DEBUG):
            log(logging.DEBUG, "%s: %.1f ms", name, 1e3 * seconds)
