"""Partial derivatives at numbers: the rules of the compiler's own table, where terms are floats."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from tadc.apps.dual.numbers import UFUNCS
from tadc.toolkit.language import Floats, complete, float_function, power, quotient
from tadc.toolkit.transforms import RULES


class _Numbers(Floats):
    """What `tadc.passes.terms.algebra.Algebra` is for terms, for floats."""

    zero, one = 0.0, 1.0

    neg, add, sub = staticmethod(operator.neg), staticmethod(operator.add), staticmethod(operator.sub)
    mul, div = staticmethod(operator.mul), staticmethod(quotient)

    def safe(self, x: float, y: float) -> float:
        return self.apply("safe", x, y)

    def through(self, g: float, partial: float, slopes: object, operands: object) -> float:
        return self.safe(g, partial)

    def by_sign(self, g: float, y: float, u: float) -> float:
        return g * self.apply("sign", u)


def _pow(y: float, u: float, v: float) -> tuple[float, float]:
    # As `_pow` of the table: 0**v is constant near v > 0, and u**0 near v = 0.
    by_base = v * power(u, v - 1) if v else 0.0
    return by_base, y * (math.log(u) if u > 0 else -math.inf if u == 0 else math.nan) if y else 0.0


def _hypot(y: float, *operands: float) -> tuple[float, ...]:
    return tuple(x / y if y else 0.0 for x in operands)


def _fsum(y: float, *operands: float) -> tuple[float, ...]:
    return (1.0,) * len(operands)


def _fma(y: float, u: float, v: float, w: float) -> tuple[float, ...]:
    return v, u, 1.0


_Partials = tuple[float, ...]

#: Functions of `math` and NumPy that the language has not: the partials from the value and the operands.
_OF_ONE: dict[str, Callable[[float, float], _Partials]] = {
    "pos": lambda y, u: (1.0,),
    "rint": lambda y, u: (0.0,),
    "trunc": lambda y, u: (0.0,),
    "square": lambda y, u: (2.0 * u,),
    "reciprocal": lambda y, u: (-y * y,),
    "degrees": lambda y, u: (180 / math.pi,),
    "radians": lambda y, u: (math.pi / 180,),
    "gamma": lambda y, u: (y * float_function("digamma")(u),),
}
_OF_TWO: dict[str, Callable[[float, float, float], _Partials]] = {
    "pow": _pow,
    "floordiv": lambda y, u, v: (0.0, 0.0),
    "copysign": lambda y, u, v: (math.copysign(1.0, u) * math.copysign(1.0, v) if u else 0.0, 0.0),
    "fmod": lambda y, u, v: (1.0, -float(math.trunc(u / v))),
    "remainder": lambda y, u, v: (1.0, -float(round((u - y) / v))),
    "ldexp": lambda y, u, n: (math.ldexp(1.0, int(n)), 0.0),
}
_FURTHER: dict[str, Callable[..., _Partials]] = {
    **_OF_ONE,
    **_OF_TWO,
    "hypot": _hypot,
    "fma": _fma,
    "fsum": _fsum,
}

complete("a derivative", {**RULES, **_FURTHER}, UFUNCS.values())

_NUMBERS: Any = _Numbers()


def partials(function: str, value: float, operands: Sequence[float]) -> tuple[float, ...]:
    """The partial derivatives of `value = function(*operands)` by each operand.

    At points without one they are what the language says: `abs'(0) = 0`, ties of max and min split evenly.
    """
    further = _FURTHER.get(function)
    if further is not None:
        return further(value, *operands)
    rule: Any = RULES[function]
    return rule(_NUMBERS, 1.0, value, *operands)
