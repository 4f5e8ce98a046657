"""Cotangents times slopes that are infinite somewhere: what the product is there.

`sqrt(u)` passes on g / (2 * sqrt(u)), infinite where u is 0. If g is 0 there, too, the product is 0 * inf,
and what it should be depends on why g is 0:

- g = m * d, where the factor m does not depend on what u depends on, as a mask or a cotangent from outside:
  the function is constant along u, and the slope 0. That is `safe(m, d / (2 * sqrt(u)))`.
- d depends on u by powers of it or of its root: they are added up, so that sqrt(u)**2 passes on 1.
- d is a series in t = sqrt(u), and vanishes with t: so is d / (2 * t), whose first terms are the value where
  t is 0: `select(t = 0, c[0] + c[1] * t + …, d / (2 * t))`. These terms are functions of u as well, so that
  they have the right derivatives; after the last comes a power of t whose derivatives are infinite where the
  next terms would matter, so no derivative of any order is wrong in silence.
- no series is known: the product is as it is, NaN where it is 0 * inf.

A quotient is infinite where its slope is; what is made of it may be finite, and is a series in its divisor.

Of what is proven to be no less than 0, such as a sum of squares, 0 is the least value, where its own slope is
0. There the slope of the root counts as 0: `pinv(t)` is 1 / t and 0 where t is 0, at every order.

`slope_ends.py` has the series of each function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from tadc.frontend.diagnostics import Diagnostic
from tadc.frontend.source import Source
from tadc.frontend.terms import (
    Apply,
    Const,
    IndexValue,
    Read,
    Select,
    Term,
    Terms,
    bottom_up,
    integer_exponent,
    reachable,
)
from tadc.passes.derivatives.parting import Parting, addends, without
from tadc.passes.derivatives.series import FREE, OUTSIDE, Expansion, Partials, Series, is_large
from tadc.passes.derivatives.slope_ends import LENGTH, Slope, step
from tadc.passes.derivatives.steep_doubts import steep_doubts
from tadc.passes.terms.algebra import Algebra, choice_of, chooses_zero, is_const, is_safe
from tadc.passes.terms.products import Product, product_of
from tadc.passes.terms.value_intervals import Values
from tadc.passes.terms.value_ranges import ValueRanges


class CotangentAlgebra(Algebra):
    """The algebra of one derivative: `shares` tells whether two terms may depend on the same element of what
    is differentiated by, `partials` are the rules of derivatives. `asked` is whether a cotangent has hung on
    it. `at` is the function whose operands get cotangents, `unresolved` those that pass on what may be 0 *
    inf. `chosen` are tensors of cotangents that are 0 where a choice by values leaves out what they are of.
    What is `vanishing` is 0 where a slope is infinite, and so is the product, whatever else stands in it.
    """

    def __init__(
        self,
        terms: Terms,
        values: ValueRanges,
        partials: Partials,
        shares: Callable[[Term, Term], bool] = lambda x, y: False,
    ) -> None:
        super().__init__(terms, values)
        self.partials = partials
        self.shares = shares
        self.points: dict[int, bool] = {}
        self.choices: dict[int, bool] = {}
        self.chosen: set[str] = set()
        self.left_out: dict[int, bool] = {}
        self.asked = False
        self.at: Apply | None = None
        self.unresolved: dict[int, Apply] = {}
        self.expansions: dict[tuple[int, int], Expansion] = {}
        self.vanishing: set[int] = set()
        self.heights: dict[int, int] = {}
        for definition in values.program.definitions if values.program else ():
            if definition.cotangent_of:
                self.define(definition.name, definition.body)

    def mul(self, x: Term, y: Term) -> Term:
        """`x * y`, over summands at points."""
        spread = self._spread(x, lambda part: self.mul(part, y), y)
        spread = spread or self._spread(y, lambda part: self.mul(x, part), x)
        if spread:
            return spread
        for g, factor in ((x, y), (y, x)):
            if _is_power(g) and all(isinstance(t, Apply | IndexValue | Const) for t in reachable([factor])):
                # The slope i * u**(i - 1) is 0 where i is.
                first, power = g.operands if is_safe(g) else (self.one, g)
                weight = self.mul(first, factor)
                if self._is_unlike_product(weight, power):
                    return super().safe(weight, power)
        for g, factor in ((x, y), (y, x)) if self.chosen else ():
            if self._is_unlike_product(g, factor) and self._may_be_left_out(g):
                return super().safe(g, factor)
        return super().mul(x, y)

    def _is_unlike_product(self, x: Term, y: Term) -> bool:
        """Whether `safe(x, y)` may be another value than `x * y`."""
        (_, first), (_, second) = self.split(x), self.split(y)
        return not self.values.of(second).finite and not self.values.of(first).is_nonzero

    def _may_be_left_out(self, g: Term) -> bool:
        """Whether a cotangent may be 0 since a choice leaves out what it is of, even if that is no number."""
        return bool(self.chosen) and bottom_up(g, self.left_out, self._left_out)

    def _left_out(self, node: Term, below: list[bool]) -> bool:
        if isinstance(node, Read):
            return node.tensor in self.chosen
        return any(below[:1] if isinstance(node, Apply) and node.function == "div" else below)

    def define(self, cotangent: str, body: Term) -> None:
        """Look at a tensor of cotangents."""
        choices = (isinstance(t, Select) and chooses_zero(t) for t in reachable([body]))
        if self._may_be_left_out(body) or any(choices):
            self.chosen.add(cotangent)

    def safe(self, x: Term, y: Term) -> Term:
        """`x * y`, 0 where x is 0, over summands at points."""
        spread = self._spread(x, lambda part: self.safe(part, y))
        spread = spread or self._spread(y, lambda part: self.safe(x, part))
        return spread or super().safe(x, y)

    def div(self, x: Term, y: Term) -> Term:
        """`x / y`, over summands at points."""
        spread = self._spread(x, lambda part: self.div(part, y), y)
        told = y in self.nonzero or self.values.of(y).is_nonzero
        if not spread and not told and self._may_be_left_out(x):
            return super().safe(x, super().div(self.one, y))
        return spread or super().div(x, y)

    def _spread(self, term: Term, change: Callable[[Term], Term], beside: Term | None = None) -> Term | None:
        """A change of each summand of a sum of which one is 0 at a point or beside it: that stays seen.

        Of choices by values, too, where what stands `beside` the sum may be no finite number.
        """
        if not _is_sum(term):
            return None
        is_spread = self.has_points(term) or (
            beside is not None and self.has_choices(term) and not _is_finite(self.values.of(beside))
        )
        return self._summed(term, change) if is_spread else None

    def _summed(self, term: Term, change: Callable[[Term], Term]) -> Term:
        parts = [(sign, change(addend)) for sign, addend in addends(term)]
        return reduce(self.add, (self.neg(part) if sign < 0 else part for sign, part in parts))

    def _multiplied_out(self, g: Term) -> Term:
        """The product over the summands of a factor that is a sum of choices by values."""
        product = product_of(g)
        choices = next((t for t in product.over if _is_sum(t) and self.has_choices(t)), None)
        if choices is None or choices is g:
            return g
        rest = Product(product.scale, without(product.over, [choices]), product.under).term(self)
        return self._summed(choices, lambda part: self.mul(part, rest))

    def has_points(self, term: Term) -> bool:
        """Whether a sum has a summand that is 0 at a point, or beside it."""
        return bottom_up(term, self.points, _has_points)

    def has_choices(self, term: Term) -> bool:
        """Whether a sum has a summand that is 0 in one branch of a choice by values."""
        return bottom_up(term, self.choices, _has_choices)

    def through(
        self, g: Term, partial: Term, slopes: Callable[[], Sequence[Slope]], operands: Sequence[Term]
    ) -> Term:
        """The cotangent `g * partial` of an operand; `slopes` say where that is infinite."""
        if is_const(g, 0):
            return self.zero
        if self.values.of(partial).finite:
            return self.product(g, partial)
        if not is_large(g, self.heights):
            g = self._multiplied_out(g)
        if any(chooses_zero(addend) for _, addend in addends(g)):
            found = (self._chosen(part, partial, slopes, operands) for part in self._by_choice(g))
            return reduce(self.add, found)
        ends = [slope for slope in slopes() if not self.is_known(slope)]
        if not ends:
            return self.product(g, partial)
        if not self.shares(ends[0].u, ends[0].u):
            return self.safe(g, partial)
        alone, shared = self._parted(g, operands)
        if ends[0].pole and not self.values.of(g).is_nonzero and self._vanishes(shared, ends[0]):
            self.vanishing.add(self.split(g)[1].number)
            return self.safe(g, partial)
        if is_const(shared, 1):
            found = self._least(self.one, ends[0]) if self._is_least(ends[0]) else partial
        else:
            found = self._resolved(shared, partial, ends)
        # What counts as 0, or has a limit, is finite.
        told = isinstance(found, Select) and self._is_least(ends[0])
        return self.mul(alone, found) if told else self.safe(alone, found)

    def _by_choice(self, g: Term) -> list[Term]:
        """A sum in parts: what stands in one branch of a choice that is 0 in the other, and the rest."""
        parts: dict[tuple[object, ...], Term] = {}
        for sign, addend in addends(g):
            addend = self.neg(addend) if sign < 0 else addend
            if not chooses_zero(addend):
                parts[()] = self.add(parts.get((), self.zero), addend)
                continue
            key = choice_of(addend)
            before = parts.get(key)
            if before is not None and chooses_zero(before):
                inner = before.then if is_const(before.otherwise, 0) else before.otherwise
                addend = self.inside(addend, lambda term, inner=inner: self.add(inner, term))
            parts[key] = addend
        return list(parts.values())

    def _chosen(
        self, g: Term, partial: Term, slopes: Callable[[], Sequence[Slope]], operands: Sequence[Term]
    ) -> Term:
        """The cotangent of one part of a sum."""
        if chooses_zero(g):
            return self.inside(g, lambda inner: self.through(inner, partial, slopes, operands))
        return self.through(g, partial, slopes, operands)

    def by_sign(self, g: Term, y: Term, u: Term) -> Term:
        """`g * sign(u)` for y = abs(u), which is g * u / t with t = y: of y**n it is y**(n - 1) * u."""
        g = self._multiplied_out(g)
        if any(chooses_zero(addend) for _, addend in addends(g)):
            parts = self._by_choice(g)
            return reduce(self.add, (self._by_sign(part, y, u) for part in parts))
        alone, shared = self._parted(g, (u,))
        return self.mul(alone, self._resolved(shared, self.apply("sign", u), [step(self, y, u)]))

    def _by_sign(self, g: Term, y: Term, u: Term) -> Term:
        return (
            self.inside(g, lambda inner: self.by_sign(inner, y, u))
            if chooses_zero(g)
            else self.by_sign(g, y, u)
        )

    def is_steep(self, node: Apply) -> bool:
        """Whether a derivative of a function by an operand may be infinite or have a step."""
        if node.function == "abs":
            return True
        slopes = self.partials(self, node)
        return any(
            not self.values.of(slope).finite or any(map(is_pinv, product_of(slope).over)) for slope in slopes
        )

    def is_known(self, slope: Slope) -> bool:
        """Whether the cotangent stands where the end of a slope is not."""
        return any(t in self.nonzero for t in (slope.u, slope.write(1))) and is_const(slope.where[1], 0)

    def _is_least(self, slope: Slope) -> bool:
        """Whether t is a root of what is proven to be no less than 0, but for factors that are constant."""
        if not slope.least or slope.q == 1:
            return False
        if self.values.of(slope.u).is_nonnegative:
            return True
        product = product_of(slope.u)
        over, under = ([t for t in part if self.shares(t, t)] for part in (product.over, product.under))
        varying = Product(1, tuple(over), tuple(under))
        return 0 < varying.length < product.length and self.values.of(varying.term(self)).is_nonnegative

    def _least(self, term: Term, slope: Slope) -> Term:
        """`term * slope`, 0 where t is 0."""
        below = self.apply("pinv", slope.write(-slope.exponent))
        return self.mul(self.mul(slope.factor, term), below)

    # -- factors that do not depend on the operands ----------------------------------------------

    def _parted(self, g: Term, operands: Sequence[Term]) -> tuple[Term, Term]:
        """The factors of a cotangent that do not depend on the operands, and the rest."""
        self.asked = True

        def is_shared(term: Term) -> bool:
            return any(self.shares(term, operand) for operand in operands)

        return Parting(self, is_shared, self.vanishing).parted(g)

    # -- factors that do -------------------------------------------------------------------------

    def _resolved(self, d: Term, partial: Term, ends: Sequence[Slope]) -> Term:
        """`d * partial` where d depends on what the operand depends on."""
        found = self.safe(d, partial) if ends[0].has_step else self.product(d, partial)
        if is_large(d, self.heights):
            self._note(d, ends[0])
            return found
        for slope in ends:
            exponent, rest = self._without_powers(d, slope)
            series = self._series(rest, slope)
            is_finite = series is None or series.lead >= 0
            if exponent >= 0 and len(slope.divisor) == 1 and is_finite:
                return self.mul(rest, slope.write(exponent))
            if slope.pole and slope.exponent < exponent and self._expansion(slope).of(rest) is FREE:
                return self.product(rest, slope.write(exponent))
            if slope.pole and series is None and slope.exponent < exponent < 0:
                # Never finite where t is 0, whatever the rest is.
                found = self.product(rest, slope.write(exponent))
            limit = series and self._limit(series, exponent, slope, found)
            if limit:
                found = limit
            elif self._is_least(slope) and not self._has_pole(d, series, exponent, slope):
                found = self._least(d, slope)
            elif series is None or (not slope.pole and self._hides(series, exponent, slope)):
                self._note(d, slope)
        return found

    def _note(self, d: Term, slope: Slope) -> None:
        """Note a product that may be 0 * inf: of a finite value, a formula of what has a pole, or a logarithm
        and what a tensor gets."""
        told = slope.has_step or self._is_least(slope) or (self.values.of(d).is_nonzero and not slope.pole)
        doubted = slope.q > 1 or slope.pole or (isinstance(d, Read) and isinstance(slope.u, Read))
        if self.at is not None and doubted and not told:
            self.unresolved[self.at.number] = self.at

    def doubts(self, source: Source | None) -> tuple[Diagnostic, ...]:
        """Warnings about what is not known."""
        return steep_doubts(self.unresolved.values(), source)

    def _vanishes(self, d: Term, slope: Slope) -> bool:
        """Whether d vanishes faster than any power of t or is infinite, by factors that are finite."""
        exponent, rest = self._without_powers(d, slope)
        series = self._series(rest, slope)
        if series is None or series.coefficients or series.lead + exponent < 0:
            return False
        expansion = self._expansion(slope)
        factors = (expansion.of(factor) for factor in product_of(d).over)
        return d.number in expansion.assumed or all(
            f is FREE or (isinstance(f, Series) and f.lead >= 0) for f in factors
        )

    def _hides(self, series: Series, exponent: int, slope: Slope) -> bool:
        """Whether the first factor of an infinite power may be 0 where that is."""
        first = series.coefficients[0] if series.coefficients else self.one
        infinite = slope.exponent <= series.lead + exponent < 0
        return infinite and not isinstance(first, Const) and self.shares(first, slope.u)

    def _has_pole(self, d: Term, series: Series | None, exponent: int, slope: Slope) -> bool:
        """Whether d is infinite where the slope is, and not by a `pinv`, which is 0 there."""
        order = exponent + (series.lead if series is not None else 0)
        return order < slope.exponent and not any(is_pinv(t) for t in reachable([d]))

    def _without_powers(self, d: Term, slope: Slope) -> tuple[int, Term]:
        """The exponent of t in `d * slope`, by factors that are powers of t, and the other factors."""
        product = product_of(d)
        exponent, over, under = slope.exponent, [slope.factor], list[Term]()
        for sign, kept, terms in ((1, over, product.over), (-1, under, product.under)):
            for term in terms:
                n = integer_exponent(term)
                base, n = (term, 1) if n is None else (term.below[0], n)
                own, factor = slope.nodes.get(base.number, (0, None))
                if own and (factor is None or not self.shares(factor, slope.u)):
                    exponent += sign * n * own
                    kept += [] if factor is None else [self.power(factor, n)]
                else:
                    more, rest = self._out_of_exponential(term, slope)
                    exponent += sign * more
                    kept.append(rest)
        total = reduce(self.mul, over, self.const(product.scale))
        return exponent, reduce(self.div, under, total)

    def _out_of_exponential(self, term: Term, slope: Slope) -> tuple[int, Term]:
        """exp(log(u) + r) is u * exp(r)."""
        if slope.q != 1 or not (isinstance(term, Apply) and term.function == "exp"):
            return 0, term
        count, total = 0, self.zero
        for sign, addend in addends(term.operands[0]):
            product = product_of(addend)
            match product.over:
                case (Apply(function="log", operands=(u,)),) if u is slope.u and isinstance(
                    product.scale, int
                ):
                    count += 0 if product.under else sign * product.scale
                    addend = addend if product.under else self.zero
                case _:
                    pass
            total = self.add(total, addend) if sign > 0 else self.sub(total, addend)
        if not count:
            return 0, term
        return count, self.one if is_const(total, 0) else self.apply("exp", total)

    def _series(self, term: Term, slope: Slope) -> Series | None:
        """The series in t of a term over the divisor of a slope; outside of its domain an infinite one."""
        expansion = self._expansion(slope)
        for number, (k, factor) in slope.nodes.items():
            if factor is None or not self.shares(factor, slope.u):
                expansion.known[number] = expansion.made(k, [factor or self.one])
        for number, coefficients in slope.series.items():
            expansion.known[number] = expansion.made(0, [self.const(c) for c in coefficients])
        found = expansion.of(term)
        if term.number in expansion.assumed and isinstance(found, Series) and found.coefficients:
            return None
        if found is OUTSIDE:
            return Series(slope.exponent, (self.one,))
        return expansion.over(expansion.constant(term) if found is FREE else found, slope.divisor)

    def _expansion(self, slope: Slope) -> Expansion:
        """The series in t, which are those of other slopes with the same t."""
        length = min(LENGTH, 4 * slope.q + 4 - slope.exponent)
        key = (slope.write(1).number, length)
        if key not in self.expansions:
            self.expansions[key] = Expansion(self, self.partials, length, slope.signed)
        return self.expansions[key]

    def _limit(self, series: Series, exponent: int, slope: Slope, beside: Term) -> Term | None:
        """The product, by its first terms where t is 0 and `beside` elsewhere; None where it is infinite.

        If the first of them is infinite but for a factor that may be 0, the others are taken where that is 0.
        """
        order = series.lead + exponent
        if order + len(series.coefficients) < 1:
            return None
        if order >= 0:
            return self.select("=", *slope.where, self._terms(order, series.coefficients, slope), beside)
        first, *others = series.coefficients
        if order < -1:
            return None
        if slope.has_step or self._is_least(slope):
            # The infinite term alone counts as 0.
            rest = self._terms(0, others, slope)
            return None if is_const(rest, 0) else self.select("=", *slope.where, rest, beside)
        if slope.pole or isinstance(first, Const) or self.shares(first, slope.u):
            return None
        there = self.select("=", self.split(first)[1], self.zero, self._terms(0, others, slope), beside)
        return self.select("=", *slope.where, there, beside)

    def _terms(self, order: int, coefficients: Sequence[Term], slope: Slope) -> Term:
        """The first terms of a series, and a power of t that says where they end."""
        is_long = slope.pole and not all(isinstance(c, Const) for c in coefficients)
        known = 0 if is_long else slope.known
        last = min(known * slope.q + 1, order + len(coefficients))
        total: Term = self.zero
        for k, c in enumerate(coefficients, order):
            if k < last and not is_const(c, 0):
                total = self.add(total, self.mul(c, slope.write(k)))
        if slope.has_step or self._is_least(slope):
            return total
        return self.add(total, self._end(last, slope))

    def _end(self, k: int, slope: Slope) -> Term:
        """A power of t that is infinite at 0 in the derivative in which t**k matters."""
        if k % slope.q:
            return slope.write(k)
        root = self.apply("sqrt", slope.u)
        return root if k == 1 else self.mul(self.power(slope.u, k - 1), root)


def _is_power(term: Term) -> bool:
    """Whether a term is a power whose exponent is no literal, or 0 by a safe product with one."""
    power = term.operands[1] if is_safe(term) else term
    return isinstance(power, Apply) and power.function == "pow" and not isinstance(power.operands[1], Const)


def _is_sum(term: Term) -> bool:
    return isinstance(term, Apply) and term.function in ("add", "sub", "neg")


def _has_points(node: Term, below: list[bool]) -> bool:
    if isinstance(node, Select):
        return node.relation == "=" and chooses_zero(node)
    return _is_sum(node) and any(below)


def _has_choices(node: Term, below: list[bool]) -> bool:
    return chooses_zero(node) if isinstance(node, Select) else _is_sum(node) and any(below)


def _is_finite(values: Values) -> bool:
    """Whether these values and their inverses are finite numbers."""
    return values.finite and values.is_nonzero


def is_pinv(term: Term) -> bool:
    """Whether a term is a pseudo-inverse."""
    return isinstance(term, Apply) and term.function == "pinv"
