"""Products of the other elements of a fibre, from those of the elements before and of those behind.

    dx[e] = prod{z: d[z] = d[e]} (if {z = e} then (1) else (x[z]))
    becomes, over the places q in the order of d, with v = d[d.perm[q]]:
    before[q] = if {q - 1 >= d.ptr[v]} then (before[q - 1] * x[d.perm[q - 1]]) else (1)
    behind[q] = if {q + 1 < d.ptr[v + 1]} then (x[d.perm[q + 1]] * behind[q + 1]) else (1)
    dx[e] = before[p] * behind[p], where p is the place of e

A fibre takes as many steps as it has elements, and not their square. Nothing is divided: where elements are
0 the products are as exact as the one on the left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count as count_from_0
from typing import NamedTuple

from tadc.frontend.extents import Extent, extent
from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import Domain, ElementType, Guard, Reduce, Term
from tadc.lattice.affine import Affine, Constraint
from tadc.passes.rewrites.places import Place, Places
from tadc.passes.terms.algebra import Algebra, is_const
from tadc.passes.terms.checked_reads import all_proven
from tadc.passes.terms.index_ranges import between_neighbours
from tadc.passes.terms.inspected_arrays import Arrays
from tadc.passes.terms.names import Names


def with_other_factors(program: Program) -> Program:
    """The program whose products of all other elements of a fibre are of those before and behind."""
    if not program.index_arrays():
        return program
    work = _Others(program)
    definitions: list[Definition] = []
    for definition in program.definitions:
        body = work.rewritten(definition)
        definitions += [*work.taken(), replace(definition, body=body)]
    if not work.made:
        return program
    found = replace(program, definitions=tuple(definitions))
    sizes = (*program.sizes, *work.arrays.counts)
    return replace(found, arguments=work.arrays.used_by(found), sizes=sizes)


class _Product(NamedTuple):
    """A product over a fibre without one element."""

    left: Affine  # the place of the element that is left out, in the order of the fibres
    out: frozenset[str]  # the indices that say which it is
    name: str  # the index that runs over the fibre
    factor: Term  # over `name`
    begin: Affine  # the first place of the fibre that `name` is in
    end: Affine  # the first place behind it
    size: Extent  # how many places there are


@dataclass
class _Others:
    """One walk over the definitions of a program."""

    program: Program
    new: list[Definition] = field(default_factory=list[Definition])
    made: dict[tuple[object, ...], tuple[str, str]] = field(
        default_factory=dict[tuple[object, ...], tuple[str, str]]
    )

    def __post_init__(self) -> None:
        self.terms, self.names = self.program.terms, Names(self.program)
        self.algebra, self.arrays = Algebra(self.terms), Arrays(self.program)
        self.sizes, self.shapes = frozenset(self.program.sizes), self.program.shapes()

    def taken(self) -> list[Definition]:
        """What was defined since the last call."""
        new, self.new = self.new, []
        return new

    def rewritten(self, definition: Definition) -> Term:
        """The body of a definition with its products of others as two."""
        places = Places(self.terms, self.sizes, definition)
        memo: dict[tuple[int, int], Term] = {}

        def visit(at: int, term: Term) -> Term:
            if (at, term.number) not in memo:
                made = None
                if isinstance(term, Reduce) and (found := self.product(term)) is not None:
                    made = self.split(found, term, places.places[at], definition)
                memo[at, term.number] = made or over(at, term)
            return memo[at, term.number]

        def over(at: int, term: Term) -> Term:
            old = list(places.below(at, term))
            below = [visit(p, t) for p, t in old]
            same = all(new is before for new, (_, before) in zip(below, old, strict=True))
            return term if same else places.rebuilt(at, term, below)

        return visit(0, definition.body)

    def product(self, term: Reduce) -> _Product | None:
        """What a product over a fibre without one element is of; None for another."""
        if term.kind != "prod" or len(term.binders) != 1 or not isinstance(term.below[0], Guard):
            return None
        binders, domain, body = self.terms.open(term)
        name = binders[0]
        low = between_neighbours(name, [row.form for row in domain if not row.equality])
        if low is None or len(domain) != 2 or not isinstance(body, Guard) or not is_const(body.then, 1):
            return None
        made, place = self.arrays[low.array].inspected, Affine.var(name)
        kind = made.kind if made else None
        if kind not in (None, "ptr") or (made and len(made.of) > 1):
            return None
        # Which fibre a place is in, and which element stands there.
        of = self.arrays[made.of[0]] if made else self.arrays.owner(low.array)
        perm = self.arrays.perm((of.name,), 0) if made and not of.increasing else None
        element = perm.lookup([place]) if perm else place
        left = _other_side(body.conditions, element)
        if left is None or len(of.shape) != 1 or low.at != (of.lookup([left]),):
            return None
        if _leaves_out(body.otherwise, element):
            return None  # each two elements have a product of their own
        own = of.lookup([element])
        factor = self.terms.rewrite_forms(body.otherwise, left.variables, _put(of.lookup([left]), own))
        ptr = self.arrays[low.array]
        inverse = self.arrays.perm((perm.name,), 0) if perm else None
        return _Product(
            inverse.lookup([left]) if inverse else left,
            left.variables - self.sizes,
            name,
            factor,
            ptr.lookup([own]),
            ptr.lookup([own + 1]),
            self.arrays.count(of.name),
        )

    def split(self, found: _Product, term: Reduce, place: Place, owner: Definition) -> Term | None:
        """The product of the two; None where a factor depends on the element that is left out."""
        rest = found.factor.free - self.sizes - {found.name}
        own = [(i, r) for i, r in place.ranges.items() if i in rest and r is not None]
        if len(own) < len(rest) or not found.out.isdisjoint(rest):
            return None
        numbered = {i: Affine.var(f"?{n}") + r.low for n, (i, r) in enumerate(own, 1)}
        mapping = {found.name: Affine.var("?0")} | numbered
        type = term.type or owner.type
        key = self.terms.substitute(found.factor, mapping).number, found.begin.substitute(mapping), type
        if key not in self.made:
            hints = [place.hints[place.indices.index(i)] for i, _ in own]
            pair = self.pair(found, mapping, [extent(r.extent) for _, r in own], hints, owner, type)
            if pair is None:
                return None
            self.made[key] = pair
        at = [found.left, *(Affine.var(i) - r.low for i, r in own)]
        return self.algebra.mul(*(self.terms.read(name, at, type) for name in self.made[key]))

    def pair(
        self, found: _Product, mapping: dict[str, Affine], shape: Sequence[Extent], hints: Sequence[str],
        owner: Definition, type: ElementType,
    ) -> tuple[str, str] | None:  # fmt: skip
        """The names of the products of the elements before and behind, which are defined."""
        q, *others = indices = self.indices(("q", *hints))
        named = {f"?{n}": Affine.var(name) for n, name in enumerate(indices)}
        names: list[str] = []
        new: list[Definition] = []
        here = Affine.var(q)
        begin, end = (f.substitute(mapping).substitute(named) for f in (found.begin, found.end))
        factor = self.terms.substitute(self.terms.substitute(found.factor, mapping), named)
        whole = (found.size, *shape)
        for step, row in ((-1, here - 1 - begin), (1, end - 2 - here)):
            free = (f"{owner.name}_{n}" for n in count_from_0())
            name = self.names.free(next(n for n in free if n not in self.names.taken))
            self.shapes[name] = whole
            other = self.terms.substitute(factor, {q: here + step})
            known = self.terms.read(name, [here + step, *map(Affine.var, others)], type)
            product = self.algebra.mul(*((known, other)[::-step]))
            body = self.terms.guard([Constraint(row)], product, self.algebra.one)
            made = Definition(
                name, type, whole, tuple(indices), body, is_output=False, span=owner.span, order=here * -step
            )
            if not all_proven(self.program, self.shapes, made):
                return None
            new.append(made)
            names.append(name)
        self.new += new
        return names[0], names[1]

    def indices(self, hints: Sequence[str]) -> list[str]:
        """Names for the indices of a definition."""
        chosen: list[str] = []
        for hint in hints:
            chosen.append(self.names.index(hint or "q", chosen))
        return chosen


def _other_side(conditions: Domain, element: Affine) -> Affine | None:
    """The form that is equal to an element where the one condition holds."""
    if len(conditions) != 1 or not conditions[0].equality or len(element.terms) != 1:
        return None
    ((atom, _),), form = element.terms, conditions[0].form
    k = form.coefficient(atom)
    left = element - form * k
    return left if abs(k) == 1 and not left.coefficient(atom) else None


def _leaves_out(term: Term, element: Affine) -> bool:
    """Whether a factor is another for some element besides."""
    return isinstance(term, Guard) and _other_side(term.conditions, element) is not None


def _put(old: Affine, new: Affine) -> Callable[[Affine], Affine]:
    """Forms with another in the place of the element that one is."""
    ((atom, _),) = old.terms
    return lambda form: form.replace(lambda each: new if each == atom else None)
