"""Floats of 16 bits to and from wider ones as LLVM IR text, free of branches, for scalars and vectors.

Rounded to the nearest, ties to even, with subnormal numbers. Of a float of 16 bits there are the bits, as an
integer: few processors have instructions for `half`, and `vcvtneps2bf16`, which some have for `bfloat`, takes
subnormal numbers for 0.
"""

from __future__ import annotations

from tadc.backend.ir_text import F32, IrFunction, IrValue, Type
from tadc.frontend.dtypes import COMPUTING, DTYPES, FLOATS
from tadc.frontend.functions import complete

#: The bits of an infinity and of the least normal number of an f16, and of numbers of an f32.
_INFINITE, _NORMAL, _QUIET = 0x7C00, 0x400, 0x7E00
_INFINITE_F32, _NORMAL_F16, _BEYOND_F16 = 0x7F800000, 0x38800000, 0x47800000
#: What the exponents of the two are apart, where the exponent of an f32 stands.
_APART = 112 << 23

NARROW = tuple(name for name in FLOATS if COMPUTING[name] != name)
#: What converts, each by what to or from what.
CONVERSIONS = {f"{way}{name}": (way, name) for way in ("from", "to") for name in NARROW}


def define_conversion(symbol: str, function: str, wide: Type, has_half: bool) -> str:
    """The text of a conversion; `has_half` is whether the processor has instructions for f16."""
    way, name = CONVERSIONS[function]
    short, single = Type(False, DTYPES[name].bits, wide.lanes), Type(True, F32.bits, wide.lanes)
    f = IrFunction(symbol, short if way == "from" else wide)
    if way == "from":
        found = _FROM[name](f, single, has_half)
        return f.define(found if wide == single else found.convert("fpext", wide))
    value = f.x if wide == single else _to_odd(f, single)
    return f.define(_TO[name](f, value, has_half))


def _from_half(f: IrFunction, single: Type, has_half: bool) -> IrValue:
    if has_half:
        return f.x.as_float.convert("fpext", single)
    whole = f.x.convert("zext", single.integer)
    size, sign = whole & 0x7FFF, (whole & 0x8000) << 16
    normal = (size << 13) + _APART
    beyond = f.select(size.compare("ugt", _INFINITE), normal + _APART | 1 << 22, normal + _APART)
    bits = f.select(size.compare("uge", _INFINITE), beyond, normal)
    least = (size.convert("uitofp", single) * 2.0**-24).bits
    return (f.select(size.compare("ult", _NORMAL), least, bits) | sign).as_float


def _to_half(f: IrFunction, value: IrValue, has_half: bool) -> IrValue:
    short = Type(False, 16, value.type.lanes)
    if has_half:
        return value.convert("fptrunc", Type(True, 16, value.type.lanes)).bits
    bits = value.bits
    size = bits & 0x7FFFFFFF
    normal = (size - _APART + 0xFFF + (size.logical_shift(13) & 1)).logical_shift(13)
    # The sum has its last bit where the least f16 has its only one.
    half = f.constant(value.type, 0.5)
    small = (size.as_float + half).bits - half.bits
    nan = size.logical_shift(13) & 0x3FF | _QUIET
    beyond = f.select(size.compare("ugt", _INFINITE_F32), nan, f.constant(size.type, _INFINITE))
    found = f.select(size.compare("ult", _NORMAL_F16), small, normal)
    found = f.select(size.compare("uge", _BEYOND_F16), beyond, found)
    return (found | bits.logical_shift(16) & 0x8000).convert("trunc", short)


def _from_brain(f: IrFunction, single: Type, _has_half: bool) -> IrValue:
    return (f.x.convert("zext", single.integer) << 16).as_float


def _to_brain(f: IrFunction, value: IrValue, _has_half: bool) -> IrValue:
    bits = value.bits
    high = bits.logical_shift(16)
    rounded = (bits + 0x7FFF + (high & 1)).logical_shift(16)
    is_nan = value.compare("uno", value)
    return f.select(is_nan, high | 0x40, rounded).convert("trunc", Type(False, 16, value.type.lanes))


def _to_odd(f: IrFunction, single: Type) -> IrValue:
    """An f64 as one of the f32 around it, of which that is odd where neither is equal.

    What is rounded again, to two bits less or more, is then as if it had been rounded once (S. Boldo and
    G. Melquiond, IEEE Transactions on Computers 57, 2008).
    """
    near = f.x.convert("fptrunc", single)
    again = near.convert("fpext", f.x.type)
    above = f.fabs(again).compare("ogt", f.fabs(f.x))
    below = f.select(above, near.bits - 1, near.bits)
    return f.select(again.compare("one", f.x), below | 1, near.bits).as_float


_FROM = complete("what extends it", {"f16": _from_half, "bf16": _from_brain}, NARROW)
_TO = complete("what rounds to it", {"f16": _to_half, "bf16": _to_brain}, NARROW)
