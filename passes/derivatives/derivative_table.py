"""The derivative rules, one line each: cotangents of the operands from that of the result.

A rule takes the algebra `a`, the cotangent `g`, the result `y` and the operands. Conventions at
points without a derivative are those of the language: `abs'(0) = 0`, `sign' = floor' = ceil' = 0`,
ties of max and min split evenly, `relu'(0) = 0`, and a zero cotangent times an infinite partial is 0
(`safe`, a plain product where the partial is seen to be finite).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tadc.frontend.functions import APPLIED, complete
from tadc.frontend.terms import Apply, Const, Term, integer_exponent
from tadc.passes.terms.algebra import Algebra

Unary = Callable[[Algebra, Term, Apply, Term], tuple[Term, ...]]
Binary = Callable[[Algebra, Term, Apply, Term, Term], tuple[Term, ...]]
Rule = Unary | Binary


def _quotient(a: Algebra, g: Term, divisor: Term) -> Term:
    """`g / divisor`, 0 for g = 0 also where the divisor is 0."""
    return a.safe(g, a.div(a.one, divisor))


def _over_root(a: Algebra, g: Term, radicand: Term) -> Term:
    """`g / sqrt(radicand)`, infinite where the radicand is 0."""
    return _quotient(a, g, a.apply("sqrt", radicand))


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


def over_divisor(a: Algebra, g: Term, v: Term) -> Term:
    """`g / v`."""
    return _quotient(a, g, v)


def _pow(a: Algebra, g: Term, y: Term, u: Term, v: Term) -> tuple[Term, ...]:
    n = integer_exponent(y)
    if n is not None:
        partial = a.mul(a.const(n), a.power(u, n - 1))
        return (a.mul(g, partial) if n >= 0 else a.safe(g, partial), a.zero)
    power, positive = a.apply("pow", u, a.sub(v, a.one)), a.values.of(u).is_positive
    if positive or (isinstance(v, Const) and v.value >= 1):
        du = a.mul(g, a.mul(v, power))
    else:
        du = a.safe(a.mul(g, v), power)  # u**0 is constant near u = 0
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


RULES: dict[str, Rule] = {
    "add": lambda a, g, y, u, v: (g, g),
    "sub": lambda a, g, y, u, v: (g, a.neg(g)),
    "mul": lambda a, g, y, u, v: (a.mul(g, v), a.mul(g, u)),
    "safe": lambda a, g, y, u, v: (a.safe(g, v), a.safe(u, g)),
    "div": lambda a, g, y, u, v: (over_divisor(a, g, v), a.neg(a.safe(g, a.div(y, v)))),
    "mod": lambda a, g, y, u, v: (g, a.neg(a.safe(g, a.apply("floor", a.div(u, v))))),
    "neg": lambda a, g, y, u: (a.neg(g),),
    "pow": _pow,
    "max": _extremum(WINS["max"]),
    "min": _extremum(WINS["min"]),
    "exp": lambda a, g, y, u: (a.mul(g, y),),
    "exp2": lambda a, g, y, u: (a.mul(g, a.mul(a.const(math.log(2)), y)),),
    "expm1": lambda a, g, y, u: (a.mul(g, a.apply("exp", u)),),
    "log": lambda a, g, y, u: (_quotient(a, g, u),),
    "log2": lambda a, g, y, u: (_quotient(a, g, a.mul(a.const(math.log(2)), u)),),
    "log10": lambda a, g, y, u: (_quotient(a, g, a.mul(a.const(math.log(10)), u)),),
    "log1p": lambda a, g, y, u: (_quotient(a, g, a.add(a.one, u)),),
    "sqrt": lambda a, g, y, u: (_quotient(a, g, a.mul(a.const(2), y)),),
    "cbrt": lambda a, g, y, u: (_quotient(a, g, a.mul(a.const(3), _square(a, y))),),
    "sin": lambda a, g, y, u: (a.mul(g, a.apply("cos", u)),),
    "cos": lambda a, g, y, u: (a.neg(a.mul(g, a.apply("sin", u))),),
    "tan": lambda a, g, y, u: (a.mul(g, a.add(a.one, _square(a, y))),),
    "asin": lambda a, g, y, u: (_over_root(a, g, a.mul(a.sub(a.one, u), a.add(a.one, u))),),
    "acos": lambda a, g, y, u: (a.neg(_over_root(a, g, a.mul(a.sub(a.one, u), a.add(a.one, u)))),),
    "atan": lambda a, g, y, u: (a.div(g, a.add(a.one, _square(a, u))),),
    "atan2": _atan2,
    "sinh": lambda a, g, y, u: (a.mul(g, a.apply("cosh", u)),),
    "cosh": lambda a, g, y, u: (a.mul(g, a.apply("sinh", u)),),
    "tanh": lambda a, g, y, u: (a.mul(g, a.sub(a.one, _square(a, y))),),
    "asinh": lambda a, g, y, u: (_over_root(a, g, a.add(a.one, _square(a, u))),),
    "acosh": lambda a, g, y, u: (_over_root(a, g, a.mul(a.sub(u, a.one), a.add(u, a.one))),),
    "atanh": lambda a, g, y, u: (_quotient(a, g, a.sub(a.one, _square(a, u))),),
    "erf": lambda a, g, y, u: (_bell(a, g, u),),
    "erfc": lambda a, g, y, u: (a.neg(_bell(a, g, u)),),
    "abs": lambda a, g, y, u: (a.mul(g, a.apply("sign", u)),),
    "sign": lambda a, g, y, u: (a.zero,),
    "floor": lambda a, g, y, u: (a.zero,),
    "ceil": lambda a, g, y, u: (a.zero,),
    "sigmoid": lambda a, g, y, u: (a.mul(g, a.mul(y, a.apply("sigmoid", a.neg(u)))),),
    "relu": lambda a, g, y, u: (a.select(">", u, a.zero, g, a.zero),),
}
complete("a derivative", RULES, APPLIED)


def cotangents(a: Algebra, g: Term, y: Apply, value: Term | None = None) -> tuple[Term, ...]:
    """The cotangents of the operands of `y`, given its own; `value` is a term that has the value of `y`."""
    rule: Any = RULES[y.function]
    return rule(a, g, y if value is None or y.function == "pow" else value, *y.operands)
