"""Limits on work: on one question about an index set, and on all that a stage of the compiler asks.

Elimination and its exact pruning can take time exponential in the number of variables. Work is counted in
entries of tableaus that change, so that the answer does not depend on the machine. Nor does it depend on what
was asked before: an answer that is kept is kept with its price, and who asks again is charged the same.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

LIMIT = 6_000_000
"""The most entries that one question may change: some seconds. Random programs of 6 indices stay below a
tenth of it."""


class EliminationLimit(Exception):
    """A question about an index set takes too many rows or too much work."""


@dataclass(frozen=True)
class Price:
    """What a question costs: `entries`, and `first` where nothing was asked of this system before."""

    system: int
    first: int
    entries: int


@dataclass
class _Meter:
    """What is left, and the systems that have been paid for."""

    left: int
    paid: set[int] = field(default_factory=set[int])

    def spend(self, entries: int) -> None:
        self.left -= entries
        if self.left < 0:
            raise EliminationLimit("too much work")


_meter: ContextVar[_Meter | None] = ContextVar("meter", default=None)


@contextmanager
def _metered(meter: _Meter) -> Generator[_Meter]:
    token = _meter.set(meter)
    try:
        yield meter
    finally:
        _meter.reset(token)


@contextmanager
def limited(entries: int = LIMIT) -> Generator[None]:
    """Questions in this block share a limit, that of an enclosing block if there is one.

    Work beyond it raises EliminationLimit; what was asked is then as it was before.
    """
    if _meter.get() is not None:
        yield
        return
    with _metered(_Meter(entries)):
        yield


@contextmanager
def apart() -> Generator[_Meter]:
    """Work in this block has a limit of its own; what is kept of it is charged to all who use it."""
    with _metered(_Meter(LIMIT)) as meter:
        yield meter


def spend(entries: int) -> None:
    """Count work that is about to be done. Raises EliminationLimit where the limit does not allow it."""
    meter = _meter.get()
    if meter is not None:
        meter.spend(entries)


def pay(price: Price) -> None:
    """Count an answer, kept or not. Raises EliminationLimit as `spend`."""
    meter = _meter.get()
    if meter is not None:
        meter.spend(price.entries + (0 if price.system in meter.paid else price.first))
        meter.paid.add(price.system)
