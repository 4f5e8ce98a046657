"""The two binary formats, as the bit tricks of the scalar functions need them."""

from __future__ import annotations

from dataclasses import dataclass

from tadc.backend.ir_text import IrFunction, IrValue, Type


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


SINGLE = Format(mantissa=23, bias=127)
DOUBLE = Format(mantissa=52, bias=1023)


def format_of(f: IrFunction) -> Format:
    """The format of a function's arguments."""
    return SINGLE if f.type.bits == 32 else DOUBLE


def clamp(f: IrFunction, x: IrValue, low: float, high: float) -> IrValue:
    """`x` within limits; NaN stays."""
    x = f.select(x.compare("olt", low), low, x)
    return f.select(x.compare("ogt", high), high, x)


def power_of_two(f: IrFunction, k: IrValue) -> IrValue:
    """`2**k` for a normal result."""
    form = format_of(f)
    return ((k + form.bias) << form.mantissa).as_float


def scale(f: IrFunction, p: IrValue, k: IrValue) -> IrValue:
    """`p * 2**k`, rounded once where it overflows or is denormal.

    Where that is no instruction, two products do it: the first is exact.
    """
    if f.has_ldexp:
        integer = Type(False, 32, p.type.lanes)
        k = k if k.type == integer else k.convert("trunc", integer)
        return f.call(f"llvm.ldexp.{p.type.suffix}.{integer.suffix}", p.type, p, k)
    half = k >> 1
    return p * power_of_two(f, half) * power_of_two(f, k - half)
