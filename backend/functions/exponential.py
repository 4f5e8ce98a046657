"""Exponentials as LLVM IR text, for f32 and f64, free of branches.

Polynomials, here and in the other functions, are minimax fits to the interval that the reduction leaves,
their coefficients rounded from the lowest degree up; comments give the relative error that remains.
"""

from __future__ import annotations

import math

from tadc.backend.functions.float_formats import Whole, clamp, format_of, nearest, scale
from tadc.backend.ir_text import IrFunction, IrValue
from tadc.lattice.late_dataclasses import dataclass


@dataclass(frozen=True)
class ExponentialConstants:
    """What exponentials need for one format. `ln2` is a number in two parts, high and low."""

    ln2: tuple[float, float]
    exp_range: tuple[float, float]
    exp2_range: tuple[float, float]
    expm1_low: float
    exp: tuple[float, ...]
    exp2: tuple[float, ...]


SINGLE = ExponentialConstants(
    ln2=(0.6931471824645996, -1.9046542121259336e-09),
    exp_range=(-104.0, 89.0),
    exp2_range=(-151.0, 129.0),
    expm1_low=-20.0,
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
)

DOUBLE = ExponentialConstants(
    ln2=(0.6931471805599453, 2.3190468138462996e-17),
    exp_range=(-746.0, 710.0),
    exp2_range=(-1076.0, 1025.0),
    expm1_low=-40.0,
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
)


def constants(f: IrFunction) -> ExponentialConstants:
    """The constants for a function's format."""
    return SINGLE if f.type.bits == 32 else DOUBLE


def reduce(f: IrFunction, x: IrValue, more: int | None = None) -> tuple[Whole, IrValue, IrValue]:
    """The integer k nearest to `x / ln 2`, `r = x - k ln 2` and what rounding r lost.

    k is to scale a result, unless `more` says what else is to stand in its bits.
    """
    k = nearest(f, x, 1 / math.log(2), format_of(f).scaling if more is None else more)
    high, low = constants(f).ln2
    exact = f.fma_of_integer(k.number, -high, x)
    r = f.muladd(k.number, -low, exact)
    return k, r, f.fma(k.number, -low, exact - r)


def exponential_of(f: IrFunction, x: IrValue) -> IrValue:
    """`e**x = 2**k (1 + r + r**2 q(r))` for x within `exp_range`."""
    k, r, _ = reduce(f, x)
    return scale(f, f.horner(r, (1.0, 1.0, *constants(f).exp)), k)


def exp(f: IrFunction) -> IrValue:
    """Clamped to where it neither overflows nor vanishes."""
    return exponential_of(f, clamp(f, f.x, *constants(f).exp_range))


def power_of_sum(f: IrFunction, high: IrValue, low: IrValue | None = None) -> IrValue:
    """`2**(high + low) = 2**k (1 + r u(r))`, `high` within `exp2_range` and `r = high - k` exact."""
    k = nearest(f, high, 1.0, format_of(f).scaling)
    r = high - k.number
    if low is not None:
        r = r + low
    return scale(f, f.muladd(r, f.horner(r, constants(f).exp2), 1.0), k)


def exp2(f: IrFunction) -> IrValue:
    """Exact at integers."""
    return power_of_sum(f, clamp(f, f.x, *constants(f).exp2_range))


def expm1(f: IrFunction) -> IrValue:
    """`e**x - 1 = 2 (2**(k-1) p + (2**(k-1) - 1/2))` with `p = e**r - 1`."""
    c = constants(f)
    k, r, rest = reduce(f, clamp(f, f.x, c.expm1_low, c.exp_range[1]), format_of(f).bias - 1)
    p = r + f.fma(r * r, f.horner(r, c.exp), rest)
    s = k.power_of_two(f, -1)
    result = f.fma(s, p, s - 0.5)
    tiny = f.fabs(f.x).compare("olt", 2.0 ** -(format_of(f).mantissa + 2))
    return f.select(tiny, f.x, result + result)
