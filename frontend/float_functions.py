"""The functions of the language on floats of Python, as IEEE 754 has them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import cache

from tadc.frontend.formula_values import OPERANDS, evaluate
from tadc.frontend.functions import APPLIED

#: The relations of `select`.
HOLDS: dict[str, Callable[[float, float], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def quotient(x: float, y: float) -> float:
    """x / y: infinite or NaN where y is 0."""
    if y == 0:
        return math.nan if x == 0 or x != x else math.copysign(math.inf, x) * math.copysign(1, y)
    return x / y


def called(function: Callable[..., float], *operands: float) -> float:
    """A function of Python, with NaN and infinities in the place of exceptions."""
    try:
        return function(*operands)
    except OverflowError:
        return -math.inf if function is math.sinh and operands[0] < 0 else math.inf
    except (ValueError, ZeroDivisionError):
        return math.nan


def power(x: float, n: float) -> float:
    """x**n: infinite where it is too large, and where x is 0 and n negative."""
    try:
        return math.pow(x, n)
    except OverflowError:
        return -math.inf if x < 0 and n % 2 == 1 else math.inf
    except ValueError:
        whole = n == int(n)
        return math.nan if x and not whole else math.copysign(math.inf, x if n % 2 == 1 else 1.0)


def _logarithm(function: Callable[[float], float]) -> Callable[[float], float]:
    return lambda x: -math.inf if x == 0 else called(function, x)


def _step(function: Callable[[float], int]) -> Callable[[float], float]:
    return lambda x: float(function(x)) if math.isfinite(x) else x


def greater(x: float, y: float) -> float:
    """The greater one, NaN if either is."""
    return x if x > y or x != x else y


def lesser(x: float, y: float) -> float:
    """The lesser one, NaN if either is."""
    return x if x < y or x != x else y


def _remainder(x: float, y: float) -> float:
    return called(operator.mod, x, y)


_OWN: dict[str, Callable[..., float]] = {
    **{name: getattr(operator, name) for name in ("add", "sub", "mul", "neg")},
    **{name: _logarithm(getattr(math, name)) for name in ("log", "log2", "log10")},
    "div": quotient,
    "abs": math.fabs,
    "pow": power,
    "floor": _step(math.floor),
    "ceil": _step(math.ceil),
    "max": greater,
    "min": lesser,
    "mod": _remainder,
}


class Floats:
    """Floats as the numbers of formulas."""

    def const(self, value: float) -> float:
        """The literal."""
        return float(value)

    def apply(self, function: str, *operands: float) -> float:
        """The function by name."""
        return float_function(function)(*operands)

    def power(self, x: float, n: int) -> float:
        """A power with a literal exponent."""
        return power(x, n)

    def select(self, relation: str, x: float, y: float, then: float, otherwise: float) -> float:
        """A choice."""
        return then if HOLDS[relation](x, y) else otherwise


FLOATS = Floats()


@cache
def float_function(name: str) -> Callable[..., float]:
    """A function or operator: one that is written here, of `math`, or the formula of its record.

    Raises TypeError where there is none.
    """
    record = APPLIED[name]
    if name in _OWN:
        return _OWN[name]
    if record.formula is not None:
        text = record.formula_for("f64")
        return lambda *operands: evaluate(text, dict(zip(OPERANDS, operands, strict=False)), FLOATS)
    if not hasattr(math, name):
        raise TypeError(f"a function of floats is missing for {name}")
    function = getattr(math, name)
    return lambda *operands: called(function, *operands)
