"""Arithmetic on cotangents that keeps choices by values in sight.

What stands in one branch of a choice adds nothing where the other is taken, whatever else it is multiplied
by: so products are spread over sums of such parts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from tadc.frontend.terms import Apply, Const, IndexValue, Read, Select, Term, Terms, bottom_up, holds
from tadc.passes.terms.algebra import Algebra, chooses_zero, is_safe
from tadc.passes.terms.collect import addends
from tadc.passes.terms.products import product_of
from tadc.passes.terms.value_intervals import ValueInterval
from tadc.passes.terms.value_ranges import ValueRanges


class ChoiceAlgebra(Algebra):
    """`chosen` are tensors of cotangents that are 0 where a choice by values leaves out what they are of."""

    def __init__(self, terms: Terms, values: ValueRanges) -> None:
        super().__init__(terms, values)
        self.points: dict[int, bool] = {}
        self.choices: dict[int, bool] = {}
        self.chosen: set[str] = set()
        self.left_out: dict[int, bool] = {}
        self.varied: dict[int, bool] = {}
        self.zeroed: dict[int, bool] = {}

    def mul(self, x: Term, y: Term) -> Term:
        """`x * y`, over summands at points."""
        spread = self._spread(x, lambda part: self.mul(part, y), y)
        spread = spread or self._spread(y, lambda part: self.mul(x, part), x)
        if spread:
            return spread
        for g, factor in ((x, y), (y, x)):
            if is_power(g):
                # The slope i * u**(i - 1) is 0 where i is.
                first, power = g.operands if is_safe(g) else (self.one, g)
                weights, others = product_of(factor).split(self._is_of_indices)
                weight = self.mul(first, weights.term(self))
                if weights.length and self._is_unlike_product(weight, power):
                    return super().safe(weight, super().mul(others.term(self), power))
        for g, factor in ((x, y), (y, x)) if self.chosen else ():
            if self._is_unlike_product(g, factor) and self._may_be_left_out(g):
                return super().safe(g, factor)
        return super().mul(x, y)

    def _is_of_indices(self, term: Term) -> bool:
        return not holds(term, self.varied, lambda t: not isinstance(t, Apply | IndexValue | Const))

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
        if self._may_be_left_out(body) or holds(body, self.zeroed, _is_zero_somewhere):
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
        parts = [(negative, change(addend)) for negative, addend in addends(term, signs=True)]
        return reduce(self.add, (self.neg(part) if negative else part for negative, part in parts))

    def multiplied_out(self, g: Term) -> Term:
        """The product over the summands of a factor that is a sum of choices by values."""
        product = product_of(g)
        choices = next((t for t in product.over if _is_sum(t) and self.has_choices(t)), None)
        if choices is None or choices is g:
            return g
        rest = product.without([choices]).term(self)
        return self._summed(choices, lambda part: self.mul(part, rest))

    def has_points(self, term: Term) -> bool:
        """Whether a sum has a summand that is 0 at a point, or beside it."""
        return bottom_up(term, self.points, _has_points)

    def has_choices(self, term: Term) -> bool:
        """Whether a sum has a summand that is 0 in one branch of a choice by values."""
        return bottom_up(term, self.choices, _has_choices)


def is_power(term: Term) -> bool:
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


def _is_zero_somewhere(node: Term) -> bool:
    return isinstance(node, Select) and chooses_zero(node)


def _is_finite(values: ValueInterval) -> bool:
    """Whether these values and their inverses are finite numbers."""
    return values.finite and values.is_nonzero
