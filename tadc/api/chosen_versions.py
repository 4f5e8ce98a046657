"""Versions of a function for sizes that are chosen beforehand, and not by the first calls.

Versions for the sizes of the first few calls have bits that depend on which calls came first. What is
computed block by block, by several processes, is to have the same bits whoever computes which block.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tadc.api.function import Function
from tadc.frontend.diagnostics import CompileError
from tadc.frontend.forks import new_rlock


class ChosenVersions:
    """A function for all sizes, and for values of some of them where calls with these do enough.

    The function is this one's own: its calls make no other versions.
    """

    def __init__(self, f: Function) -> None:
        self.whole = f
        self._made: dict[tuple[tuple[str, int], ...], Function] = {}
        self._lock = new_rlock()

    def at(self, chosen: Mapping[str, int]) -> Function:
        """The function for values of these sizes: all but those that only say where a block begins.

        It is the one for all sizes where none is given, and where a call does too little.
        """
        key = tuple(chosen.items())
        with self._lock:
            if key not in self._made:
                self._made[key] = self._version(chosen) if chosen else _alone(self.whole)
            return self._made[key]

    def _version(self, chosen: Mapping[str, int]) -> Function:
        if self.whole.program.index_arrays():  # these say how much a call does
            return self.at({})
        sizes = {**dict.fromkeys(self.whole.program.sizes, 0), **chosen}
        kernel: Any = self.whole.compiled().kernel
        if kernel.versions is None or not kernel.versions.is_worth(sizes):
            return self.at({})
        try:
            return _alone(self.whole.at(chosen))
        except CompileError:
            # The kernel for all sizes runs, and says what is wrong with the call.
            return self.at({})


def _alone(f: Function) -> Function:
    """A function whose calls make no versions."""
    kernel: Any = f.compiled().kernel
    if kernel.versions is not None:
        kernel.versions.make = None
    return f
