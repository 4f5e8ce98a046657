"""Long fibres in parts of a fixed length, which several threads compute.

    y[b] = sum{q}_(ptr[b])^(ptr[b + 1] - 1) f(b, q)

becomes, for parts of L elements,

    let y_parts[c: E // L] = if owner[c] < N then sum{q}_(start[c])^(start[c] + L - 1) f(owner[c], q) else 0
    y[b] = sum{q}_(rest[b])^(ptr[b + 1] - 1) f(b, q)
        + if whole[b + 1] > whole[b] then sum{c}_(whole[b])^(whole[b + 1] - 1) y_parts[c] else 0

An inspector counts whole parts: `whole[b]` is their number in the ranges before b, `rest[b]` the position
where those of b end, `owner[c]` the b of part c, and `start[c]` its first position. L is the same on all
machines, so sums have the same bits for any number of threads. Shorter fibres cost one more read and
comparison; calls without long ones run another kernel (`backend/runtime/cut_kernels.py`).

A fibre belongs to one value, `src[e] = b`, or to several, `row[e] = i and col[e] = j`, and its parts are
computed once for all reads. If the summand depends on more, as on k in

    y[k] = sum{e: src[e] = b[k]} f(k, e)

each k has its own parts. Such ranges may overlap: the first ones are cut, up to E // L parts in all.

Even if one node has nearly all edges, no thread then sums more than a part of them
(`tests/passes/test_long_fibres.py`).
"""

from __future__ import annotations

from collections.abc import Iterator

from tadc.frontend.dtypes import COMPUTING
from tadc.frontend.extents import Extent, as_form
from tadc.frontend.functions import REDUCTIONS
from tadc.frontend.program import Argument, Definition, Program
from tadc.frontend.terms import Domain, ElementType, Reduce, Term, join_types, reachable
from tadc.lattice.affine import Affine, Constraint, Lookup, box
from tadc.lattice.fibre import Fibre, over
from tadc.lattice.late_dataclasses import dataclass, field, replace
from tadc.lattice.polyhedron import hold, implied
from tadc.passes.terms.algebra import Algebra
from tadc.passes.terms.costs import FEW_ELEMENTS, has_room
from tadc.passes.terms.facts_walk import FactsWalk
from tadc.passes.terms.inspected_arrays import Arrays
from tadc.passes.terms.names import Names

PART = FEW_ELEMENTS
"""The elements of a part: some microseconds of a processor."""


def cut_fibres(program: Program, part: int = PART, limit: int | None = None) -> Program:
    """The program with parts of long fibres as tensors of their own, each of at most `limit` bytes if that is
    known; it itself where no fibre can be long."""
    if not program.index_arrays():
        return program
    arrays, names = Arrays(program), Names(program)
    definitions: list[Definition] = []
    for definition in program.definitions:
        walk = _FibreWalk(program.terms, program, arrays, names, definition, part, limit)
        definitions += walk.run() if definition.order is None else [definition]
    made = program.with_definitions(definitions)
    return made if made is program else arrays.in_program(made)


@dataclass(frozen=True)
class _RangeCut:
    """That an index runs over a range: that of some values, or of an element that asks.

    `whole` counts the parts of such ranges, `begin` is where they begin.
    """

    index: str
    range: Fibre
    begin: Argument
    whole: Argument
    values: tuple[Affine, ...]


@dataclass(frozen=True)
class _Owned:
    """What a reduction over the fibre of a value is, with the owner of a part in the place of the value."""

    facts: Domain
    rows: Domain
    body: Term

    @property
    def used(self) -> frozenset[str]:
        return self.body.free.union(*(row.form.variables for row in self.rows))


@dataclass(frozen=True)
class _Parts:
    """A tensor of the parts of fibres: the name of its index over these, and the other ones."""

    name: str
    type: ElementType
    index: str
    others: tuple[str, ...]


@dataclass
class _FibreWalk(FactsWalk):
    """One walk over the body of a definition, which collects its parts."""

    program: Program
    arrays: Arrays
    names: Names
    definition: Definition
    part: int
    limit: int | None
    new: list[Definition] = field(default_factory=list[Definition])

    def run(self) -> list[Definition]:
        d = self.definition
        body = self.visit(d.body, box(d.indices, d.shape))
        return [*self.new, replace(d, body=body)] if self.new else [d]

    def reduce(self, term: Reduce, facts: Domain) -> Term:
        """A reduction with parts of fibres elsewhere."""
        return _LongSum(self, term, facts).cut()

    def tensor(self, index: str, count: Extent, value: Term) -> _Parts | None:
        """A new tensor of values over the parts, and those indices of the definition that they depend on;
        None where they depend on others, or it is too large."""
        definition = self.definition
        free = value.free - frozenset(self.program.sizes) - {index}
        sizes = dict(zip(definition.indices, definition.shape, strict=True))
        others = tuple(name for name in definition.indices if name in free)
        shape = (count, *(sizes[name] for name in others))
        # Of literals and indices alone it has the type of what is around.
        type = (
            value.type
            or join_types(t.type for t in reachable([definition.body]))
            or COMPUTING[definition.type]
        )
        if len(others) < len(free) or not has_room(shape, type, self.limit):
            return None
        name = self.names.free(f"{definition.name}_parts")
        self.new.append(Definition(name, type, shape, (index, *others), value, False, definition.span))
        return _Parts(name, type, index, others)


class _LongSum:
    """A reduction, which may have indices that run over fibres."""

    def __init__(self, walk: _FibreWalk, term: Reduce, facts: Domain) -> None:
        self.walk, self.term, self.facts = walk, term, facts
        self.terms, self.arrays = walk.program.terms, walk.arrays
        self.neutral = Algebra(self.terms).neutral(term.kind)
        self.sizes = frozenset(walk.program.sizes)
        binders, self.rows, body = self.terms.open(term)
        self.hints = dict(zip(binders, term.hints, strict=True))
        self.body = walk.visit(body, facts + self.rows)

    def cut(self) -> Term:
        """The last elements of a fibre and its whole parts; the reduction over no long fibre as it is."""
        for fibre in self.fibres():
            left = tuple(row for row in self.rows if row not in fibre.range.rows)
            tensor = self.parts(fibre, left)
            if tensor is None:
                continue
            rest = self.arrays.rest(fibre.begin.name, fibre.whole.name).lookup(fibre.values)
            low = Constraint(Affine.var(fibre.index) - rest)
            end = self.over(self.hints, (low, fibre.range.rows[1], *left), self.body)
            c = self.terms.fresh("c")
            parts = fibre.whole.fibre(fibre.values, Affine.var(c))
            read = self.terms.read(tensor.name, [*map(Affine.var, (c, *tensor.others))], tensor.type)
            return self.joined(end, self.over({c: tensor.index}, parts.rows, read), parts.some)
        return self.over(self.hints, self.rows, self.body)

    def fibres(self) -> Iterator[_RangeCut]:
        """The indices that run over ranges which may have a whole part; those of values come first."""
        length, found = self.walk.part, list(self.ranges())
        for name, fibre in found:
            ptr = self.arrays[fibre.array]
            if _is_ptr(ptr) and fibre.is_one:
                yield _RangeCut(name, fibre, ptr, self.arrays.whole(ptr.name, length), fibre.values)
        for name, fibre in found:
            asking = (fibre.start.variables | fibre.stop.variables) - self.sizes
            if len(asking) != 1 or not asking <= set(self.walk.definition.indices):
                continue
            (k,) = asking
            ends = [self.asked(element, k) for element in (fibre.start, fibre.stop)]
            whole = self.arrays.whole_of([end.name for end in ends], length)
            yield _RangeCut(name, fibre, ends[0], whole, (Affine.var(k),))

    def ranges(self) -> Iterator[tuple[str, Fibre]]:
        """The indices that run from one element of an index array up to another, which may be far apart."""
        for name in self.hints:
            for fibre in over(name, self.rows):
                ends = fibre.start.variables | fibre.stop.variables
                if fibre.exactly and ends.isdisjoint(self.hints) and self.is_long(fibre.stop.array):
                    yield name, fibre

    def is_long(self, ends: str) -> bool:
        """Whether there may be a whole part before an element of an array."""
        most = as_form(self.arrays.below(ends)) - 1
        if most.is_constant:
            return most.constant >= self.walk.part
        return implied(most, self.walk.program.size_facts())

    def asked(self, lookup: Lookup, k: str) -> Argument:
        """The index array of an element for each value of an index of the definition."""
        definition, form = self.walk.definition, Affine.atom(lookup)
        array, extent = self.arrays[lookup.array], definition.shape[definition.indices.index(k)]
        if lookup.at == (Affine.var(k),) and array.shape == (extent,):
            return array
        of = tuple(dict.fromkeys(each.array for each in form.lookups()))
        place = form.substitute({k: Affine.var("#0")})
        return self.arrays.values(of, place, [as_form(extent)], as_form(self.arrays.below(lookup.array)))

    def parts(self, fibre: _RangeCut, rows: Domain) -> _Parts | None:
        """A new tensor with the reduction of each whole part; None where there is none."""
        walk, length, whole = self.walk, self.walk.part, fibre.whole
        index = walk.names.index("part", walk.definition.indices)
        part = [Affine.var(index)]
        start = self.arrays.start(fibre.begin.name, whole.name)
        owners = [self.arrays.owner(whole.name, axis).lookup(part) for axis in range(len(whole.shape))]
        exists = Constraint(as_form(whole.shape[-1]) - 2 - owners[-1])
        owned: _Owned | None = _Owned(self.facts, rows, self.body)
        for value, owner in zip(fibre.values, owners, strict=True):
            owned = owned and self.owned(value, owner, owned)
        conditions = None if owned is None else self.conditions(owned, index, exists)
        if owned is None or conditions is None:
            return None
        step = Affine.var(fibre.index) - start.lookup(part)
        within = (Constraint(step), Constraint(length - 1 - step), *owned.rows)
        made: Term = self.over(self.hints, within, owned.body)
        for condition in (conditions, (exists,)):
            made = self.terms.guard(condition, made, self.neutral) if condition else made
        return walk.tensor(index, start.shape[0], made)

    def owned(self, value: Affine, owner: Affine, given: _Owned) -> _Owned | None:
        """The reduction for the owner of a part; None where that cannot stand in the place of the value."""
        if value.variables <= self.sizes:
            return replace(given, facts=(Constraint(owner - value, equality=True), *given.facts))
        atom = next((a for a, k in value.terms if abs(k) == 1 and a not in self.sizes), None)
        if atom is None:
            return None
        k = value.coefficient(atom)
        stands_for = (owner - value) * k + Affine.atom(atom)

        def put(form: Affine) -> Affine:
            return form.replace(lambda found: stands_for if found == atom else None)

        def put_in(rows: Domain) -> Domain:
            return tuple(Constraint(put(row.form), row.equality) for row in rows)

        names = frozenset([atom]) if isinstance(atom, str) else atom.variables
        body = self.terms.rewrite_forms(given.body, names, put)
        made = _Owned(put_in(given.facts), put_in(given.rows), body)
        # Where a value is looked up, no part depends on the place of that: there would be one for each.
        return made if made.used.isdisjoint(names - self.sizes) else None

    def conditions(self, owned: _Owned, index: str, exists: Constraint) -> Domain | None:
        """What has to hold of a part besides its existence; None where that depends on indices around the
        reduction that a tensor of parts has not."""
        definition = self.walk.definition
        has, used = self.sizes.union(definition.indices, [index]), owned.used | {index}
        known = (exists, *box(definition.indices, definition.shape), *self.walk.program.size_facts())
        kept: list[Constraint] = []
        for row in owned.facts:
            names = row.form.variables
            if names.isdisjoint(used) or hold((row,), known):
                continue
            if not names <= has:
                return None
            kept.append(row)
        return tuple(kept)

    def joined(self, rest: Term, parts: Term, some: Constraint) -> Term:
        """The reduction of what is after the whole parts, and of these where there are some."""
        parts = self.terms.guard([some], parts, self.neutral)
        return self.terms.apply(REDUCTIONS[self.term.kind].join, [rest, parts], self.term.span)

    def over(self, hints: dict[str, str], rows: Domain, body: Term) -> Term:
        return self.terms.reduce_like(self.term, tuple(hints), rows, body, tuple(hints.values()))


def _is_ptr(array: Argument) -> bool:
    """Whether ranges between neighbours of an array have no element in common."""
    return array.increasing or (array.inspected is not None and array.inspected.kind == "ptr")
