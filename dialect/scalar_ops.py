"""Which operation spells which function of the language, in one table."""

from __future__ import annotations

from tadc.dialect.ops import SCALAR_FUNCTIONS
from tadc.frontend.functions import APPLIED, complete

#: Function -> upstream operation; the rest is `tad.apply`, but for integer powers.
UPSTREAM: dict[str, str] = {
    "add": "arith.addf",
    "sub": "arith.subf",
    "mul": "arith.mulf",
    "div": "arith.divf",
    "neg": "arith.negf",
    "max": "arith.maximumf",
    "min": "arith.minimumf",
    "pow": "math.powf",
    "abs": "math.absf",
} | {
    name: f"math.{name}"
    for name in (
        "exp exp2 expm1 log log2 log10 log1p sqrt cbrt sin cos tan asin acos atan sinh cosh tanh "
        "asinh acosh atanh erf erfc floor ceil atan2"
    ).split()
}

complete("an operation", {**UPSTREAM, **SCALAR_FUNCTIONS}, APPLIED)

FUNCTION_OF: dict[str, str] = {operation: name for name, operation in UPSTREAM.items()}

INTEGER_POWER = "math.fpowi"

ONE_ROUNDING = "math.fma"
"""A product and a sum in one rounding, where maps add up a sum: in a program these are two operations."""

#: `arith.cmpf` predicates of relations: ordered, but for `!=`, as in NumPy.
PREDICATES: dict[str, int] = {"=": 1, ">": 2, ">=": 3, "<": 4, "<=": 5, "!=": 13}
RELATION_OF: dict[int, str] = {number: relation for relation, number in PREDICATES.items()}
