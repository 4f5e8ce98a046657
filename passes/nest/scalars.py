"""Scalar functions on NumPy's numbers, each rounded to its type, for the interpreter of nests."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import cast

import numpy as np

from tadc.dialect.scalar_ops import opposite
from tadc.frontend.dtypes import DTYPES
from tadc.frontend.float_functions import HOLDS, float_function, greater, lesser
from tadc.frontend.formula_values import OPERANDS, by_squaring, evaluate
from tadc.frontend.functions import APPLIED, REDUCTIONS, OfFunctions, ScalarFunction
from tadc.passes.maps.map import Type
from tadc.passes.numpy_types import Scalar, numpy_type


def number_of(type: Type) -> type[Scalar]:
    """What makes a number of a type: elements of index arrays are indices, which are integers of Python."""
    return {"index": int, "truth": bool}.get(DTYPES[type].kind) or numpy_type(type).type


def integer_power(x: Scalar, exponent: int) -> Scalar:
    """`x**n`, in the order of the lowering."""
    return by_squaring(x, exponent, _Rounded(cast("type[Scalar]", type(x))))


def fused(x: Scalar, y: Scalar, z: Scalar) -> Scalar:
    """A product and a sum, rounded once but for what 80 bits do not hold."""
    return type(x)(np.longdouble(x) * y + z)


def _of_floats(function: Callable[[float], float]) -> Callable[[Scalar], Scalar]:
    return lambda x: type(x)(function(x))


def _choose(condition: bool, x: Scalar, y: Scalar) -> Scalar:
    return x if condition else y


def _unordered(x: Scalar, y: Scalar) -> bool:
    return math.isnan(x) or math.isnan(y)


def _negated(holds: Callable[[Scalar, Scalar], bool]) -> Callable[[Scalar, Scalar], bool]:
    return lambda x, y: not holds(x, y)


_OPERATORS = {"div": "truediv", "arith.andi": "and_", "arith.ori": "or_", "arith.xori": "xor"}

_WRITTEN: dict[str, Callable[..., Scalar]] = {
    **{name: getattr(operator, name) for name in ("add", "sub", "mul", "neg")},
    **{opposite(relation): _negated(holds) for relation, holds in HOLDS.items()},
    **HOLDS,
    **{name: getattr(operator, of) for name, of in _OPERATORS.items()},
    "mod": np.mod,
    "abs": abs,
    "max": greater,
    "min": lesser,
    "choose": _choose,
    "cmpf 14": _unordered,
    "math.copysign": np.copysign,
    "math.fma": fused,
    "arith.remf": np.fmod,
}


class _Rounded:
    """Numbers of NumPy of one type as those of formulas."""

    def __init__(self, type: type[Scalar]) -> None:
        self.type = type

    def const(self, value: float) -> Scalar:
        return self.type(value)

    def apply(self, function: str, *operands: Scalar) -> Scalar:
        return FUNCTIONS[function](*operands)

    def power(self, x: Scalar, n: int) -> Scalar:
        return integer_power(x, n)

    def select(self, relation: str, x: Scalar, y: Scalar, then: Scalar, otherwise: Scalar) -> Scalar:
        return then if FUNCTIONS[relation](x, y) else otherwise


def _by_formula(f: ScalarFunction) -> Callable[..., Scalar]:
    def function(*operands: Scalar) -> Scalar:
        kind = cast("type[Scalar]", type(operands[0]))
        text = f.formula_for("f32" if kind is np.float32 else "f64")
        return evaluate(text, dict(zip(OPERANDS, operands, strict=False)), _Rounded(kind))

    return function


def _of_record(f: ScalarFunction) -> Callable[..., Scalar]:
    """A function of NumPy, by the formula of its record, or of Python's floats."""
    if f.formula is not None:
        return _by_formula(f)
    return getattr(np, f.numpy) if hasattr(np, f.numpy) else _of_floats(float_function(f.name))


FUNCTIONS: dict[str, Callable[..., Scalar]] = OfFunctions(
    {**{f.name: _of_record(f) for f in APPLIED.values() if f.name not in _WRITTEN}, **_WRITTEN}, _of_record
)

JOINS: dict[str, Callable[[Scalar, Scalar], Scalar]] = {
    r.name: FUNCTIONS[r.join] for r in REDUCTIONS.values()
}
"""Two results of a reduction, in order, to that of both."""


def lanes_joined(results: list[Scalar], lanes: int, join: Callable[[Scalar, Scalar], Scalar]) -> Scalar:
    """The results of all parts of so many lanes in one: the parts in order, then the lanes by halves."""
    found = results[:lanes]
    for part in range(lanes, len(results), lanes):
        found = [join(x, y) for x, y in zip(found, results[part : part + lanes], strict=True)]
    while len(found) > 1:
        half = len(found) // 2
        found = [join(x, y) for x, y in zip(found[:half], found[half:], strict=True)]
    return found[0]


def threads_joined(results: list[Scalar], warp: int, join: Callable[[Scalar, Scalar], Scalar]) -> Scalar:
    """The results of threads in one: those of each warp by halves, then those of warps in order."""
    warps = [results[first : first + warp] for first in range(0, len(results), warp)]
    return lanes_joined([lanes_joined(each, warp, join) for each in warps], 1, join)
