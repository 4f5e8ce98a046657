"""Laurent series of terms in one small variable t > 0, with terms for coefficients.

`Expansion` writes a term as

    c[0] * t**lead + c[1] * t**(lead + 1) + … + O(t**(lead + n))

where some of its nodes are known series in t, and no coefficient is a function of t. `c[0]` is not the
literal 0, so a `lead` of 1 or more proves that the term vanishes with t. Sums, products, powers and
reductions are those of series; a function is composed with its Taylor series, whose coefficients are made by
the rules of derivatives. What has no series that is known here (a kink, an essential singularity) is None.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from fractions import Fraction
from functools import reduce
from typing import NamedTuple

from tadc.frontend.dtypes import DEFAULT
from tadc.frontend.float_functions import HOLDS, float_function
from tadc.frontend.terms import (
    Apply,
    Const,
    Guard,
    Read,
    Reduce,
    Select,
    Term,
    bottom_up,
    integer_exponent,
    operands,
    reachable,
)
from tadc.lattice.late_dataclasses import dataclass, field
from tadc.passes.derivatives.coefficients import (
    Coefficients,
    Number,
    TooManyOperations,
    are_near,
    fraction,
    number,
)
from tadc.passes.derivatives.derivative_table import partials
from tadc.passes.derivatives.series_rewrites import WITH_STEPS, Near, rewritten
from tadc.passes.terms.algebra import Algebra, is_const
from tadc.passes.terms.costs import NODES, WRITTEN_OUT

MOST_NODES = NODES // 10
"""Of larger terms there is no series: each root in a long formula would look at all of it."""


class Series(NamedTuple):
    """`coefficients[k]` is that of `t**(lead + k)`; the first is no literal 0. Without any it is
    O(t**lead)."""

    lead: int
    coefficients: tuple[Term, ...]

    @property
    def end(self) -> int:
        """The first power of which nothing is known."""
        return self.lead + len(self.coefficients)

    def at(self, k: int) -> Term | None:
        """The coefficient of `t**k` below the end; None for 0."""
        return self.coefficients[k - self.lead] if self.lead <= k < self.end else None


class Apart(Enum):
    """What is no series: FREE does not depend on t; OUTSIDE is a root of what is negative for t = 0."""

    FREE = 0
    OUTSIDE = 1


FREE, OUTSIDE = Apart.FREE, Apart.OUTSIDE
Found = Series | Apart | None

#: The values at infinity, and at minus infinity, of functions that come closer to them than any power of
#: their operand; None for infinity.
FAR: Mapping[str, tuple[int | None, int | None]] = {
    "exp": (None, 0),
    "exp2": (None, 0),
    "expm1": (None, -1),
    "tanh": (1, -1),
    "sigmoid": (1, 0),
    "erf": (1, -1),
    "erfc": (0, 2),
}


@dataclass
class Expansion:
    """Series of terms, from those of some nodes, which are put into `known` by their numbers.

    All have `length` coefficients at first. If `signed`, t may be less than 0. Terms that are known stay so,
    for all that are asked for later.
    """

    algebra: Algebra
    length: int
    signed: bool = False
    #: Reads and reductions that may depend on t in a way that is not seen.
    is_hidden: Callable[[Term], bool] = lambda term: False
    known: dict[int, Found] = field(default_factory=dict[int, Found])
    numbers: dict[int, float | None] = field(default_factory=dict[int, float | None])
    #: Terms whose series holds for one sign of what an operand begins with, which is not known.
    assumed: set[int] = field(default_factory=set[int])
    #: What a series holds for if it is not 0, of terms that have one such as `sqrt(c + t)`.
    doubted: dict[int, frozenset[Term]] = field(default_factory=dict[int, frozenset[Term]])
    divisors: frozenset[Term] = frozenset()
    heights: dict[int, int] = field(default_factory=dict[int, int])
    #: The derivatives of functions that were needed, of any order: each is larger than the one before.
    derived: dict[str, list[Term]] = field(default_factory=dict[str, list[Term]])

    def __post_init__(self) -> None:
        self.coefficients = Coefficients(self.algebra)

    def of(self, term: Term) -> Found:
        """The series of a term; None where none is known."""
        if is_large(term, self.heights):
            return None
        return self.known.setdefault(
            term.number, self.counted(lambda: bottom_up(term, self.known, self._node))
        )

    def counted(self, made: Callable[[], Found]) -> Found:
        """What is made of series; None where that takes more operations than a series is worth."""
        self.coefficients.start()
        try:
            return made()
        except TooManyOperations:
            return None

    def constant(self, term: Term) -> Series:
        """A term that does not depend on t; a number where it is one."""
        value = bottom_up(term, self.numbers, _literal_value)
        return self.made(0, [term if value is None else self._number(value)])

    def made(self, lead: int, coefficients: Sequence[Term]) -> Series:
        """A polynomial in t, as a series of full length."""
        padding = [self.algebra.zero] * (self.length - len(coefficients))
        return _trimmed(lead, [*coefficients, *padding][: self.length])

    def _node(self, node: Term, below: list[Found]) -> Found:
        if any(operand.number in self.assumed for operand in operands(node)):
            self.assumed.add(node.number)
        if all(found is FREE for found in below):
            return None if isinstance(node, Read | Reduce) and self.is_hidden(node) else FREE
        if OUTSIDE in below:
            return OUTSIDE
        around, self.divisors = self.divisors, frozenset()
        found = None if any(found is None for found in below) else self._known(node, below)
        doubts = self.divisors.union(*(self.doubted.get(t.number, ()) for t in operands(node)))
        self.divisors = around
        if doubts:
            self.doubted[node.number] = doubts
        if found is not None:
            return found
        other = rewritten(self.algebra, node, list(map(self._near, node.below, below)))
        if other is None:
            return None
        found = bottom_up(other, self.known, self._node)
        if other.number in self.doubted:
            self.doubted[node.number] = self.doubted[other.number]
        if other.number in self.assumed:
            self.assumed.add(node.number)
        return self.constant(other) if found is FREE else found

    def _near(self, node: Term, found: Found) -> Near | None:
        if found is None:
            return None
        x = self._series(node, found)
        if x.lead < 0 or x.end < 1:
            return None
        grown = (c for k in range(1, x.end) if (c := x.at(k)) is not None and not is_const(c, 0))
        return Near(x.at(0) or self.algebra.zero, next(grown, self.algebra.zero), self._sign(x))

    def _known(self, node: Term, below: list[Found]) -> Found:
        match node:
            case Select():
                return self._chosen(node, below)
            case Reduce(kind="sum"):
                found = self._series(node.body, below[0])
                return self._each(found, lambda c: self._summed(node, c))
            case Guard():
                then, otherwise = map(self._series, node.below, below)
                return self._both(
                    then, otherwise, lambda x, y: self.algebra.guard(node.conditions, x, y, node.span)
                )
            case Apply():
                return self._applied(node, list(map(self._series, node.operands, below)))
            case _:
                return None

    def _series(self, node: Term, found: Found) -> Series:
        return found if isinstance(found, Series) else self.constant(node)

    def _summed(self, node: Reduce, body: Term) -> Term:
        return self.algebra.sum(node.binders, node.domain, body, node.hints, node.span)

    def _chosen(self, node: Select, below: list[Found]) -> Found:
        """By a comparison without t for each coefficient; else by which is greater."""
        then, otherwise = self._series(node.then, below[2]), self._series(node.otherwise, below[3])
        if below[0] is FREE and below[1] is FREE:
            return self._both(
                then, otherwise, lambda x, y: self.algebra.select(node.relation, node.lhs, node.rhs, x, y)
            )
        apart = self.added(
            self._series(node.lhs, below[0]), self._each(self._series(node.rhs, below[1]), self.algebra.neg)
        )
        first = apart.coefficients[0] if apart.lead == 0 and apart.coefficients else self.algebra.zero
        if not isinstance(first, Const):
            zero = self.algebra.zero
            return self._both(
                then, otherwise, lambda x, y: self.algebra.select(node.relation, first, zero, x, y)
            )
        sign = self._sign(apart)
        if sign is None:
            return None
        beside = then if HOLDS[node.relation](sign, 0) else otherwise
        # Where both are equal for t = 0, another branch may be taken there than beside it.
        there = then if HOLDS[node.relation](0, 0) else otherwise
        return beside if apart.lead <= 0 or _agree(there, beside) else None

    def _applied(self, node: Apply, below: list[Series]) -> Found:
        match node.function, below:
            case "add", [x, y]:
                return self.added(x, y)
            case "sub", [x, y]:
                return self.added(x, self._each(y, self.algebra.neg))
            case "neg", [x]:
                return self._each(x, self.algebra.neg)
            case (("mul" | "safe"), [x, y]):
                return self.product(x, y)
            case "div", [x, y]:
                inverse = self.raised(y, Fraction(-1))
                return self.product(x, inverse) if isinstance(inverse, Series) else inverse
            case "pinv", [x]:
                return self.raised(x, Fraction(-1))
            case "pow", [x, _] if isinstance(node.operands[1], Const):
                return self.raised(x, _exponent(node))
            case "sqrt", [x]:
                return self.raised(x, Fraction(1, 2))
            case "cbrt", [x]:
                return self.raised(x, Fraction(1, 3))
            case _, [x] if node.function not in WITH_STEPS:
                return self._composed(node, x)
            case _:
                return None

    def added(self, x: Series, y: Series) -> Series:
        """The sum."""
        end, lead = min(x.end, y.end), min(x.lead, y.lead)
        return self._made(
            lead, [self.coefficients.plus(number(x.at(k)), number(y.at(k))) for k in range(lead, end)]
        )

    def product(self, x: Series, y: Series) -> Series:
        """The product."""
        length = min(len(x.coefficients), len(y.coefficients))
        left, right = _numbers(x), _numbers(y)
        found = [self.coefficients.convolved(left, right, range(k + 1), k) for k in range(length)]
        return self._made(x.lead + y.lead, found)

    def over(self, x: Found, divisor: Sequence[float]) -> Series | None:
        """A series over a polynomial of numbers."""
        inverse = self.raised(self.made(0, list(map(self._number, divisor))), Fraction(-1))
        if not isinstance(x, Series) or not isinstance(inverse, Series):
            return None
        found = self.counted(lambda: self.product(x, inverse))
        return found if isinstance(found, Series) else None

    def raised(self, x: Series, n: Fraction) -> Found:
        """A power: of x = c * t**m * (1 + b) it is c**n * t**(m*n) * (1 + b)**n, by the binomial series.

        The k-th coefficient r[k] of (1 + b)**n is sum{j}_1^k ((n*j - k + j) * b[j] * r[k - j]) / k.
        """
        if not x.coefficients:
            return None
        first = x.coefficients[0]
        if isinstance(first, Const) and first.value < 0 and n.denominator % 2 == 0:
            return OUTSIDE
        lead = x.lead * n
        if lead.denominator != 1 or (self.signed and n.denominator % 2 == 0 and lead % 2):
            return Series(math.floor(lead), ())
        if not isinstance(first, Const) and n.denominator == 1 and 1 <= n <= WRITTEN_OUT:
            return reduce(self.product, [x] * int(n))
        if n > 0 and not self.algebra.values.of(first).is_nonzero:
            # Of a pole there, the value is no number where this is 0.
            self.divisors |= {first}
        do = self.coefficients
        power = do.power(number(first), n)
        if power is None:
            return None
        under = None if isinstance(first, Const) or n.denominator == 1 else self.algebra.apply("pinv", first)
        b = [do.times(c, under) if under else do.over(c, number(first)) for c in _numbers(x)]
        r: list[Number] = [1.0]
        for k in range(1, len(b)):
            weights = [float((n * j - k + j) / k) for j in range(k + 1)] if any(b[1 : k + 1]) else []
            weighted = [do.times(weight, c) for weight, c in zip(weights, b, strict=False)]
            r.append(do.convolved(weighted, r, range(1, len(weighted)), k))
        return self._made(int(lead), [do.times(power, c) for c in r])

    def _composed(self, node: Apply, x: Series) -> Series | None:
        """f(c + h) for h that vanishes with t, by the Taylor series of f at c and Horner's scheme."""
        if x.lead < 0:
            return self._far(node, x)
        if x.end < 1:
            return None
        center = x.at(0) or self.algebra.zero
        taylor = self._taylor(node.function, center, max(1, math.ceil(x.end / max(1, x.lead))))
        if taylor is None:
            return None
        rest = [x.at(k) or self.algebra.zero for k in range(1, x.end)]
        h = _trimmed(1, rest)
        found = self.made(0, [taylor[-1]])
        for c in reversed(taylor[:-1]):
            found = self.added(self.product(found, h), self.made(0, [c]))
        known = max(0, x.end - found.lead)
        return Series(min(found.lead, x.end), found.coefficients[:known])

    def _sign(self, x: Series) -> float | None:
        """The sign for a small t; None where it is not known."""
        first = x.coefficients[0] if x.coefficients else None
        if not isinstance(first, Const) or (self.signed and x.lead % 2):
            return None
        return math.copysign(1, first.value)

    def _far(self, node: Apply, x: Series) -> Series | None:
        """The limit where the operand is infinite for t = 0, with no other term.

        Where the sign is not known, that of a term counts as positive: `tanh(u)` is 1 or -1, so
        `1 - tanh(u)**2` vanishes. `exp(u)` is 0 or infinite, and counts as 0.
        """
        if node.function not in FAR:
            return None
        first, sign = x.coefficients[0], self._sign(x)
        values = self.algebra.values.of(first)
        if sign is None and not (self.signed and x.lead % 2) and (values.low >= 0 or values.high <= 0):
            sign = 1 if values.low >= 0 else -1  # of 0 times infinity there is no value
        if sign is None:
            self.assumed.add(node.number)
        limits = FAR[node.function]
        limit = limits[(sign or self.algebra.split(first)[0]) < 0]
        if limit is None and sign is None:
            limit = limits[1]
        return None if limit is None else self.made(0, [self._number(limit)])

    def _taylor(self, function: str, center: Term, count: int) -> list[Term] | None:
        """f(c), f'(c), f''(c) / 2, …; None where one of them is no finite number."""
        terms = self.algebra.terms
        place = terms.read("?t", (), DEFAULT)
        derived = self.derived.setdefault(function, [terms.apply(function, (place,))])
        found: list[Term] = []
        for k in range(count):
            if k == len(derived):
                derived.append(self._slope(derived[-1], place))
            value = self._at_center(derived[k], place, center)
            if value is None:
                return None
            found.append(
                self.coefficients.term(self.coefficients.times(1 / math.factorial(k), number(value)))
            )
        return found

    def _at_center(self, term: Term, place: Read, center: Term) -> Term | None:
        if isinstance(center, Const):
            known: dict[int, float | None] = {place.number: float(center.value)}
            value = bottom_up(term, known, _literal_value)
            return None if value is None or not math.isfinite(value) else self._number(value)
        rebuild = self.algebra.terms.rebuild
        return bottom_up(term, {place.number: center}, lambda node, below: rebuild(node, below))

    def _slope(self, term: Term, place: Read) -> Term:
        """The derivative of a term by one read in it."""
        algebra = self.algebra

        def slope(node: Term, below: list[Term]) -> Term:
            if not isinstance(node, Apply):
                return algebra.zero
            total: Term = algebra.zero
            if all(is_const(operand, 0) for operand in below):
                return total
            for partial, tangent in zip(partials(algebra, node), below, strict=True):
                total = algebra.add(total, algebra.mul(tangent, partial))
            return total

        return bottom_up(term, {place.number: algebra.one}, slope)

    def _each(self, x: Series, change: Callable[[Term], Term]) -> Series:
        return _trimmed(x.lead, [c if is_const(c, 0) else change(c) for c in x.coefficients])

    def _both(self, x: Series, y: Series, change: Callable[[Term, Term], Term]) -> Series:
        lead, end, zero = min(x.lead, y.lead), min(x.end, y.end), self.algebra.zero
        return _trimmed(lead, [change(x.at(k) or zero, y.at(k) or zero) for k in range(lead, end)])

    def _number(self, value: float) -> Const:
        return self.algebra.const(value)

    def _made(self, lead: int, coefficients: Sequence[Number]) -> Series:
        return _trimmed(lead, [self.coefficients.term(c) for c in coefficients])


def is_large(term: Term, heights: dict[int, int]) -> bool:
    """Whether a term has too many nodes to look at each; `heights` keeps the longest ways down."""
    if bottom_up(term, heights, lambda _, below: 1 + max(below, default=0)) > MOST_NODES:
        return True
    return any(count >= MOST_NODES for count, _ in enumerate(reachable([term])))


def _numbers(x: Series) -> list[Number]:
    return [number(c) for c in x.coefficients]


def _agree(x: Series, y: Series) -> bool:
    """Whether series have the same coefficients as far as both are known, those of t**0 among them."""
    end = min(x.end, y.end)
    pairs = ((number(x.at(k)), number(y.at(k))) for k in range(min(x.lead, y.lead, 0), end))
    return end > 0 and all(are_near(a, b) for a, b in pairs)


def _trimmed(lead: int, coefficients: Sequence[Term]) -> Series:
    """Without the zeros in front."""
    start = next((k for k, c in enumerate(coefficients) if not is_const(c, 0)), len(coefficients))
    return Series(lead + start, tuple(coefficients[start:]))


def _exponent(node: Apply) -> Fraction:
    """A literal exponent; `1/3` is what its float stands for."""
    n = integer_exponent(node)
    exponent = node.operands[1]
    assert isinstance(exponent, Const)
    return Fraction(n) if n is not None else fraction(float(exponent.value))


def _literal_value(node: Term, below: list[float | None]) -> float | None:
    """The value of a term by those of its operands; None where it has none."""
    if isinstance(node, Const):
        return float(node.value)
    known = [x for x in below if x is not None]
    if not isinstance(node, Apply) or len(known) < len(below):
        return None
    found = float_function(node.function)(*known)
    return found if math.isfinite(found) else None
