"""The scalar functions that the compiler defines itself, as LLVM IR text for f32 and f64.

Each is internal, inlined, and free of branches, so that loops over it vectorise; those of `branches.py`
alone branch, for huge arguments. Errors stay below 2.5 units in the last place; signed zeros,
denormals, infinities and NaN come out as C17, Annex F, asks. A module gets only what it
uses: `llvm_ir.complete`.

Names tell function and type: `tadc_exp_f64`, `tadc_exp_v8f64` on vectors of 8.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from functools import cache

from tadc.backend.functions import (
    branches,
    error_function,
    exponential,
    fast_functions,
    fused,
    hyperbolic,
    inverse_trigonometry,
    logarithm,
    narrow_floats,
    power,
    remainder,
    trigonometry,
)
from tadc.backend.ir_text import F32, F64, OF_INTEGER, TWICE, IrFunction, IrValue, Type

#: What builds the body of a function of one argument, …
UNARY: dict[str, Callable[[IrFunction], IrValue]] = {
    "exp": exponential.exp,
    "exp2": exponential.exp2,
    "expm1": exponential.expm1,
    "log": logarithm.log,
    "log1p": logarithm.log1p,
    "log2": logarithm.log2,
    "log10": logarithm.log10,
    "sinh": hyperbolic.sinh,
    "cosh": hyperbolic.cosh,
    "tanh": hyperbolic.tanh,
    "asinh": hyperbolic.asinh,
    "acosh": hyperbolic.acosh,
    "atanh": hyperbolic.atanh,
    "asin": inverse_trigonometry.asin,
    "acos": inverse_trigonometry.acos,
    "atan": inverse_trigonometry.atan,
    "cbrt": power.cbrt,
    "erf": error_function.erf,
    "erfc": error_function.erfc,
}
#: … and of two.
BINARY: dict[str, Callable[[IrFunction], IrValue]] = {"pow": power.power, "atan2": inverse_trigonometry.atan2}

#: Of the first, those that `--fast-math` computes otherwise, as `tadc_fast_exp_f64`.
FAST: dict[str, Callable[[IrFunction], IrValue]] = {"exp": fast_functions.exp, "tanh": fast_functions.tanh}

#: Those that branch, for huge arguments, by their numbers of arguments.
BRANCHING = dict.fromkeys(trigonometry.FUNCTIONS, 1) | dict.fromkeys(remainder.FUNCTIONS, 2)

#: Names of the functions.
DEFINED = frozenset({*UNARY, *BINARY, *BRANCHING})

#: Functions that GPUs have instructions for: LLVM's intrinsic, operands.
DEVICE_INTRINSICS = {
    "sqrt": ("sqrt", 1),
    "fabs": ("fabs", 1),
    "floor": ("floor", 1),
    "ceil": ("ceil", 1),
    "trunc": ("trunc", 1),
    "rint": ("roundeven", 1),
    "copysign": ("copysign", 2),
    "fma": ("fma", 3),
}

_HOST_NAME = re.compile(r"tadc_(fast_)?([a-zA-Z0-9]+)_(?:v(\d+))?f(32|64)(_huge)?")


def symbol(function: str, type: Type, fast: bool = False) -> str:
    """The name of a function in LLVM IR; of its cheaper form, where it has one."""
    return f"tadc_{'fast_' if fast and function in FAST else ''}{function}_{type.suffix}"


@cache
def scalar_function(
    name: str, has_ldexp: bool = False, has_fma: bool = True, has_half: bool = False
) -> str | None:
    """The text that defines a function `tadc_*`; None for any other name.

    `has_ldexp` is whether vectors are multiplied by powers of two in one instruction, `has_fma` whether
    there is something to call for a product and a sum that are rounded once: else there is `tadc_fma_f64`;
    `has_half` is whether there are instructions that convert f16.
    """
    match = _HOST_NAME.fullmatch(name)
    if not match:
        return None
    function, type = match[2], Type(True, int(match[4]), int(match[3] or 1))
    if function == "fma" and not has_fma:
        f = IrFunction(name, type, 3)
        return f.define(fused.fma(f))
    if function in narrow_floats.CONVERSIONS:
        return narrow_floats.define_conversion(name, function, type, has_half)
    if function not in (FAST if match[1] else DEFINED):
        return None
    if match[5]:
        text = _define_huge(function, type)
    else:
        text = _define(function, type, name, has_ldexp, fast=bool(match[1]))
    return _unmarked(text) if has_fma else _without_fma(text)


def defined_as(function: str, bits: int, name: str) -> str | None:
    """The text that defines one of our functions under another name, or one that is an instruction.

    None where there is neither.
    """
    type = F32 if bits == 32 else F64
    if function in DEFINED:
        return _unmarked(_define(function, type, name))
    return instruction(function, type, name) if function in DEVICE_INTRINSICS else None


def instruction(function: str, type: Type, name: str) -> str:
    """The text that defines one of `DEVICE_INTRINSICS` under a name."""
    intrinsic, arity = DEVICE_INTRINSICS[function]
    f = IrFunction(name, type, arity)
    return f.define(f.call(f"llvm.{intrinsic}.{type.suffix}", type, *f.arguments))


def _unmarked(text: str) -> str:
    """The text without what it says of fused products and sums."""
    return text.replace(TWICE, "").replace(OF_INTEGER, "")


_FMA = re.compile(r"  (\S+) = call ([^@\n]+) @llvm\.fma\.(\w+)\(([^\n]*)\)(  ; [^\n]*)?$", re.M)
_NUMBER = re.compile(r"0x([0-9A-F]{16})")
#: Of a number in two parts, the first so many bits less that its product with one of 11 bits is exact.
_SHORT = 11


def _without_fma(text: str) -> str:
    """The text of a function where nothing rounds a product and a sum once."""

    def instead(match: re.Match[str]) -> str:
        name, type, suffix, operands, how = match.groups()
        a, b, c = (operand.removeprefix(f"{type} ") for operand in operands.split(", "))
        if how == TWICE:
            return f"  {name}.product = fmul {type} {a}, {b}\n  {name} = fadd {type} {name}.product, {c}"
        if how != OF_INTEGER or not suffix.endswith("f64"):
            return f"  {name} = call {type} @tadc_fma_{suffix}({operands})"
        high, low = _parts_of(b)
        return "\n".join(
            [
                f"  {name}.high = fmul {type} {a}, {high}",
                f"  {name}.low = fmul {type} {a}, {low}",
                f"  {name}.sum = fadd {type} {name}.high, {c}",
                f"  {name} = fadd {type} {name}.sum, {name}.low",
            ]
        )

    return _FMA.sub(instead, text)


def _parts_of(literal: str) -> list[str]:
    """A number in two parts, whose products with an integer of 11 bits are exact."""
    found = _NUMBER.search(literal)
    assert found is not None
    high = int(found[1], 16) >> _SHORT << _SHORT
    number, short = (struct.unpack("<d", struct.pack("<Q", bits))[0] for bits in (int(found[1], 16), high))
    return [_NUMBER.sub(F64.constant(part), literal) for part in (short, number - short)]


def _define(function: str, type: Type, name: str, has_ldexp: bool = False, fast: bool = False) -> str:
    if function in BRANCHING:
        return (remainder if function in remainder.FUNCTIONS else trigonometry).define(function, type, name)
    f = IrFunction(name, type, 2 if function in BINARY else 1, has_ldexp)
    table = FAST if fast else BINARY if function in BINARY else UNARY
    return f.define(table[function](f))


def _define_huge(function: str, type: Type) -> str:
    if type.lanes > 1:
        return branches.lane_by_lane(function, type, BRANCHING[function])
    return (remainder if function in remainder.FUNCTIONS else trigonometry).define_huge(function, type)
