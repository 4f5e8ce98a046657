"""Terms multiplied out, over the real numbers: sums of products of powers of atoms, with exact coefficients.

    sum{k} ((x[i, k] - m[i]) * c[i])    is    c[i] * sum{k} (x[i, k]) - K * c[i] * m[i]

An atom is a term that is neither a sum nor a product: a read, a function, a sum of products over indices that
hang together. Equal expansions mean equal values wherever no divisor is 0 and nothing overflows; the reverse
does not hold. A sum over no point evaluates no divisor, so none leaves a sum that is not proven to have one.
Tensors in between are read as what defines them there. Fractions are 0 if they are over their common divisor:
`c - c * a / (a + b) - c * b / (a + b)`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import (
    Apply,
    Const,
    Domain,
    Guard,
    IndexValue,
    Read,
    Reduce,
    Term,
    integer_exponent,
    operands,
)
from tadc.lattice.affine import Affine
from tadc.lattice.late_dataclasses import dataclass, field
from tadc.lattice.polyhedron import hold, is_empty
from tadc.passes.terms.algebra import Algebra
from tadc.passes.terms.costs import LONGEST, NODES
from tadc.passes.terms.occupied import occupied

Powers = tuple[tuple[int, int], ...]
"""Atoms by number with their exponents, none of them 0, in the order of the numbers."""

Expansion = Mapping[Powers, Fraction]
"""Coefficients of products, none of them 0."""

ONE: Powers = ()


class TooManyProducts(Exception):
    """More products than are looked at."""


@dataclass
class Expander:
    """Expansions of the terms of a program; `facts` hold of the indices of one definition and of sizes."""

    program: Program
    facts: Domain = ()
    atoms: dict[int, Term] = field(default_factory=dict[int, Term])
    known: dict[int, Expansion] = field(default_factory=dict[int, Expansion])
    here: dict[int, Expansion] = field(default_factory=dict[int, Expansion])
    """Expansions that the facts were asked for."""
    asked: bool = False
    """Whether they were, for what is expanded now."""
    divisors: dict[int, Expansion] = field(default_factory=dict[int, Expansion])
    """Sums that something is divided by, by the atoms that they are."""
    hints: dict[str, str] = field(default_factory=dict[str, str])
    """What open indices are called where sums are printed."""
    depth: int = 0
    left: int = NODES

    def __post_init__(self) -> None:
        self.terms = self.program.terms
        self.algebra = Algebra(self.terms)
        self.definitions = {d.name: d for d in self.program.definitions if _is_read_through(d)}

    def enter(self, definition: Definition) -> None:
        """Look at a definition: what is known of its indices is not that of others of their names."""
        self.under(self.program.facts(definition))

    def under(self, facts: Domain) -> None:
        """Look at terms where the facts hold."""
        if facts != self.facts:
            self.facts = facts
            self.here.clear()

    def is_zero(self, term: Term) -> bool:
        """Whether a term is proven 0, by its expansion over a common divisor."""
        found = self.of(term)
        try:
            while divided := [a for powers in found for a, n in powers if n < 0 and a in self.divisors]:
                found = self.times(found, divided[0])
        except TooManyProducts:
            return False
        return not found

    def times(self, found: Expansion, divisor: int) -> Expansion:
        """An expansion multiplied by the highest power of a divisor in it."""
        most, own = max(-dict(powers).get(divisor, 0) for powers in found), self.divisors[divisor]
        made: list[Expansion] = []
        for powers, scale in found.items():
            others = tuple((atom, n) for atom, n in powers if atom != divisor)
            above = _power(own, most + dict(powers).get(divisor, 0))
            made.append(_multiplied({others: scale}, above))
        return _added(made)

    def of(self, term: Term) -> Expansion:
        """The expansion of a term."""
        found = self.known.get(term.number)
        if found is None and (found := self.here.get(term.number)) is not None:
            self.asked = True
        if found is None:
            self.left -= 1
            before, self.asked = self.asked, False
            try:
                found = self.atom(term) if self.left < 0 else self.expanded(term)
            except TooManyProducts:
                found = self.atom(term)
            (self.here if self.asked else self.known)[term.number] = found
            self.asked |= before
        return found

    def atom(self, term: Term, exponent: int = 1) -> Expansion:
        """A term as it is."""
        self.atoms[term.number] = term
        return {((term.number, exponent),): Fraction(1)}

    def expanded(self, term: Term) -> Expansion:
        """The expansion of a term by that of its operands."""
        match term:
            case Const(value=value) if math.isfinite(value):
                return _cleared({ONE: Fraction(value)})
            case IndexValue(form=form) if form.is_constant:
                return _cleared({ONE: Fraction(form.constant)})
            case Read(tensor=tensor) if tensor in self.definitions:
                made = self.definitions[tensor]
                return self.of(self.terms.substitute(made.body, made.at(term.indices)))
            case Apply(function="neg"):
                return _scaled(self.of(operands(term)[0]), Fraction(-1))
            case Apply(function="add" | "sub" as function, operands=(x, y)):
                return _added((self.of(x), _scaled(self.of(y), Fraction(1 if function == "add" else -1))))
            case Apply(function="mul", operands=(x, y)):
                return _multiplied(self.of(x), self.of(y))
            case Apply(function="div", operands=(x, y)):
                return _multiplied(self.of(x), self.inverse(y))
            case Apply(function="pow", operands=(base, _)) if (n := integer_exponent(term)) is not None and n:
                return _power(self.of(base) if n > 0 else self.inverse(base), abs(n))
            case Reduce(kind="sum"):
                return self.summed(term)
            case Guard(conditions=rows):
                self.asked = True
                if hold(rows, self.facts):
                    return self.of(term.then)
                return self.of(term.otherwise) if is_empty((*self.facts, *rows)) else self.atom(term)
            case _:
                return self.atom(term)

    def inverse(self, term: Term) -> Expansion:
        """The expansion of `1 / term`."""
        found = self.of(term)
        if len(found) == 1:
            ((powers, scale),) = found.items()
            return {tuple((atom, -n) for atom, n in powers): 1 / scale}
        if found:
            self.divisors[term.number] = found
        return self.atom(term, -1)

    def summed(self, term: Reduce) -> Expansion:
        """A sum of products as products of sums, each over the indices that hang together."""
        names = tuple(f"?open{self.depth + at}" for at in range(len(term.binders)))
        self.hints |= zip(names, term.hints, strict=True)
        _, domain, inside = self.terms.open(term, names)
        self.depth += len(names)
        body = self.of(inside)
        self.depth -= len(names)
        outside = [row for row in domain if row.form.variables.isdisjoint(names)]
        if outside:
            raise TooManyProducts
        return _added(self.sum_of_product(names, domain, *pair) for pair in body.items())

    def sum_of_product(
        self, names: Sequence[str], domain: Domain, powers: Powers, scale: Fraction
    ) -> Expansion:
        """The sum of one product as a product of sums, each over the indices that hang together."""
        made: Expansion = {ONE: scale}
        left = list(powers)
        for group in _groups(names, [self.atoms[a].free for a, _ in powers], domain):
            inside = [(a, n) for a, n in left if not self.atoms[a].free.isdisjoint(group)]
            left = [pair for pair in left if pair not in inside]
            rows = tuple(row for row in domain if not row.form.variables.isdisjoint(group))
            made = _multiplied(made, self.sum_of(group, rows, inside))
        if any(n < 0 for _, n in left):
            self.asked = True
            if occupied(names, domain, self.facts) != ():
                raise TooManyProducts
        return _multiplied(made, {tuple(left): Fraction(1)})

    def sum_of(self, names: Sequence[str], rows: Domain, powers: Sequence[tuple[int, int]]) -> Expansion:
        """The sum of a product whose indices hang together: an atom, or how many points an interval has."""
        if not powers and len(names) == 1:
            count = _count(names[0], rows)
            if count is not None:
                return self.of(self.terms.index(count))
        # The names of open indices tell nothing: factors are in the order that they have in a closed sum.
        ordered = sorted(powers, key=lambda pair: (self.closed(names, self.atoms[pair[0]]), pair[1]))
        factors = [self.algebra.power(self.atoms[a], n) for a, n in ordered]
        body = self.algebra.one
        for factor in factors:
            body = self.algebra.mul(body, factor)
        return self.atom(self.terms.reduce(names, rows, body, hints=[self.hints[n] for n in names]))

    def closed(self, names: Sequence[str], term: Term) -> int:
        """A number that is equal for terms that differ by the names of open indices alone."""
        return self.terms.reduce(names, (), term).number


def _is_read_through(definition: Definition) -> bool:
    """Whether a tensor is read as what defines it: no recurrence is, and no reduction but a sum."""
    body = definition.body
    return definition.order is None and not (isinstance(body, Reduce) and body.kind != "sum")


def _count(name: str, rows: Domain) -> Affine | None:
    """How many values an index has between two bounds that are always so far apart; None of other domains."""
    lower = [row.form for row in rows if not row.equality and row.form.coefficient(name) == 1]
    upper = [row.form for row in rows if not row.equality and row.form.coefficient(name) == -1]
    if len(rows) != 2 or len(lower) != 1 or len(upper) != 1:
        return None
    if any(row.form.solved(name) is None for row in rows):
        return None
    count = lower[0] + upper[0] + 1
    return count if count.is_constant and count.constant >= 0 else None


def _groups(names: Sequence[str], free: Iterable[frozenset[str]], domain: Domain) -> list[tuple[str, ...]]:
    """Names in groups: two of which one factor, or one row, depends are in one."""
    groups = [{name} for name in names]
    for one in (*free, *(row.form.variables for row in domain)):
        touched = [group for group in groups if not group.isdisjoint(one)]
        if len(touched) > 1:
            groups = [group for group in groups if group not in touched] + [set[str]().union(*touched)]
    return [tuple(name for name in names if name in group) for group in groups]


def _cleared(found: dict[Powers, Fraction]) -> Expansion:
    if len(found) > LONGEST:
        raise TooManyProducts
    return {powers: scale for powers, scale in found.items() if scale}


def _added(parts: Iterable[Expansion]) -> Expansion:
    found: dict[Powers, Fraction] = {}
    for part in parts:
        for powers, scale in part.items():
            found[powers] = found.get(powers, Fraction(0)) + scale
    return _cleared(found)


def _scaled(x: Expansion, scale: Fraction) -> Expansion:
    return {powers: value * scale for powers, value in x.items()}


def _multiplied(x: Expansion, y: Expansion) -> Expansion:
    if len(x) * len(y) > LONGEST:
        raise TooManyProducts
    return _added({_joined(p, q): a * b} for p, a in x.items() for q, b in y.items())


def _joined(p: Powers, q: Powers) -> Powers:
    found = dict(p)
    for atom, n in q:
        found[atom] = found.get(atom, 0) + n
    return tuple(sorted((atom, n) for atom, n in found.items() if n))


def _power(x: Expansion, n: int) -> Expansion:
    if len(x) == 1:
        ((powers, scale),) = x.items()
        return {tuple((atom, k * n) for atom, k in powers): scale**n}
    if n > LONGEST:
        raise TooManyProducts
    found: Expansion = {ONE: Fraction(1)}
    for _ in range(n):
        found = _multiplied(found, x)
    return found
