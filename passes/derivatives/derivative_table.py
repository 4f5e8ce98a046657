"""The derivative rules, one line each: cotangents of the operands from that of the result.

A rule takes the algebra `a`, the cotangent `g`, the result `y` and the operands. Conventions at
points without a derivative are those of the language: `abs'(0) = 0`, `sign' = floor' = ceil' = 0`,
ties of max and min split evenly, `relu'(0) = 0`. What a zero cotangent times an infinite partial is, says
`slopes.py` (`through`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from tadc.frontend.functions import APPLIED, complete
from tadc.frontend.terms import Apply, Const, Term, integer_exponent
from tadc.passes.derivatives import slope_ends
from tadc.passes.derivatives.coefficients import fraction
from tadc.passes.terms.algebra import Algebra

Unary = Callable[[Any, Term, Apply, Term], tuple[Term, ...]]
Binary = Callable[[Any, Term, Apply, Term, Term], tuple[Term, ...]]
Rule = Unary | Binary


def _root(a: Any, g: Term, y: Term, u: Term, n: Fraction, partial: Term) -> Term:
    """Through u**n, infinite where u is 0."""
    return a.through(g, partial, lambda: slope_ends.root(a, y, u, n, a.varying(u)), (u,))


def _log(a: Any, g: Term, u: Term, over: Term | None = None, scale: float = 1.0) -> Term:
    """Through the logarithm of `over`, by default u, divided by the logarithm `scale` of its base."""
    divisor = u if over is None else over
    divisor = divisor if scale == 1 else a.mul(a.const(scale), divisor)
    return a.through(g, a.div(a.one, divisor), lambda: slope_ends.logarithm(a, u, scale, over), (u,))


def _arc(a: Any, g: Term, y: Term, u: Term, ends: slope_ends.Ends, square: int = 1) -> Term:
    """Through an inverse sine or cosine, infinite at the ends of its domain."""
    near = a.sub(a.one, u) if square == 1 else a.sub(u, a.one)
    factors = (near, a.add(a.one, u) if square == 1 else a.add(u, a.one))
    partial = a.div(a.one, a.apply("sqrt", a.mul(*factors)))
    return a.through(g, partial, lambda: slope_ends.arc(a, y, u, ends, square, factors), (u,))


def _square(a: Algebra, x: Term) -> Term:
    return a.power(x, 2)


#: What holds of an operand of a max or min, and the other one, where it is the result.
WINS = {"max": ">=", "min": "<="}


def _extremum(wins: str) -> Binary:
    def rule(a: Algebra, g: Term, y: Term, u: Term, v: Term) -> tuple[Term, ...]:
        return goes_to(a, a.select("=", u, v, a.mul(a.const(0.5), g), g), wins, u, v)

    return rule


def goes_to(a: Algebra, each: Term, wins: str, u: Term, v: Term) -> tuple[Term, ...]:
    """What each operand of a max or min gets, of which one that is the result gets `each`."""
    return (a.select(wins, u, v, each, a.zero), a.select(wins, v, u, each, a.zero))


def over_divisor(a: Any, g: Term, y: Term, u: Term, v: Term) -> Term:
    """`g / v`, for y = u / v."""
    return _over_power(a, g, y, u, v, a.div(a.one, v), (a.one, -1))


def times_quotient(a: Any, g: Term, y: Term, u: Term, v: Term) -> Term:
    """`g * y / v`, for y = u / v."""
    return _over_power(a, g, y, u, v, a.div(y, v), (u, -2))


def _over_power(a: Any, g: Term, y: Term, u: Term, v: Term, partial: Term, power: tuple[Term, int]) -> Term:
    """Through a slope of y = u / v, which is a power of v but for a factor, infinite where v is 0."""
    return a.through(g, partial, lambda: slope_ends.quotient(a, y, u, v, *power, not a.shares(u, v)), (v,))


def _pow(a: Any, g: Term, y: Term, u: Term, v: Term) -> tuple[Term, ...]:
    n = integer_exponent(y)
    if n is not None:
        partial = a.mul(a.const(n), a.power(u, n - 1))
        return (a.mul(g, partial) if n >= 0 else _root(a, g, y, u, Fraction(n), partial), a.zero)
    power, positive = a.apply("pow", u, a.sub(v, a.one)), a.values.of(u).is_positive
    if positive or (isinstance(v, Const) and v.value >= 1):
        du = a.mul(g, a.mul(v, power))
    elif isinstance(v, Const):
        du = _root(a, g, y, u, fraction(v.value), a.mul(v, power))
    else:
        # u**0 is constant near u = 0.
        du = a.through(a.mul(g, v), power, lambda: slope_ends.unknown_power(a, y, u, a.varying(u)), (u,))
    if isinstance(v, Const):
        return (du, a.zero)
    dv = a.mul(y, a.apply("log", u))
    if positive:
        return (du, a.mul(g, dv))
    # 0**v is constant near v > 0: no infinite logarithm, no 0 * inf.
    return (du, a.select("!=", y, a.zero, a.safe(g, dv), a.zero))


def _atan2(a: Algebra, g: Term, y: Term, u: Term, v: Term) -> tuple[Term, ...]:
    norm = a.add(_square(a, u), _square(a, v))
    return (a.safe(g, a.div(v, norm)), a.neg(a.safe(g, a.div(u, norm))))


def _bell(a: Algebra, g: Term, u: Term) -> Term:
    """The slope of the error function, `2 / sqrt(pi) * exp(-u**2)`."""
    return a.mul(g, a.mul(a.const(2 / math.sqrt(math.pi)), a.apply("exp", a.neg(_square(a, u)))))


_HALF, _THIRD = Fraction(1, 2), Fraction(1, 3)
_OF_SINE: slope_ends.Ends = [(1, math.pi / 2, -1), (-1, -math.pi / 2, 1)]
_OF_COSINE: slope_ends.Ends = [(1, 0.0, 1), (-1, math.pi, -1)]
_OF_AREA: slope_ends.Ends = [(1, 0.0, 1)]

RULES: dict[str, Rule] = {
    "add": lambda a, g, y, u, v: (g, g),
    "sub": lambda a, g, y, u, v: (g, a.neg(g)),
    "mul": lambda a, g, y, u, v: (a.mul(g, v), a.mul(g, u)),
    "safe": lambda a, g, y, u, v: (a.safe_factor(g, u, v), a.safe(u, g)),
    "div": lambda a, g, y, u, v: (over_divisor(a, g, y, u, v), a.neg(times_quotient(a, g, y, u, v))),
    "mod": lambda a, g, y, u, v: (g, a.neg(a.safe(g, a.apply("floor", a.div(u, v))))),
    "neg": lambda a, g, y, u: (a.neg(g),),
    "pow": _pow,
    "max": _extremum(WINS["max"]),
    "min": _extremum(WINS["min"]),
    "exp": lambda a, g, y, u: (a.mul(g, y),),
    "exp2": lambda a, g, y, u: (a.mul(g, a.mul(a.const(math.log(2)), y)),),
    "expm1": lambda a, g, y, u: (a.mul(g, a.apply("exp", u)),),
    "log": lambda a, g, y, u: (_log(a, g, u),),
    "log2": lambda a, g, y, u: (_log(a, g, u, scale=math.log(2)),),
    "log10": lambda a, g, y, u: (_log(a, g, u, scale=math.log(10)),),
    "log1p": lambda a, g, y, u: (_log(a, g, u, a.add(a.one, u)),),
    "sqrt": lambda a, g, y, u: (_root(a, g, y, u, _HALF, a.div(a.one, a.mul(a.const(2), y))),),
    "cbrt": lambda a, g, y, u: (_root(a, g, y, u, _THIRD, a.div(a.one, a.mul(a.const(3), _square(a, y)))),),
    "sin": lambda a, g, y, u: (a.mul(g, a.apply("cos", u)),),
    "cos": lambda a, g, y, u: (a.neg(a.mul(g, a.apply("sin", u))),),
    "tan": lambda a, g, y, u: (a.mul(g, a.add(a.one, _square(a, y))),),
    "asin": lambda a, g, y, u: (_arc(a, g, y, u, _OF_SINE),),
    "acos": lambda a, g, y, u: (a.neg(_arc(a, g, y, u, _OF_COSINE)),),
    "atan": lambda a, g, y, u: (a.div(g, a.add(a.one, _square(a, u))),),
    "atan2": _atan2,
    "sinh": lambda a, g, y, u: (a.mul(g, a.apply("cosh", u)),),
    "cosh": lambda a, g, y, u: (a.mul(g, a.apply("sinh", u)),),
    "tanh": lambda a, g, y, u: (a.mul(g, a.sub(a.one, _square(a, y))),),
    "asinh": lambda a, g, y, u: (a.safe(g, a.div(a.one, a.apply("sqrt", a.add(a.one, _square(a, u))))),),
    "acosh": lambda a, g, y, u: (_arc(a, g, y, u, _OF_AREA, -1),),
    "atanh": lambda a, g, y, u: (
        a.through(g, a.div(a.one, a.sub(a.one, _square(a, u))), lambda: slope_ends.area_tangent(a, u), (u,)),
    ),
    "erf": lambda a, g, y, u: (_bell(a, g, u),),
    "erfc": lambda a, g, y, u: (a.neg(_bell(a, g, u)),),
    "abs": lambda a, g, y, u: (a.by_sign(g, y, u),),
    "sign": lambda a, g, y, u: (a.zero,),
    "floor": lambda a, g, y, u: (a.zero,),
    "ceil": lambda a, g, y, u: (a.zero,),
    "sigmoid": lambda a, g, y, u: (a.mul(g, a.mul(y, a.apply("sigmoid", a.neg(u)))),),
    "relu": lambda a, g, y, u: (a.select(">", u, a.zero, g, a.zero),),
    "pinv": lambda a, g, y, u: (a.neg(a.mul(g, _square(a, y))),),
}
complete("a derivative", RULES, APPLIED)

#: Functions whose slope may be infinite or have a step.
STEEP = frozenset(
    {"abs", "sqrt", "cbrt", "pow", "asin", "acos", "acosh", "log", "log2", "log10", "log1p", "div"}
)


def partials(a: Algebra, y: Apply) -> tuple[Term, ...]:
    """The derivatives of a function by its operands."""
    return cotangents(a, a.one, y)


def cotangents(a: Any, g: Term, y: Apply, value: Term | None = None) -> tuple[Term, ...]:
    """The cotangents of the operands of `y`, given its own; `value` is a term that has the value of `y`."""
    rule: Any = RULES[y.function]
    around, a.at = a.at, y
    found = rule(a, g, y if value is None or y.function == "pow" else value, *y.operands)
    a.at = around
    return found
