"""Products in an order in which several have a part in common.

    f[i, j] = a[i] * x[j] * b[i] * y[i, j],  g[j] = sum{i} (a[i] * y[i, j] * b[i])
    is  f[i, j] = x[j] * y[i, j] * (a[i] * b[i]),  g[j] = sum{i} (y[i, j] * (a[i] * b[i]))

where no derivative follows. Two factors stand together where that saves most: a tensor for their product, one
of those of `cheap_values`, pays, or one place computes it for several products. Then so do these pairs, and
what is left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import combinations, islice

from tadc.frontend.program import Program
from tadc.frontend.terms import Const, Guard, Select, Term, holds_reduction, operands, reachable
from tadc.passes.rewrites.cheap_values import MOST_TERMS, WORTH, Sharing, Value
from tadc.passes.rewrites.moves import Key
from tadc.passes.terms.algebra import is_product
from tadc.passes.terms.costs import points
from tadc.passes.terms.products import Product, product_of

#: Longer products stay as they are.
MOST_FACTORS = 8
#: So many pairs are put together.
MOST_PAIRS = 16


def pair_factors(program: Program, limit: int | None) -> Program:
    """The program with factors in pairs; it itself where nothing is saved.

    Without sums it stays as it is: a value has the same bits alone and beside its tangent.
    """
    known: dict[int, bool] = {}
    if not any(holds_reduction(d.body, known) for d in program.definitions):
        return program
    terms = list(islice(reachable([d.body for d in program.definitions]), MOST_TERMS + 1))
    products = [product_of(t) for t in terms if is_product(t)]
    if len(terms) > MOST_TERMS or all(len(product.over) < 3 for product in products):
        return program
    pairing = _Pairing(Sharing(program, limit))
    pairing.find()
    return pairing.rebuilt() if pairing.pair() else program


@dataclass
class _Found:
    """A product at a place of a definition; `scale` and `factors` are what is left to pair."""

    number: int
    at: int
    product: Product
    scale: int | float
    factors: list[Term]
    pairs: dict[Key, tuple[int, int, Term]] = field(default_factory=dict[Key, "tuple[int, int, Term]"])


@dataclass
class _Pairing:
    """One look at a program."""

    sharing: Sharing
    products: dict[tuple[int, int, int], _Found] = field(default_factory=dict[tuple[int, int, int], _Found])
    holds: dict[int, bool] = field(default_factory=dict[int, bool])
    same: dict[Key, Key] = field(default_factory=dict[Key, Key])
    alike: Mapping[int, int] = field(default_factory=dict[int, int])

    def find(self) -> None:
        """Note all products, place by place."""
        for number, places in enumerate(self.sharing.places):
            seen: set[tuple[int, int, bool]] = set()
            stack = [(0, self.sharing.program.definitions[number].body, False)]
            while stack:
                at, term, inner = stack.pop()
                if (at, term.number, inner) in seen:
                    continue
                seen.add((at, term.number, inner))
                stack += [(place, t, is_product(term)) for place, t in places.below(at, term)]
                if not inner and is_product(term) and (found := self.found(number, at, term)):
                    self.products[number, at, term.number] = found

    def found(self, number: int, at: int, term: Term) -> _Found | None:
        """A product, if its factors may stand in any order."""
        product = product_of(term)
        every = (*product.over, *product.under)
        if not 2 <= len(product.over) <= MOST_FACTORS or isinstance(product.scale, float):
            return None
        if any(isinstance(t, Guard | Select | Const) or t.type not in (None, term.type) for t in every):
            return None
        return _Found(number, at, product, product.scale, list(product.over))

    # -- which pairs -----------------------------------------------------------------------------

    def pair(self) -> bool:
        """Put factors together while that saves something; whether any are."""
        least = self.sharing.operations() // WORTH
        changed = list(self.products.values())
        self.alike = Counter(form for found in changed for form in self.forms(found))
        for count in range(MOST_PAIRS):
            for found in changed:
                found.pairs = dict(self.pairs_of(found))
            best = self.best(least)
            if best is None:
                return count > 0
            changed = [found for found in self.products.values() if best in found.pairs]
            scales = {found.scale for found in changed}
            for found in changed:
                first, second, term = found.pairs[best]
                rest = [t for n, t in enumerate(found.factors) if n not in (first, second)]
                if len(scales) == 1:
                    term = self.scaled(found.scale, operands(term))
                    found.scale = 1
                found.factors = [*rest, term]
        return True

    def scaled(self, scale: int | float, factors: Sequence[Term]) -> Term:
        """A product of factors and a number as they are."""
        algebra = self.sharing.mover.algebra
        first = factors[0] if scale == 1 else algebra.mul(algebra.const(scale), factors[0])
        return reduce(lambda x, y: algebra.apply("mul", x, y), factors[1:], first)

    def forms(self, found: _Found) -> Iterator[int]:
        """What is equal for pairs of factors that may be, in both orders."""
        for pair in combinations(found.factors, 2):
            # Not in a set, which would number forms by where terms are in memory.
            for factors in dict.fromkeys((pair, pair[::-1])):
                yield self.sharing.form(self.sharing.terms.apply("mul", factors))

    def pairs_of(self, found: _Found) -> Iterator[tuple[Key, tuple[int, int, Term]]]:
        """The pairs of a product that one tensor each has room for."""
        for (n, x), (m, y) in combinations(enumerate(found.factors), 2):
            if holds_reduction(x, self.holds) or holds_reduction(y, self.holds):
                continue
            terms = [self.sharing.terms.apply("mul", pair) for pair in ((x, y), (y, x))]
            forms = [self.sharing.form(t) for t in terms]
            place = self.sharing.places[found.number].places[found.at]
            if self.alike.get(forms[0], 2) < 2 and terms[0].free.issuperset(place.indices):
                continue  # no other product has it
            # Equal forms in another order may be equal values.
            if forms[0] != forms[1]:
                terms = [terms[forms.index(min(forms))]]
            keys = [(self.sharing.held(found.number, found.at, t), t) for t in terms]
            known = {key: t for key, t in keys if key is not None}
            if known:
                # Of the two orders, the one that was met first.
                key = next((self.same[key] for key in known if key in self.same), next(iter(known)))
                self.same.update(dict.fromkeys(known, key))
                yield key, (n, m, known.get(key, terms[0]))

    def best(self, least: int) -> Key | None:
        """The pair that saves most operations, if that is more than `least`."""
        sharing = self.sharing
        values: dict[Key, Value] = {}
        counted: set[tuple[Key, int, int]] = set()
        times: Counter[Key] = Counter()
        for found in self.products.values():
            place = sharing.places[found.number].places[found.at]
            for key, (_, _, term) in found.pairs.items():
                times[key] += points(place.ranges)
                if (key, found.number, found.at) not in counted:
                    counted.add((key, found.number, found.at))
                    value = values.setdefault(key, sharing.value(key, term, place))
                    definition = sharing.program.definitions[found.number]
                    sharing.mover.enter(definition)
                    sharing.count(value, term, definition, place)
        saved = {
            key: times[key] - (value.elements if value.pays() else value.times)
            for key, value in values.items()
        }
        best = max(saved, key=lambda key: saved[key], default=None)
        return best if best is not None and saved[best] > least else None

    # -- the program -----------------------------------------------------------------------------

    def rebuilt(self) -> Program:
        """The program with the pairs that have been found."""
        program = self.sharing.program
        definitions = tuple(
            d if (body := _Walk(self, number).visit(0, d.body)) is d.body else replace(d, body=body)
            for number, d in enumerate(program.definitions)
        )
        return replace(program, definitions=definitions)

    def ordered(self, found: _Found) -> Term:
        """A product with its pairs."""
        single = next((t for t in found.factors if t in found.product.over), found.factors[0])
        rest = list(found.factors)
        rest.remove(single)
        return reduce(
            self.sharing.mover.algebra.div, found.product.under, self.scaled(found.scale, [single, *rest])
        )


@dataclass
class _Walk:
    """One walk over a definition; a term that stands at several places stays one."""

    pairing: _Pairing
    number: int
    memo: dict[int, Term] = field(default_factory=dict[int, Term])

    def visit(self, at: int, term: Term) -> Term:
        """The term with pairs of factors."""
        if term.number not in self.memo:
            found = self.pairing.products.get((self.number, at, term.number))
            made = term
            if found is not None and len(found.factors) < len(found.product.over):
                made = self.pairing.ordered(found)
            places = self.pairing.sharing.places[self.number]
            below = [self.visit(inside, t) for inside, t in places.below(at, made)]
            self.memo[term.number] = places.rebuilt(at, made, below) if operands(made) else made
        return self.memo[term.number]
