"""Intervals of floats in the place of floats: they contain every value that code can compute."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tadc.apps.dual.numbers import Plain, TracedNumber
from tadc.apps.uncertainty.interval_rules import bounds_of
from tadc.toolkit.language import Bounds, down, up
from tadc.toolkit.reporting import ArgumentError, Diagnostic


def _undecided(what: str) -> ArgumentError:
    notes = ["over the intervals of the inputs both can happen"]
    helps = ["smaller uncertainties may decide it; methods `worst` and `mc` need no decision"]
    return ArgumentError([Diagnostic("TAD0907", f"{what} is not decided", notes=notes, helps=helps)])


class Interval(TracedNumber):
    """All numbers from `lo` to `hi`. What depends on a comparison that is not decided raises TAD0907."""

    __slots__ = ("hi", "lo")

    def __init__(self, lo: float, hi: float) -> None:
        self.lo = lo
        self.hi = hi

    @classmethod
    def around(cls, value: float, radius: float) -> Interval:
        """All numbers at most so far away."""
        return cls(value, value) if radius == 0 else cls(down(value - radius), up(value + radius))

    @classmethod
    def apply(cls, function: str, plain: Plain, *operands: Any) -> Interval:
        """The values of the function. Raises ArgumentError (TAD0908) where it has no bounds."""
        return cls(*bounds_of(function, *map(_bounds, operands)))

    @classmethod
    def extreme(cls, function: str, plain: Plain, *operands: Any) -> Interval:
        """`max` or `min` of several numbers."""
        pairs = [_bounds(x) for x in operands]
        return cls(plain(lo for lo, _ in pairs), plain(hi for _, hi in pairs))

    def test(self, plain: Plain) -> Any:
        """The test of both ends."""
        low, high = bool(plain(self.lo)), bool(plain(self.hi))
        if low != high:
            raise _undecided(f"`{plain.__name__}` of {self!r}")
        return low

    def __repr__(self) -> str:
        return f"[{self.lo:.6g}, {self.hi:.6g}]"

    def __eq__(self, other: object) -> bool:
        lo, hi = _bounds(other)
        if self.hi < lo or hi < self.lo:
            return False
        if self.lo == self.hi == lo == hi:
            return True
        raise _undecided(f"whether {self!r} equals {other!r}")

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: Any) -> bool:
        lo, hi = _bounds(other)
        if self.hi < lo:
            return True
        if self.lo >= hi:
            return False
        raise _undecided(f"whether {self!r} is below {other!r}")

    def __ge__(self, other: Any) -> bool:
        return not self < other

    def __gt__(self, other: Any) -> bool:
        lo, hi = _bounds(other)
        if self.lo > hi:
            return True
        if self.hi <= lo:
            return False
        raise _undecided(f"whether {self!r} is above {other!r}")

    def __le__(self, other: Any) -> bool:
        return not self > other

    def __bool__(self) -> bool:
        return self != 0.0

    def _whole(self, function: Callable[[float], int]) -> int:
        low, high = function(self.lo), function(self.hi)
        if low != high:
            raise _undecided(f"the whole number that {self!r} is rounded to")
        return low

    def __int__(self) -> int:
        return self._whole(int)

    def __trunc__(self) -> int:
        return self._whole(math.trunc)

    def __floor__(self) -> int:
        return self._whole(math.floor)

    def __ceil__(self) -> int:
        return self._whole(math.ceil)

    def __round__(self, digits: int | None = None) -> Any:
        if digits is not None:
            return Interval(round(self.lo, digits), round(self.hi, digits))
        return self._whole(round)

    def __float__(self) -> float:
        raise TypeError(
            "an interval cannot become a float. A function without bounds was called, or code that is not "
            "lifted: the method of an object, or an array of floats that was assigned to"
        )


def _bounds(x: Any) -> Bounds:
    if isinstance(x, Interval):
        return x.lo, x.hi
    near = float(x)
    return (near, near) if near == x else (down(near), up(near))
