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
import operator
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

from tadc.frontend.terms import Apply, Const, Guard, Read, Reduce, Select, Term, bottom_up, integer_exponent
from tadc.passes.derivatives.series_rewrites import WITH_STEPS, Near, rewritten
from tadc.passes.terms.algebra import Algebra, is_const

MOST_NODES = 400
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


class Free:
    """What does not depend on t."""


FREE = Free()
Found = Series | Free | None

#: The derivatives of a function of one operand, by its rule: (algebra, node) -> partial.
Partials = Callable[[Algebra, Apply], tuple[Term, ...]]


@dataclass
class Expansion:
    """Series of terms, from those of some nodes, which are put into `known` by their numbers.

    All have `length` coefficients at first. Where `is_outside`, a root of what is negative for t = 0 was met.
    """

    algebra: Algebra
    partials: Partials
    length: int
    known: dict[int, Found] = field(default_factory=dict[int, Found])
    numbers: dict[int, float | None] = field(default_factory=dict[int, float | None])
    is_outside: bool = False

    def of(self, term: Term) -> Found:
        """The series of a term; None where none is known."""
        return None if is_large(term, self.known) else bottom_up(term, self.known, self._node)

    def constant(self, term: Term) -> Series:
        """A term that does not depend on t; a number where it is one."""
        value = bottom_up(term, self.numbers, _value)
        return self.made(0, [term if value is None else self._number(value)])

    def made(self, lead: int, coefficients: Sequence[Term]) -> Series:
        """A polynomial in t, as a series of full length."""
        padding = [self.algebra.zero] * (self.length - len(coefficients))
        return _trimmed(lead, [*coefficients, *padding][: self.length])

    def _node(self, node: Term, below: list[Found]) -> Found:
        if all(found is FREE for found in below):
            return FREE
        found = None if any(found is None for found in below) else self._known(node, below)
        if found is not None:
            return found
        other = rewritten(self.algebra, node, list(map(self._near, node.below, below)))
        if other is None:
            return None
        found = bottom_up(other, self.known, self._node)
        return self.constant(other) if found is FREE else found

    def _near(self, node: Term, found: Found) -> Near | None:
        if found is None:
            return None
        x = self._series(node, found)
        if x.lead < 0 or x.end < 1:
            return None
        grown = (c for k in range(1, x.end) if (c := x.at(k)) is not None and not is_const(c, 0))
        return Near(x.at(0) or self.algebra.zero, next(grown, self.algebra.zero), _sign(x))

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
        # Where both are equal for t = 0, another branch is taken there than beside it.
        sign = _sign(apart) if apart.lead == 0 else None
        return None if sign is None else then if _HOLDS[node.relation](sign, 0) else otherwise

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
                return inverse and self.product(x, inverse)
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
        return _trimmed(lead, [self._plus(x.at(k), y.at(k)) for k in range(lead, end)])

    def product(self, x: Series, y: Series) -> Series:
        """The product."""
        length = min(len(x.coefficients), len(y.coefficients))
        found: list[Term] = []
        for k in range(length):
            total: Term = self.algebra.zero
            for j in range(k + 1):
                total = self._plus(total, self._times(x.coefficients[j], y.coefficients[k - j]))
            found.append(total)
        return _trimmed(x.lead + y.lead, found)

    def raised(self, x: Series, n: Fraction) -> Series | None:
        """A power: of x = c * t**m * (1 + b) it is c**n * t**(m*n) * (1 + b)**n, by the binomial series.

        The k-th coefficient r[k] of (1 + b)**n is sum{j}_1^k ((n*j - k + j) * b[j] * r[k - j]) / k.
        """
        if not x.coefficients or (x.lead * n).denominator != 1:
            return None
        first = x.coefficients[0]
        power = self._power(first, n)
        if power is None:
            return None
        if isinstance(first, Const) or n.denominator == 1:
            b = [self._over(c, first) for c in x.coefficients]
        else:
            under = self.algebra.apply("pinv", first)
            b = [self.algebra.one, *(self._times(c, under) for c in x.coefficients[1:])]
        r: list[Term] = [self.algebra.one]
        for k in range(1, len(b)):
            total: Term = self.algebra.zero
            for j in range(1, k + 1):
                factor = self._number(float((n * j - k + j) / k))
                total = self._plus(total, self._times(factor, self._times(b[j], r[k - j])))
            r.append(total)
        return _trimmed(int(x.lead * n), [self._times(power, c) for c in r])

    def _power(self, first: Term, n: Fraction) -> Term | None:
        """`first**n`, where it is a number or the exponent is a half."""
        if isinstance(first, Const) and first.value < 0 and n.denominator % 2 == 0:
            self.is_outside = True
        if isinstance(first, Const) and (first.value > 0 or n.denominator == 1):
            return self._number(float(first.value) ** float(n))
        if n.denominator > 2:
            return None
        root = first if n.denominator == 1 else self.algebra.apply("sqrt", first)
        whole = self.algebra.power(root, abs(n.numerator))
        if n >= 0:
            return whole
        one = self.algebra.one
        return self.algebra.apply("pinv", whole) if n.denominator > 1 else self.algebra.div(one, whole)

    def _composed(self, node: Apply, x: Series) -> Series | None:
        """f(c + h) for h that vanishes with t, by the Taylor series of f at c and Horner's scheme."""
        if x.lead < 0 or not x.coefficients:
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
        return found

    def _taylor(self, function: str, center: Term, count: int) -> list[Term] | None:
        """f(c), f'(c), f''(c) / 2, …; None where one of them is no finite number."""
        terms = self.algebra.terms
        place = terms.read("?t", (), "f64")
        derived: Term = terms.apply(function, (place,))
        found: list[Term] = []
        for k in range(count):
            value = self._at_center(derived, place, center)
            if value is None:
                return None
            found.append(self._over(value, self._number(math.factorial(k))))
            derived = self._slope(derived, place)
        return found

    def _at_center(self, term: Term, place: Read, center: Term) -> Term | None:
        if isinstance(center, Const):
            known: dict[int, float | None] = {place.number: float(center.value)}
            value = bottom_up(term, known, _value)
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
            for partial, tangent in zip(self.partials(algebra, node), below, strict=True):
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

    def _plus(self, x: Term | None, y: Term | None) -> Term:
        if isinstance(x, Const) and isinstance(y, Const):
            return self._number(x.value + y.value)
        return self.algebra.add(x or self.algebra.zero, y or self.algebra.zero)

    def _times(self, x: Term, y: Term) -> Term:
        if isinstance(x, Const) and isinstance(y, Const):
            return self._number(x.value * y.value)
        return self.algebra.mul(x, y)

    def _over(self, x: Term, y: Term) -> Term:
        if isinstance(x, Const) and isinstance(y, Const):
            return self._number(x.value / y.value)
        if isinstance(y, Const):
            return self.algebra.mul(self._number(1 / y.value), x)
        return self.algebra.one if x is y else self.algebra.div(x, y)


def is_large(term: Term, known: Collection[int] = ()) -> bool:
    """Whether a term has too many nodes to look at each, beside those that are known."""
    seen, stack = set(known), [term]
    while stack and len(seen) <= MOST_NODES:
        node = stack.pop()
        if node.number not in seen:
            seen.add(node.number)
            stack += node.below
    return len(seen) > MOST_NODES


def _trimmed(lead: int, coefficients: Sequence[Term]) -> Series:
    """Without the zeros in front."""
    start = next((k for k, c in enumerate(coefficients) if not is_const(c, 0)), len(coefficients))
    return Series(lead + start, tuple(coefficients[start:]))


def _sign(x: Series) -> float | None:
    """The sign for a small t > 0; None where it is not known."""
    first = x.coefficients[0] if x.coefficients else None
    return math.copysign(1, first.value) if isinstance(first, Const) else None


def _exponent(node: Apply) -> Fraction:
    """A literal exponent; `1/3` is what its float stands for."""
    n = integer_exponent(node)
    exponent = node.operands[1]
    assert isinstance(exponent, Const)
    return Fraction(n) if n is not None else fraction(float(exponent.value))


def fraction(value: float) -> Fraction:
    """A small quotient where its float is this one, else the number itself."""
    if not math.isfinite(value):
        return Fraction(0)
    near = Fraction(value).limit_denominator(12)
    return near if float(near) == value else Fraction(value)


_HOLDS: dict[str, Callable[[float, float], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _quotient(x: float, y: float) -> float:
    return x / y


def _safe(x: float, y: float) -> float:
    return x * y if x else 0.0


def _pinv(x: float) -> float:
    return 1 / x if x else 0.0


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


_OPERATORS: dict[str, Callable[..., Any]] = {
    **{name: getattr(operator, name) for name in ("add", "sub", "mul", "neg")},
    "div": _quotient,
    "safe": _safe,
    "pinv": _pinv,
    "sigmoid": _sigmoid,
}


def _value(node: Term, below: list[float | None]) -> float | None:
    """The value of a term of numbers; None where there is none."""
    if isinstance(node, Const):
        return float(node.value)
    function = _OPERATORS.get(node.function) if isinstance(node, Apply) else None
    function = function or (getattr(math, node.function, None) if isinstance(node, Apply) else None)
    if function is None or any(x is None for x in below):
        return None
    try:
        found = function(*below)
    except (ValueError, ZeroDivisionError, OverflowError):
        return None
    return found if isinstance(found, float) else None
