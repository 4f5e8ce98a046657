"""Hyperbolic functions and their inverses as LLVM IR text, for f32 and f64, free of branches."""

from __future__ import annotations

import math

from tadc.backend.functions import exponential
from tadc.backend.functions.float_formats import Whole, format_of, scale
from tadc.backend.functions.logarithm import log_of_sum
from tadc.backend.ir_text import IrFunction, IrValue

#: tanh(x) = x + x**3 P(x**2) / Q(x**2) for |x| <= 0.625 in f64 (Cephes, tanh.c), …
TANH_P = (-1.61468768441708447952e3, -9.92877231001918586564e1, -9.64399179425052238628e-1)
TANH_Q = (4.84406305325125486048e3, 2.23548839060100448583e3, 1.12811678491632931402e2, 1.0)
#: … and in f32 x + x**3 P(x**2): 2**-29 of the result.
TANH_SINGLE = (
    -0.3333333134651184,
    0.13333219289779663,
    -0.05394783988595009,
    0.021704377606511116,
    -0.008182459510862827,
    0.0021447502076625824,
)

#: Beyond it tanh is 1 rounded.
TANH_LIMIT = {32: 9.1, 64: 22.0}

#: (sinh(r) - r) / r**3 in r**2 for |r| <= ln(2)/2: 2**-34, 2**-61
SINH = {
    32: (0.1666666716337204, 0.00833317544311285, 0.00019974085444118828),
    64: (
        0.16666666666666677,
        0.008333333333321376,
        0.0001984126988686723,
        2.7557243376336965e-06,
        2.5109355101998494e-08,
    ),
}
#: (cosh(r) - 1) / r**2 in r**2: 2**-33, 2**-58
COSH = {
    32: (0.5, 0.041666459292173386, 0.0013935451861470938),
    64: (
        0.5000000000000012,
        0.041666666666519275,
        0.0013888888946101312,
        2.4801490815559912e-05,
        2.763098943073483e-07,
    ),
}

#: Beyond it sinh and cosh overflow.
SINH_LIMIT = {32: 90.0, 64: 711.0}


def tanh(f: IrFunction) -> IrValue:
    """A series near 0, else `1 - 2 / (e**(2x) + 1)`."""
    a = f.fabs(f.x)
    limit = TANH_LIMIT[f.type.bits]
    a = f.select(a.compare("ogt", limit), limit, a)
    k, r, _ = exponential.reduce(f, a + a, format_of(f).bias)
    s = k.power_of_two(f)
    e = f.fma(s, f.fma(r * r, f.horner(r, exponential.constants(f).exp), r), s)
    z, small = a * a, a.compare("olt", 0.625)
    if f.type.bits == 32:
        near = f.fma(z * a, f.horner(z, TANH_SINGLE), a)
        far = f.constant(f.type, -2.0) / (e + 1.0) + 1.0
        return f.copysign(f.select(small, near, far), f.x)
    numerator = f.select(small, z * a * f.horner(z, TANH_P), -2.0)
    denominator = f.select(small, f.horner(z, TANH_Q), e + 1.0)
    return f.copysign(f.select(small, a, 1.0) + numerator / denominator, f.x)


def _halves(f: IrFunction) -> tuple[Whole, IrValue, IrValue, IrValue]:
    """k, `4**-k`, `sinh r` and `cosh r - 1` of `|x| = k ln 2 + r`."""
    a = f.fabs(f.x)
    limit = SINH_LIMIT[f.type.bits]
    k, r, rest = exponential.reduce(f, f.select(a.compare("ogt", limit), limit, a))
    # 4**-k matters while k is small.
    form, whole = format_of(f), k.plus(f, 0)
    least = f.select(whole.compare("slt", 60), whole, 60)
    inverse = ((f.constant(whole.type, form.bias) - (least + least)) << form.mantissa).as_float
    z = r * r
    odd = r + f.fma(r * z, f.horner(z, SINH[f.type.bits]), rest)
    return k, inverse, odd, z * f.horner(z, COSH[f.type.bits])


def sinh(f: IrFunction) -> IrValue:
    """`2**k (q cosh r + p sinh r)` with `p, q = (1 + 4**-k) / 2, (1 - 4**-k) / 2`: nothing cancels."""
    k, inverse, odd, even = _halves(f)
    p, q = f.fma(inverse, 0.5, 0.5), f.fma(inverse, -0.5, 0.5)
    return f.copysign(scale(f, q + f.fma(p, odd, q * even), k), f.x)


def cosh(f: IrFunction) -> IrValue:
    """`2**k (p cosh r + q sinh r)`, with the 1/2 of p added last."""
    k, inverse, odd, even = _halves(f)
    p, q = f.fma(inverse, 0.5, 0.5), f.fma(inverse, -0.5, 0.5)
    return scale(f, f.fma(inverse, 0.5, f.fma(q, odd, p * even)) + 0.5, k)


def _one_plus(u: IrValue, low: IrValue) -> tuple[IrValue, IrValue]:
    """`1 + u + low` rounded, and what that lost."""
    total = u + 1.0
    return total, u - (total - 1.0) + low


def _log_for_large(f: IrFunction, x: IrValue, total: IrValue, lost: IrValue) -> IrValue:
    """`log(total + lost)`, but `log(2 x)` for a large x, infinity too."""
    large = x.compare("ogt", 2.0 ** (format_of(f).mantissa // 2 + 4))
    result = log_of_sum(f, f.select(large, x, total), lost, large, doubled=True)
    return f.select(x.compare("oeq", math.inf), x, result)


def asinh(f: IrFunction) -> IrValue:
    """`log(1 + a + a**2 / (1 + sqrt(a**2 + 1)))` of `a = |x|`."""
    a = f.fabs(f.x)
    w = a * a / (f.sqrt(f.fma(a, a, 1.0)) + 1.0)
    u = a + w
    return f.copysign(_log_for_large(f, a, *_one_plus(u, w - (u - a))), f.x)


def acosh(f: IrFunction) -> IrValue:
    """`log(1 + t + sqrt(t**2 + 2 t))` of `t = x - 1`."""
    t = f.x - 1.0
    s = f.sqrt(f.fma(t, t, t + t))
    u = s + t
    result = _log_for_large(f, f.x, *_one_plus(u, t - (u - s)))
    return f.select(f.x.compare("ult", 1.0), math.nan, result)


def atanh(f: IrFunction) -> IrValue:
    """`log(1 + u) / 2` of `u = 2 a / (1 - a)` and of what rounding u lost, `a = |x|`."""
    a = f.fabs(f.x)
    d = f.constant(f.type, 1.0) - a
    u = (a + a) / d
    # 1 / (1 - a) = 1 + u / 2
    remainder = f.fma(-u, d, a + a) - u * (f.constant(f.type, 1.0) - d - a)
    result = log_of_sum(f, *_one_plus(u, remainder * f.fma(u, 0.5, 1.0))) * 0.5
    result = f.select(a.compare("oeq", 1.0), math.inf, result)
    return f.copysign(f.select(a.compare("ugt", 1.0), math.nan, result), f.x)
