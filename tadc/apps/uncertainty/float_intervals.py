"""Intervals of floats in the place of floats: they contain every value that code can compute."""

from __future__ import annotations

from typing import Any

from tadc.apps.dual.numbers import Plain, TracedNumber
from tadc.apps.uncertainty.interval_rules import bounds_of, decided
from tadc.toolkit.language import Bounds, down, up
from tadc.toolkit.reporting import ArgumentError, Diagnostic

#: What is asked by a relation, or by its opposite.
_SAID = {"=": "equals", "!=": "equals", "<": "is below", ">=": "is below", ">": "is above", "<=": "is above"}


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
    def apply(cls, function: str, plain: Plain, *operands: Any) -> Interval:
        """The values of the function. Raises ArgumentError (TAD0908) where it has no bounds."""
        return cls(*bounds_of(function, *map(_bounds, operands)))

    @classmethod
    def extreme(cls, function: str, plain: Plain, *operands: Any) -> Interval:
        """`max` or `min` of several numbers."""
        pairs = [_bounds(x) for x in operands]
        return cls(plain(lo for lo, _ in pairs), plain(hi for _, hi in pairs))

    def test(self, plain: Plain, what: str = "") -> Any:
        """The test of both ends."""
        low, high = plain(self.lo), plain(self.hi)
        if low != high:
            raise _undecided(what or f"`{plain.__name__}` of {self!r}")
        return low

    def compare(self, relation: str, other: Any) -> bool:
        """The relation of all numbers in it and in the other."""
        holds = decided(relation, (self.lo, self.hi), _bounds(other))
        if holds is None:
            raise _undecided(f"whether {self!r} {_SAID[relation]} {other!r}")
        return holds

    def __repr__(self) -> str:
        return f"[{self.lo:.6g}, {self.hi:.6g}]"

    def __round__(self, digits: int | None = None) -> Any:
        if digits is not None:
            return Interval(round(self.lo, digits), round(self.hi, digits))
        return self.test(round, f"the whole number that {self!r} is rounded to")

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
