"""Products of the other elements of a fibre, from those of the elements before and of those behind.

    dx[e] = prod{z: d[z] = d[e]} (if {z = e} then (1) else (x[z]))
    becomes, over the places q in the order of d, with v = d[d.perm[q]]:
    before[q] = if {q - 1 >= d.ptr[v]} then (before[q - 1] * x[d.perm[q - 1]]) else (1)
    behind[q] = if {q + 1 < d.ptr[v + 1]} then (x[d.perm[q + 1]] * behind[q + 1]) else (1)
    dx[e] = before[p] * behind[p], where p is the place of e

A fibre takes as many steps as it has elements, and not their square. Nothing is divided: where elements are
0 the products are as exact as the one on the left. Second derivatives add up such products, with something
else in the place of one factor:

    sum{g: d[g] = d[e]} (if {g = e} then (0) else (v[g] * (the product of all but e and g)))

Before q this is `with_v[q] = with_v[q - 1] * x[d.perm[q - 1]] + before[q - 1] * v[d.perm[q - 1]]`; what is
before has it, or what is behind. So it is with several.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from itertools import count as count_from_0
from typing import NamedTuple

from tadc.frontend.extents import Extent, as_form, extent
from tadc.frontend.program import Argument, Definition, Program
from tadc.frontend.terms import Apply, Domain, ElementType, Guard, Reduce, Term
from tadc.lattice.affine import Affine, Constraint, Lookup
from tadc.passes.rewrites.places import Place, Places
from tadc.passes.terms.algebra import Algebra, is_const
from tadc.passes.terms.checked_reads import all_proven
from tadc.passes.terms.index_ranges import between_neighbours
from tadc.passes.terms.inspected_arrays import Arrays
from tadc.passes.terms.names import Names

#: What elements are that are left out.
_NOTHING: Mapping[str, int] = {"prod": 1, "sum": 0}


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


class _Fibre(NamedTuple):
    """A reduction over a fibre, opened."""

    term: Reduce
    name: str  # the index that runs over the fibre
    low: Lookup  # where it begins
    body: Term


class _Product(NamedTuple):
    """A product over a fibre without one element; a sum of such with `summands` in the place of factors."""

    left: Affine  # the place of the element that is left out, in the order of the fibres
    out: frozenset[str]  # the indices that say which it is
    name: str  # the index that runs over the fibre
    factor: Term  # over `name`, as the summands are
    summands: tuple[Term, ...]
    begin: Affine  # the first place of the fibre that `name` is in
    end: Affine  # the first place behind it
    known: Domain  # where there is a fibre: what no range between neighbours has is in none
    size: Extent  # how many places there are


class _Family(NamedTuple):
    """Where the tensors for a product are defined: over which indices, of which shape and type."""

    found: _Product
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

    def opened(self, term: Term) -> _Fibre | None:
        """A product or a sum over a fibre; None for another term."""
        if not isinstance(term, Reduce) or term.kind not in _NOTHING:
            return None
        names, domain, body = self.terms.open(term)
        if len(names) != 1:
            return None
        name = next(iter(names))
        low = between_neighbours(name, [row.form for row in domain if not row.equality])
        return None if low is None or len(domain) != 2 else _Fibre(term, name, low, body)

    def product(self, term: Term) -> _Product | None:
        """What a reduction is of, if it is over a fibre without one element; None for another."""
        fibre = self.opened(term)
        if fibre is None or not isinstance(fibre.body, Guard):
            return None
        ptr = self.arrays[fibre.low.array]
        if ptr.inspected and (ptr.inspected.kind != "ptr" or ptr.inspected.of[1:]):
            return None
        # Which fibre a place is in, and which element stands there.
        of = self.arrays[ptr.inspected.of[0]] if ptr.inspected else self.arrays.owner(ptr.name)
        if len(of.shape) != 1:
            return None
        perm = self.arrays.perm((of.name,), 0) if ptr.inspected and not of.increasing else None
        left = _other_side(fibre.body.conditions, _at(perm, fibre.name))
        parts = left and self.parts(fibre, of, perm, (left,))
        if left is None or not parts:
            return None
        own = of.lookup([_at(perm, fibre.name)])
        return _Product(
            self.arrays.perm((perm.name,), 0).lookup([left]) if perm else left,
            left.variables - self.sizes,
            fibre.name,
            parts[0],
            parts[1:],
            ptr.lookup([own]),
            ptr.lookup([own + 1]),
            () if ptr.inspected else (Constraint(as_form(ptr.shape[0]) - 2 - own),),
            self.arrays.count(of.name),
        )

    def parts(
        self, fibre: _Fibre, of: Argument, perm: Argument | None, left: tuple[Affine, ...]
    ) -> tuple[Term, ...] | None:
        """The factor and the summands of a reduction over a fibre that leaves out some elements of it: a sum
        has one of its own, and leaves out one more element in what it adds up."""
        here, body = _at(perm, fibre.name), fibre.body
        if fibre.low.at not in [(of.lookup([one]),) for one in left]:
            return None
        out: list[Affine] = []
        while isinstance(body, Guard) and is_const(body.then, _NOTHING[fibre.term.kind]):
            side = _other_side(body.conditions, here)
            if side is None:
                return None
            out.append(side)
            body = body.otherwise
        if set(out) != set(left):
            return None
        for one in left:
            body = self.terms.rewrite_forms(body, one.variables, _put(of.lookup([one]), of.lookup([here])))
        if fibre.term.kind == "prod":
            return (body,)
        for inner, rest in self.isolated(body):
            if (
                inner.low.array != fibre.low.array
                or (made := self.parts(inner, of, perm, (*left, here))) is None
            ):
                continue
            if not any(fibre.name in part.free for part in made):
                same = {inner.name: Affine.var(fibre.name)}
                return (*(self.terms.substitute(part, same) for part in made), rest)
        return None

    def isolated(self, term: Term) -> Iterator[tuple[_Fibre, Term]]:
        """The reductions over fibres that a term is a multiple of, each with what it is multiplied by."""
        fibre = self.opened(term)
        if fibre is not None:
            yield fibre, self.algebra.one
        if not isinstance(term, Apply) or term.function not in ("mul", "div", "neg"):
            return
        for place in range(len(term.operands) if term.function == "mul" else 1):
            for fibre, rest in self.isolated(term.operands[place]):
                match term.function:
                    case "mul":
                        yield fibre, self.algebra.mul(rest, term.operands[1 - place])
                    case "div":
                        yield fibre, self.algebra.div(rest, term.operands[1])
                    case _:
                        yield fibre, self.algebra.neg(rest)

    def split(self, found: _Product, term: Reduce, place: Place, owner: Definition) -> Term | None:
        """The product of what is before and what is behind, of which each may have some of the summands; None
        where a factor depends on the element that is left out."""
        free = frozenset[str]().union(*(part.free for part in (found.factor, *found.summands)))
        rest = free - self.sizes - {found.name}
        own = [(i, r) for i, r in place.ranges.items() if i in rest and r is not None]
        if len(own) < len(rest) or not found.out.isdisjoint(rest):
            return None
        family = _Family(
            found,
            {found.name: Affine.var("?0")}
            | {i: Affine.var(f"?{n}") + r.low for n, (i, r) in enumerate(own, 1)},
            (found.size, *(extent(r.extent) for _, r in own)),
            tuple(place.hints[place.indices.index(i)] for i, _ in own),
            owner,
            term.type or owner.type,
        )
        at = [found.left, *(Affine.var(i) - r.low for i, r in own)]
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
        return total

    def tensor(self, family: _Family, chosen: tuple[int, ...], step: int) -> str | None:
        """The name of the tensor for the elements before or behind, as `step` is -1 or 1, with some summands;
        None if it is not seen to read what there is."""
        found, mapping = family.found, family.mapping
        parts = [
            self.terms.substitute(p, mapping) for p in (found.factor, *(found.summands[n] for n in chosen))
        ]
        begin, end = (form.substitute(mapping) for form in (found.begin, found.end))
        key = tuple(part.number for part in parts), begin, family.shape, family.type, step
        if key in self.made:
            return self.made[key]
        inner = [self.tensor(family, tuple(n for n in chosen if n != one), step) for one in chosen]
        indices = self.indices(("q", *family.hints))
        named = {f"?{n}": Affine.var(index) for n, index in enumerate(indices)}
        here = Affine.var(indices[0])
        row = here - 1 - begin.substitute(named) if step < 0 else end.substitute(named) - 2 - here
        wishes = (f"{family.owner.name}_{n}" for n in count_from_0())
        name = self.names.free(next(wish for wish in wishes if wish not in self.names.taken))
        at = [here + step, *map(Affine.var, indices[1:])]
        total: Term = self.algebra.zero
        for tensor, part in zip((name, *inner), parts, strict=True):
            if tensor is None:
                return None
            value = self.terms.substitute(self.terms.substitute(part, named), {indices[0]: here + step})
            known = self.terms.read(tensor, at, family.type)
            total = self.algebra.add(total, self.algebra.mul(*(known, value)[::-step]))
        nothing = self.algebra.zero if chosen else self.algebra.one
        body = self.terms.guard([Constraint(row)], total, nothing)
        known = [one.substitute(mapping).substitute(named) for one in found.known]
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
        self.shapes[name] = family.shape
        if not all_proven(self.program, self.shapes, made):
            return None
        self.new.append(made)
        self.made[key] = name
        return name

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


def _at(perm: Argument | None, name: str) -> Affine:
    """The element at a place of the sorted ones."""
    return perm.lookup([Affine.var(name)]) if perm else Affine.var(name)


def _put(old: Affine, new: Affine) -> Callable[[Affine], Affine]:
    """Forms with another in the place of the element that one is."""
    ((atom, _),) = old.terms
    return lambda form: form.replace(lambda each: new if each == atom else None)
