"""Products as lists of factors and divisors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce

from tadc.frontend.terms import Apply, Const, Term
from tadc.lattice.late_dataclasses import dataclass, replace
from tadc.passes.terms.algebra import Algebra, is_const
from tadc.passes.terms.costs import LONGEST


@dataclass(frozen=True)
class ScaledProduct:
    """`scale * over[0] * over[1] * … / under[0] / under[1] …`."""

    scale: int | float
    over: tuple[Term, ...]
    under: tuple[Term, ...]

    @property
    def length(self) -> int:
        """How many factors and divisors there are."""
        return len(self.over) + len(self.under)

    def split(self, inside: Callable[[Term], bool]) -> tuple[ScaledProduct, ScaledProduct]:
        """The part that `inside` picks, with scale 1, and the rest."""
        chosen = ScaledProduct(1, tuple(filter(inside, self.over)), tuple(filter(inside, self.under)))
        rest = [tuple(t for t in part if not inside(t)) for part in (self.over, self.under)]
        return chosen, ScaledProduct(self.scale, *rest)

    def without(self, factors: Sequence[Term]) -> ScaledProduct:
        """The product but for one of each of some factors."""
        return replace(self, over=without_terms(self.over, factors))

    def term(self, algebra: Algebra, *more: Term) -> Term:
        """The product, with further factors before it is divided."""
        factors = (*self.over, *more)
        over = reduce(algebra.mul, factors) if factors else algebra.one
        return reduce(algebra.div, self.under, algebra.mul(algebra.const(self.scale), over))


def product_of(term: Term, reciprocals: bool = False) -> ScaledProduct:
    """The factors of a term; of one that is no product, itself. `reciprocals` stay factors."""
    scale: int | float = 1
    over: list[Term] = []
    under: list[Term] = []
    stack = [(term, True)]
    while stack:
        node, above = stack.pop()
        match node:
            case Apply(function="mul", operands=(x, y)) if above:
                stack += [(y, True), (x, True)]
            case Apply(function="div", operands=(x, y)) if above and not (reciprocals and is_const(x, 1)):
                stack += [(y, False), (x, True)]
            case Apply(function="neg", operands=(x,)) if above:
                scale = -scale
                stack.append((x, True))
            case Const(value=int(value)) if above:
                scale *= value
            case Const(value=value) if above and scale in (1, -1):
                scale *= value  # one rounding of literals fewer would be another value
            case _:
                (over if above else under).append(node)
        if len(over) + len(under) + len(stack) > LONGEST:
            return ScaledProduct(1, (term,), ())
    return ScaledProduct(scale, tuple(over), tuple(under))


def summands(term: Term) -> list[Term]:
    """What a chain of additions adds up; a difference is one summand, for it may cancel."""
    found: list[Term] = []
    stack = [term]
    while stack:
        node = stack.pop()
        match node:
            case Apply(function="add", operands=(x, y)):
                stack += [y, x]
            case _:
                found.append(node)
    return found


def added(algebra: Algebra, parts: Iterable[Term]) -> Term:
    """The sum of terms, in their order."""
    return reduce(algebra.add, parts)


def in_both(terms: Sequence[Term], others: Sequence[Term]) -> list[Term]:
    """The terms that are among others, too, as often as there."""
    left, found = list(others), list[Term]()
    for term in terms:
        if term in left:
            left.remove(term)
            found.append(term)
    return found


def without_terms(terms: Sequence[Term], taken: Sequence[Term]) -> tuple[Term, ...]:
    """The terms but for one of each that is taken."""
    left = list(terms)
    for term in taken:
        left.remove(term)
    return tuple(left)


def without(parts: Sequence[Term], position: int) -> tuple[Term, ...]:
    """All parts but one."""
    return (*parts[:position], *parts[position + 1 :])
