"""The scalar functions that the compiler defines itself, as LLVM IR text for f32 and f64.

Each is internal, inlined, and free of branches, so that loops over it vectorise; `sin` and `cos`
alone branch, for huge arguments. Errors stay below 2.5 units in the last place; signed zeros,
denormals, infinities and NaN come out as C17, Annex F, asks. A module gets only what it
uses: `llvm_ir.complete`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tadc.backend import exponential, trigonometry
from tadc.backend.ir_text import F32, F64, Function, Type

Definitions = dict[str, Callable[[], str]]

TYPES = {"f32": F32, "f64": F64}

#: Names of the functions, which are also the names of their `math` ops.
DEFINED = frozenset({*exponential.BUILDERS, *trigonometry.FUNCTIONS})

#: Lanes of the vector variants that functions with a branch have.
LANES = (2, 4, 8, 16)


def symbol(function: str, kind: str) -> str:
    """The name of a function on `f32` or `f64` in LLVM IR: `tadc_exp_f64`."""
    return f"tadc_{function}_{kind}"


def device_symbol(function: str, kind: str) -> str:
    """The name that upstream and libdevice give it on a GPU: `__nv_exp`, `__nv_expf`."""
    return f"__nv_{function}" + ("f" if kind == "f32" else "")


def define(function: str, kind: str, name: str | None = None) -> str:
    """The text that defines a function, under its symbol or another name."""
    if function in trigonometry.FUNCTIONS:
        return trigonometry.define(function, TYPES[kind].bits, name=name)
    constants = exponential.SINGLE if kind == "f32" else exponential.DOUBLE
    f = Function(name or symbol(function, kind), constants.type)
    return f.define(exponential.BUILDERS[function](f, constants))


def _huge_definitions() -> Definitions:
    return {
        trigonometry.symbol(function, type, "_huge"): partial(trigonometry.define_huge, function, type.bits)
        for function in trigonometry.FUNCTIONS
        for type in TYPES.values()
    }


#: How to define each function that a text for the CPU may call.
DEFINITIONS: Definitions = {
    symbol(function, kind): partial(define, function, kind) for function in DEFINED for kind in TYPES
} | _huge_definitions()

#: Functions of libdevice that GPUs have instructions for: LLVM's intrinsic, operands.
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


def define_by_intrinsic(function: str, kind: str) -> str:
    """The text of a device function that is one instruction."""
    intrinsic, arity = DEVICE_INTRINSICS[function]
    f = Function(device_symbol(function, kind), TYPES[kind], arity)
    return f.define(f.call(f"llvm.{intrinsic}.{kind}", f.type, *f.arguments))


#: How to define these: always in this way, also where libdevice is installed.
DEVICE_INTRINSIC_DEFINITIONS: Definitions = {
    device_symbol(function, kind): partial(define_by_intrinsic, function, kind)
    for function in DEVICE_INTRINSICS
    for kind in TYPES
}

#: Our own functions under libdevice's names.
DEVICE_DEFINITIONS: Definitions = {
    device_symbol(function, kind): partial(define, function, kind, device_symbol(function, kind))
    for function in DEFINED
    for kind in TYPES
} | DEFINITIONS

#: Functions that have vector variants, by symbol: lanes -> symbol of the variant.
VECTOR_VARIANTS: dict[str, dict[int, str]] = {
    symbol(function, kind): {n: trigonometry.symbol(function, Type(True, type.bits, n)) for n in LANES}
    for function in trigonometry.FUNCTIONS
    for kind, type in TYPES.items()
}

#: How to define these variants and what they call.
VECTOR_DEFINITIONS: Definitions = {
    trigonometry.symbol(function, Type(True, type.bits, n), part): partial(define_part, function, type.bits, n)
    for function in trigonometry.FUNCTIONS
    for type in TYPES.values()
    for n in LANES
    for part, define_part in (("", trigonometry.define), ("_huge", trigonometry.define_huge))
}
