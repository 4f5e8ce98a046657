"""The steps of compiling, told to those who listen: what takes the time, and what is done now.

Python's `logging` hears of them too, under the name `tadc`: of kernels at level INFO, of steps at DEBUG.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

LOG = logging.getLogger("tadc")


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
    """Tell them of all steps inside the block."""
    token = _listeners.set((*_listeners.get(), *listeners))
    try:
        yield
    finally:
        _listeners.reset(token)


def listens(kind: type) -> bool:
    """Whether a listener of this kind hears of the steps that are done now."""
    return any(isinstance(each, kind) for each in _listeners.get())


@contextmanager
def step(name: str) -> Generator[None]:
    """What the block does is a step of this name."""
    listeners = _listeners.get()
    for listener in listeners:
        listener.begin(name)
    begin = time.perf_counter()
    try:
        yield
    finally:
        seconds = time.perf_counter() - begin
        for listener in reversed(listeners):
            listener.end(name, seconds)
        if LOG.isEnabledFor(logging.DEBUG):
            LOG.debug("%s: %.1f ms", name, 1e3 * seconds)
