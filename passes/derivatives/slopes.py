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

from collections.abc import Callable, Iterable, Sequence
from functools import reduce

from tadc.frontend.diagnostics import Diagnostic
from tadc.frontend.program import Program
from tadc.frontend.source import Source
from tadc.frontend.terms import Apply, Const, Select, Term, operands, reachable
from tadc.passes.derivatives.bends import Bends
from tadc.passes.derivatives.choice_algebra import ChoiceAlgebra
from tadc.passes.derivatives.derivative_table import partials
from tadc.passes.derivatives.guarded import continued
from tadc.passes.derivatives.parting import Parting, without_masks
from tadc.passes.derivatives.powers_of_t import powers
from tadc.passes.derivatives.series import FREE, OUTSIDE, Expansion, Series, is_large
from tadc.passes.derivatives.sharing import Sharing
from tadc.passes.derivatives.slope_ends import LENGTH, Slope, step
from tadc.passes.derivatives.spoiled import is_spoiled
from tadc.passes.derivatives.steep_doubts import steep_doubts
from tadc.passes.terms.algebra import choice_of, chooses_zero, is_const, is_safe
from tadc.passes.terms.collect import addends
from tadc.passes.terms.products import LONGEST, ScaledProduct, product_of
from tadc.passes.terms.value_ranges import ValueRanges


class CotangentAlgebra(ChoiceAlgebra):
    """The algebra of one derivative: `shares` tells whether two terms may depend on the same element of what
    is differentiated by, `asked` whether a cotangent has hung on it. `at` is the function whose operands get
    cotangents, `unresolved` those that pass on what may be 0 * inf. What is `vanishing` is 0 where a slope is
    infinite, and so is the product, whatever else stands in it. Where `is_hidden`, what a root passes on is
    multiplied by something that may be 0 later on.
    """

    def __init__(self, program: Program, wrt: Iterable[str]) -> None:
        super().__init__(program.terms, ValueRanges(program))
        self.shares = Sharing.of(program, wrt)
        self.asked = False
        self.at: Apply | None = None
        self.is_hidden = False
        self.unresolved: dict[int, Apply] = {}
        self.expansions: dict[tuple[int, int], Expansion] = {}
        self.vanishing: set[int] = set()
        self.heights: dict[int, int] = {}
        self.bends = Bends()
        for definition in program.definitions:
            if definition.cotangent_of:
                self.define(definition.name, definition.body)
            else:
                self.bends.waiting.append((definition.name, definition.body))

    def mul(self, x: Term, y: Term) -> Term:
        """`x * y`; what vanishes with the operand of a logarithm is 0 beside that."""
        for g, factor in ((x, y), (y, x)):
            weight, last = g.operands if is_safe(g) else (self.one, g)
            over = product_of(last).over
            for log in over if len(over) < LONGEST else ():
                if _is_logarithm(log) and self._vanishes_with(factor, log):
                    rest = product_of(last).without([log]).term(self)
                    return self.safe(super().mul(super().mul(weight, rest), factor), log)
        return super().mul(x, y)

    def _vanishes_with(self, factor: Term, log: Term) -> bool:
        """Whether a factor may be 0 where a logarithm is infinite, and depends on the same."""
        if self.values.of(log).finite or self.values.of(factor).is_nonzero or isinstance(factor, Const):
            return False
        return self.shares(factor, log)

    def through(
        self, g: Term, partial: Term, slopes: Callable[[], Sequence[Slope]], operands: Sequence[Term]
    ) -> Term:
        """The cotangent `g * partial` of an operand; `slopes` say where that is infinite."""
        if is_const(g, 0):
            return self.zero
        if self.values.of(partial).finite:
            return self.product(g, partial)
        if not is_large(g, self.heights):
            g = self.multiplied_out(g)
        told = self._over_choices(g, lambda part: self.through(part, partial, slopes, operands))
        if told is not None:
            return told
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
            found = self._alone(partial, ends[0])
        else:
            found = self._resolved(shared, partial, ends)
        # What counts as 0, or has a limit, is finite.
        is_told = isinstance(found, Select) and self._is_least(ends[0])
        return self.mul(alone, found) if is_told else self.safe(alone, found)

    def _over_choices(self, g: Term, change: Callable[[Term], Term]) -> Term | None:
        """What a change of each part of a sum adds up to, within choices; None where it has no choices."""
        if not any(chooses_zero(addend) for _, addend in addends(g, signs=True)):
            return None
        parts = self._by_choice(g)
        return reduce(self.add, (self.inside(p, change) if chooses_zero(p) else change(p) for p in parts))

    def _by_choice(self, g: Term) -> list[Term]:
        """A sum in parts: what stands in one branch of a choice that is 0 in the other, and the rest."""
        parts: dict[tuple[object, ...], Term] = {}
        for negative, addend in addends(g, signs=True):
            addend = self.neg(addend) if negative else addend
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

    def by_sign(self, g: Term, y: Term, u: Term) -> Term:
        """`g * sign(u)` for y = abs(u), which is g * u / t with t = y: of y**n it is y**(n - 1) * u."""
        g = self.multiplied_out(g)
        if (told := self._over_choices(g, lambda part: self.by_sign(part, y, u))) is not None:
            return told
        alone, shared = self._parted(g, (u,))
        sign, slope = self.apply("sign", u), step(self, y, u)
        if is_const(shared, 1):
            return self.mul(alone, self._alone(sign, slope))
        times = self.mul if self.values.of(shared).finite else self.safe
        return times(alone, self._resolved(shared, sign, [slope]))

    def is_steep(self, node: Apply) -> bool:
        """Whether a derivative of a function by an operand may be infinite or have a step."""
        if node.function == "abs":
            return True
        slopes = partials(self, node)
        return any(
            not self.values.of(slope).finite or any(map(is_pinv, product_of(slope).over)) for slope in slopes
        )

    def branches(self, node: Select) -> tuple[Term, Term]:
        """The branches of a choice, for their derivatives."""
        active = [self.shares(t, t) for t in operands(node)]
        if not any(active[:2]) or all(active[2:]):
            return node.then, node.otherwise
        return continued(self, node, self.is_bent(node.lhs) or self.is_bent(node.rhs))

    def is_bent(self, term: Term) -> bool:
        """Whether a term has a root or a kink in it, through definitions."""
        return self.bends.has(term, self.is_steep)

    def define(self, cotangent: str, body: Term) -> None:
        """Look at a tensor of cotangents."""
        super().define(cotangent, body)
        self.bends.waiting.append((cotangent, body))

    def varying(self, term: Term) -> tuple[Term, Term]:
        """A factor that depends on what is differentiated by, and the others; of several, all of the term."""
        product = product_of(term)
        alone, shared = product.split(lambda t: not self.shares(t, t))
        if shared.length == 1 and len(shared.over) == 1:
            return shared.over[0], ScaledProduct(product.scale, alone.over, alone.under).term(self)
        return term, self.one

    def is_known(self, slope: Slope) -> bool:
        """Whether the cotangent stands where the end of a slope is not."""
        return any(t in self.nonzero for t in (slope.u, slope.write(1))) and is_const(slope.where[1], 0)

    def _is_least(self, slope: Slope) -> bool:
        """Whether t is a root of what is proven to be no less than 0, but for factors that are constant."""
        if slope.least is None:
            return False
        if self.values.of(slope.least).is_nonnegative:
            return True
        product = product_of(slope.least)
        over, under = ([t for t in part if self.shares(t, t)] for part in (product.over, product.under))
        varying = ScaledProduct(1, tuple(over), tuple(under))
        return 0 < varying.length < product.length and self.values.of(varying.term(self)).is_nonnegative

    def _least(self, term: Term, slope: Slope) -> Term:
        """`term * slope`, 0 where t is 0."""
        if slope.tamed is not None:
            return self.mul(term, slope.tamed)
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
        if (told := self._beside_unknown(d, partial, ends)) is not None:
            return told
        for slope in ends:
            parts = powers(self, self.shares, d, slope)
            exponent, rest, symbol = parts.exponent, parts.rest, parts.term
            series = self._series(rest, slope)
            if symbol is not None:
                found = self._to_the(symbol, rest, series, slope) or self._by_exponent(
                    symbol, rest, d, found, slope
                )
                continue
            is_finite = series is None or series.lead >= 0
            if exponent >= 0 and len(slope.divisor) == 1 and is_finite:
                return self.mul(*parts.written(self, slope))
            if slope.pole and slope.exponent < exponent and self._expansion(slope).of(rest) is FREE:
                return self.product(*parts.written(self, slope))
            if slope.pole and series is None and slope.exponent < exponent < 0:
                # Never finite where t is 0, whatever the rest is.
                found = self.product(rest, slope.write(exponent))
            limit = series and self._limit(series, exponent, slope, found)
            doubts = (
                self._expansion(slope).doubted.get(rest.number, ())
                if slope.has_step or self._is_least(slope)
                else ()
            )
            if limit and doubts:
                untold = self._unknown(d, found, slope)
                found = self.select(
                    "=", reduce(self.mul, sorted(doubts, key=lambda t: t.number)), self.zero, untold, limit
                )
            elif limit:
                found = limit
            elif self._has_pole(d, series, exponent, slope):
                if series is None or self._hides(series, exponent, slope):
                    self._note(d, slope)
            elif series is None or (not series.coefficients and series.lead + exponent < 1):
                found = self._unknown(d, found, slope)
            elif self._is_least(slope):
                found = self._unknown(d, found, slope) if doubts else self._least(d, slope)
            elif self._hides(series, exponent, slope):
                self._note(d, slope)
        return found

    def _beside_unknown(self, d: Term, partial: Term, ends: Sequence[Slope]) -> Term | None:
        """`d * partial` where factors of d of which nothing is known stand beside others that make it
        finite; None where they do not."""
        opened = without_masks(d, self.vanishing)
        known, unknown = opened.split(lambda factor: self._series(factor, ends[0]) is not None)
        if not unknown.over or unknown.under or not known.over or len(ends) > 1:
            return None
        others = ScaledProduct(opened.scale, known.over, known.under).term(self)
        exponent, rest, symbol, *_ = powers(self, self.shares, others, ends[0])
        series = self._series(rest, ends[0])
        if symbol is not None or series is None or not series.coefficients or series.lead + exponent < 0:
            return None
        weight = reduce(self.mul, unknown.over)
        return self.mul(weight, self._resolved(others, partial, ends))

    def _to_the(self, n: Term, rest: Term, series: Series | None, slope: Slope) -> Term | None:
        """`rest * t**n`; where t is least that counts as 0 if n is less than 0."""
        t = slope.write(1)
        if series is None or series.lead < 0 or not series.coefficients or len(slope.divisor) > 1:
            return None
        if series.lead:
            beside = self.div(rest, slope.write(series.lead))
            rest = self.select("=", *slope.where, series.coefficients[0], beside)
            n = self.add(n, self.const(series.lead))
        power = self.apply("pow", t, n)
        if (slope.has_step or self._is_least(slope)) and not self.values.of(n).is_nonnegative:
            there = self.select(">=", n, self.zero, power, self.zero)
            power = self.select("=", *slope.where, there, power)
        return self.mul(rest, power)

    def _by_exponent(self, n: Term, rest: Term, d: Term, found: Term, slope: Slope) -> Term:
        """`rest * t**n` of a rest of which nothing is known: told if n is not less than 0."""
        untold = self._unknown(d, found, slope)
        if len(slope.divisor) > 1:
            return untold
        power = self.mul(rest, self.apply("pow", slope.write(1), n))
        return self.select(">=", n, self.zero, power, untold)

    def _unknown(self, d: Term, found: Term, slope: Slope) -> Term:
        """A product of which nothing is known."""
        if self._is_least(slope):
            return self._untold(d, self._least(d, slope), slope)
        if slope.has_step:
            return self._untold(d, found, slope)
        self._note(d, slope)
        return found

    def _alone(self, partial: Term, slope: Slope) -> Term:
        """A slope that no shared factor stands beside, but perhaps later on."""
        is_least = self._is_least(slope)
        found = self._least(self.one, slope) if is_least else partial
        if not self.is_hidden:
            return found
        if is_least or slope.has_step:
            return self._untold(self.zero, found, slope)
        if not slope.pole:
            self._note(self.zero, slope)
        return found

    def _untold(self, d: Term, found: Term, slope: Slope) -> Term:
        """A product that is 0 where t is, but whose slope nothing tells where d is 0 there, too.

        A `pinv` of another root does not count, as it is 0 where d is infinite.
        """
        zero = slope.least or slope.u
        if self._is_spoiled(zero):
            return found
        nothing = self.apply("safe", zero, self.apply("log", self.const(-1)))
        nothing.span = nothing.span or (self.at.span if self.at else None)
        if d is not self.zero:
            zeros = [t for t in product_of(d).over if not is_pinv(t) and not self.values.of(t).is_nonzero]
            if not zeros:
                return found
            nothing = self.select("=", reduce(self.mul, zeros), self.zero, nothing, found)
        return self.select("=", *slope.where, nothing, found)

    def moved(self, tangent: Term, slope: Term) -> Term:
        """The tangent that a formula passes on."""
        is_told = not any(map(is_nan, reachable([slope])))
        return self.safe(tangent, slope) if is_told else self.product(tangent, slope)

    def safe_factor(self, g: Term, u: Term, v: Term) -> Term:
        """The cotangent of u in `safe(u, v)`; where its slope is not known NaN, but of a factor that is 0
        whatever u is."""
        if not is_nan(v):
            return self.safe(g, v)
        if self.at is not None and not self._is_spoiled(u):
            self.unresolved[self.at.number] = self.at
        alone, shared = self._parted(g, (u,))
        return self.safe(alone, self.mul(shared, v))

    def _note(self, d: Term, slope: Slope) -> None:
        """Note a product that may be 0 * inf where the program has a finite value."""
        told = slope.has_step or self._is_least(slope) or (self.values.of(d).is_nonzero and not slope.pole)
        if self.at is not None and not told and not self._is_spoiled(slope.u):
            self.unresolved[self.at.number] = self.at

    def _is_spoiled(self, divisor: Term) -> bool:
        """Whether no output of the program is finite where a divisor is 0."""
        program = self.values.program
        return program is not None and is_spoiled(program, divisor, self.shares.are_apart)

    def doubts(self, source: Source | None) -> tuple[Diagnostic, ...]:
        """Warnings about what is not known."""
        return steep_doubts(self.unresolved.values(), source)

    def _vanishes(self, d: Term, slope: Slope) -> bool:
        """Whether d vanishes faster than any power of t or is infinite, by factors that are finite."""
        exponent, rest, *_ = powers(self, self.shares, d, slope)
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
        infinite = not slope.pole and slope.exponent <= series.lead + exponent < 0
        return infinite and not isinstance(first, Const) and self.shares(first, slope.u)

    def _has_pole(self, d: Term, series: Series | None, exponent: int, slope: Slope) -> bool:
        """Whether d is infinite where the slope is, and not by a `pinv`, which is 0 there."""
        order = exponent + (series.lead if series is not None else 0)
        return order < slope.exponent and not any(is_pinv(t) for t in reachable([d]))

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

            def is_hidden(term: Term) -> bool:
                return self.is_bent(term) and self.shares(term, slope.u)

            self.expansions[key] = Expansion(self, length, slope.signed, is_hidden)
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
            # The infinite term alone counts as 0, if nothing makes it finite.
            rest = self._terms(0, others, slope)
            if is_const(rest, 0):
                return None
            limit = self.select("=", *slope.where, rest, beside)
            bent = self.is_hidden or (self.is_bent(first) and self.shares(first, slope.u))
            return self._untold(self.zero, limit, slope) if bent else limit
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


def _is_logarithm(term: Term) -> bool:
    return isinstance(term, Apply) and term.function in ("log", "log2", "log10", "log1p") and not is_nan(term)


def is_nan(term: Term) -> bool:
    """Whether a term is the NaN that says that a slope is not known."""
    return isinstance(term, Apply) and term.function == "log" and is_const(term.operands[0], -1)


def is_pinv(term: Term) -> bool:
    """Whether a term is a pseudo-inverse."""
    return isinstance(term, Apply) and term.function == "pinv"
