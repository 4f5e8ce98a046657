"""Powers of roots and roots of powers as plain powers, before derivatives are taken.

    abs(e)**2 = e**2,    cbrt(e)**3 = e,    sqrt(e)**2 = e where e >= 0,    sqrt(e**2) = abs(e)

What is left has no slope that is infinite at 0, or one kink there in the place of a root. Each equation holds
wherever one of its sides has a value, so `sqrt(e)**2` stays as it is where e may be less than 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tadc.frontend.terms import Apply, Const, Term, Terms, bottom_up, integer_exponent
from tadc.passes.terms.algebra import Algebra
from tadc.passes.terms.products import ScaledProduct, product_of
from tadc.passes.terms.value_ranges import ValueRanges

#: The power of a function that is a power of its operand, and which.
WHOLE = {"abs": (2, 2), "cbrt": (3, 1), "sqrt": (2, 1)}


class PowersOfRoots:
    """The algebra of one program; `known` are terms that were rewritten, by their numbers."""

    def __init__(self, terms: Terms, values: ValueRanges) -> None:
        self.algebra, self.values = Algebra(terms, values), values
        self.known: dict[int, Term] = {}

    def without(self, term: Term) -> Term:
        """The term with plain powers."""
        return bottom_up(term, self.known, self._node)

    def _node(self, old: Term, below: Sequence[Term]) -> Term:
        node = self.algebra.terms.rebuild(old, below)
        while isinstance(node, Apply) and (made := self._plain(node)) is not None:
            node = made
        node.span = node.span or old.span
        return node

    def _plain(self, node: Apply) -> Term | None:
        return self._product(node) if node.function == "mul" else self._power(node) or self._root(node)

    def _power(self, node: Apply) -> Term | None:
        """A power of a root, or the exponential of a logarithm."""
        n, base = integer_exponent(node), node.operands[0]
        if not isinstance(base, Apply):
            return None
        (u, *_), function = base.operands, base.function
        if node.function == "exp" and function == "log" and self.values.of(u).is_nonnegative:
            return u
        if n is None or function not in WHOLE:
            return None
        if function == "sqrt" and not self.values.of(u).is_nonnegative:
            return None
        order, power = WHOLE[function]
        return None if n % order else self.algebra.power(u, n // order * power)

    def _root(self, node: Apply) -> Term | None:
        """A root of a power, or the absolute value of what is not negative."""
        (base, *others), algebra = node.operands, self.algebra
        if node.function == "abs":
            return base if self.values.of(base).is_nonnegative else None
        k = integer_exponent(base) or 0
        if k < 2:
            return None
        u = base.below[0]
        if node.function == "cbrt":
            return None if k % 3 else algebra.power(u, k // 3)
        exponent = 0.5 if node.function == "sqrt" else 0.0
        if node.function == "pow" and isinstance(others[0], Const):
            exponent = float(others[0].value)
        if k % 2 or exponent <= 0:
            return None
        size = u if self.values.of(u).is_nonnegative else algebra.apply("abs", u)
        return size if k * exponent == 1 else algebra.apply("pow", size, algebra.const(k * exponent))

    def _product(self, node: Apply) -> Term | None:
        """A product of which some factors are powers of the same root."""
        product, counts = product_of(node), Counter[Term]()
        for factor in product.over:
            n = integer_exponent(factor)
            base, n = (factor, 1) if n is None else (factor.below[0], n)
            if isinstance(base, Apply) and base.function in WHOLE:
                counts[base] += n
        powers = {base: self._power_of(base, n) for base, n in counts.items() if n > 1}
        plain = {base: power for base, power in powers.items() if power is not None}
        if not plain:
            return None
        others = [t for t in product.over if t not in plain and not (t.below and t.below[0] in plain)]
        return ScaledProduct(product.scale, (*others, *plain.values()), product.under).term(self.algebra)

    def _power_of(self, base: Term, n: int) -> Term | None:
        power = self.algebra.power(base, n)
        return self._power(power) if isinstance(power, Apply) else None
