"""Products with the fewest divisions and roots, if no derivative follows.

    a * r**-1.5 - b * r**-2.5     is  a * q**3 - b * q**5        with q = 1 / sqrt(r), where r >= 0
    a / r**3 + b / (r * r)        is  a * p**3 + b * p**2        with p = 1 / r
    m / (r * sqrt(r)) * x         is  m * x / (r * sqrt(r))      if there is no other power of r
    x[i, j] / n[i] / 300          is  1/300 * x[i, j] * (1 / n[i])

In a program with sums, all powers of a base share one root and one reciprocal, under any names of indices.
The reciprocal of a divisor with fewer indices is computed once for these. Operands of comparisons and of
discontinuous functions stay as written, as do quotients of integers and means.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from functools import reduce

from tadc.frontend.functions import having
from tadc.frontend.program import Program
from tadc.frontend.terms import (
    Apply,
    Select,
    Term,
    holds_reduction,
    index_forms,
    operands,
    reachable,
)
from tadc.lattice.late_dataclasses import dataclass, field
from tadc.passes.rewrites.reciprocals import is_reciprocal
from tadc.passes.terms.algebra import Algebra
from tadc.passes.terms.alike import number_of
from tadc.passes.terms.equations import HALF, is_whole
from tadc.passes.terms.powers import PowerForms, PowerProduct
from tadc.passes.terms.value_ranges import ValueRanges

JUMPS = having("jumps")


def with_written_powers(program: Program) -> Program:
    """The program with one root and one quotient for all powers of a base."""
    forms = PowerForms(Algebra(program.terms, ValueRanges(program)), pairs=True)
    if not any(forms.is_product(t) for t in reachable([d.body for d in program.definitions])):
        return program
    written = _Written(forms, discrete_terms(program))
    known: dict[int, bool] = {}
    # Without sums a value has the same bits alone and beside its tangent: each product is written by itself.
    if any(holds_reduction(d.body, known) for d in program.definitions):
        for definition in program.definitions:
            written.survey(definition.body, definition.name)
    return program.with_bodies(written.visit(d.body) for d in program.definitions)


def discrete_terms(program: Program) -> frozenset[int]:
    """The numbers of terms of which something is asked that one unit changes."""
    roots: list[Term] = []
    for term in reachable([d.body for d in program.definitions]):
        if isinstance(term, Select):
            roots += [term.lhs, term.rhs]
        elif isinstance(term, Apply) and (term.function in JUMPS or term.function == "mod"):
            roots += term.operands
    return frozenset(t.number for t in reachable(roots))


@dataclass
class _Written:
    """A walk over definitions whose powers of a base are written with the same roots and quotients."""

    forms: PowerForms
    kept: frozenset[int]
    #: The exponents below 0 of each base.
    exponents: dict[int, set[Fraction]] = field(default_factory=dict[int, "set[Fraction]"])
    #: How many products of a definition are divided by a base, and the bases for which these are several.
    divided: Counter[tuple[str, int]] = field(default_factory=Counter["tuple[str, int]"])
    shared: set[int] = field(default_factory=set[int])
    products: dict[int, PowerProduct | None] = field(default_factory=dict[int, "PowerProduct | None"])
    seen: set[int] = field(default_factory=set[int])
    keys: dict[int, int] = field(default_factory=dict[int, int])
    known: dict[int, Term] = field(default_factory=dict[int, Term])

    def __post_init__(self) -> None:
        self.algebra = self.forms.algebra
        self.terms = self.algebra.terms

    def product(self, term: Term) -> PowerProduct | None:
        """A product that is to be written, as powers."""
        if term.number not in self.products:
            found = None
            if term.number not in self.kept and self.forms.is_product(term) and term.type is not None:
                found = self.forms.of(term)
            self.products[term.number] = found
        return self.products[term.number]

    def survey(self, root: Term, name: str) -> None:
        """Note which powers of which bases there are."""
        stack = [root]
        self.seen.clear()
        while stack:
            term = stack.pop()
            if term.number in self.seen:
                continue
            self.seen.add(term.number)
            product = self.product(term)
            if product is None:
                stack += operands(term)
                continue
            for base, a in product.factors:
                stack.append(base)
                if a < 0:
                    self.exponents.setdefault(self.key(base), set()).add(a)
                    self.divided[name, base.number] += 1
                    if self.divided[name, base.number] > 1:
                        self.shared.add(self.key(base))

    def key(self, base: Term) -> int:
        """The number of a base, under other names of its indices."""
        return number_of(self.terms, base, self.keys)

    def visit(self, term: Term) -> Term:
        """The term with its products, and those in it, written so."""
        if term.number not in self.known:
            product = self.product(term)
            made = None if product is None else self.written(product, term)
            if made is None or made.type != term.type:
                made = self.terms.rebuild(term, [self.visit(t) for t in operands(term)])
            made.span = made.span or term.span
            self.known[term.number] = made
        return self.known[term.number]

    def written(self, product: PowerProduct, term: Term) -> Term | None:
        """A product over bases that are written."""
        algebra = self.algebra
        over: list[Term] = []
        under: list[Term] = []
        for base, a in product.factors:
            made = self.visit(base)
            if made.type not in (None, term.type):
                return None
            if a > 0:
                over.append(self.power(made, a))
            elif self.has_reciprocal(base, a, term):
                over.append(self.reciprocal(base, made, -a))
            else:
                under.append(self.power(made, -a))
        scale = algebra.const(float(product.scale))
        if len(over) == 1 and not under and is_reciprocal(over[0]) and product.scale != 1:
            # The algebra would put the literal above the line.
            return self.terms.apply("mul", (scale, over[0]))
        made = reduce(algebra.mul, over) if over else algebra.one
        return algebra.mul(scale, reduce(algebra.div, under, made))

    def has_reciprocal(self, base: Term, a: Fraction, term: Term) -> bool:
        """Whether powers of a base are those of a reciprocal: it has fewer indices, or there are several."""
        if base.free < term.free or self.repeats(base):
            return True
        return self.key(base) in self.shared or len(self.others(base, a)) > 1

    def others(self, base: Term, a: Fraction) -> set[Fraction]:
        """The exponents below 0 of a base that may be those of one root with an exponent."""
        found = self.exponents.get(self.key(base), {a})
        if self.algebra.values.of(base).is_nonnegative:
            return found
        return {b for b in found if is_whole(b) == is_whole(a)}

    def repeats(self, base: Term) -> bool:
        """Whether several elements have the same base, as that of `s[i // 4]`."""
        return any(not form.is_linear for term in reachable([base]) for form in index_forms(term))

    def power(self, base: Term, a: Fraction) -> Term:
        """A power above 0."""
        if is_whole(a):
            return self.algebra.power(base, int(a))
        root = self.algebra.apply("sqrt", base)
        return root if a == HALF else self.algebra.mul(self.power(base, a - HALF), root)

    def reciprocal(self, base: Term, made: Term, a: Fraction) -> Term:
        """A power of the reciprocal of a base, of its root or of a power of these."""
        unit = Fraction(math.gcd(int(2 * a), *(int(2 * b) for b in self.others(base, -a))), 2)
        one = self.algebra.div(self.algebra.one, self.power(made, unit))
        return self.algebra.power(one, int(a / unit))
