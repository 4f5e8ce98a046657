"""Fewer collections of garbage while a program is compiled.

Terms and maps are many objects, most of which live to the end of a stage: Python looks for cycles among them
again and again, which takes a sixth of the time. What it collects later in this way is some megabytes.
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager

from tadc.frontend.forks import new_lock

NEW_OBJECTS = 10_000
"""The objects that are made between collections, or more where the process wants so."""

_lock = new_lock()
_inside = 0
_before = gc.get_threshold()


@contextmanager
def fewer_collections() -> Generator[None]:
    """Collect garbage less often in this block; it is as before when the last of all threads leaves."""
    global _inside, _before
    with _lock:
        _inside += 1
        if _inside == 1:
            _before = gc.get_threshold()
            if 0 < _before[0] < NEW_OBJECTS:
                gc.set_threshold(NEW_OBJECTS, *_before[1:])
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside:
                gc.set_threshold(*_before)
