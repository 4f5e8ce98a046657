"""The derivative rules: cotangents of the operands from that of the result.

Most are the slopes of records, texts of the language. A rule takes the algebra `a`, the cotangent `g`, the
result `y` and the operands. Conventions at points without a derivative are those of the language:
`abs'(0) = 0`, `sign' = floor' = ceil' = 0`, ties of max and min split evenly, `relu'(0) = 0`. What a zero
cotangent times an infinite partial is, says `slopes.py` (`through`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from tadc.frontend.float_functions import float_function
from tadc.frontend.formula_values import OPERANDS, VALUE, Arithmetic, evaluate
from tadc.frontend.functions import APPLIED, OfFunctions, ScalarFunction, complete
from tadc.frontend.terms import Apply, Const, Term, integer_exponent
from tadc.passes.derivatives import slope_ends
from tadc.passes.derivatives.coefficients import fraction
from tadc.passes.terms.algebra import Algebra

Rule = Callable[..., tuple[Term, ...]]

Calculus = Any
"""The algebra of a derivative, or floats that have its names."""

_OfOne = Callable[[Calculus, Term, Term, Term], tuple[Term, ...]]
_OfTwo = Callable[[Calculus, Term, Term, Term, Term], tuple[Term, ...]]
Slopes = Callable[[Calculus, Term, Term], list[slope_ends.Slope]]


class _Terms:
    """Terms as the numbers of formulas; what is computed of literals is one."""

    def __init__(self, a: Calculus) -> None:
        self.algebra = a
        self.by_name = {name: getattr(a, name) for name in ("add", "sub", "mul", "div", "neg")}

    def const(self, value: float) -> Term:
        return self.algebra.const(value)

    def apply(self, function: str, *operands: Term) -> Term:
        """The function, simplified as far as it is arithmetic."""
        if (
            operands
            and all(isinstance(t, Const) for t in operands)
            and function in ("log", "sqrt", "div", "neg")
        ):
            values = (t.value for t in operands if isinstance(t, Const))
            return self.algebra.const(float_function(function)(*values))
        by_name = self.by_name.get(function)
        return by_name(*operands) if by_name else self.algebra.apply(function, *operands)

    def power(self, x: Term, n: int) -> Term:
        return self.algebra.power(x, n)

    def select(self, relation: str, x: Term, y: Term, then: Term, otherwise: Term) -> Term:
        return self.algebra.select(relation, x, y, then, otherwise)


def in_terms(a: Calculus, text: str, *operands: Term, value: Term | None = None) -> Term:
    """The text of a record over terms, or over the numbers of another algebra."""
    numbers: Arithmetic[Term] = _Terms(a) if isinstance(a, Algebra) else a
    given = dict(zip((*OPERANDS[: len(operands)], VALUE), (*operands, value), strict=True))
    return evaluate(text, {name: term for name, term in given.items() if term is not None}, numbers)


def _root(n: Fraction) -> Slopes:
    return lambda a, y, u: slope_ends.root(a, y, u, n, a.varying(u))


def _log(scale: float = 1.0) -> Slopes:
    return lambda a, y, u: slope_ends.logarithm(a, u, scale)


def _arc(ends: slope_ends.Ends, square: int = 1) -> Slopes:
    def slopes(a: Calculus, y: Term, u: Term) -> list[slope_ends.Slope]:
        near, far = (a.sub(a.one, u), a.add(a.one, u)) if square == 1 else (a.sub(u, a.one), a.add(u, a.one))
        return slope_ends.arc(a, y, u, ends, square, (near, far))

    return slopes


#: Where the slopes of functions are infinite, and what they are near there.
INFINITE: dict[str, Slopes] = {
    "sqrt": _root(Fraction(1, 2)),
    "cbrt": _root(Fraction(1, 3)),
    "log": _log(),
    "log2": _log(math.log(2)),
    "log10": _log(math.log(10)),
    "log1p": lambda a, y, u: slope_ends.logarithm(a, u, 1.0, a.add(a.one, u)),
    "asin": _arc([(1, math.pi / 2, -1), (-1, -math.pi / 2, 1)]),
    "acos": _arc([(1, 0.0, 1), (-1, math.pi, -1)]),
    "acosh": _arc([(1, 0.0, 1)], -1),
    "atanh": lambda a, y, u: slope_ends.area_tangent(a, u),
}


def _by_text(f: ScalarFunction) -> Rule:
    """The rule of a function whose record has its slopes; its sign and a quotient stay in front."""
    slopes = [(text[1:], True) if text.startswith("-(") else (text, False) for text in f.slopes or ()]

    def rule(a: Calculus, g: Term, y: Term, *operands: Term) -> tuple[Term, ...]:
        found: list[Term] = []
        for text, is_negative in slopes:
            slope = in_terms(a, text, *operands, value=y)
            if f.name in INFINITE:
                given = a.through(g, slope, lambda: INFINITE[f.name](a, y, operands[0]), operands)
            elif "singular" in f.traits:
                given = a.safe(g, slope)
            elif text.startswith("1 / ") and isinstance(slope, Apply):
                given = a.div(g, slope.operands[1])
            else:
                given = a.mul(g, slope)
            found.append(a.neg(given) if is_negative else given)
        return tuple(found)

    return rule


#: What holds of an operand of a max or min, and the other one, where it is the result.
WINS = {"max": ">=", "min": "<="}


def _extremum(wins: str) -> Rule:
    def rule(a: Algebra, g: Term, y: Term, u: Term, v: Term) -> tuple[Term, ...]:
        return goes_to(a, a.select("=", u, v, a.mul(a.const(0.5), g), g), wins, u, v)

    return rule


def goes_to(a: Algebra, each: Term, wins: str, u: Term, v: Term) -> tuple[Term, ...]:
    """What each operand of a max or min gets, of which one that is the result gets `each`."""
    return (a.select(wins, u, v, each, a.zero), a.select(wins, v, u, each, a.zero))


def over_divisor(a: Calculus, g: Term, y: Term, u: Term, v: Term) -> Term:
    """`g / v`, for y = u / v."""
    return _over_power(a, g, y, u, v, a.div(a.one, v), (a.one, -1))


def times_quotient(a: Calculus, g: Term, y: Term, u: Term, v: Term) -> Term:
    """`g * y / v`, for y = u / v."""
    return _over_power(a, g, y, u, v, a.div(y, v), (u, -2))


def _over_power(
    a: Calculus, g: Term, y: Term, u: Term, v: Term, partial: Term, power: tuple[Term, int]
) -> Term:
    """Through a slope of y = u / v, which is a power of v but for a factor, infinite where v is 0."""
    return a.through(g, partial, lambda: slope_ends.quotient(a, y, u, v, *power, not a.shares(u, v)), (v,))


def _through_root(a: Calculus, g: Term, y: Term, u: Term, n: Fraction, partial: Term) -> Term:
    return a.through(g, partial, lambda: _root(n)(a, y, u), (u,))


def _pow(a: Calculus, g: Term, y: Term, u: Term, v: Term) -> tuple[Term, ...]:
    n = integer_exponent(y)
    if n is not None:
        partial = a.mul(a.const(n), a.power(u, n - 1))
        return (a.mul(g, partial) if n >= 0 else _through_root(a, g, y, u, Fraction(n), partial), a.zero)
    power, positive = a.apply("pow", u, a.sub(v, a.one)), a.values.of(u).is_positive
    if positive or (isinstance(v, Const) and v.value >= 1):
        du = a.mul(g, a.mul(v, power))
    elif isinstance(v, Const):
        du = _through_root(a, g, y, u, fraction(v.value), a.mul(v, power))
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


#: Rules that no text says: what is 0 or infinite counts otherwise there, or ties are shared.
_WRITTEN: dict[str, _OfTwo] = {
    "safe": lambda a, g, y, u, v: (a.safe_factor(g, u, v), a.safe(u, g)),
    "div": lambda a, g, y, u, v: (over_divisor(a, g, y, u, v), a.neg(times_quotient(a, g, y, u, v))),
    "pow": _pow,
    "max": _extremum(WINS["max"]),
    "min": _extremum(WINS["min"]),
}
_WRITTEN_OF_ONE: dict[str, _OfOne] = {"abs": lambda a, g, y, u: (a.by_sign(g, y, u),)}
RULES: dict[str, Rule] = OfFunctions(
    {
        **{f.name: _by_text(f) for f in APPLIED.values() if f.slopes is not None},
        **_WRITTEN,
        **_WRITTEN_OF_ONE,
    },
    _by_text,
)
complete("a derivative", RULES, APPLIED)

#: Functions whose slope may be infinite or have a step.
STEEP = frozenset({*INFINITE, "abs", "pow", "div"})


def partials(a: Algebra, y: Apply) -> tuple[Term, ...]:
    """The derivatives of a function by its operands."""
    return cotangents(a, a.one, y)


def cotangents(a: Calculus, g: Term, y: Apply, value: Term | None = None) -> tuple[Term, ...]:
    """The cotangents of the operands of `y`, given its own; `value` is a term that has the value of `y`."""
    rule: Calculus = RULES[y.function]
    around, a.at = a.at, y
    found = rule(a, g, y if value is None or y.function == "pow" else value, *y.operands)
    a.at = around
    return found
