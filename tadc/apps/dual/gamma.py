"""The derivative of the logarithm of the gamma function."""

from __future__ import annotations

import math

#: Coefficients of 1/x**2, 1/x**4, … of `log(x) - 1/(2 x) - digamma(x)`: B_2n / 2n (DLMF 5.11.2).
_SERIES = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
#: The series has all digits of a float from here on.
_LARGE = 10.0


def digamma(x: float) -> float:
    """Gamma'(x) / Gamma(x), to some units in the last place of max(1, |value|); NaN at the poles 0, -1, ….

    Reflection for x < 0, recurrence up to 10, then the asymptotic series (DLMF 5.5.4, 5.5.2, 5.11.2).
    """
    if math.isnan(x) or x == -math.inf or (x <= 0 and x == math.floor(x)):
        return math.nan
    if x == math.inf:
        return x
    if x < 0:
        # Of x less a whole number, so that no digit is lost far from 0.
        rest = x - round(x)
        return digamma(1 - x) - math.pi / math.tan(math.pi * rest)
    below: list[float] = []
    while x < _LARGE:
        below.append(-1 / x)
        x += 1
    square, power = 1 / (x * x), 1.0
    terms = [math.log(x), -0.5 / x]
    for coefficient in _SERIES:
        power *= square
        terms.append(-coefficient * power)
    return math.fsum([*terms, *below])
