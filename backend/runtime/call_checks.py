"""What is looked at of a call before a kernel runs: one list for all ways into it.

Each way goes through the list with what it sees of arrays, which may be registers, and says by a number of
the list what is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tadc.backend.runtime.call_messages import said
from tadc.backend.runtime.parameters import Parameter
from tadc.frontend.diagnostics import Diagnostic


class CallCheck(NamedTuple):
    """Something that must hold, named by what is said where it does not: of an argument, or of one axis."""

    what: str
    argument: int | None = None
    axis: int = 0

    def problem(self, arguments: Sequence[Parameter]) -> Diagnostic:
        """What is said where nobody can look what a call gives."""
        if self.argument is None:
            return said(self.what)
        parameter = arguments[self.argument]
        return said(self.what, parameter, axis=self.axis, rank=len(parameter.shape))


SIZES, MEMORY, UNREAD = (CallCheck(what) for what in ("wrong sizes", "no memory", "not handed over"))
"""What is of no argument alone: they are first in each list."""

TYPE, RANK, EXTENT, INDEX = "wrong type", "wrong rank", "wrong extent", "wrong index"
"""What is of an argument."""


def checks_of(arguments: Sequence[Parameter]) -> tuple[CallCheck, ...]:
    """The list of a kernel: type and rank of each argument, then the extents of all, then the elements of
    index arrays."""
    found = [SIZES, MEMORY, UNREAD]
    for n in range(len(arguments)):
        found += [CallCheck(TYPE, n), CallCheck(RANK, n)]
    found += [CallCheck(EXTENT, n, axis) for n, p in enumerate(arguments) for axis in range(len(p.shape))]
    found += [CallCheck(INDEX, n) for n, p in enumerate(arguments) if p.below is not None]
    return tuple(found)
