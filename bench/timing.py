"""The time of a call."""

from __future__ import annotations

import time
from collections.abc import Callable


def seconds(work: Callable[[], object]) -> float:
    """The time of one call."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin
