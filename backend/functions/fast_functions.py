"""Cheaper exponential and hyperbolic tangent for `--fast-math`, as LLVM IR text, for f32 and f64.

Errors stay below 4 units in the last place. Results that would be denormal, and those twice as large,
are 0. Zeros keep their signs; infinities and NaN come out right.
"""

from __future__ import annotations

from tadc.backend.functions import exponential
from tadc.backend.functions.float_formats import clamp, format_of
from tadc.backend.ir_text import IrFunction, IrValue

#: 2 e**r for |r| <= ln(2)/2: 2**-23.2, 2**-51.6
TWICE_EXP = {
    32: (2.0, 2.0, 0.999984622001648, 0.33334237337112427, 0.0837804451584816, 0.016624201089143753),
    64: (
        2.0,
        2.0,
        0.9999999999999661,
        0.3333333333322283,
        0.08333333333630184,
        0.016666666741880942,
        0.0027777777024508253,
        0.0003968237026209187,
        4.960387183892483e-05,
        5.527007776715168e-06,
        5.495056931867107e-07,
    ),
}

#: Where `2**(k - 1)` is 0 or normal.
RANGE = {32: (-87.3, 89.0), 64: (-708.3, 710.0)}

#: tanh(x) = x P(x**2) / Q(x**2) for |x| <= 9 in f32 (Eigen, MathFunctionsImpl.h)
TANH_P = (
    4.89352455891786e-03,
    6.37261928875436e-04,
    1.48572235717979e-05,
    5.12229709037114e-08,
    -8.60467152213735e-11,
    2.00018790482477e-13,
    -2.76076847742355e-16,
)
TANH_Q = (4.89352518554385e-03, 2.26843463243900e-03, 1.18534705686654e-04, 1.19825839466702e-06)


def exp(f: IrFunction) -> IrValue:
    """`2**(k - 1) 2 e**r`, multiplied once; the factor is 0 for the k one below the least."""
    k, r, _ = exponential.reduce(f, clamp(f, f.x, *RANGE[f.type.bits]), format_of(f).bias - 1)
    return f.horner(r, TWICE_EXP[f.type.bits]) * k.power_of_two(f, -1)


def tanh(f: IrFunction) -> IrValue:
    """A quotient of polynomials in f32; in f64 `t / (t + 2)` with `t = e**(2 |x|) - 1`."""
    if f.type.bits == 32:
        x = clamp(f, f.x, -9.0, 9.0)
        z = x * x
        return clamp(f, x * (f.horner(z, TANH_P) / f.horner(z, TANH_Q)), -1.0, 1.0)
    a = f.fabs(f.x)
    a = f.select(a.compare("ogt", 22.0), 22.0, a)
    k, r, _ = exponential.reduce(f, a + a, format_of(f).bias)
    p = f.muladd(r * r, f.horner(r, exponential.DOUBLE.exp), r)
    s = k.power_of_two(f)
    t = f.fma(s, p, s - 1.0)
    return f.copysign(t / (t + 2.0), f.x)
