"""Long fibres in parts of a fixed length, which several threads compute.

    y[b] = sum{q}_(ptr[b])^(ptr[b + 1] - 1) f(b, q)

becomes, with L elements a part,

    let y_parts[c: E // L] = if owner[c] < N then sum{q}_(start[c])^(start[c] + L - 1) f(owner[c], q) else 0
    y[b] = sum{q}_(rest[b])^(ptr[b + 1] - 1) f(b, q)
        + if rest[b] > ptr[b] then sum{c}_(whole[b])^(whole[b + 1] - 1) y_parts[c] else 0

The inspector counts whole parts: `whole[b]` are those of the fibres before b, `rest[b]` is where they end in
this one, `owner[c]` is the b of a part, `start[c]` its first place. L is one number for all machines, so
sums have the same bits for any number of threads. For fibres of fewer elements a number more is read and
compared; calls that have no long ones run another kernel (`backend/runtime/cut_kernels.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tadc.frontend.extents import Extent, as_form
from tadc.frontend.program import Argument, Definition, Program
from tadc.frontend.terms import Domain, Guard, Reduce, Term, operands
from tadc.lattice.affine import Affine, Constraint, Lookup, box
from tadc.lattice.polyhedron import implied
from tadc.passes.terms.algebra import Algebra
from tadc.passes.terms.costs import ELEMENT
from tadc.passes.terms.inspected_arrays import Arrays
from tadc.passes.terms.names import Names

PART = 4096
"""The elements of a part: some microseconds of a processor."""

_JOINS = {"sum": "add", "prod": "mul", "max": "max", "min": "min"}
"""The function that joins two values of a reduction, where there is one."""


def cut_fibres(program: Program, part: int = PART, limit: int | None = None) -> Program:
    """The program with parts of long fibres as tensors of their own, each of at most `limit` bytes if that is
    known; it itself where no fibre can be long."""
    if not program.index_arrays():
        return program
    arrays, names = Arrays(program), Names(program)
    definitions: list[Definition] = []
    for definition in program.definitions:
        walk = _Walk(program, arrays, names, definition, part, limit)
        definitions += walk.run() if definition.order is None else [definition]
    if len(definitions) == len(program.definitions):
        return program
    made = replace(program, definitions=tuple(definitions))
    return replace(made, arguments=arrays.used_by(made), sizes=(*program.sizes, *arrays.counts))


@dataclass(frozen=True)
class _Fibre:
    """That an index runs over the fibre of a value, which rows say, between two elements of an array."""

    index: str
    ptr: Argument
    value: Affine
    rows: tuple[Constraint, Constraint]


@dataclass(frozen=True)
class _Owned:
    """What a reduction over the fibre of a value is, with the owner of a part in the place of the value."""

    facts: Domain
    rows: Domain
    body: Term

    @property
    def used(self) -> frozenset[str]:
        """What it depends on."""
        return self.body.free.union(*(row.form.variables for row in self.rows))


@dataclass(frozen=True)
class _Parts:
    """A tensor of the parts of fibres: the name of its index over these, and the other ones."""

    name: str
    index: str
    others: tuple[str, ...]


@dataclass
class _Walk:
    """One walk over the body of a definition, which collects its parts."""

    program: Program
    arrays: Arrays
    names: Names
    definition: Definition
    part: int
    limit: int | None
    new: list[Definition] = field(default_factory=list[Definition])
    memo: dict[tuple[int, Domain], Term] = field(default_factory=dict[tuple[int, Domain], Term])

    def run(self) -> list[Definition]:
        """The parts, and the definition that reads them."""
        d = self.definition
        body = self.visit(d.body, box(d.indices, d.shape))
        return [*self.new, replace(d, body=body)] if self.new else [d]

    def visit(self, term: Term, facts: Domain) -> Term:
        """The term with parts of fibres elsewhere, where the facts hold."""
        key = (term.number, facts)
        if key not in self.memo:
            self.memo[key] = self.rewrite(term, facts)
        return self.memo[key]

    def rewrite(self, term: Term, facts: Domain) -> Term:
        """The term, where it is new in this context."""
        match term:
            case Reduce():
                return _Sum(self, term, facts).cut()
            case Guard():
                then = self.visit(term.then, facts + term.conditions)
                otherwise = self.visit(term.otherwise, facts)
                return self.program.terms.guard(term.conditions, then, otherwise, term.span)
            case _:
                return self.program.terms.rebuild(term, [self.visit(t, facts) for t in operands(term)])

    def tensor(self, index: str, count: Extent, value: Term) -> _Parts | None:
        """A new tensor of values over the parts, and those indices of the definition that they depend on;
        None where they depend on others, or it is too large."""
        definition = self.definition
        free = value.free - frozenset(self.program.sizes) - {index}
        sizes = dict(zip(definition.indices, definition.shape, strict=True))
        others = tuple(name for name in definition.indices if name in free)
        shape = (count, *(sizes[name] for name in others))
        known = [size for size in shape if isinstance(size, int)]
        assert value.type
        elements = math.prod(known) if len(known) == len(shape) else 0
        if len(others) < len(free) or (
            self.limit is not None and elements * ELEMENT[value.type] > self.limit
        ):
            return None
        name = self.names.free(f"{definition.name}_parts")
        self.new.append(Definition(name, value.type, shape, (index, *others), value, False, definition.span))
        return _Parts(name, index, others)


class _Sum:
    """A reduction, which may have indices that run over fibres."""

    def __init__(self, walk: _Walk, term: Reduce, facts: Domain) -> None:
        self.walk, self.term, self.facts = walk, term, facts
        self.terms, self.arrays = walk.program.terms, walk.arrays
        self.neutral = Algebra(self.terms).neutral(term.kind)
        self.sizes = frozenset(walk.program.sizes)
        binders, self.rows, body = self.terms.open(term)
        self.hints = dict(zip(binders, term.hints or ("",) * len(binders), strict=True))
        self.body = walk.visit(body, facts + self.rows)

    def cut(self) -> Term:
        """The last elements of a fibre and its whole parts; the reduction over no long fibre as it is."""
        for fibre in self.fibres() if self.term.type else ():
            left = tuple(row for row in self.rows if row not in fibre.rows)
            whole = self.arrays.whole(fibre.ptr.name, self.walk.part)
            tensor = self.parts(fibre, whole, left)
            if tensor is None:
                continue
            first, after = (whole.lookup([each]) for each in (fibre.value, fibre.value + 1))
            bounds = (Constraint(-first), Constraint(after - 1))
            rest = self.arrays.rest(fibre.ptr.name, self.walk.part).lookup([fibre.value])
            low = Constraint(Affine.var(fibre.index) - rest)
            some = Constraint(rest - fibre.ptr.lookup([fibre.value]) - 1)
            last = self.over(self.hints, (low, fibre.rows[1], *left), self.body)
            return self.joined(last, self.all_parts(tensor, bounds), some)
        return self.over(self.hints, self.rows, self.body)

    def fibres(self) -> Iterator[_Fibre]:
        """The indices that run over fibres which may have a whole part."""
        for low in self.rows:
            for name in self.hints:
                bound = Affine.var(name) - low.form
                lookup = bound.terms[0][0] if len(bound.terms) == 1 else None
                if low.equality or not isinstance(lookup, Lookup) or bound != Affine.atom(lookup):
                    continue
                ptr = self.arrays[lookup.array]
                if not ptr.increasing or not lookup.variables.isdisjoint(self.hints):
                    continue
                high = Constraint(ptr.lookup([lookup.at[0] + 1]) - 1 - Affine.var(name))
                if high in self.rows and self.is_long(ptr):
                    yield _Fibre(name, ptr, lookup.at[0], (low, high))

    def is_long(self, ptr: Argument) -> bool:
        """Whether there may be a whole part between two elements of an increasing array."""
        most = as_form(self.arrays.below(ptr.name)) - 1
        if most.is_constant:
            return most.constant >= self.walk.part
        return implied(most, self.walk.program.size_facts())

    def parts(self, fibre: _Fibre, whole: Argument, rows: Domain) -> _Parts | None:
        """A new tensor with the reduction of each whole part; None where there is none."""
        walk, length = self.walk, self.walk.part
        owners, starts = self.arrays.owner(whole.name), self.arrays.start(fibre.ptr.name, whole.name)
        index = walk.names.index("part", walk.definition.indices)
        owner = owners.lookup([Affine.var(index)])
        exists = Constraint(as_form(fibre.ptr.shape[0]) - 2 - owner)
        owned = self.owned(fibre.value, owner, rows)
        conditions = None if owned is None else self.conditions(owned, index, exists)
        if owned is None or conditions is None:
            return None
        step = Affine.var(fibre.index) - starts.lookup([Affine.var(index)])
        within = (Constraint(step), Constraint(length - 1 - step), *owned.rows)
        value: Term = self.over(self.hints, within, owned.body)
        for condition in (conditions, (exists,)):
            value = self.terms.guard(condition, value, self.neutral) if condition else value
        return walk.tensor(index, starts.shape[0], value)

    def owned(self, value: Affine, owner: Affine, rows: Domain) -> _Owned | None:
        """The reduction for the owner of a part; None where that cannot stand in the place of the value."""
        if value.variables <= self.sizes:
            return _Owned((Constraint(owner - value, equality=True), *self.facts), rows, self.body)
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
        body = self.terms.rewrite_forms(self.body, names, put)
        made = _Owned(put_in(self.facts), put_in(rows), body)
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
            if names.isdisjoint(used) or all(implied(form, known) for form in row.inequalities):
                continue
            if not names <= has:
                return None
            kept.append(row)
        return tuple(kept)

    def all_parts(self, parts: _Parts, bounds: tuple[Constraint, Constraint]) -> Term:
        """The reduction of the whole parts of a fibre, between two."""
        c = self.terms.fresh("c")
        assert self.term.type
        read = self.terms.read(parts.name, [Affine.var(c), *map(Affine.var, parts.others)], self.term.type)
        low, high = bounds
        rows = (Constraint(Affine.var(c) + low.form), Constraint(high.form - Affine.var(c)))
        return self.over({c: parts.index}, rows, read)

    def joined(self, rest: Term, parts: Term, some: Constraint) -> Term:
        """The reduction of what is after the whole parts, and of these where there are some."""
        function = _JOINS.get(self.term.kind)
        if function is not None:
            parts = self.terms.guard([some], parts, self.neutral)
            return self.terms.apply(function, [rest, parts], self.term.span)
        n = self.terms.fresh("n")
        both = self.terms.guard([Constraint(-Affine.var(n))], rest, parts)
        return self.terms.guard([some], self.over({n: ""}, box([n], [2]), both), rest)

    def over(self, hints: dict[str, str], rows: Domain, body: Term) -> Term:
        """A reduction of the same kind."""
        return self.terms.reduce(
            tuple(hints), rows, body, kind=self.term.kind, hints=tuple(hints.values()), span=self.term.span
        )
