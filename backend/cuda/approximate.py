"""Approximate instructions of a GPU for f32, which `--fast-math` takes in the place of exact functions.

Errors, by the manual of PTX: `div.full` 2 units in the last place, `ex2.approx` a relative 2**-22.5 and
`sqrt.approx` 2**-23, `lg2.approx` 2**-22, absolute between 1/2 and 2. Denormals are not flushed; infinities
and NaN come out right.
"""

from __future__ import annotations

import re
from math import log2

from tadc.backend.ir_text import F32, IrFunction, IrValue

#: The logarithms by what 1 has in that base.
_BASES = {"log": log2(2.718281828459045), "log2": 1.0, "log10": log2(10.0)}

_DIVISION = re.compile(r"= fdiv (?:[a-z]+ )*float ([^,\n]+), ([^,\n]+)")
_DIVIDE = "llvm.nvvm.div.full"


def approximate_function(name: str) -> str | None:
    """The text that defines a function of libdevice by such an instruction; None for any other name."""
    f = IrFunction(name, F32, 1)
    if name == "__nv_sqrtf":
        return f.define(_instruction(f, "sqrt", f.x))
    if name == "__nv_fast_expf":
        return f.define(_instruction(f, "ex2", f.x * _BASES["log"]))
    function = name.removeprefix("__nv_fast_").removesuffix("f")
    if name != f"__nv_fast_{function}f" or function not in _BASES:
        return None
    found = _instruction(f, "lg2", f.x)
    return f.define(found if function == "log2" else found * (1 / _BASES[function]))


def _instruction(f: IrFunction, name: str, x: IrValue) -> IrValue:
    return f.call(f"llvm.nvvm.{name}.approx.f", F32, x)


def with_approximate_divisions(text: str) -> str:
    """The text of optimised LLVM IR with `div.full` for divisions of scalars in f32."""
    made, count = _DIVISION.subn(rf"= call float @{_DIVIDE}(float \1, float \2)", text)
    return f"{made}\ndeclare float @{_DIVIDE}(float, float)\n" if count else text
