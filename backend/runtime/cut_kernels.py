"""The kernel for calls in which an index array has long fibres, which it cuts into parts for several threads.

Other calls run code that tests no fibre for its length. Which kernel a call runs depends on its index arrays
alone, so equal calls have the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from tadc.frontend.diagnostics import CompileError
from tadc.frontend.forks import new_lock

Kernel = TypeVar("Kernel")

LONG = 1 << 14
"""A fibre with fewer elements takes some ten microseconds: no thread waits long for that, and less than it
takes to compile anything. It has parts of `passes/rewrites/long_fibres.py` if it has so many."""


class Cutting(Generic[Kernel]):
    """What a kernel is for calls with long fibres, which `make` compiles at the first of them."""

    def __init__(self) -> None:
        self.make: Callable[[], Kernel] | None = None
        self._made: Kernel | None = None
        self._lock = new_lock()

    def kernel(self) -> Kernel | None:
        """The kernel that cuts; None where there is none."""
        with self._lock:
            if self._made is None and self.make is not None:
                try:
                    self._made = self.make()
                except CompileError:
                    # The kernel without parts computes the same.
                    self.make = None
        return self._made
