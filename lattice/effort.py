"""A limit on the work of one question about an index set.

Elimination and its exact pruning can take time exponential in the number of variables. Work is counted in
entries of tableaus that change, so that the answer does not depend on the machine. Answers that are
known from before cost nothing: near the limit, a question that was refused may be answered later.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

LIMIT = 6_000_000
"""The most entries that one question may change: some seconds. Random programs of 6 indices stay below a
tenth of it."""


class EliminationLimit(Exception):
    """A question about an index set takes too many rows or too much work."""


_left: ContextVar[list[int] | None] = ContextVar("left", default=None)


@contextmanager
def limited(entries: int = LIMIT) -> Generator[None]:
    """Questions in this block share a limit, that of an enclosing block if there is one.

    Work beyond it raises EliminationLimit; what was asked is then as it was before.
    """
    if _left.get() is not None:
        yield
        return
    token = _left.set([entries])
    try:
        yield
    finally:
        _left.reset(token)


def spend(entries: int) -> None:
    """Count work that is about to be done. Raises EliminationLimit where the limit does not allow it."""
    left = _left.get()
    if left is not None:
        left[0] -= entries
        if left[0] < 0:
            raise EliminationLimit("too much work")
