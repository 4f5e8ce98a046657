"""Threads for maps, and for steps of recurrences, however small they are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import pytest

from tadc.backend import splitting
from tadc.backend.cpu import thread_pool as pool
from tadc.backend.cpu.linking import Library
from tadc.passes.schedule import thread_division as divided
from tadc.passes.schedule.cpu_machine import CpuMachine


@cache
def eager_pool() -> Library:
    """A pool to which no map is too small."""
    text = pool.pool_text()
    for name, value in (("least", 32768), ("least_part", 8192), ("least_to_wake", 262144)):
        line = f"@{name} = internal constant i64 {value}\n"
        assert line in text
        text = text.replace(line, f"@{name} = internal constant i64 1\n")
    return pool.start(text)


@contextmanager
def small_parts_of_maps() -> Iterator[None]:
    """That pool, and a lowering that divides all maps and steps, at any element."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool, "_pool", eager_pool())
        patch.setattr(CpuMachine, "dispatch", 0)
        patch.setattr(splitting, "LEAST_PART", 1)
        patch.setattr(divided, "MULTIPLE", 1)
        yield
