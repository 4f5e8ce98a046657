"""`x * y + z`, rounded once, for processors without an instruction for it and without a libm.

f32 in f64: the product is exact there, and a second rounding is seen in one of 2**29 cases. f64 by the exact
product of two numbers (T. J. Dekker, Numerische Mathematik 18, 1971) and the exact sum (D. E. Knuth, TAOCP 2,
4.2.2): the result is within 2**-104 of the rounded one, but where it is denormal or the product overflows,
which is rounded twice.
"""

from __future__ import annotations

import math

from tadc.backend.ir_text import F64, IrFunction, IrValue, Type

#: Splits a number of 53 bits into two of 26.
_SPLIT = 2.0**27 + 1


def fma(f: IrFunction) -> IrValue:
    """The function."""
    x, y, z = f.arguments
    if f.type.bits == 32:
        wide = Type(True, F64.bits, f.type.lanes)
        a, b, c = (value.convert("fpext", wide) for value in (x, y, z))
        return (a * b + c).convert("fptrunc", f.type)
    product = x * y
    (x_high, x_low), (y_high, y_low) = _halves(x), _halves(y)
    lost = x_high * y_high - product + x_high * y_low + x_low * y_high + x_low * y_low
    total = product + z
    other = total - product
    rounded = product - (total - other) + (z - other)
    result = total + (lost + rounded)
    # An infinity, and what overflows where numbers are split, makes a NaN of what was lost.
    return f.select(f.fabs(result).compare("olt", math.inf), result, total)


def _halves(x: IrValue) -> tuple[IrValue, IrValue]:
    """Two numbers of half as many bits, which add up to one."""
    scaled = x * _SPLIT
    high = scaled - (scaled - x)
    return high, x - high
