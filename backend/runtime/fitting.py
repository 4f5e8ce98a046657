"""Versions of a kernel that take less memory, for calls whose tensors in between there is no room for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Generic, TypeVar

from tadc.frontend.diagnostics import CompileError
from tadc.frontend.forks import new_lock
from tadc.lattice.late_dataclasses import dataclass

if TYPE_CHECKING:
    from tadc.backend.runtime.workspace import Temporary

Kernel = TypeVar("Kernel")

MOST = 16
"""For so many sizes versions are kept."""


@dataclass(frozen=True)
class Fitted(Generic[Kernel]):
    """What was found for some sizes: a kernel that takes so many bytes, or none, and the fewest of all tried.

    Of those tried the one that takes the fewest stores `temporaries`, the largest for a `reason`; `helps` say
    what else was tried, and fits.
    """

    kernel: Kernel | None
    bytes: int
    temporaries: tuple[Temporary, ...] = ()
    reason: str = ""
    helps: tuple[str, ...] = ()


class Fitting(Generic[Kernel]):
    """What a kernel is for calls that it takes too much memory for.

    `make` looks for sizes and bytes that are free. What does not fit is not looked for again unless more is
    free.
    """

    def __init__(self) -> None:
        self.make: Callable[[Mapping[str, int], int], Fitted[Kernel]] | None = None
        self._found: dict[tuple[tuple[str, int], ...], list[Fitted[Kernel]]] = {}
        self._lock = new_lock()

    def at(self, sizes: Mapping[str, int], free: int) -> Fitted[Kernel] | None:
        """What fits into so many bytes, or why nothing does; None where nothing can be compiled."""
        if self.make is None:
            return None
        key = tuple(sizes.items())
        with self._lock:
            found = self._found.pop(key, [])
            self._found[key] = found
            while len(self._found) > MOST:
                self._found.pop(next(iter(self._found)))
            for known in found:
                if (known.kernel is not None) is (known.bytes <= free):
                    return known
            found[:] = [known for known in found if known.kernel is not None]
            try:
                found.append(self.make(sizes, free))
            except CompileError:
                # The call is refused for want of memory.
                return None
            return found[-1]
