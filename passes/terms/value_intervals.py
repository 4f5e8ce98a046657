"""Values of scalar functions as intervals: bounds, whether a value is finite, whether it is never 0.

Values are those of exact arithmetic: `exp(x)` is positive and finite here for each finite x, though it
rounds to 0 or overflows for some. What is undefined (`log(-1)`) lies in every interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

from tadc.frontend.float_functions import float_function
from tadc.frontend.functions import APPLIED, OfFunctions, complete
from tadc.frontend.functions.scalar_function import Course, ScalarFunction
from tadc.frontend.interval_rounding import lower, upper
from tadc.frontend.value_bounds import is_inside, values_over


class ValueInterval(NamedTuple):
    """`low <= value <= high`; `finite`: never infinite or undefined; `nonzero`: never 0."""

    low: float = -math.inf
    high: float = math.inf
    finite: bool = False
    nonzero: bool = False

    @property
    def is_nonnegative(self) -> bool:
        """Whether no value is below 0."""
        return self.low >= 0

    @property
    def is_positive(self) -> bool:
        """Whether every value is above 0."""
        return self.low > 0 or (self.low == 0 and self.nonzero)

    def negated(self) -> ValueInterval:
        """The values with the other sign."""
        return ValueInterval(-self.high, -self.low, self.finite, self.nonzero)

    def joined(self, other: ValueInterval) -> ValueInterval:
        """The least interval that has the values of both."""
        return ValueInterval(
            min(self.low, other.low),
            max(self.high, other.high),
            self.finite and other.finite,
            self.is_nonzero and other.is_nonzero,
        )

    def met(self, other: ValueInterval) -> ValueInterval:
        """What is known of a value by both."""
        return ValueInterval(
            max(self.low, other.low),
            min(self.high, other.high),
            self.finite or other.finite,
            self.nonzero or other.nonzero,
        )

    @property
    def is_nonzero(self) -> bool:
        """Whether no value is 0."""
        return self.nonzero or self.low > 0 or self.high < 0


ANY = ValueInterval()
FINITE = ValueInterval(finite=True)
NONNEGATIVE = ValueInterval(low=0)
POSITIVE = ValueInterval(low=0, nonzero=True)


def exactly(value: float) -> ValueInterval:
    """The one value."""
    return ValueInterval(value, value, True, value != 0) if math.isfinite(value) else ANY


def _sum(x: ValueInterval, y: ValueInterval) -> ValueInterval:
    low, high = x.low + y.low, x.high + y.high
    one_sign = (x.low >= 0 and y.low >= 0) or (x.high <= 0 and y.high <= 0)
    return ValueInterval(low, high, x.finite and y.finite, one_sign and (x.is_nonzero or y.is_nonzero))


def _product(x: ValueInterval, y: ValueInterval) -> ValueInterval:
    ends = [0.0 if 0 in (a, b) else a * b for a in (x.low, x.high) for b in (y.low, y.high)]
    return ValueInterval(min(ends), max(ends), x.finite and y.finite, x.is_nonzero and y.is_nonzero)


def _reciprocal(x: ValueInterval) -> ValueInterval:
    if x.high <= 0 and x.low < 0:
        return _reciprocal(x.negated()).negated()
    low, high = -math.inf, math.inf
    if x.low >= 0:
        low, high = (1 / x.high if x.high else 0.0), (1 / x.low if x.low else math.inf)
    return ValueInterval(low, high, x.is_nonzero, x.finite)


def power(x: ValueInterval, n: float) -> ValueInterval:
    """Of a literal exponent."""
    if n < 0:
        return _reciprocal(power(x, -n))
    if n == 0:
        return exactly(1)
    whole = n == int(n)
    if whole and n % 2 == 0:
        x = _absolute(x)
    if not x.is_nonnegative:
        return ValueInterval(finite=x.finite, nonzero=x.is_nonzero) if whole else NONNEGATIVE
    # Powers of numbers above 1 may overflow here: they are at least 1.
    low, high = (end**n if end < 1 else bound for end, bound in ((x.low, 1.0), (x.high, math.inf)))
    return ValueInterval(low, high, x.finite, x.is_nonzero)


def _absolute(x: ValueInterval) -> ValueInterval:
    low = max(x.low, -x.high, 0.0)
    return ValueInterval(low, max(-x.low, x.high), x.finite, x.is_nonzero)


def _greatest(x: ValueInterval, y: ValueInterval) -> ValueInterval:
    nonzero = (x.is_nonzero and y.is_nonzero) or x.is_positive or y.is_positive
    return ValueInterval(max(x.low, y.low), max(x.high, y.high), x.finite and y.finite, nonzero)


def _of_record(f: ScalarFunction, course: Course) -> Callable[[ValueInterval], ValueInterval]:
    """The values of a function from how it runs."""

    def values(x: ValueInterval) -> ValueInterval:
        low, high = course.domain
        inside = is_inside(course, (x.low, x.high)) or (
            course.is_open and low == 0 and x.is_positive and x.high <= high
        )
        if course.goes_on and not inside:
            return ANY
        part = max(x.low, low), min(x.high, high)
        least, most = (values_over(f, course, part) if part[0] <= part[1] else None) or course.values
        bounded = (
            math.isfinite(course.values[0]) and math.isfinite(course.values[1]) and course.rises is not None
        )
        finite = inside and (x.finite or bounded or (math.isfinite(low) and math.isfinite(high)))
        return ValueInterval(least, most, finite, _is_nonzero(course, x))

    return values


def _of_two(f: ScalarFunction, course: Course) -> Callable[[ValueInterval, ValueInterval], ValueInterval]:
    """The values of a function that rises in both arguments."""
    at = float_function(f.name)
    return lambda x, y: ValueInterval(
        lower(at(x.low, y.low), course.ulps), upper(at(x.high, y.high), course.ulps), x.finite and y.finite
    )


def _is_nonzero(course: Course, x: ValueInterval) -> bool:
    """Whether no value of a function is 0, for what its bounds do not tell."""
    if course.zeros is None:
        return False
    return all(zero < x.low or zero > x.high or (zero == 0 and x.is_nonzero) for zero in course.zeros)


def _remainder(x: ValueInterval, y: ValueInterval) -> ValueInterval:
    """Floored: with the sign of the divisor, 0 included."""
    low, high = (0.0 if y.low >= 0 else y.low), (0.0 if y.high <= 0 else y.high)
    return ValueInterval(low, high, x.finite and y.finite and y.is_nonzero)


def _pseudo_inverse(x: ValueInterval) -> ValueInterval:
    low, high = (0.0 if x.low >= 0 else -math.inf), (0.0 if x.high <= 0 else math.inf)
    return ValueInterval(low, high, finite=True, nonzero=x.is_nonzero and x.finite)


_UNARY: Mapping[str, Callable[[ValueInterval], ValueInterval]] = {
    **{f.name: _of_record(f, f.course) for f in APPLIED.values() if f.course is not None and f.arity == 1},
    "neg": ValueInterval.negated,
    "pinv": _pseudo_inverse,
}
_BINARY: Mapping[str, Callable[[ValueInterval, ValueInterval], ValueInterval]] = {
    **{f.name: _of_two(f, f.course) for f in APPLIED.values() if f.course is not None and f.arity == 2},
    "add": _sum,
    "sub": lambda x, y: _sum(x, y.negated()),
    "mul": _product,
    "div": lambda x, y: _product(x, _reciprocal(y)),
    "safe": _product,
    "max": _greatest,
    "min": lambda x, y: _greatest(x.negated(), y.negated()).negated(),
    "mod": _remainder,
    "atan2": lambda x, y: ValueInterval(-4, 4, finite=True),
    "pow": lambda x, y: (
        ValueInterval(0, math.inf, x.finite and y.finite and x.is_positive, x.is_positive)
        if x.is_nonnegative
        else ANY
    ),
}


def _names(arity: int) -> list[str]:
    return [name for name, function in APPLIED.items() if function.arity == arity]


#: The values of functions and operators of one operand, and of two.
UNARY = OfFunctions(complete("an interval", _UNARY, _names(1)), lambda f: _of_record(f, f.course or Course()))
BINARY = complete("an interval", _BINARY, _names(2))
