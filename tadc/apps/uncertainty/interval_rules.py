"""Bounds of functions over intervals of floats, rounded outwards; see `interval_rounding` for how far."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce

from tadc.toolkit.language import (
    APPLIED,
    LIBRARY,
    NEGATED,
    OPERANDS,
    Bounds,
    Course,
    ScalarFunction,
    called,
    complete,
    down,
    evaluate,
    is_inside,
    lower,
    no_bound,
    up,
    upper,
    value_at,
    values_over,
)
from tadc.toolkit.reporting import ArgumentError, Diagnostic

_Unary = Callable[[float], float]
_UNIT = (-1.0, 1.0)


def bounds_of(function: str, *operands: Bounds) -> Bounds:
    """The values of a function or operator of the language, of `math` or NumPy, by name.

    Raises ArgumentError (TAD0908) where it has none, or no rule.
    """
    rule = _RULES.get(function)
    record = APPLIED.get(function)
    if rule is None and record is not None and record.course is not None:
        return (
            _of_record(record, record.course, *operands) if record.arity == 1 else _rising(record, *operands)
        )
    if rule is None:
        helps = ["method `worst` or `mc` goes without"]
        raise ArgumentError([Diagnostic("TAD0908", f"there are no bounds for `{function}`", helps=helps)])
    return rule(*operands)


def decided(relation: str, x: Bounds, y: Bounds) -> bool | None:
    """Whether a relation holds for all numbers (True), for none (False), or for some."""
    match relation:
        case "<":
            return True if x[1] < y[0] else False if x[0] >= y[1] else None
        case ">":
            return decided("<", y, x)
        case "=":
            return True if x[0] == x[1] == y[0] == y[1] else False if _apart(x, y) else None
        case _:
            opposite = decided(NEGATED[relation], x, y)
            return None if opposite is None else not opposite


def _of_record(f: ScalarFunction, course: Course, x: Bounds) -> Bounds:
    if f.name == "lgamma" and x[1] < 0:
        return bounds_of("log", bounds_of("abs", _gamma(x)))
    found = values_over(f, course, x) if is_inside(course, x) else None
    if found is None:
        raise no_bound(f.name, x)
    if course.rises is None and not (math.isinf(x[0]) or math.isinf(x[1])):
        return _met(found, _along(f, course, x, _slope_over(f, x)))
    return found


def _slope_over(f: ScalarFunction, x: Bounds) -> Bounds:
    """The values of the slope, which is made of functions that go up and down no steeper than they do."""
    assert f.slopes is not None
    return evaluate(f.slopes[0], {"x": x}, _Roughly())


def _along(f: ScalarFunction, course: Course, x: Bounds, slope: Bounds) -> Bounds:
    """The values over an interval from the slopes in it: those at its ends where all slopes have one sign."""
    if slope[0] >= 0 or slope[1] <= 0:
        return _hull([value_at(f, course, end) for end in x])
    middle = x[0] + (x[1] - x[0]) / 2
    return _add(value_at(f, course, middle), _mul(slope, _sub(x, (middle, middle))))


def _apart(x: Bounds, y: Bounds) -> bool:
    return x[1] < y[0] or y[1] < x[0]


def _met(x: Bounds, y: Bounds) -> Bounds:
    return max(x[0], y[0]), min(x[1], y[1])


def _rising(f: ScalarFunction, *operands: Bounds) -> Bounds:
    """The values of a function that rises in all operands: its formula at both ends."""
    ends = [
        dict(zip(OPERANDS, [(end, end) for end in each], strict=False))
        for each in zip(*operands, strict=True)
    ]
    low, high = (evaluate(f.formula_for("f64"), each, _Roughly()) for each in ends)
    return low[0], high[1]


class _Roughly:
    """Intervals as the numbers of formulas of slopes, without looking at slopes again."""

    def const(self, value: float) -> Bounds:
        return float(value), float(value)

    def apply(self, function: str, *operands: Bounds) -> Bounds:
        record = APPLIED[function]
        course = record.course
        if course is None or course.rises is not None or function in _RULES:
            return bounds_of(function, *operands)
        return _met(course.values, _along(record, course, operands[0], (-course.steepest, course.steepest)))

    def power(self, x: Bounds, n: int) -> Bounds:
        return _whole_power(x, n)

    def select(self, relation: str, x: Bounds, y: Bounds, then: Bounds, otherwise: Bounds) -> Bounds:
        if relation == "=" and x == y and x[0] == x[1]:
            return then
        return otherwise if relation == "=" and _apart(x, y) else _hull([then, otherwise])


def _add(x: Bounds, y: Bounds) -> Bounds:
    lo, hi = x[0] + y[0], x[1] + y[1]
    if math.isnan(lo) or math.isnan(hi):
        raise no_bound("+", x, y)
    # A sum that is 0 is exact.
    return (lo if lo == 0 else lower(lo, 1)), (hi if hi == 0 else upper(hi, 1))


def _neg(x: Bounds) -> Bounds:
    return -x[1], -x[0]


def _sub(x: Bounds, y: Bounds) -> Bounds:
    return _add(x, _neg(y))


def _product(x: float, y: float) -> Bounds:
    if x == 0 or y == 0:
        return 0.0, 0.0
    p = x * y
    return lower(p, 1), upper(p, 1)


def _hull(parts: list[Bounds]) -> Bounds:
    return min(lo for lo, _ in parts), max(hi for _, hi in parts)


def _mul(x: Bounds, y: Bounds) -> Bounds:
    return _hull([_product(a, b) for a in x for b in y])


def _div(x: Bounds, y: Bounds) -> Bounds:
    if y[0] <= 0 <= y[1]:
        raise no_bound("/", x, y)
    quotients = [a / b if not math.isinf(b) else 0.0 for a in x for b in y]
    if any(map(math.isnan, quotients)):
        raise no_bound("/", x, y)
    lo, hi = min(quotients), max(quotients)
    exact = x[0] == 0 or x[1] == 0
    return (lo if lo == 0 and exact else lower(lo, 1)), (hi if hi == 0 and exact else upper(hi, 1))


def _abs(x: Bounds) -> Bounds:
    if x[0] >= 0:
        return x
    return _neg(x) if x[1] <= 0 else (0.0, max(-x[0], x[1]))


def _whole_power(x: Bounds, n: int) -> Bounds:
    if n == 0:
        return 1.0, 1.0
    if n < 0:
        return _div((1.0, 1.0), _whole_power(x, -n))
    base = x if n % 2 else _abs(x)
    if n == 1:
        return base
    lo, hi = (called(math.pow, end, float(n)) for end in base)
    lo = -math.inf if math.isinf(lo) and base[0] < 0 else lo
    below = lo if base[0] == 0 else lower(lo, LIBRARY)
    return (below if n % 2 or not base[0] else max(below, 0.0)), (hi if base[1] == 0 else upper(hi, LIBRARY))


def _pow(x: Bounds, y: Bounds) -> Bounds:
    if y[0] == y[1] and y[0].is_integer() and abs(y[0]) < 2**31:
        return _whole_power(x, int(y[0]))
    if x[0] < 0 or (x[0] == 0 and y[0] <= 0):
        raise no_bound("**", x, y)
    # Monotone in each operand, so its extremes are at corners.
    corners = [called(math.pow, a, b) for a in x for b in y]
    return max(0.0, lower(min(corners), LIBRARY)), upper(max(corners), LIBRARY)


def _reaches(x: Bounds, offset: float) -> bool:
    """Whether `offset + 2 k pi` may be in the interval for some integer k; true if in doubt."""
    low, high = ((end - offset) / (2 * math.pi) for end in x)
    doubt = 8e-16 * (1 + max(abs(low), abs(high)))
    return math.floor(high + doubt) >= math.ceil(low - doubt)


def _wave(function: _Unary, top: float) -> Callable[[Bounds], Bounds]:
    def bounds(x: Bounds) -> Bounds:
        if not x[1] - x[0] < 6:
            return _UNIT
        ends = [function(end) for end in x]
        lo = -1.0 if _reaches(x, top + math.pi) else max(-1.0, down(min(ends), LIBRARY))
        return lo, 1.0 if _reaches(x, top) else min(1.0, up(max(ends), LIBRARY))

    return bounds


def _scaled(function: _Unary) -> Callable[[Bounds], Bounds]:
    return lambda x: (lower(function(x[0]), LIBRARY), upper(function(x[1]), LIBRARY))


def _tan(x: Bounds) -> Bounds:
    half = math.pi / 2
    if not x[1] - x[0] < 3 or _reaches(x, half) or _reaches(x, -half):
        raise no_bound("tan", x)
    return down(math.tan(x[0]), LIBRARY), up(math.tan(x[1]), LIBRARY)


def _atan2(y: Bounds, x: Bounds) -> Bounds:
    if x[0] <= 0 and y[0] <= 0 <= y[1]:
        return -3.1415926535897936, 3.1415926535897936  # the jump, or the origin, is inside
    corners = [math.atan2(b, a) for a in x for b in y]
    return lower(min(corners), LIBRARY), upper(max(corners), LIBRARY)


def _steps(function: Callable[[float], float]) -> Callable[[Bounds], Bounds]:
    """An increasing function without rounding."""

    def at(end: float) -> float:
        return end if math.isinf(end) else float(function(end))

    return lambda x: (at(x[0]), at(x[1]))


def _floordiv(x: Bounds, y: Bounds) -> Bounds:
    lo, hi = _div(x, y)
    if math.isinf(lo) or math.isinf(hi):
        raise no_bound("//", x, y)
    return float(math.floor(lo)), float(math.floor(hi))


def _mod(x: Bounds, y: Bounds) -> Bounds:
    lo, hi = _floordiv(x, y)
    most = (0.0, y[1]) if y[0] > 0 else (y[0], 0.0)
    if lo != hi:
        return most
    found = _sub(x, _mul((lo, lo), y))
    return max(found[0], most[0]), min(found[1], most[1])


def _hypot(*operands: Bounds) -> Bounds:
    low, high = _sum(*(_whole_power(x, 2) for x in operands))
    return bounds_of("sqrt", (max(0.0, low), high))


def _copysign(x: Bounds, y: Bounds) -> Bounds:
    size = _abs(x)
    if y[0] > 0:
        return size
    return _neg(size) if y[1] < 0 else (-size[1], size[1])


def _sum(*terms: Bounds) -> Bounds:
    return reduce(_add, terms, (0.0, 0.0))


def _square(x: Bounds) -> Bounds:
    return _whole_power(x, 2)


def _reciprocal(x: Bounds) -> Bounds:
    return _div((1.0, 1.0), x)


def _ldexp(x: Bounds, n: Bounds) -> Bounds:
    return _mul(x, (math.ldexp(1.0, int(n[0])), math.ldexp(1.0, int(n[1]))))


def _fma(x: Bounds, y: Bounds, z: Bounds) -> Bounds:
    return _add(_mul(x, y), z)


#: Pi is between these, and so are the place of the least gamma of a positive number, and that.
_PI = (3.141592653589793, 3.1415926535897936)
_LEAST_AT, _LEAST = (1.4616321449683622, 1.4616321449683625), 0.8856031944108886
#: CPython's gamma errs by at most 10 units in the last place in its own tests (`mathmodule.c`).
_GAMMA = 20


def _gamma(x: Bounds) -> Bounds:
    if x[0] > 0:
        # Falling up to its least value, then rising.
        ends = [called(math.gamma, end) for end in x]
        least = x[0] <= _LEAST_AT[1] and x[1] >= _LEAST_AT[0]
        return (_LEAST if least else max(_LEAST, lower(min(ends), _GAMMA))), upper(max(ends), _GAMMA)
    if x[1] >= 0 or math.ceil(x[0]) <= math.floor(x[1]):
        raise no_bound("gamma", x)
    # gamma(x) gamma(1 - x) sin(pi x) = pi, with x less a whole number under the sine, and its sign.
    whole = float(math.floor(x[0]))
    sine = bounds_of("sin", _mul(_PI, _sub(x, (whole, whole))))
    sine = max(sine[0], 0.0), sine[1]
    found = _div(_PI, _mul(sine, _gamma(_sub((1.0, 1.0), x))))
    return _neg(found) if whole % 2 else found


def _pinv(x: Bounds) -> Bounds:
    return x if x == (0.0, 0.0) else _div((1.0, 1.0), x)


_RULES: dict[str, Callable[..., Bounds]] = {
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "safe": _mul,
    "div": _div,
    "pinv": _pinv,
    "mod": _mod,
    "pow": _pow,
    "neg": _neg,
    "max": lambda *x: (max(lo for lo, _ in x), max(hi for _, hi in x)),
    "min": lambda *x: (min(lo for lo, _ in x), min(hi for _, hi in x)),
    "sin": _wave(math.sin, math.pi / 2),
    "cos": _wave(math.cos, 0.0),
    "tan": _tan,
    "atan2": _atan2,
    "gamma": _gamma,
    "degrees": _scaled(math.degrees),
    "radians": _scaled(math.radians),
    "trunc": _steps(math.trunc),
    "rint": _steps(round),
    "pos": lambda *x: x[0],
    "floordiv": _floordiv,
    "hypot": _hypot,
    "square": _square,
    "reciprocal": _reciprocal,
    "copysign": _copysign,
    "ldexp": _ldexp,
    "fma": _fma,
    "fsum": _sum,
}
complete("a bound", _RULES, [f.name for f in APPLIED.values() if f.course is None])
