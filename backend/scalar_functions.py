"""The scalar functions that the compiler defines itself, as LLVM IR text for f32 and f64.

Each is internal, inlined, and free of branches, so that loops over it vectorise; only `sin`
and `cos` branch, for huge arguments. Errors stay below 2.5 units in the last place; signed
zeros, denormals, infinities and NaN come out as C17, Annex F, asks. A module gets only what
it uses: `llvm_ir.complete`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tadc.backend import exponential
from tadc.backend.exponential import DOUBLE, SINGLE, Constants
from tadc.backend.ir_text import Function, Value

Builder = Callable[[Function, Constants], Value]

BUILDERS: dict[str, Builder] = {**exponential.BUILDERS}

#: Names of the functions, which are also the names of their `math` ops.
DEFINED = frozenset(BUILDERS)


def symbol(function: str, kind: str) -> str:
    """The name of a function on `f32` or `f64` in LLVM IR: `tadc_exp_f64`."""
    return f"tadc_{function}_{kind}"


def define(function: str, kind: str, name: str | None = None) -> str:
    """The text that defines a function, under its symbol or another name."""
    constants = SINGLE if kind == "f32" else DOUBLE
    f = Function(name or symbol(function, kind), constants.type)
    return f.define(BUILDERS[function](f, constants))


def _device_name(function: str, kind: str) -> str:
    return f"__nv_{function}" + ("f" if kind == "f32" else "")


#: How to define each function that a text for the CPU may call.
DEFINITIONS: dict[str, Callable[[], str]] = {
    symbol(function, kind): partial(define, function, kind) for function in BUILDERS for kind in ("f32", "f64")
}

#: The same under libdevice's names.
DEVICE_DEFINITIONS: dict[str, Callable[[], str]] = {
    _device_name(function, kind): partial(define, function, kind, _device_name(function, kind))
    for function in BUILDERS
    for kind in ("f32", "f64")
}
