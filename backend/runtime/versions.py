"""Versions of a kernel for the sizes of its calls.

A kernel for all sizes is planned without knowing which loops are long. Where a call does so much that this
costs more than compiling, the kernel is compiled again for the sizes of that call, and calls with these
sizes run that version. Which calls have one depends on nothing but the number of their operations and the
sizes before: the first few that are worth it, so equal calls have the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

from tadc.backend.environment import current
from tadc.frontend.diagnostics import CompileError
from tadc.frontend.forks import new_lock

if TYPE_CHECKING:
    from tadc.lattice.amounts import Counted

Kernel = TypeVar("Kernel")

WORTH, WORTH_ON_GPU = 1 << 20, 1 << 16
"""A call of fewer operations takes a fraction of a millisecond for all sizes too, and a GPU some launches."""


class Versions(Generic[Kernel]):
    """What a kernel for all sizes is for some of them.

    `work` are the operations of its maps, over its sizes; `make` compiles for sizes, and may raise
    CompileError: then there is no version of these. A call of `worth` operations is worth one.
    """

    def __init__(self, work: Sequence[Counted], count: int | None = None, worth: int = WORTH) -> None:
        self.work, self.worth = work, worth
        self.make: Callable[[Mapping[str, int]], Kernel] | None = None
        self.count = count
        self._made: dict[tuple[int, ...], Kernel | None] = {}
        self._lock = new_lock()

    @property
    def most(self) -> int:
        """How many there are at most; what is chosen here where nothing was given."""
        return current("versions") if self.count is None else self.count

    def is_worth(self, sizes: Mapping[str, int]) -> bool:
        """Whether a call with these sizes does enough for a version, and there may be any."""
        return sum(counted.at(sizes) for counted in self.work) >= self.worth and self.most > 0

    def at(self, sizes: Mapping[str, int], always: bool = False) -> Kernel | None:
        """The version for these sizes, compiled if it is the first time; None for a call that has none.

        There is one `always`, or of the first few calls that are worth it.
        """
        if self.make is None:
            return None
        if not always and not self.is_worth(sizes):
            return None
        key = tuple(sizes.values())
        with self._lock:
            if key not in self._made and (always or len(self._made) < self.most):
                try:
                    self._made[key] = self.make(sizes)
                except CompileError:
                    # The kernel for all sizes runs, and says what is wrong with the call.
                    self._made[key] = None
            return self._made.get(key)
