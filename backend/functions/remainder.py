"""The remainder of a division (C's `fmod`) as LLVM IR text, exact, for f32 and f64 and for vectors."""

from __future__ import annotations

import math

from tadc.backend.functions import branches
from tadc.backend.functions.float_formats import format_of, scale_by_factors
from tadc.backend.ir_text import F32, F64, IrFunction, IrValue, Type

FUNCTIONS: tuple[str, ...] = ("fmod",)

I64 = Type(False, 64)


def define(function: str, type: Type, name: str) -> str:
    """The text for a float or a vector.

    While the quotient has no more bits than the mantissa, `x - trunc(x / y) y` is exact; the
    quotient may have been rounded up to an integer, then the remainder is below 0.
    """
    f = IrFunction(name, type, 2)
    x, y = f.arguments
    a, b = f.fabs(x), f.fabs(y)
    quotient = a / b
    rest = f.fma(-f.trunc(quotient), b, a)
    rest = f.select(rest.compare("olt", 0.0), rest + b, rest)
    # 0 times an infinite y is NaN.
    rest = f.select(b.compare("oeq", math.inf) & a.compare("one", math.inf), a, rest)
    huge = quotient.compare("oge", 2.0 ** format_of(f).mantissa)
    return branches.define(f, function, f.copysign(rest, x), huge)


def define_huge(function: str, type: Type) -> str:
    """The text for quotients of more bits than the mantissa: a division of integers, 11 bits at a time."""
    f = IrFunction(branches.symbol(function, type, "_huge"), type, 2, attributes=branches.COLD)
    x, y = f.arguments
    if type == F32:
        wide = (v.convert("fpext", F64) for v in (x, y))
        return f.define(f.call(branches.symbol(function, F64), F64, *wide).convert("fptrunc", F32))
    (exponent, mantissa), (least, divisor) = _parts(f, f.fabs(x)), _parts(f, f.fabs(y))
    # LLVM says nothing of a division by 0; the result is NaN then.
    divisor = f.select(divisor.compare("eq", 0), f.constant(I64, 1), divisor)
    bits = exponent - least
    f.lines += [
        "  br label %loop",
        "loop:",
        f"  %left = phi i64 [ {bits.name}, %0 ], [ %less, %loop ]",
        f"  %before = phi i64 [ {mantissa.name}, %0 ], [ %rest, %loop ]",
        "  %few = icmp slt i64 %left, 11",
        "  %step = select i1 %few, i64 %left, i64 11",
        "  %shifted = shl i64 %before, %step",
        f"  %rest = urem i64 %shifted, {divisor.name}",
        "  %less = sub i64 %left, %step",
        "  %more = icmp sgt i64 %less, 0",
        "  br i1 %more, label %loop, label %done",
        "done:",
    ]
    whole = IrValue(f, "%rest", I64).convert("uitofp", F64)
    rest = scale_by_factors(f, whole, least - 1075 + format_of(f).scaling)
    real = f.fabs(x).compare("one", math.inf) & f.fabs(y).compare("one", 0.0)
    return f.define(f.select(real, f.copysign(rest, x), math.nan))


def _parts(f: IrFunction, a: IrValue) -> tuple[IrValue, IrValue]:
    """The biased exponent, at least 1, and the mantissa as an integer, of a number that is not negative."""
    exponent = a.bits.logical_shift(52)
    denormal = exponent.compare("eq", 0)
    fraction = a.bits & ((1 << 52) - 1)
    exponent = f.select(denormal, f.constant(I64, 1), exponent)
    return exponent, f.select(denormal, fraction, fraction | (1 << 52))
