"""The two binary formats, as the bit tricks of the scalar functions need them."""

from __future__ import annotations

from tadc.backend.ir_text import IrFunction, IrValue, Type
from tadc.lattice.late_dataclasses import dataclass


@dataclass(frozen=True)
class Format:
    """A binary format: bits of the mantissa that are stored, and the bias of the exponent."""

    mantissa: int
    bias: int

    @property
    def shifter(self) -> float:
        """Adding it rounds to an integer, which the low bits of the sum then hold."""
        return 1.5 * 2.0**self.mantissa

    @property
    def shifter_bits(self) -> int:
        """The bits of `shifter`."""
        return ((self.mantissa + self.bias) << self.mantissa) | 1 << (self.mantissa - 1)

    @property
    def least_normal(self) -> float:
        """The least positive number that is not denormal."""
        return 2.0 ** (1 - self.bias)

    @property
    def scaling(self) -> int:
        """What `scale` wants `Whole.more` to be: the biases of two factors."""
        return 2 * self.bias


SINGLE = Format(mantissa=23, bias=127)
DOUBLE = Format(mantissa=52, bias=1023)


def format_of(f: IrFunction) -> Format:
    """The format of a function's arguments."""
    return SINGLE if f.type.bits == 32 else DOUBLE


def clamp(f: IrFunction, x: IrValue, low: float, high: float) -> IrValue:
    """`x` within limits; NaN stays."""
    x = f.select(x.compare("olt", low), low, x)
    return f.select(x.compare("ogt", high), high, x)


@dataclass(frozen=True)
class Whole:
    """A number rounded to an integer k, as a float; the low bits of `bits` hold `k + more`."""

    number: IrValue
    bits: IrValue
    more: int

    def plus(self, f: IrFunction, constant: int) -> IrValue:
        """`k + constant` as an integer."""
        return self.bits + (constant - self.more - format_of(f).shifter_bits)

    def power_of_two(self, f: IrFunction, constant: int = 0) -> IrValue:
        """`2**(k + constant)` for a normal result; a shift where `more` is the bias and `constant`."""
        form = format_of(f)
        less = constant + form.bias - self.more
        return ((self.bits + less if less else self.bits) << form.mantissa).as_float


def nearest(f: IrFunction, x: IrValue, factor: float, more: int = 0) -> Whole:
    """The integer next to `x * factor`."""
    shifter = format_of(f).shifter + more
    shifted = f.muladd(x, factor, shifter) if factor != 1 else x + shifter
    return Whole(shifted - shifter, shifted.bits, more)


def scale(f: IrFunction, p: IrValue, k: Whole) -> IrValue:
    """`p * 2**k`, rounded once where it overflows or is denormal; `k.more` is `scaling`."""
    if not f.has_ldexp:
        return scale_by_factors(f, p, k.bits)
    bits, lanes = p.type.bits, p.type.lanes
    if bits * lanes in (128, 256, 512):
        # LLVM's own operation takes an integer, which is made a float again.
        mask = f.constant(Type(False, max(8, lanes)), -1)
        rounding = [f.constant(Type(False, 32), 4)] if bits * lanes == 512 else []
        name = f"llvm.x86.avx512.mask.scalef.p{'s' if bits == 32 else 'd'}.{bits * lanes}"
        return f.call(name, p.type, p, k.number, p, mask, *rounding)
    integer = Type(False, 32, lanes)
    whole = k.plus(f, 0)
    whole = whole if whole.type == integer else whole.convert("trunc", integer)
    return f.call(f"llvm.ldexp.{p.type.suffix}.{integer.suffix}", p.type, p, whole)


def scale_by_factors(f: IrFunction, p: IrValue, bits: IrValue) -> IrValue:
    """`scale` by two products, of which the first is exact; the low bits hold `k + scaling`."""
    mantissa = format_of(f).mantissa
    half = bits.logical_shift(1)
    return p * (half << mantissa).as_float * ((bits - half) << mantissa).as_float
