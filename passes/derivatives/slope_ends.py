"""Where the slopes of functions are infinite, and what they are near such ends, as series in a small t.

With t = u**(1 / q), roots, powers, logarithms and quotients and their slopes are powers of t. Inverse sines
and cosines have series in t, with u = cos(t) near 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import reduce

from tadc.frontend.terms import Apply, Const, Term
from tadc.lattice.late_dataclasses import dataclass, field
from tadc.passes.terms.algebra import Algebra

ORDERS = 3
"""So many derivatives are right."""

LENGTH = 16
"""Coefficients of the series of an inverse function."""

KNOWN = ORDERS - 1
"""Derivatives of a product that its first terms have right, besides the product itself."""


#: Ends (e, y0, s) of the domain of an inverse function: at u = e it has the value y0, near it y0 + s * t.
Ends = Sequence[tuple[int, float, int]]

#: The factor of an operand that depends on what is differentiated by, and the others.
Varying = tuple[Term, Term]


@dataclass(frozen=True)
class Slope:
    """Where the slope of a function is infinite, as a series in t, which is 0 there.

    The slope by the operand `u` is `factor * t**exponent / divisor`, and t a root of u of order q, or u but
    for a factor. `nodes`
    are terms that are powers of t, by their numbers: the exponent and a factor in front; `series` those that
    have other coefficients. `write` makes t**k of terms, for k >= 0; `where` are two values that are equal
    where t is 0. `least`: where that cannot be less than 0, the slope counts as 0 at its 0, which is `tamed`.
    One that `has_step` is not infinite:
    what has the factor 0 there is 0. At a `pole` the value is infinite as well.
    `known` are derivatives of the product that are written. If `signed`, t may be less than 0. If it has a
    `unit`, t is u over that.
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
    least: Term | None = None
    tamed: Term | None = None
    has_step: bool = False
    pole: bool = False
    known: int = KNOWN
    signed: bool = False
    unit: Term | None = None


def root(a: Algebra, y: Term, u: Term, n: Fraction, varying: Varying) -> list[Slope]:
    """The slope n * u**(n - 1) of y = u**n, with n = p / q and t = u**(1 / q)."""
    p, q = n.numerator, n.denominator

    def write(k: int) -> Term:
        whole, rest = divmod(k, q)
        if rest and p > 0 and k % p == 0 and k // p < q:
            return a.power(y, k // p)
        power = a.power(u, whole)
        return power if not rest else a.mul(power, y if rest == p else a.apply("pow", u, a.const(rest / q)))

    nodes: dict[int, tuple[int, Term | None]] = {u.number: (q, None), y.number: (p, None)}
    nodes |= _within(a, u, q, varying)
    below_u = below(u, [0.0] * q + [1.0])
    return [
        Slope(
            u,
            q,
            a.const(float(n)),
            p - q,
            write,
            (u, a.zero),
            nodes,
            below_u,
            least=u if p > 0 and q > 1 else None,
            pole=p < 0,
        )
    ]


def logarithm(a: Algebra, u: Term, scale: float = 1.0, over: Term | None = None) -> list[Slope]:
    """The slope 1 / u of the logarithm of u, which may be written another way; with t = u."""
    t = over or u
    return [Slope(t, 1, a.const(1 / scale), -1, _powers_of(a, t), (t, a.zero), {t.number: (1, None)})]


def unknown_power(a: Algebra, y: Term, u: Term, varying: Varying) -> list[Slope]:
    """The slope v * u**(v - 1) of y = u**v but for the factor v, y / u, with t = u."""
    nodes = {u.number: (1, None), **_within(a, u, 1, varying)}
    return [Slope(u, 1, y, -1, _powers_of(a, u), (u, a.zero), nodes)]


def _within(a: Algebra, u: Term, q: int, varying: Varying) -> dict[int, tuple[int, Term | None]]:
    """What u is a multiple of, as a power of t = u**(1 / q)."""
    rest, factor = varying
    return {} if rest is u else {rest.number: (q, a.div(a.one, factor))}


def area_tangent(a: Algebra, u: Term) -> list[Slope]:
    """The slope 1 / (1 - u**2) of the inverse hyperbolic tangent, with t = 1 - u or 1 + u."""
    found: list[Slope] = []
    for e in (1, -1):
        write = _powers_of(a, a.sub(a.one, a.mul(a.const(e), u)))
        series = {u.number: (float(e), float(-e))}
        found.append(Slope(u, 1, a.one, -1, write, (u, a.const(e)), series=series, divisor=(2.0, -1.0)))
    return found


def quotient(a: Algebra, y: Term, u: Term, v: Term, factor: Term, exponent: int, apart: bool) -> list[Slope]:
    """The slopes `factor * v**exponent`, 1 / v and u / v**2, of y = u / v.

    With t = v; if u is `apart` from v, with t = v / u, of which y alone makes no other coefficients than
    numbers, and both slopes are t**exponent / u.
    """
    if not apart or isinstance(u, Const):
        nodes: dict[int, tuple[int, Term | None]] = {v.number: (1, None)}
        if apart:
            nodes[y.number] = (-1, u)
        return [Slope(v, 1, factor, exponent, _powers_of(a, v), (v, a.zero), nodes, pole=True)]

    def write(k: int) -> Term:
        return powers_of(a, (v, k), (u, -k - 1))

    nodes = {y.number: (-1, None), v.number: (1, u)}
    signed = not a.values.of(u).is_nonnegative
    return [
        Slope(v, 1, a.one, exponent, write, (v, a.zero), nodes, pole=True, known=0, signed=signed, unit=u)
    ]


def _powers_of(a: Algebra, t: Term) -> Callable[[int], Term]:
    return lambda k: powers_of(a, (t, k))


def powers_of(a: Algebra, *powers: tuple[Term, int]) -> Term:
    """A product of powers, those with negative exponents below the line."""
    over = [a.power(base, n) for base, n in powers if n > 0]
    under = [a.power(base, -n) for base, n in powers if n < 0]
    return reduce(a.div, under, reduce(a.mul, over, a.one))


def step(a: Algebra, y: Term, u: Term) -> Slope:
    """The slope sign(u) = u / t of y = abs(u), with t = y."""
    return Slope(u, 2, u, -1, _powers_of(a, y), (u, a.zero), {y.number: (1, None)}, has_step=True)


def arc(a: Algebra, y: Term, u: Term, ends: Ends, square: int, factors: tuple[Term, Term]) -> list[Slope]:
    """The slopes 1 / sqrt(square * (1 - u**2)) of inverse sines and cosines, of the circle or the hyperbola.

    Near an end the operand is e * cos(t) and the root sin(t), or those of the hyperbola, whose `square` is
    -1. The root is that of the product of two factors, of which the first is 0 at 1, the second at -1.
    """
    cosine = [(-square) ** (k // 2) / math.factorial(k) if k % 2 == 0 else 0.0 for k in range(LENGTH)]
    sine = [(-square) ** (k // 2) / math.factorial(k + 1) if k % 2 == 0 else 0.0 for k in range(LENGTH)]
    found: list[Slope] = []
    for e, y0, s in ends:
        t = y if y0 == 0 else a.sub(y, a.const(y0))
        t = t if s > 0 else a.neg(t)
        operand = [e * c for c in cosine]
        series = {u.number: operand, y.number: [y0, float(s)], **below(u, operand)}
        end = (u, a.const(e))
        near, far = factors if e == 1 else factors[::-1]
        tamed = a.div(a.apply("pinv", a.apply("sqrt", near)), a.apply("sqrt", far))
        write = _powers_of(a, t)
        found.append(Slope(u, 2, a.one, -1, write, end, series=series, divisor=sine, least=near, tamed=tamed))
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
