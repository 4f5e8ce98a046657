"""Dual numbers: a value, and its partial derivatives by all arguments at once.

K. A. Semenov, "Automatic differentiation of functions in program code", 2011. A value is computed by the
very operations that plain floats would see, so it has their bits, and every branch and the number of turns
of every loop are theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tadc.apps.dual.numbers import Plain, TracedNumber
from tadc.apps.dual.rules import partials
from tadc.toolkit.language import HOLDS

#: Operations whose second operand is divided by.
_DIVISIONS = frozenset({"div", "mod", "floordiv", "fmod", "remainder"})


class Dual(TracedNumber):
    """A value with its partial derivatives, one for each direction.

    It is compared, hashed never, by its value alone. Numbers that meet have equally many partials; a plain
    number has none. A partial that is 0 stays 0, also times an infinite derivative.

    >>> import tadc
    >>> x = tadc.dual.Dual(3.0, (1.0,))
    >>> x * x
    Dual(9.0, (6.0,))
    """

    __slots__ = ("partials", "value")

    def __init__(self, value: Any, partials: Sequence[float]) -> None:
        self.value = value
        self.partials = tuple(partials)

    @classmethod
    def apply(cls, function: str, plain: Plain, *operands: Any) -> Dual:
        """The function and its chain rule.

        Raises what the function of floats raises, ZeroDivisionError for a divisor of value 0, and TypeError
        for duals with different numbers of partials.
        """
        values = [x.value if isinstance(x, Dual) else x for x in operands]
        if function in _DIVISIONS and values[1] == 0:
            raise ZeroDivisionError("division by a dual number of value 0")
        value = plain(*values)
        if isinstance(value, complex):
            raise TypeError(
                f"`{function}` of {', '.join(map(str, values))} is complex: dual numbers are real"
            )
        moving = [(n, x.partials) for n, x in enumerate(operands) if isinstance(x, Dual)]
        length = len(moving[0][1])
        if any(len(dots) != length for _, dots in moving):
            raise TypeError(
                "dual numbers of different calls cannot be mixed: their partials differ in number"
            )
        if not any(any(dots) for _, dots in moving):
            return cls(value, (0.0,) * length)
        slopes = partials(function, float(value), values)
        total = [0.0] * length
        for n, dots in moving:
            slope = slopes[n]
            total = [t + slope * dot if dot else t for t, dot in zip(total, dots, strict=True)]
        return cls(value, total)

    def test(self, plain: Plain, what: str = "") -> Any:
        """The test of the value. What gives whole numbers is constant almost everywhere: nothing is lost."""
        return plain(self.value)

    def compare(self, relation: str, other: Any) -> Any:
        """The values alone."""
        return HOLDS[relation](self.value, _value(other))

    def __repr__(self) -> str:
        return f"Dual({self.value!r}, {self.partials!r})"

    def __format__(self, spec: str) -> str:
        return format(self.value, spec)

    def __round__(self, digits: int | None = None) -> Any:
        return round(self.value, digits)

    def __index__(self) -> int:
        if not isinstance(self.value, int):
            raise TypeError(f"the dual number of value {self.value!r} is no integer")
        return self.value

    def __float__(self) -> float:
        raise TypeError(
            "a dual number cannot become a float: its derivative would be lost. A function without a rule "
            "was called, or code that is not lifted: the method of an object, or an array of floats that "
            "was assigned to (make it with dtype=object)"
        )

    def is_integer(self) -> bool:
        """Whether the value is a whole number."""
        return float(self.value).is_integer()

    @classmethod
    def extreme(cls, function: str, plain: Callable[..., Any], *operands: Any) -> Any:
        """`max` or `min` of several numbers, as Python chooses; ties share the derivative evenly."""
        chosen = plain(operands)
        ties = [x for x in operands if _value(x) == _value(chosen)]
        dots = [x.partials for x in ties if isinstance(x, Dual)]
        if not dots:
            return chosen
        return cls(_value(chosen), [sum(column) / len(ties) for column in zip(*dots, strict=True)])


def _value(x: Any) -> Any:
    return x.value if isinstance(x, Dual) else x
