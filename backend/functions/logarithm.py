"""Logarithms as LLVM IR text, for f32 and f64, free of branches."""

from __future__ import annotations

import math

from tadc.backend.functions.float_formats import format_of
from tadc.backend.ir_text import IrFunction, IrValue
from tadc.lattice.late_dataclasses import dataclass


@dataclass(frozen=True)
class LogarithmConstants:
    """What logarithms need for one format. Pairs are a number in two parts, high and low."""

    ln2: tuple[float, float]
    sqrt_half: int
    log: tuple[float, ...]
    log2_e: tuple[float, float]
    log10_e: tuple[float, float]
    log10_2: tuple[float, float]


SINGLE = LogarithmConstants(
    ln2=(0.6931471824645996, -1.9046542121259336e-09),
    sqrt_half=0x3F3504F3,
    # (log((1 + s) / (1 - s)) - 2 s) / s**3 in s**2 for |s| <= 0.1716: 2**-29.4 of the logarithm
    log=(0.6666677594184875, 0.3997627794742584, 0.2992149591445923),
    log2_e=(1.4426950216293335, 1.925963033500011e-08),
    log10_e=(0.4342944920063019, -1.0103049952192578e-08),
    log10_2=(0.301025390625, 4.605038981195214e-06),
)

DOUBLE = LogarithmConstants(
    ln2=(0.6931471805599453, 2.3190468138462996e-17),
    sqrt_half=0x3FE6A09E667F3BCD,
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
    log2_e=(1.4426950408889634, 2.0355273740931033e-17),
    log10_e=(0.4342944819032518, 1.098319650216765e-17),
    log10_2=(0.3010299956640665, -8.532344317057107e-14),
)


def constants(f: IrFunction) -> LogarithmConstants:
    """The constants for a function's format."""
    return SINGLE if f.type.bits == 32 else DOUBLE


def exponent_and_mantissa(f: IrFunction, x: IrValue) -> tuple[IrValue, IrValue]:
    """The exponent k and m of `x = 2**k m`, sqrt(1/2) <= m < sqrt(2), x normal and positive."""
    bits, mantissa = x.bits, format_of(f).mantissa
    k = (bits - constants(f).sqrt_half) >> mantissa
    return k, (bits - (k << mantissa)).as_float


def normal(f: IrFunction, x: IrValue) -> tuple[IrValue, IrValue]:
    """An argument scaled to be normal, and the exponent that this adds."""
    form = format_of(f)
    denormal = x.compare("olt", form.least_normal)
    shift = form.mantissa + 2
    scaled = f.select(denormal, x * 2.0**shift, x)
    return scaled, f.select(denormal, float(-shift), f.constant(f.type, 0.0))


def _series(f: IrFunction, m: IrValue) -> tuple[IrValue, IrValue]:
    """`half = m**2 / 2` and `tail` with `log(1 + m) = m - half + tail`."""
    s = m / (m + 2.0)
    z = s * s
    half = m * m * 0.5
    return half, s * f.muladd(z, f.horner(z, constants(f).log), half)


def _edges(f: IrFunction, result: IrValue, pole: float) -> IrValue:
    """The result with the pole, what lies below it and infinity put right."""
    x = f.x
    result = f.select(x.compare("oeq", math.inf), x, result)
    result = f.select(x.compare("oeq", pole), -math.inf, result)
    return f.select(x.compare("ult", pole), math.nan, result)


def log(f: IrFunction) -> IrValue:
    """`k ln 2 + log(m)`, the small terms added first."""
    c = constants(f)
    scaled, shift = normal(f, f.x)
    exponent, m = exponent_and_mantissa(f, scaled)
    m = m - 1.0
    k = exponent.convert("sitofp", f.type) + shift
    half, tail = _series(f, m)
    rest = half - f.muladd(k, c.ln2[1], tail) - m
    return _edges(f, f.fma_of_integer(k, c.ln2[0], -rest), 0.0)


def log_of_sum(
    f: IrFunction, u: IrValue, lost: IrValue, large: IrValue | None = None, doubled: bool = False
) -> IrValue:
    """`log(u + lost)` for a `lost` of about a unit in the last place of u, u normal; exactly `lost` at u = 1.

    Where the condition `large` holds, `lost` is left out, and with `doubled` it is the logarithm of `2 u`.
    """
    form, c = format_of(f), constants(f)
    exponent, m = exponent_and_mantissa(f, u)
    m = m - 1.0
    k = exponent.convert("sitofp", f.type)
    half, tail = _series(f, m)
    # 1 / (1 + m) = 1 - m + m**2 is enough: `lost` is about a unit of u.
    inverse = ((f.constant(exponent.type, form.bias) - exponent) << form.mantissa).as_float
    correction = lost * inverse * f.fma(m, m - 1.0, 1.0)
    if large is not None:
        correction = f.select(large, 0.0, correction)
        k = f.select(large, k + 1.0, k) if doubled else k
    rest = half - (tail + f.muladd(k, c.ln2[1], correction)) - m
    return f.fma_of_integer(k, c.ln2[0], -rest)


def log1p(f: IrFunction) -> IrValue:
    """`log(u)` of the rounded sum `u = 1 + x`, and of what rounding lost."""
    form = format_of(f)
    u = f.x + 1.0
    result = log_of_sum(f, u, f.x - (u - 1.0), f.x.compare("ogt", 2.0 ** (form.mantissa + 2)))
    tiny = f.fabs(f.x).compare("olt", 2.0 ** -(form.mantissa + 2))
    return f.select(tiny, f.x, _edges(f, result, -1.0))


def _log_base(f: IrFunction, factor: tuple[float, float], unit: tuple[float, float]) -> IrValue:
    """`k unit + factor log(m)`, every product in two parts."""
    scaled, shift = normal(f, f.x)
    exponent, m = exponent_and_mantissa(f, scaled)
    m = m - 1.0
    k = exponent.convert("sitofp", f.type) + shift
    half, tail = _series(f, m)
    high = m - half
    low = m - high - half + tail
    product = high * factor[0]
    rest = f.fma(low, factor[0], f.fma(high, factor[1], f.fma(high, factor[0], -product)))
    whole = k * unit[0]
    total = whole + product
    rest = whole - total + product + f.fma(k, unit[1], rest)
    return _edges(f, total + rest, 0.0)


def log2(f: IrFunction) -> IrValue:
    """Exact at powers of two."""
    return _log_base(f, constants(f).log2_e, (1.0, 0.0))


def log10(f: IrFunction) -> IrValue:
    """`k log10(2)` is exact in its high part, which has few bits."""
    c = constants(f)
    return _log_base(f, c.log10_e, c.log10_2)
