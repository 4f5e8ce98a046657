"""Rounding outwards, so that intervals of floats hold exact results.

The four operations and the square root are correctly rounded, so one step outwards holds the exact result.
Functions of the C library err by at most 4 units in the last place (glibc manual, "Known Maximum Errors in
Math Functions"), so their results are widened by that.
"""

from __future__ import annotations

import math

from tadc.frontend.diagnostics import ArgumentError, Diagnostic

Bounds = tuple[float, float]

#: How far results of the C library are widened, in units in the last place.
LIBRARY = 4


def down(x: float, steps: int = 1) -> float:
    """A float below."""
    for _ in range(steps):
        x = math.nextafter(x, -math.inf)
    return x


def up(x: float, steps: int = 1) -> float:
    """A float above."""
    return -down(-x, steps)


def lower(x: float, steps: int) -> float:
    """A float below, unless there is none."""
    return x if x == -math.inf else down(x, steps)


def upper(x: float, steps: int) -> float:
    """A float above, unless there is none."""
    return x if x == math.inf else up(x, steps)


def no_bound(function: str, *operands: Bounds) -> ArgumentError:
    """The error where a function is not defined on all of an interval."""
    of = ", ".join(f"[{lo:.6g}, {hi:.6g}]" for lo, hi in operands)
    notes = ["it is not defined, or has no bound, somewhere in there"]
    return ArgumentError([Diagnostic("TAD0908", f"`{function}` of {of} has no bounds", notes=notes)])
