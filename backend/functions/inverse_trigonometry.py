"""Inverse trigonometric functions as LLVM IR text, for f32 and f64, free of branches."""

from __future__ import annotations

import math

from tadc.backend.ir_text import IrFunction, IrValue

#: (asin(s) - s) / s**3 in s**2 for |s| <= 1/2: 2**-27.6, 2**-55.9
ASIN = {
    32: (
        0.16666752099990845,
        0.074953094124794,
        0.04546914994716644,
        0.024184783920645714,
        0.042158279567956924,
    ),
    64: (
        0.16666666666665408,
        0.07500000000337147,
        0.044642856828203716,
        0.030381959142638595,
        0.022371757903922356,
        0.01735970710703712,
        0.013885211158629241,
        0.012169378083793416,
        0.006527227954210161,
        0.019530381512881206,
        -0.016227680667604605,
        0.0319146900868689,
    ),
}

#: (atan(t) - t) / t**3 in t**2 for |t| <= 1/2: 2**-27.5, 2**-57.8
ATAN = {
    32: (
        -0.3333323299884796,
        0.19994167983531952,
        -0.1417420506477356,
        0.1015571802854538,
        -0.05124785378575325,
    ),
    64: (
        -0.3333333333333298,
        0.19999999999903112,
        -0.14285714276385902,
        0.11111110659625512,
        -0.09090896244180552,
        0.07692073900049287,
        -0.06663810457633569,
        0.05858297666044964,
        -0.05121999623742885,
        0.04186485633315196,
        -0.02743463183407532,
        0.010116615067800067,
    ),
}

#: pi/2 and pi/4 in two parts; three times the high part of pi/4 is exact.
HALF_PI = {32: (1.5707963705062866, -4.371138828673793e-08), 64: (1.5707963267948966, 6.123233995736766e-17)}
QUARTER_PI = {
    32: (0.785398006439209, 1.5695823663008923e-07),
    64: (0.7853981633974483, 3.061616997868383e-17),
}


def _arcsine_parts(f: IrFunction) -> tuple[IrValue, IrValue, IrValue, IrValue]:
    """`a = |x|`, whether it is below 1/2, and s, p with `s + p` the arcsine of s.

    s is a, or beyond 1/2 the sine of half the angle to the pole, `sqrt((1 - a) / 2)`.
    """
    a = f.fabs(f.x)
    small = a.compare("olt", 0.5)
    z = f.select(small, a * a, f.fma(a, -0.5, 0.5))
    s = f.select(small, a, f.sqrt(z))
    return a, small, s, s * z * f.horner(z, ASIN[f.type.bits])


def asin(f: IrFunction) -> IrValue:
    """`pi/2 - 2 asin(s)` near the poles."""
    _, small, s, p = _arcsine_parts(f)
    high, low = HALF_PI[f.type.bits]
    twice = s + s
    difference = f.constant(f.type, high) - twice
    lost = f.constant(f.type, high) - difference - twice
    beyond = difference + (lost + low - (p + p))
    return f.copysign(f.select(small, s + p, beyond), f.x)


def acos(f: IrFunction) -> IrValue:
    """`pi/2 - asin(x)`; near the poles `2 asin(s)` and `pi - 2 asin(s)`."""
    _, small, s, p = _arcsine_parts(f)
    high, low = HALF_PI[f.type.bits]
    negative = f.x.compare("olt", 0.0)
    one, two = f.constant(f.type, 1.0), f.constant(f.type, 2.0)
    quarters = f.select(small, one, f.select(negative, two, 0.0))
    factor = f.select(small, one, two)
    factor = f.select(negative, -factor, factor)
    # Below 1/2 the angle is pi/2 less what has the sign of x, beyond it is that, or pi less it.
    factor = f.select(small, factor, -factor)
    s, p = s * factor, p * factor
    base = quarters * high
    total = base - s
    return total + (base - total - s + f.fma(quarters, low, -p))


def _arctangent(f: IrFunction, small: IrValue, large: IrValue, quarters: IrValue, flip: IrValue) -> IrValue:
    """`quarters pi/4 + atan(small / large)` for `0 <= small <= large`; less it where `flip` holds.

    Beyond 1/2 the quotient is `(small - large) / (small + large)`, from pi/4.
    """
    beyond = small.compare("ogt", large * 0.5)
    one = f.constant(f.type, 1.0)
    t = f.select(beyond, small - large, small) / f.select(beyond, small + large, large)
    z = t * t
    p = f.muladd(t * z, f.horner(z, ATAN[f.type.bits]), t)
    high, low = QUARTER_PI[f.type.bits]
    step = f.select(beyond, one, 0.0)
    quarters = quarters + f.select(flip, -step, step)
    p = f.fma(quarters, low, f.select(flip, -p, p))
    return f.fma(quarters, high, p)


def atan(f: IrFunction) -> IrValue:
    """Beyond 1 it is `pi/2 - atan(1 / x)`."""
    a = f.fabs(f.x)
    one, two = f.constant(f.type, 1.0), f.constant(f.type, 2.0)
    inverted = a.compare("ogt", 1.0)
    small, large = f.select(inverted, one, a), f.select(inverted, a, one)
    quarters = f.select(inverted, two, 0.0)
    return f.copysign(_arctangent(f, small, large, quarters, inverted), f.x)


def atan2(f: IrFunction) -> IrValue:
    """The angle of the point `(x, y)`, y first; signed zeros and infinities as C17, F.10.1.4."""
    y, x = f.arguments
    ax, ay = f.fabs(x), f.fabs(y)
    one, two = f.constant(f.type, 1.0), f.constant(f.type, 2.0)
    steep = ay.compare("ogt", ax)
    small, large = f.select(steep, ax, ay), f.select(steep, ay, ax)
    # Equal infinities are as equal as ones. A sum of halves cannot overflow.
    infinite = small.compare("oeq", math.inf)
    huge = large.compare("ogt", 2.0 ** (f.type.bits - 2))
    factor = f.select(huge, 0.25, one)
    small, large = small * factor, large * factor
    small, large = f.select(infinite, one, small), f.select(infinite, one, large)
    large = f.select(large.compare("oeq", 0.0), one, large)
    left = x.bits.compare("slt", 0)
    quarters = f.select(steep, two, f.select(left, f.constant(f.type, 4.0), 0.0))
    result = f.copysign(_arctangent(f, small, large, quarters, steep ^ left), y)
    return f.select(x.compare("uno", y), math.nan, result)
