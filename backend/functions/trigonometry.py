"""Sine, cosine and tangent as LLVM IR text, for f32 and f64 and for vectors of them.

Up to `fast_limit` the argument is reduced by three constants; beyond, exactly (Payne and Hanek 1983).
"""

from __future__ import annotations

import math

from tadc.backend.functions import branches
from tadc.backend.functions.float_formats import nearest
from tadc.backend.ir_text import F32, F64, IrFunction, IrValue, Type
from tadc.lattice.late_dataclasses import dataclass

I64, I128 = Type(False, 64), Type(False, 128)


@dataclass(frozen=True)
class TrigonometryConstants:
    """What the functions need for one format."""

    type: Type
    half_pi: tuple[float, float, float]
    fast_limit: float
    sin: tuple[float, ...]
    cos: tuple[float, ...]


# While x < fast_limit, x - n C1 is exact with an FMA: both are multiples of C1's lowest bit and the
# difference is near 1. The three constants together err by n 2**-75 (2**-163 in f64).
SINGLE = TrigonometryConstants(
    type=F32,
    half_pi=(1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15),
    fast_limit=2.0**17,
    # (sin(r) - r) / r**3 in r**2 for |r| <= 0.82: 2**-27.4; (cos(r) - 1) / r**2: 2**-32
    sin=(-0.16666650772094727, 0.008331934921443462, -0.00019486133533064276),
    cos=(-0.5, 0.04166664183139801, -0.0013887113891541958, 2.4409078832832165e-05),
)
DOUBLE = TrigonometryConstants(
    type=F64,
    half_pi=(1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33),
    fast_limit=2.0**30,
    # 2**-57; 2**-63
    sin=(
        -0.1666666666666661,
        0.008333333333316916,
        -0.00019841269825393397,
        2.755731216506854e-06,
        -2.505052068128777e-08,
        1.5883163258293498e-10,
    ),
    cos=(
        -0.5,
        0.041666666666666546,
        -0.0013888888888865148,
        2.4801587284002217e-05,
        -2.755731280392258e-07,
        2.0875517355226684e-09,
        -1.1349215402974898e-11,
    ),
)


def _table() -> list[int]:
    """The bits of 2/pi after the binary point in words of 64, behind one word of zeros."""
    # Machin: pi/4 = 4 atan(1/5) - atan(1/239), in fixed point with 64 bits to spare.
    bits = 64 * 20
    one = 1 << (bits + 64)

    def atan_of_inverse(n: int) -> int:
        total, power, k = 0, one // n, 1
        while power:
            total += power // k if k % 4 == 1 else -(power // k)
            power //= n * n
            k += 2
        return total

    half_pi = 2 * (4 * atan_of_inverse(5) - atan_of_inverse(239))
    inverse = (one << bits) // half_pi
    return [0, *((inverse >> (bits - 64 * (i + 1))) & (2**64 - 1) for i in range(20))]


FUNCTIONS: tuple[str, ...] = ("sin", "cos", "tan")


def _at_quadrant(
    f: IrFunction, c: TrigonometryConstants, function: str, angle: tuple[IrValue, IrValue], quadrant: IrValue
) -> IrValue:
    """The function of `|x| = quadrant pi/2 + r + low`, with the sign of x restored; tan alone reads `low`."""
    r, low = angle
    z = r * r
    sine = f.muladd(r * z, f.horner(z, c.sin), r)
    cosine = f.muladd(z, f.horner(z, c.cos), 1.0)
    if function == "cos":
        quadrant = quadrant + 1
    odd = quadrant.convert("trunc", Type(False, 1, r.type.lanes))
    signs = f.x.bits & (1 << (r.type.bits - 1))
    if function == "tan":
        sine_low = f.fma(r * z, f.horner(z, c.sin), r - sine) + low
        cosine_low = f.fma(z, f.horner(z, c.cos), f.constant(r.type, 1.0) - cosine)
        above = f.select(odd, cosine, sine), f.select(odd, cosine_low, sine_low)
        below = f.select(odd, -sine, cosine), f.select(odd, -sine_low, cosine_low)
        return (_quotient(f, above, below).bits ^ signs).as_float
    sign = (quadrant & 2) << (r.type.bits - 2)
    if function == "sin":
        sign = sign ^ signs
    return (f.select(odd, cosine, sine).bits ^ sign).as_float


def _quotient(f: IrFunction, above: tuple[IrValue, IrValue], below: tuple[IrValue, IrValue]) -> IrValue:
    """The quotient of numbers in two parts."""
    inverse = f.constant(below[0].type, 1.0) / below[0]
    quotient = above[0] * inverse
    rest = f.fma(-quotient, below[0], above[0]) + f.fma(-quotient, below[1], above[1])
    return f.fma(rest, inverse, quotient)


def _fast(f: IrFunction, c: TrigonometryConstants, function: str) -> IrValue:
    """The function for `|x| <= fast_limit`."""
    a = f.fabs(f.x)
    whole = nearest(f, a, 2 / math.pi)
    n, quadrant = whole.number, whole.bits
    c1, c2, c3 = c.half_pi
    exact = f.fma(n, -c1, a)
    if function != "tan":
        r = f.fma(n, -c3, f.fma(n, -c2, exact))
        return _at_quadrant(f, c, function, (r, f.constant(r.type, 0.0)), quadrant)
    product = n * c2
    r = exact - product
    rest = exact - r - product + f.fma(n, -c3, f.fma(n, -c2, product))
    total = r + rest
    return _at_quadrant(f, c, function, (total, r - total + rest), quadrant)


def define(function: str, type: Type, name: str) -> str:
    """The text of a function of a float or of a vector."""
    c = SINGLE if type.bits == 32 else DOUBLE
    f = IrFunction(name, type)
    result = _fast(f, c, function)
    return branches.define(f, function, result, f.fabs(f.x).compare("ogt", c.fast_limit))


def define_huge(function: str, type: Type) -> str:
    """The text of the function for arguments beyond `fast_limit`."""
    f = IrFunction(branches.symbol(function, type, "_huge"), type, attributes=branches.COLD)
    if type == F32:
        wide = f.call(branches.symbol(function, F64), F64, f.x.convert("fpext", F64))
        return f.define(wide.convert("fptrunc", F32))
    table = ", ".join(f"i64 {word}" for word in _table())
    text = f.define(_payne_hanek(f, function))
    return f"@{f.name}.bits = private unnamed_addr constant [21 x i64] [{table}]\n{text}"


def _payne_hanek(f: IrFunction, function: str) -> IrValue:
    """`x = m 2**e` times 2/pi modulo 4, from the 192 bits of 2/pi that matter."""
    a = f.fabs(f.x)
    exponent = a.bits.logical_shift(52) - 1075
    m = ((a.bits & ((1 << 52) - 1)) | (1 << 52)).convert("zext", I128)
    # Bits of 2/pi of weight 2**(2 - e) and above give multiples of 4.
    first = exponent + 62
    product = _window_product(f, m, first.logical_shift(6), first & 63)
    fraction = product << 2
    quadrant = (product.logical_shift(126) + (product.logical_shift(125) & 1)).convert("trunc", I64)
    negative = fraction.compare("slt", 0)
    fraction = f.select(negative, f.constant(I128, 0) - fraction, fraction)
    zeros = f.emit(I128, f"call i128 @llvm.ctlz.i128(i128 {fraction.name}, i1 false)")
    fraction = fraction << zeros
    high = fraction.logical_shift(64).convert("trunc", I64)
    low = fraction.logical_shift(11).convert("trunc", I64)
    h = (high & -2048).convert("uitofp", F64) * 2.0**-64
    rest = low.convert("uitofp", F64) * 2.0**-117
    c1, c2, _ = DOUBLE.half_pi
    rest = f.fma(h, c2, rest * c1)
    r = f.fma(h, c1, rest)
    rest = f.fma(h, c1, -r) + rest
    unit = ((f.constant(I64, 1023) - zeros.convert("trunc", I64)) << 52).as_float
    unit = f.select(negative, -unit, unit)
    result = _at_quadrant(f, DOUBLE, function, (r * unit, rest * unit), quadrant)
    return f.select(a.compare("oeq", math.inf), math.nan, result)


def _window_product(f: IrFunction, m: IrValue, word: IrValue, shift: IrValue) -> IrValue:
    """`m` times the 192 bits of the table that start `shift` bits into a word: bits 64 to 191."""
    words: list[IrValue] = []
    for i in range(4):
        address = f"%at{i}"
        index = word + i
        f.lines.append(f"  {address} = getelementptr i64, ptr @{f.name}.bits, i64 {index.name}")
        words.append(f.emit(I64, f"load i64, ptr {address}, align 8"))
    window = [
        f.call("llvm.fshl.i64", I64, words[i], words[i + 1], shift).convert("zext", I128) for i in range(3)
    ]
    high, middle, low = (m * part for part in window)
    return (high << 64) + middle + low.logical_shift(64)
