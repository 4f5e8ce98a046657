"""The values of a function over an interval of floats, from the course in its record, rounded outwards."""

from __future__ import annotations

import math

from tadc.frontend.float_functions import float_function
from tadc.frontend.functions.scalar_function import Course, ScalarFunction
from tadc.frontend.interval_rounding import Bounds, lower, upper


def is_inside(course: Course, x: Bounds) -> bool:
    """Whether a function is defined on all of an interval."""
    low, high = course.domain
    ends = (low < x[0] or low == -math.inf, x[1] < high or high == math.inf)
    return all(ends) if course.is_open else low <= x[0] and x[1] <= high


def values_over(f: ScalarFunction, course: Course, x: Bounds) -> Bounds | None:
    """The values over an interval on which the function is defined; None where one is no number.

    Of one that goes up and down they are all of its values.
    """
    if course.rises is None:
        return course.values
    turns = [value for place, value in course.turns if place[0] <= x[1] and x[0] <= place[1]]
    found = [*(value_at(f, course, end) for end in x), *turns]
    if any(math.isnan(end) for each in found for end in each):
        return None
    least, most = course.values
    return max(least, min(low for low, _ in found)), min(most, max(high for _, high in found))


def value_at(f: ScalarFunction, course: Course, x: float) -> Bounds:
    """The value at a float, between two floats; at a zero it is exact."""
    if course.zeros and x in course.zeros:
        return 0.0, 0.0
    value = float_function(f.name)(x)
    low, high = lower(value, course.ulps), upper(value, course.ulps)
    return (lower(low - course.error, 1), upper(high + course.error, 1)) if course.error else (low, high)
