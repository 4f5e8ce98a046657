"""Products of all other elements of a fibre, from the products before and after each element.

    dx[e] = prod{z: d[z] = d[e]} (if {z = e} then (1) else (x[z]))
    becomes, over the positions q in the order of d, with v = d[d.perm[q]]:
    before[q] = if {q - 1 >= d.ptr[v]} then (before[q - 1] * x[d.perm[q - 1]]) else (1)
    behind[q] = if {q + 1 < d.ptr[v + 1]} then (x[d.perm[q + 1]] * behind[q + 1]) else (1)
    dx[e] = before[p] * behind[p], where p is the position of e

The number of steps is linear in the length of a fibre, not quadratic, which matters for nodes with many edges
(`tests/passes/test_growth.py`). There is no division, so elements may be 0. Second derivatives add up such
products with one factor replaced:

    sum{g: d[g] = d[e]} (if {g = e} then (0) else (v[g] * (the product of all but e and g)))

The elements before q contribute `with_v[q] = with_v[q - 1] * x[d.perm[q - 1]] + before[q - 1] * v[d.perm[q -
1]]`; the replaced factor is before q or after it. Several factors are treated in the same way.
"""

from __future__ import annotations

from itertools import combinations
from itertools import count as count_from_0
from typing import NamedTuple

from tadc.frontend.extents import Extent, as_form, extent
from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import ElementType, Reduce, Term
from tadc.lattice.affine import Affine, Constraint
from tadc.lattice.late_dataclasses import dataclass, field, replace
from tadc.passes.rewrites.distinct_places import DistinctPlaces, Others, put
from tadc.passes.rewrites.places import Places, PlaceWalk, TermPlace
from tadc.passes.rewrites.told_indices import owner_of
from tadc.passes.terms.algebra import Algebra, is_const
from tadc.passes.terms.checked_reads import all_proven
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
    return work.arrays.in_program(replace(program, definitions=tuple(definitions)))


class _Family(NamedTuple):
    """Where the tensors for a product are defined: over which indices, of which shape and type."""

    found: Others
    mapping: dict[str, Affine]
    shape: tuple[Extent, ...]
    hints: tuple[str, ...]
    owner: Definition
    type: ElementType


@dataclass
class _Others:
    """One walk over the definitions of a program."""

    program: Program
    new: list[Definition] = field(default_factory=list[Definition])
    made: dict[tuple[object, ...], str] = field(default_factory=dict[tuple[object, ...], str])

    def __post_init__(self) -> None:
        self.terms, self.names = self.program.terms, Names(self.program)
        self.algebra, self.arrays = Algebra(self.terms), Arrays(self.program)
        self.places = DistinctPlaces(self.terms, self.algebra, self.arrays)
        self.sizes, self.shapes = frozenset(self.program.sizes), self.program.shapes()

    def taken(self) -> list[Definition]:
        """What was defined since the last call."""
        new, self.new = self.new, []
        return new

    def rewritten(self, definition: Definition) -> Term:
        """The body of a definition with its products of others as two."""
        return _FactorWalk(Places(self.program, definition), self, definition).visit(0, definition.body)

    def over_places(self, term: Reduce, place: TermPlace) -> Reduce:
        """A reduction with elements in the place of indices that say in which fibre these are."""
        told = {i: known.fibre for i, known in place.told.items() if known.by <= term.free | self.sizes}
        found = {i: owner_of(i, fibre, self.arrays) for i, fibre in told.items() if fibre}
        made = self.terms.substitute(term, {i: form for i, form in found.items() if i in term.free})
        assert isinstance(made, Reduce)
        return made

    def split(self, found: Others, term: Reduce, place: TermPlace, owner: Definition) -> Term | None:
        """The product of what is before and what is behind, of which each may have some of the summands; None
        where a factor depends on the element that is left out."""
        free = frozenset[str]().union(*(part.free for part in (found.factor, *found.summands)))
        rest = free - self.sizes - {found.name}
        own = [(i, r) for i, r in place.ranges.items() if i in rest and r is not None]
        out = frozenset[str]().union(*(form.variables for form in found.left)) - self.sizes
        if len(own) < len(rest) or not out.isdisjoint(rest):
            return None
        size = self.arrays.count(found.order.of.name)
        family = _Family(
            found,
            {found.name: Affine.var("?0")}
            | {i: Affine.var(f"?{n}") + r.low for n, (i, r) in enumerate(own, 1)},
            (size, *(extent(r.extent) for _, r in own)),
            tuple(place.hints[place.indices.index(i)] for i, _ in own),
            owner,
            term.type or owner.type,
        )
        at = [found.order.place(found.left), *(Affine.var(i) - r.low for i, r in own)]
        every = range(len(found.summands))
        total: Term = self.algebra.zero
        for count in range(len(found.summands) + 1):
            for chosen in combinations(every, count):
                others = tuple(n for n in every if n not in chosen)
                names = self.tensor(family, chosen, -1), self.tensor(family, others, 1)
                if None in names:
                    return None
                reads = (self.terms.read(name, at, family.type) for name in names if name)
                total = self.algebra.add(total, self.algebra.mul(*reads))
        if is_const(found.multiple, 1):
            return total
        # A sum of nothing is 0, whatever it is multiplied by.
        begin, end = found.order.range(found.order.of.lookup(found.left))
        several = Constraint(end - begin - 1 - len(found.summands))
        return self.algebra.guard([several], self.algebra.mul(found.multiple, total), self.algebra.zero)

    def tensor(self, family: _Family, chosen: tuple[int, ...], step: int) -> str | None:
        """The name of the tensor for the elements before or behind, as `step` is -1 or 1, with some summands;
        None if it is not seen to read what there is."""
        found, mapping = family.found, family.mapping
        parts = [
            self.terms.substitute(p, mapping) for p in (found.factor, *(found.summands[n] for n in chosen))
        ]
        order = found.order
        key = tuple(part.number for part in parts), order.of.name, family.shape, family.type, step
        if key in self.made:
            return self.made[key]
        inner = [self.tensor(family, tuple(n for n in chosen if n != one), step) for one in chosen]
        indices = self.names.indices([hint or "q" for hint in ("q", *family.hints)])
        named = {f"?{n}": Affine.var(index) for n, index in enumerate(indices)}
        here = Affine.var(indices[0])
        own, other = order.known(here), order.known(here + step)
        begin, end = order.range(own)
        row = here - 1 - begin if step < 0 else end - 2 - here
        wishes = (f"{family.owner.name}_{n}" for n in count_from_0())
        name = self.names.free(next(wish for wish in wishes if wish not in self.names.taken))
        at = [here + step, *map(Affine.var, indices[1:])]
        total: Term = self.algebra.zero
        for tensor, part in zip((name, *inner), parts, strict=True):
            if tensor is None:
                return None
            value = self.terms.substitute(self.terms.substitute(part, named), {indices[0]: here + step})
            # The other place is in the same fibre.
            value = self.terms.rewrite_forms(value, here.variables, put(other, own))
            known = self.terms.read(tensor, at, family.type)
            total = self.algebra.add(total, self.algebra.mul(*(known, value)[::-step]))
        nothing = self.algebra.zero if chosen else self.algebra.one
        body = self.terms.guard([Constraint(row)], total, nothing)
        # What no range between neighbours has is in no fibre.
        known = () if order.ptr.inspected else (Constraint(as_form(order.ptr.shape[0]) - 2 - own),)
        made = Definition(
            name,
            family.type,
            family.shape,
            tuple(indices),
            self.terms.guard(known, body, nothing) if known else body,
            is_output=False,
            span=family.owner.span,
            order=here * -step,
        )
        self.shapes |= {array.name: array.shape for array in self.arrays.made.values()}
        self.shapes[name] = family.shape
        if not all_proven(self.program, self.shapes, made):
            return None
        self.new.append(made)
        self.made[key] = name
        return name


@dataclass
class _FactorWalk(PlaceWalk):
    """One walk over a definition."""

    others: _Others
    definition: Definition

    def moved(self, at: int, term: Term) -> Term | None:
        """Two products in the place of one of others."""
        if not isinstance(term, Reduce) or term.kind not in ("sum", "prod"):
            return None
        place = self.places.places[at]
        found = self.others.places.found(self.others.over_places(term, place))
        return None if found is None else self.others.split(found, term, place, self.definition)
