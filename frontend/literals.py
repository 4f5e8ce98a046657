"""Values of literals, and arithmetic on them as their element type does it."""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable, Sequence

from tadc.frontend.dtypes import COMPUTING, DTYPES

Number = int | float

#: What is computed of literals: arithmetic is exact but for its last rounding.
_FUNCTIONS: dict[str, Callable[..., float]] = {
    **{name: getattr(operator, name) for name in ("add", "sub", "mul", "neg")},
    "div": getattr(operator, "truediv"),
    "abs": math.fabs,
    "pow": math.pow,
    "sqrt": math.sqrt,
    "exp": math.exp,
    "log": math.log,
}


def literal(value: Number, type: str) -> Number:
    """The literal of a value in a type, as a person writes it.

    Integral ones are ints, but for -0; those of f32 have no more digits than they need.
    """
    if isinstance(value, int):
        return value
    if value.is_integer() and abs(value) < 2**53 and (value or math.copysign(1, value) > 0):
        return int(value)
    for digits in range(1, 10):
        short = float(f"{value:.{digits}g}")
        if abs(short) < DTYPES[COMPUTING[type]].greatest and _rounded(short, type) == _rounded(value, type):
            return short
    return value


def computed(function: str, operands: Sequence[Number], type: str) -> Number | None:
    """A function of literals in a type, rounded to it; None where it is not finite or not known here."""
    if function not in _FUNCTIONS:
        return None
    try:
        value = float(_FUNCTIONS[function](*(_rounded(float(x), type) for x in operands)))
        value = _rounded(value, type)
    except (ArithmeticError, ValueError):
        return None
    return literal(value, type) if math.isfinite(value) else None


def _rounded(value: float, type: str) -> float:
    """Raises OverflowError for what is too large."""
    packed = DTYPES[COMPUTING[type]].packed
    return struct.unpack(packed, struct.pack(packed, value))[0]
