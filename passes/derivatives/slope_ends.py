"""Where the slopes of functions are infinite, and what they are near such ends, as series in a small t.

With t = u**(1 / q), roots, powers, logarithms and quotients and their slopes are powers of t. Inverse sines
and cosines have series in t, with u = cos(t) near 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from tadc.frontend.terms import Apply, Const, Term
from tadc.passes.terms.algebra import Algebra

LENGTH = 16
"""Coefficients of the series of an inverse function."""


#: Ends (e, y0, s) of the domain of an inverse function: at u = e it has the value y0, near it y0 + s * t.
Ends = Sequence[tuple[int, float, int]]


@dataclass(frozen=True)
class Slope:
    """Where the slope of a function is infinite, as a series in t, which is 0 there.

    The slope by the operand `u` is `factor * t**exponent / divisor`, and t a root of u of order q. `nodes`
    are terms that are powers of t, by their numbers: the exponent and a factor in front; `series` those that
    have other coefficients. `write` makes t**k of terms, for k >= 0; `where` are two values that are equal
    where t is 0. `least`: at the least value of u the slope counts as 0. `zero_wins`: what has the factor 0
    there counts as 0, as long as nothing better is known, as the value is infinite, too, or the slope is not:
    it `has_step`.
    """

    u: Term
    q: int
    factor: Term
    exponent: int
    write: Callable[[int], Term]
    where: tuple[Term, Term]
    nodes: Mapping[int, tuple[int, Term | None]] = field(default_factory=dict[int, tuple[int, Term | None]])
    series: Mapping[int, Sequence[float]] = field(default_factory=dict[int, Sequence[float]])
    divisor: Sequence[float] = (1.0,)
    least: bool = True
    zero_wins: bool = False
    has_step: bool = False


def root(a: Algebra, y: Term, u: Term, n: Fraction) -> list[Slope]:
    """The slope n * u**(n - 1) of y = u**n, with n = p / q and t = u**(1 / q)."""
    p, q = n.numerator, n.denominator

    def write(k: int) -> Term:
        whole, rest = divmod(k, q)
        if rest and p > 0 and k % p == 0 and k // p < q:
            return a.power(y, k // p)
        power = a.power(u, whole)
        return power if not rest else a.mul(power, y if rest == p else a.apply("pow", u, a.const(rest / q)))

    nodes: dict[int, tuple[int, Term | None]] = {u.number: (q, None), y.number: (p, None)}
    scale, rest = a.split(u)
    if scale > 0 and rest is not u:
        nodes[rest.number] = (q, a.const(1 / scale))
    return [
        Slope(
            u,
            q if p > 0 else 1,
            a.const(float(n)),
            p - q,
            write,
            (u, a.zero),
            nodes,
            below(u, [0.0] * q + [1.0]),
            zero_wins=p < 0,
        )
    ]


def logarithm(a: Algebra, u: Term, scale: float = 1.0, over: Term | None = None) -> list[Slope]:
    """The slope 1 / u of the logarithm of u, which may be written another way; with t = u."""
    t = over or u

    def write(k: int) -> Term:
        return a.power(t, k)

    return [Slope(t, 1, a.const(1 / scale), -1, write, (t, a.zero), {t.number: (1, None)})]


def quotient(a: Algebra, y: Term, u: Term, v: Term, factor: Term, exponent: int) -> list[Slope]:
    """The slopes 1 / v and u / v**2 of y = u / v, with t = v."""

    def write(k: int) -> Term:
        return a.power(v, k)

    nodes: dict[int, tuple[int, Term | None]] = {y.number: (-1, u), v.number: (1, None)}
    return [Slope(v, 1, factor, exponent, write, (v, a.zero), nodes, zero_wins=True)]


def step(a: Algebra, y: Term, u: Term) -> Slope:
    """The slope sign(u) = u / t of y = abs(u), with t = y."""

    def write(k: int) -> Term:
        return a.power(y, k)

    nodes: dict[int, tuple[int, Term | None]] = {y.number: (1, None)}
    return Slope(u, 2, u, -1, write, (u, a.zero), nodes, least=False, zero_wins=True, has_step=True)


def arc(a: Algebra, y: Term, u: Term, ends: Ends, square: int) -> list[Slope]:
    """The slopes 1 / sqrt(square * (1 - u**2)) of inverse sines and cosines, of the circle or the hyperbola.

    Near an end the operand is e * cos(t) and the root sin(t), or those of the hyperbola, whose `square` is
    -1.
    """
    cosine = [(-square) ** (k // 2) / math.factorial(k) if k % 2 == 0 else 0.0 for k in range(LENGTH)]
    sine = [(-square) ** (k // 2) / math.factorial(k + 1) if k % 2 == 0 else 0.0 for k in range(LENGTH)]
    found: list[Slope] = []
    for e, y0, s in ends:
        t = y if y0 == 0 else a.sub(y, a.const(y0))
        t = t if s > 0 else a.neg(t)

        def write(k: int, t: Term = t) -> Term:
            return a.power(t, k)

        operand = [e * c for c in cosine]
        series = {u.number: operand, y.number: [y0, float(s)], **below(u, operand)}
        end = (u, a.const(e))
        found.append(Slope(u, 2, a.one, -1, write, end, series=series, divisor=sine, least=False))
    return found


def below(u: Term, series: Sequence[float]) -> dict[int, Sequence[float]]:
    """The series of x in an operand such as `1 - 2*x` from that of the operand, and those in between."""
    found: dict[int, Sequence[float]] = {}
    while True:
        match u:
            case Apply(function="add", operands=(Const(value=c), v) | (v, Const(value=c))):
                u, scale, shift = v, 1.0, -c
            case Apply(function="sub", operands=(v, Const(value=c))):
                u, scale, shift = v, 1.0, c
            case Apply(function="sub", operands=(Const(value=c), v)):
                u, scale, shift = v, -1.0, c
            case Apply(function="mul", operands=(Const(value=c), v) | (v, Const(value=c))) if c:
                u, scale, shift = v, 1 / c, 0.0
            case Apply(function="neg", operands=(v,)):
                u, scale, shift = v, -1.0, 0.0
            case _:
                return found
        series = [scale * c for c in series]
        series[0] += shift
        found[u.number] = series
