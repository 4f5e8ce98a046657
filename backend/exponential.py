"""Exponentials and logarithms as LLVM IR text, for f32 and f64, free of branches.

Polynomials are minimax fits to the interval that the reduction leaves, their coefficients
rounded from the lowest degree up; comments give the relative error that remains.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from tadc.backend.ir_text import Function, Value


@dataclass(frozen=True)
class Constants:
    """What the functions need for one format. Pairs are a number in two parts, high and low."""

    mantissa: int
    bias: int
    shifter: float
    ln2: tuple[float, float]
    exp_range: tuple[float, float]
    exp2_range: tuple[float, float]
    exp: tuple[float, ...]
    exp2: tuple[float, ...]
    log: tuple[float, ...]
    sqrt_half: int
    log2_e: tuple[float, float]
    log10_e: tuple[float, float]
    log10_2: tuple[float, float]
    tanh_limit: float
    expm1_low: float

    @property
    def shifter_bits(self) -> int:
        """Adding `shifter` rounds to an integer, which the low bits of the sum then hold."""
        return ((self.mantissa + self.bias) << self.mantissa) | 1 << (self.mantissa - 1)

    @property
    def least_normal(self) -> float:
        """The least positive number that is not denormal."""
        return 2.0 ** (1 - self.bias)


SINGLE = Constants(
    mantissa=23,
    bias=127,
    shifter=1.5 * 2.0**23,
    ln2=(0.6931471824645996, -1.9046542121259336e-09),
    exp_range=(-104.0, 89.0),
    exp2_range=(-151.0, 129.0),
    # (e**r - 1 - r) / r**2 for |r| <= ln(2)/2: 2**-28.2 of e**r
    exp=(0.5, 0.166665181517601, 0.041666429489851, 0.008368968032300472, 0.0013938191113993526),
    # (2**r - 1) / r for |r| <= 1/2: 2**-28.2 of 2**r
    exp2=(
        0.6931471824645996,
        0.24022650718688965,
        0.05550358071923256,
        0.00961807556450367,
        0.0013391674729064107,
        0.00015457216068170965,
    ),
    # (log((1 + s) / (1 - s)) - 2 s) / s**3 in s**2 for |s| <= 0.1716: 2**-29.4 of the logarithm
    log=(0.6666677594184875, 0.3997627794742584, 0.2992149591445923),
    sqrt_half=0x3F3504F3,
    log2_e=(1.4426950216293335, 1.925963033500011e-08),
    log10_e=(0.4342944920063019, -1.0103049952192578e-08),
    log10_2=(0.301025390625, 4.605038981195214e-06),
    tanh_limit=9.1,
    expm1_low=-20.0,
)

DOUBLE = Constants(
    mantissa=52,
    bias=1023,
    shifter=1.5 * 2.0**52,
    ln2=(0.6931471805599453, 2.3190468138462996e-17),
    exp_range=(-746.0, 710.0),
    exp2_range=(-1076.0, 1025.0),
    # 2**-57.9
    exp=(
        0.5000000000000013,
        0.166666666666667,
        0.04166666666651123,
        0.008333333333307198,
        0.0013888888948014849,
        0.00019841269917426693,
        2.480148897164023e-05,
        2.7557216244423475e-06,
        2.763161137815492e-07,
        2.511788323246554e-08,
    ),
    # 2**-57.6
    exp2=(
        0.6931471805599453,
        0.24022650695910133,
        0.055504108664822964,
        0.009618129107593245,
        0.0013333558146155738,
        0.00015403530458260977,
        1.525273404591156e-05,
        1.3215434699264027e-06,
        1.0177981719552261e-07,
        7.0738841998018246e-09,
        4.4661341255949127e-10,
    ),
    # 2**-58.6
    log=(
        0.666666666666671,
        0.3999999999951791,
        0.2857142872985658,
        0.2222219902601578,
        0.1818357506724232,
        0.15313071645851006,
        0.14811469097951818,
    ),
    sqrt_half=0x3FE6A09E667F3BCD,
    log2_e=(1.4426950408889634, 2.0355273740931033e-17),
    log10_e=(0.4342944819032518, 1.098319650216765e-17),
    log10_2=(0.3010299956640665, -8.532344317057107e-14),
    tanh_limit=22.0,
    expm1_low=-40.0,
)

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


def _power_of_two(c: Constants, k: Value) -> Value:
    """`2**k` for a normal result."""
    return ((k + c.bias) << c.mantissa).as_float


def _scale(c: Constants, p: Value, k: Value) -> Value:
    """`p * 2**k`, in two steps so that overflow and denormals come out rounded once."""
    half = k >> 1
    return p * _power_of_two(c, half) * _power_of_two(c, k - half)


def _clamp(f: Function, x: Value, limits: tuple[float, float]) -> Value:
    """`x` within limits; NaN stays."""
    low, high = limits
    x = f.select(x.compare("olt", low), low, x)
    return f.select(x.compare("ogt", high), high, x)


def _reduce(f: Function, c: Constants, x: Value) -> tuple[Value, Value, Value]:
    """The integer k nearest to `x / ln 2`, `r = x - k ln 2` and what rounding r lost."""
    shifted = f.fma(x, 1 / math.log(2), c.shifter)
    n = shifted - c.shifter
    high, low = c.ln2
    exact = f.fma(n, -high, x)
    r = f.fma(n, -low, exact)
    return shifted.bits - c.shifter_bits, r, f.fma(n, -low, exact - r)


def exp(f: Function, c: Constants) -> Value:
    """`e**x = 2**k (1 + (r + r**2 q(r)))`."""
    k, r, _ = _reduce(f, c, _clamp(f, f.x, c.exp_range))
    p = f.fma(r * r, f.horner(r, c.exp), r) + 1.0
    return _scale(c, p, k)


def exp2(f: Function, c: Constants) -> Value:
    """`2**x = 2**k (1 + r u(r))` with `r = x - k` exact."""
    x = _clamp(f, f.x, c.exp2_range)
    shifted = x + c.shifter
    r = x - (shifted - c.shifter)
    return _scale(c, f.fma(r, f.horner(r, c.exp2), 1.0), shifted.bits - c.shifter_bits)


def expm1(f: Function, c: Constants) -> Value:
    """`e**x - 1 = 2 (2**(k-1) p + (2**(k-1) - 1/2))` with `p = e**r - 1`."""
    k, r, rest = _reduce(f, c, _clamp(f, f.x, (c.expm1_low, c.exp_range[1])))
    p = r + f.fma(r * r, f.horner(r, c.exp), rest)
    s = _power_of_two(c, k - 1)
    result = f.fma(s, p, s - 0.5)
    tiny = f.fabs(f.x).compare("olt", 2.0 ** -(c.mantissa + 2))
    return f.select(tiny, f.x, result + result)


def tanh(f: Function, c: Constants) -> Value:
    """A series near 0, else `1 - 2 / (e**(2x) + 1)`."""
    a = f.fabs(f.x)
    a = f.select(a.compare("ogt", c.tanh_limit), c.tanh_limit, a)
    k, r, _ = _reduce(f, c, a + a)
    s = _power_of_two(c, k)
    e = f.fma(s, f.fma(r * r, f.horner(r, c.exp), r), s)
    z, small = a * a, a.compare("olt", 0.625)
    if c is SINGLE:
        near = f.fma(z * a, f.horner(z, TANH_SINGLE), a)
        far = f.constant(f.type, -2.0) / (e + 1.0) + 1.0
        return f.copysign(f.select(small, near, far), f.x)
    numerator = f.select(small, z * a * f.horner(z, TANH_P), -2.0)
    denominator = f.select(small, f.horner(z, TANH_Q), e + 1.0)
    return f.copysign(f.select(small, a, 1.0) + numerator / denominator, f.x)


def _log_parts(f: Function, c: Constants, x: Value) -> tuple[Value, Value]:
    """The exponent k and `m - 1` for `x = 2**k m`, x normal and positive."""
    bits = x.bits
    k = (bits - c.sqrt_half) >> c.mantissa
    return k, (bits - (k << c.mantissa)).as_float - 1.0


def _normal(f: Function, c: Constants) -> tuple[Value, Value]:
    """The argument scaled to be normal, and the exponent that this adds."""
    denormal = f.x.compare("olt", c.least_normal)
    shift = c.mantissa + 2
    scaled = f.select(denormal, f.x * 2.0**shift, f.x)
    return scaled, f.select(denormal, float(-shift), f.constant(f.type, 0.0))


def _series(f: Function, c: Constants, m: Value) -> tuple[Value, Value]:
    """`half = m**2 / 2` and `tail` with `log(1 + m) = m - half + tail`."""
    s = m / (m + 2.0)
    z = s * s
    half = m * m * 0.5
    return half, s * f.fma(z, f.horner(z, c.log), half)


def _log_edges(f: Function, c: Constants, result: Value, pole: float) -> Value:
    """The result with the pole, what lies below it and infinity put right."""
    x = f.x
    result = f.select(x.compare("oeq", math.inf), x, result)
    result = f.select(x.compare("oeq", pole), -math.inf, result)
    return f.select(x.compare("ult", pole), math.nan, result)


def log(f: Function, c: Constants) -> Value:
    """`k ln 2 + log(m)`, the small terms added first."""
    scaled, shift = _normal(f, c)
    exponent, m = _log_parts(f, c, scaled)
    k = exponent.convert("sitofp", f.type) + shift
    half, tail = _series(f, c, m)
    rest = half - f.fma(k, c.ln2[1], tail) - m
    return _log_edges(f, c, f.fma(k, c.ln2[0], -rest), 0.0)


def log1p(f: Function, c: Constants) -> Value:
    """`log(u)` of the rounded sum `u = 1 + x`, plus `lost / u` for what rounding lost."""
    u = f.x + 1.0
    lost = f.x - (u - 1.0)
    exponent, m = _log_parts(f, c, u)
    k = exponent.convert("sitofp", f.type)
    half, tail = _series(f, c, m)
    # 1 / (1 + m) = 1 - m + m**2 is enough: `lost` is below half a unit of u.
    correction = (
        lost
        * ((f.constant(exponent.type, c.bias) - exponent) << c.mantissa).as_float
        * f.fma(m, m - 1.0, 1.0)
    )
    correction = f.select(f.x.compare("ogt", 2.0 ** (c.mantissa + 2)), 0.0, correction)
    rest = half - (tail + f.fma(k, c.ln2[1], correction)) - m
    result = f.fma(k, c.ln2[0], -rest)
    tiny = f.fabs(f.x).compare("olt", 2.0 ** -(c.mantissa + 2))
    return f.select(tiny, f.x, _log_edges(f, c, result, -1.0))


def _log_base(f: Function, c: Constants, factor: tuple[float, float], unit: tuple[float, float]) -> Value:
    """`k unit + factor log(m)`, every product in two parts."""
    scaled, shift = _normal(f, c)
    exponent, m = _log_parts(f, c, scaled)
    k = exponent.convert("sitofp", f.type) + shift
    half, tail = _series(f, c, m)
    high = m - half
    low = m - high - half + tail
    product = high * factor[0]
    rest = f.fma(low, factor[0], f.fma(high, factor[1], f.fma(high, factor[0], -product)))
    whole = k * unit[0]
    total = whole + product
    rest = whole - total + product + f.fma(k, unit[1], rest)
    return _log_edges(f, c, total + rest, 0.0)


def log2(f: Function, c: Constants) -> Value:
    """Exact at powers of two."""
    return _log_base(f, c, c.log2_e, (1.0, 0.0))


def log10(f: Function, c: Constants) -> Value:
    """`k log10(2)` is exact in its high part, which has few bits."""
    return _log_base(f, c, c.log10_e, c.log10_2)


BUILDERS: dict[str, Callable[[Function, Constants], Value]] = {
    "exp": exp,
    "exp2": exp2,
    "expm1": expm1,
    "tanh": tanh,
    "log": log,
    "log1p": log1p,
    "log2": log2,
    "log10": log10,
}
