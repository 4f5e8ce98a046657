"""Powers and cube roots as LLVM IR text, for f32 and f64, free of branches.

`x**y = 2**(y log2 |x|)`, the logarithm in two parts: its error counts 1000-fold in the power.
"""

from __future__ import annotations

import math

from tadc.backend.functions import exponential
from tadc.backend.functions.float_formats import clamp, format_of
from tadc.backend.functions.logarithm import exponent_and_mantissa, normal
from tadc.backend.ir_text import IrFunction, IrValue
from tadc.lattice.late_dataclasses import dataclass


@dataclass(frozen=True)
class PowerConstants:
    """What powers need for one format. Pairs are a number in two parts, high and low."""

    first: tuple[float, float]
    third: tuple[float, float]
    rest: tuple[float, ...]


# log2((1 + s) / (1 - s)) = s (first + z (third + z rest(z))), z = s**2, |s| <= 0.1716
SINGLE = PowerConstants(
    first=(2.885390043258667, 3.851926067000022e-08),
    third=(0.9617967009544373, -7.028461812552678e-09),
    # 2**-36.8 of the logarithm
    rest=(0.5770801901817322, 0.41184988617897034, 0.3378220200538635),
)
DOUBLE = PowerConstants(
    first=(2.8853900817779268, 4.0710547481862066e-17),
    third=(0.9617966939259756, 5.0577616648125907e-17),
    # 2**-66.3
    rest=(
        0.577078016355618,
        0.4121985830919392,
        0.3205989022738758,
        0.2623077010830001,
        0.2219840003941956,
        0.19125508446135173,
        0.19038627080168496,
    ),
)

#: 1 / cbrt(m) for 1 <= m <= 2: 2**-11.9
CBRT = (1.5418859720230103, -0.8099579811096191, 0.31775543093681335, -0.049936506897211075)
#: 2**(-1/3), 2**(1/3)
CBRT_2 = (0.7937005259840998, 1.2599210498948732)

Pair = tuple[IrValue, IrValue]


def _sum(a: IrValue, b: IrValue) -> Pair:
    """`a + b` rounded and the rest, |a| >= |b| (Dekker 1971)."""
    total = a + b
    return total, a - total + b


def _product(f: IrFunction, a: Pair, b: Pair) -> Pair:
    """The product of numbers in two parts, which are not adjusted: the low part may overlap the high."""
    high = a[0] * b[0]
    return high, f.fma(a[0], b[1], f.fma(a[1], b[0], f.fma(a[0], b[0], -high)))


def _log2(f: IrFunction, a: IrValue) -> Pair:
    """log2 of a positive finite number in two parts."""
    c = SINGLE if f.type.bits == 32 else DOUBLE
    scaled, shift = normal(f, a)
    exponent, m = exponent_and_mantissa(f, scaled)
    k = exponent.convert("sitofp", f.type) + shift
    # s = (m - 1) / (m + 1); m + 1 loses a bit.
    numerator, denominator = m - 1.0, m + 1.0
    lost = m - (denominator - 1.0)
    inverse = f.constant(f.type, 1.0) / denominator
    s = numerator * inverse
    remainder = f.fma(-s, denominator, numerator) - s * lost
    s_pair = (s, remainder * inverse)
    z = _product(f, s_pair, s_pair)
    tail = z[0] * f.horner(z[0], c.rest)
    high, low = _sum(f.constant(f.type, c.third[0]), tail)
    high, low = _product(f, z, (high, low + c.third[1]))
    high, rest = _sum(f.constant(f.type, c.first[0]), high)
    high, low = _product(f, s_pair, (high, rest + (low + c.first[1])))
    total, rest = _sum(k, high)
    return total, rest + low


def power(f: IrFunction) -> IrValue:
    """Zeros, infinities, negative bases and NaN as C17, F.10.4.4."""
    x, y = f.arguments
    a = f.fabs(x)
    high, low = _log2(f, a)
    # The logarithm of 0 and of infinity; with a low part of 0 both parts of the product stay right.
    pole = f.select(a.compare("oeq", 0.0), -math.inf, high)
    high = f.select(a.compare("oeq", math.inf), math.inf, pole)
    product = y * high
    limits = exponential.constants(f).exp2_range
    within = f.fabs(product).compare("olt", 2.0 * limits[1])
    rest = f.fma(y, low, f.fma(y, high, -product))
    result = exponential.power_of_sum(f, clamp(f, product, *limits), f.select(within, rest, 0.0))
    return _power_edges(f, x, y, result)


def _power_edges(f: IrFunction, x: IrValue, y: IrValue, result: IrValue) -> IrValue:
    """The power of |x| made the power of x."""
    a, whole, half = f.fabs(x), f.trunc(y), y * 0.5
    # |x| = 1 has log 0, whose product with an infinite y is NaN.
    result = f.select(a.compare("oeq", 1.0), 1.0, result)
    odd = whole.compare("oeq", y) & f.trunc(half).compare("one", half)
    result = f.select(odd, f.copysign(result, x), result)
    complex = x.compare("olt", 0.0) & a.compare("one", math.inf) & whole.compare("one", y)
    result = f.select(complex | x.compare("uno", y), math.nan, result)
    return f.select(x.compare("oeq", 1.0) | y.compare("oeq", 0.0), 1.0, result)


def cbrt(f: IrFunction) -> IrValue:
    """`x = w 2**(3 q)`; from `r`, near `w**(-1/3)`, by a step of third order and one of second."""
    form = format_of(f)
    a = f.fabs(f.x)
    denormal = a.compare("olt", form.least_normal)
    steps = (form.mantissa + 3) // 3
    scaled = f.select(denormal, a * 2.0 ** (3 * steps), a)
    bits = scaled.bits
    exponent = bits.logical_shift(form.mantissa) - form.bias
    m = (bits - (exponent << form.mantissa)).as_float
    shifted = f.fma(exponent.convert("sitofp", f.type), 1 / 3, form.shifter)
    q = shifted.bits - form.shifter_bits
    remainder = exponent - (q + q + q)
    below, above = remainder.compare("slt", 0), remainder.compare("sgt", 0)
    w = (m.bits + (remainder << form.mantissa)).as_float
    r = f.horner(m, CBRT)
    factor = f.select(above, CBRT_2[0], f.select(below, CBRT_2[1], f.constant(f.type, 1.0)))
    r = r * factor
    h = f.fma(-(w * r), r * r, 1.0)
    r = f.fma(r * h, f.fma(h, 2 / 9, 1 / 3), r)
    root = w * r * r
    root = f.fma(f.fma(-(root * root), root, w), r * r * (1 / 3), root)
    shift = f.select(denormal, -steps, f.constant(q.type, 0))
    result = (root.bits + ((q + shift) << form.mantissa)).as_float
    unchanged = a.compare("oeq", 0.0) | a.compare("ueq", math.inf)
    return f.copysign(f.select(unchanged, a, result), f.x)
