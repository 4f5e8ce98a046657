"""Limits on work: on one question about an index set, on all of a pass, and on all else that compiling does.

Elimination and its exact pruning can take time exponential in the number of variables. Work is counted in
entries of tableaus that change, so that the answer does not depend on the machine. Nor does it depend on what
was asked before: an answer that is kept is kept with its price, and who asks again is charged the same.
All else is charged as many entries as take as long.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from tadc.lattice.late_dataclasses import dataclass, field

LIMIT = 6_000_000
"""The most entries that one question may change: some seconds. Random programs of 6 indices stay below a
tenth of it."""


WHOLE = 100_000_000
"""The most entries for all questions of one pass over a program, and for what else all its passes do: about
a minute."""


class EliminationLimit(Exception):
    """A question about an index set takes too many rows or too much work."""


class WorkLimit(Exception):
    """All work on a program is too much; unlike one question, nobody goes on without the answer."""


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
    limit: type[Exception] = EliminationLimit
    paid: set[int] = field(default_factory=set[int])

    def spend(self, entries: int) -> None:
        self.left -= entries
        if self.left < 0:
            raise self.limit("too much work")

    def pay(self, price: Price) -> None:
        self.spend(price.entries + (0 if price.system in self.paid else price.first))
        self.paid.add(price.system)


_meters: ContextVar[tuple[_Meter, ...]] = ContextVar("meters", default=())
"""That of the pass first, then that of the question."""
_other: ContextVar[_Meter | None] = ContextVar("other", default=None)
"""That of all passes, for what is no question."""


@contextmanager
def _metered(*meters: _Meter) -> Generator[None]:
    token = _meters.set(meters)
    try:
        yield
    finally:
        _meters.reset(token)


def is_counted() -> bool:
    """Whether what is no question has a limit here."""
    return _other.get() is not None


@contextmanager
def counted() -> Generator[_Meter]:
    """All in this block that is no question shares a limit. Work beyond it raises WorkLimit."""
    meter = _Meter(WHOLE, WorkLimit)
    token = _other.set(meter)
    try:
        yield meter
    finally:
        _other.reset(token)


@contextmanager
def whole() -> Generator[None]:
    """All questions in this block share a limit beside their own. Work beyond it raises WorkLimit."""
    if _meters.get():
        yield
        return
    with _metered(_Meter(WHOLE, WorkLimit)):
        yield


@contextmanager
def limited(entries: int = LIMIT) -> Generator[None]:
    """Questions in this block share a limit, that of an enclosing block if there is one.

    Work beyond it raises EliminationLimit; what was asked is then as it was before.
    """
    outer = _meters.get()
    if any(meter.limit is EliminationLimit for meter in outer):
        yield
        return
    with _metered(*outer, _Meter(entries)):
        yield


@contextmanager
def apart(entries: int = LIMIT) -> Generator[_Meter]:
    """Work in this block has a limit of its own; what is kept of it is charged to all who use it."""
    meter = _Meter(entries)
    with _metered(meter):
        yield meter


def spend(entries: int) -> None:
    """Count work that is about to be done. Raises EliminationLimit or WorkLimit where a limit is reached."""
    for meter in _meters.get():
        meter.spend(entries)


def work(entries: int) -> None:
    """Count what is no question about an index set. Raises WorkLimit where all of it is too much."""
    meter = _other.get()
    if meter is not None:
        meter.spend(entries)


def pay(price: Price) -> None:
    """Count an answer, kept or not. Raises as `spend`."""
    for meter in _meters.get():
        meter.pay(price)
