"""Programs of Jacobians with index arrays, as programs of their entries.

An element `J[i, j]` of such a Jacobian is a sum of terms that are 0 but where index arrays say so:
`sum{e: src[e] = i and dst[e] = j} v(e)`. So the Jacobian is a list of entries: for each e, one of the value
v(e) in the row src[e] and the column dst[e]; entries of one place are added. The equalities tell indices of
the Jacobian, and what is left of the indices of the term are the dimensions of the list.

Two places of one value make an entry too: `sum{e, f: d[e] = d[f]} v(e, f)` has one for each pair of places of
a value of d, and the pairs are listed as `joined_places` says.

Tensors in between that are 0 but where index arrays say so are such lists too: `D[i, e]`, which is a(e) where
`src[e] = i` and else 0, is the list a, which is at (src[e], e). What reads an element of D, and is 0 where it
is, adds up what is read of the lists, each where it is at that element.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property

from tadc.frontend.extents import Extent, Shape, as_form, extent
from tadc.frontend.program import Argument, Definition, Inspected, Program
from tadc.frontend.terms import Apply, Domain, Guard, Read, Reduce, Term, bottom_up
from tadc.lattice.affine import ZERO, Affine, Constraint, Lookup, box
from tadc.lattice.polyhedron import implied, is_empty
from tadc.passes.supports.compress import box_rows
from tadc.passes.supports.handed_on import renamed, told_by_others, without_index
from tadc.passes.supports.joined_places import Join, halves, join_of, pair_arrays
from tadc.passes.supports.listing import Entries, Listing, Pairs, Side
from tadc.passes.supports.sets import elsewhere
from tadc.passes.terms.algebra import Algebra, is_const
from tadc.passes.terms.names import Names


class NotListed(Exception):
    """A Jacobian whose entries cannot be listed; the text says why."""


def listed(program: Program) -> tuple[Program, Listing]:
    """The program whose outputs are the entries of those of another, and which they are. Raises NotListed.

    Index arrays of pairs are arguments of it.
    """
    return _Lists(program).run()


@dataclass(frozen=True)
class _Part:
    """A sum of values over the points of some indices: an addend of a term."""

    binders: tuple[str, ...]
    rows: Domain
    value: Term

    def over(self, binders: Sequence[str], rows: Domain) -> _Part:
        return _Part((*binders, *self.binders), (*rows, *self.rows), self.value)


@dataclass
class _Lists:
    program: Program
    lists: dict[str, tuple[Entries, ...]] = field(default_factory=dict[str, "tuple[Entries, ...]"])
    owners: dict[str, Argument] = field(default_factory=dict[str, Argument])
    pairs: dict[tuple[Side, Side], Pairs] = field(default_factory=dict[tuple[Side, Side], Pairs])

    def __post_init__(self) -> None:
        self.terms, self.algebra = self.program.terms, Algebra(self.program.terms)
        self.names = Names(self.program)
        self.types = self.program.types()

    def run(self) -> tuple[Program, Listing]:
        """All definitions, those that are lists as such."""
        given, shapes = (
            tuple(a.name for a in self.program.passed() if a.is_index_array),
            self.program.shapes(),
        )
        made: list[Definition] = []
        for definition in self.program.definitions:
            made += self.definition(definition)
        joined = [argument for pairs in self.pairs.values() for argument in pair_arrays(pairs)]
        # A kernel takes what is made of other index arrays after all that is passed.
        arguments = (*self.program.arguments, *joined, *self.owners.values())
        outputs = self.program.outputs
        found = Listing(
            {d.name: self.lists[d.name] for d in outputs},
            {d.name: (d.shape, len(d.shape) - len(shapes.get(d.gradient_of, ()))) for d in outputs},
            given,
            {argument.name: (starts, argument.shape[0]) for starts, argument in self.owners.items()},
            tuple(self.pairs.values()),
        )
        return replace(self.program, arguments=arguments, definitions=tuple(made)), found

    def definition(self, old: Definition) -> list[Definition]:
        """The definitions of the lists of a tensor; itself where it is no such tensor."""
        reader = _Reader(self, frozenset(old.indices))
        is_listed = old.is_output or reader.holds(old.body)
        if not is_listed:
            return [self.whole(old)]
        if old.in_order().order is not None:
            return [self.recurrence(old)]
        points = [_Point(self, old, part).solved() for part in reader.parts(old.body)]
        if not old.is_output and all(len(point.own) == len(old.indices) for point in points):
            return [self.whole(old)]
        alike: list[list[_Point]] = []
        # A diagonal after what it is one of.
        for point in sorted(points, key=lambda point: -len(point.shape)):
            if is_empty((*point.rows, *self.program.size_facts())):
                continue
            for same in alike:
                if (found := point.within(same[0])) is not None:
                    same.append(found)
                    break
            else:
                alike.append([point])
        made: list[Definition] = []
        lists: list[Entries] = []
        for same in alike:
            body: Term = self.algebra.zero
            for point in same:
                body = self.algebra.add(body, point.value)
            name, indices, shape = self.names.free(old.name), same[0].indices, same[0].shape
            lists.append(Entries(name, indices, shape, same[0].at, tuple(point.rows for point in same)))
            made.append(Definition(name, old.type, shape, indices, body, old.is_output, old.span))
        self.lists[old.name] = tuple(lists)
        return made

    def whole(self, old: Definition) -> Definition:
        """A tensor with all its elements."""
        return replace(old, body=self.read_through(old.body))

    def recurrence(self, old: Definition) -> Definition:
        """A recurrence of the elements that may be other than 0, as far as it is seen which these are."""
        made, at, rows = old, tuple(map(Affine.var, old.indices)), list[Constraint]()
        while True:
            points = [_Point(self, made, p) for p in _Reader(self, frozenset(made.indices)).parts(made.body)]
            parts = [point.settled() for point in points]
            found = told_by_others(made, parts, self.program.sizes, self.algebra)
            if found is None:
                break
            name, told = found
            at = tuple(form.substitute({name: told}) for form in at)
            rows += box_rows([told], [made.shape[made.indices.index(name)]])
            made = without_index(self.terms, made, name, told)
        if len(made.indices) < len(old.indices) or old.is_output:
            domain = tuple(row for row in rows if not _holds(row, self.program.facts(made)))
            made = renamed(self.terms, made, self.names.free(old.name))
            self.lists[old.name] = (Entries(made.name, made.indices, made.shape, at, (domain,)),)
        return self.whole(made)

    def read_through(self, term: Term) -> Term:
        """The term where reads of lists are the sums of what is there."""

        def node(term: Term, below: list[Term]) -> Term:
            if not isinstance(term, Read) or term.tensor not in self.lists:
                return self.terms.rebuild(term, below)
            found: Term = self.algebra.zero
            for part in self.elements(term):
                found = self.algebra.add(found, self.algebra.sum(part.binders, part.rows, part.value))
            return found

        return bottom_up(term, {}, node)

    def elements(self, read: Read) -> list[_Part]:
        """What lists have at an element: one for each list."""
        found: list[_Part] = []
        for entries in self.lists[read.tensor]:
            own = tuple(self.terms.fresh("s") for _ in entries.indices)
            named = dict(zip(entries.indices, map(Affine.var, own), strict=True))
            pairs = zip(entries.at, read.indices, strict=True)
            rows = [Constraint(at.substitute(named) - index, equality=True) for at, index in pairs]
            rows += box(own, entries.shape)
            assert read.type
            value = self.terms.read(entries.name, list(map(Affine.var, own)), read.type, read.span)
            found.append(_Part(own, tuple(rows), value))
        return found

    def paired(self, sides: tuple[Side, Side]) -> Pairs:
        """The index arrays of the pairs of two sides, whose number is one more size."""
        if sides not in self.pairs:
            count = self.names.free("pairs")
            names = tuple(self.names.free("pair") for side in sides for _ in side.shape)
            self.pairs[sides] = Pairs(count, sides, names)
            self.program = replace(self.program, sizes=(*self.program.sizes, count))
        return self.pairs[sides]

    def owner(self, starts: str) -> Argument | None:
        """The index array of the owners in an increasing one."""
        argument = self.program.index_arrays().get(starts)
        if argument is None or not argument.increasing or argument.below is None:
            return None
        if starts not in self.owners:
            count, rows = extent(as_form(argument.below) - 1), extent(as_form(argument.shape[0]))
            about = Inspected("owner", (starts,))
            self.owners[starts] = Argument(f"{starts}.owner", "i32", (count,), below=rows, inspected=about)
        return self.owners[starts]


@dataclass
class _Reader:
    """Reads a term as a sum of parts, as far as it is 0 where an equality of its indices does not hold."""

    lists: _Lists
    own: frozenset[str]
    known: dict[int, bool] = field(default_factory=dict[int, bool])

    def __post_init__(self) -> None:
        self.terms, self.algebra = self.lists.terms, self.lists.algebra

    def holds(self, term: Term) -> bool:
        """Whether an equality of own indices stands in a term, or a read of a list."""

        def node(term: Term, below: list[bool]) -> bool:
            match term:
                case Read():
                    return term.tensor in self.lists.lists
                case Guard():
                    return any(below) or any(map(self.tells, term.conditions))
                case Reduce(kind="sum"):
                    return any(below) or any(map(self.tells, term.domain))
                case _:
                    return any(below)

        return bottom_up(term, self.known, node)

    def tells(self, row: Constraint) -> bool:
        """Whether a row tells an own index by others, or has a lookup by one."""
        inner = {name for atom in row.form.inner_atoms() for name in atom.variables}
        linear = {atom for atom, k in row.form.terms if isinstance(atom, str) and abs(k) == 1} - inner
        others = row.form.variables - set(self.lists.program.sizes)
        if row.equality:
            return bool(linear & self.own) and (len(others) > 1 or row.form.has_lookups)
        return bool(inner & self.own)

    def parts(self, term: Term) -> list[_Part]:
        """The addends."""
        if not self.holds(term):
            return [_Part((), (), term)]
        match term:
            case Read():
                return self.lists.elements(term)
            case Apply(function="add", operands=(x, y)):
                return [*self.parts(x), *self.parts(y)]
            case Apply(function="sub", operands=(x, y)):
                return [*self.parts(x), *self.each(self.parts(y), self.algebra.neg)]
            case Apply(function="neg", operands=(x,)):
                return self.each(self.parts(x), self.algebra.neg)
            case Apply(function="mul", operands=(x, y)):
                return self.products(x, y, self.algebra.mul)
            case Apply(function="safe", operands=(x, y)):
                return self.products(x, y, self.algebra.safe)
            case Apply(function="div", operands=(x, y)) if not self.holds(y):
                return self.each(self.parts(x), lambda value: self.algebra.div(value, y))
            case Guard(conditions=rows, then=then, otherwise=otherwise):
                found = [part.over((), rows) for part in self.parts(then)] if not is_const(then, 0) else []
                if not is_const(otherwise, 0):
                    rest = self.parts(otherwise)
                    found += [part.over((), other) for other in elsewhere(rows) for part in rest]
                return found
            case Reduce(kind="sum"):
                names, domain, body = self.terms.open(term)
                return [part.over(names, domain) for part in self.parts(body)]
            case _:
                return [_Part((), (), self.lists.read_through(term))]

    def each(self, parts: Sequence[_Part], change: Callable[[Term], Term]) -> list[_Part]:
        """The parts with other values."""
        return [replace(part, value=change(part.value)) for part in parts]

    def products(self, x: Term, y: Term, multiply: Callable[[Term, Term], Term]) -> list[_Part]:
        """Each part of a factor with each of the other."""
        found: list[_Part] = []
        for one in self.parts(x):
            for other in self.parts(y):
                fresh = {name: Affine.var(self.terms.fresh("s")) for name in other.binders}
                rows = tuple(row.substitute(fresh) for row in other.rows)
                value = multiply(one.value, self.terms.substitute(other.value, fresh))
                names = (*one.binders, *(str(form) for form in fresh.values()))
                found.append(_Part(names, (*one.rows, *rows), value))
        return found


class _Point:
    """A part of a tensor's elements, its equalities solved for indices of the tensor."""

    def __init__(self, lists: _Lists, definition: Definition, part: _Part) -> None:
        self.lists, self.definition = lists, definition
        self.extents = dict(zip(definition.indices, definition.shape, strict=True))
        self.own = list(definition.indices)
        self.binders = list(part.binders)
        self.rows: Domain = part.rows
        self.at = tuple(map(Affine.var, definition.indices))
        self.value = part.value
        self.indices: tuple[str, ...] = ()
        self.shape: Shape = ()

    def settled(self) -> tuple[Domain, Term]:
        """The rows and the value, where bound indices that are told are what tells them."""
        while self.solve(self.binders):
            pass
        return self.rows, self.value

    def solved(self) -> _Point:
        """The point, whose indices are those of the tensor that are left, and those that its place needs."""
        while self.step():
            pass
        self.need_fewer()
        used = self.indices_in(self.at).union(self.own)
        used |= self.pairing(used)
        inner = [name for name in self.binders if name not in used]
        dims = {n: self.extents[n] for n in self.own}
        dims |= {n: self.extent(n) for n in self.binders if n in used}
        facts = (*self.lists.program.size_facts(), *box(dims, dims.values()))
        self.rows = tuple(
            row
            for row in dict.fromkeys(self.rows)
            if not (row.form.variables.isdisjoint(inner) and _holds(row, facts))
        )
        summed = tuple(row for row in self.rows if not row.form.variables.isdisjoint(inner))
        self.value = self.lists.algebra.sum(inner, summed, self.value)
        self.rows = tuple(row for row in self.rows if row not in summed)
        # A box of all pairs has many more points than there are entries.
        while (join := join_of(self.rows, dims)) is not None:
            dims = self.joined(join, dims)
        self.value = self.lists.algebra.guard(self.rows, self.value, self.lists.algebra.zero)
        self.name(tuple(dims))
        self.shape = tuple(dims.values())
        return self

    def indices_in(self, forms: Sequence[Affine]) -> set[str]:
        """The indices that forms have, sizes left out."""
        return {name for form in forms for name in form.variables if name in self.own or name in self.binders}

    def need_fewer(self) -> None:
        """Say the place by fewer indices, where what is looked up by some is looked up by others too."""
        for row in self.rows:
            for atom, k in row.form.terms if row.equality else ():
                if not isinstance(atom, Lookup) or abs(k) != 1:
                    continue
                told = (row.form - Affine.atom(atom) * k) * -k
                at = tuple(form.replace(lambda other: told if other == atom else None) for form in self.at)
                used, needed = map(self.indices_in, (self.at, at))
                if needed < used and not any(atom == inner for inner in told.inner_atoms()):
                    self.at = at

    def pairing(self, dims: set[str]) -> set[str]:
        """The bound indices by which some of these indices are paired off: a sum over them would be one for
        each point of a box of all pairs."""
        found = set[str]()
        for row in self.rows:
            pair = halves(row, {*self.own, *self.binders})
            if pair is not None and not any(form.variables.isdisjoint(dims) for form in pair):
                found |= row.form.variables.intersection(self.binders)
        return found

    def joined(self, join: Join, dims: Mapping[str, Extent]) -> dict[str, Extent]:
        """The extents of the indices, one of which is a pair's in the place of those that are paired off."""
        pairs, index = self.lists.paired(join.sides), self.lists.terms.fresh("s")
        mapping = {
            name: array.lookup([Affine.var(index)])
            for name, array in zip(join.indices, pair_arrays(pairs), strict=True)
        }
        self.own = [name for name in self.own if name not in mapping]
        self.at = tuple(form.substitute(mapping) for form in self.at)
        self.rows = tuple(row.substitute(mapping) for row in self.rows if row not in join.rows)
        self.value = self.lists.terms.substitute(self.value, mapping)
        return {name: size for name, size in dims.items() if name not in mapping} | {
            index: Affine.var(pairs.count)
        }

    def within(self, other: _Point) -> _Point | None:
        """The point as one of those of another where some indices are others or numbers, if it is one."""
        found = self.match(other.at, dict(zip(other.indices, other.shape, strict=True)))
        if found is None:
            return None
        rows = tuple(Constraint(Affine.var(name) - told, equality=True) for name, told in found.items())
        made = copy(self)
        made.rows = (*self.rows, *rows)
        made.value = self.lists.algebra.guard(rows, self.value, self.lists.algebra.zero)
        made.indices, made.shape, made.at = other.indices, other.shape, other.at
        return made

    def match(self, at: tuple[Affine, ...], extents: Mapping[str, Extent]) -> dict[str, Affine] | None:
        """What some of these indices are where their place is that of the point; None where it never is."""
        mine = dict(zip(self.indices, self.shape, strict=True))
        if len(extents) == len(mine):
            return {} if at == self.at and extents == mine else None
        for name, size in extents.items() if len(extents) > len(mine) else ():
            left = {n: s for n, s in extents.items() if n != name}
            told = [Affine.var(n) for n, s in left.items() if s == size]
            for form in (
                *told,
                *(form for form in self.numbers if isinstance(size, int) and form.constant < size),
            ):
                found = self.match(tuple(f.substitute({name: form}) for f in at), left)
                if found is not None:
                    return {name: form, **found}
        return None

    @cached_property
    def numbers(self) -> list[Affine]:
        """The numbers at which its place looks something up."""
        forms = (form for place in self.at for lookup in place.lookups() for form in lookup.at)
        return [form for form in dict.fromkeys((*self.at, *forms)) if form.is_constant]

    def name(self, dims: Sequence[str]) -> None:
        """Give bound indices names that can be read, the same ones in points that are alike."""
        names: list[str] = []
        for name in dims:
            taken = [*self.definition.indices, *names]
            names.append(name if name in self.own else self.lists.names.index("p", taken))
        mapping = {old: Affine.var(new) for old, new in zip(dims, names, strict=True) if old != new}
        self.at = tuple(form.substitute(mapping) for form in self.at)
        self.rows = tuple(row.substitute(mapping) for row in self.rows)
        self.value = self.lists.terms.substitute(self.value, mapping)
        self.indices = tuple(names)

    # -- solving -----------------------------------------------------------------------------------

    def step(self) -> bool:
        """Solve one equality, for a bound index where one can be told, or a range of rows."""
        return self.solve(self.binders) or self.solve(self.own) or self.range_of_owner()

    def solve(self, names: Sequence[str]) -> bool:
        """Solve one equality for one of some indices."""
        equalities = [row for row in self.rows if row.equality]
        between = not self.definition.is_output
        # Those with lookups first: a diagonal then is one of what is looked up. In between it is one of
        # elements, as these are fewer, and each of them is then a factor of others.
        for row in sorted(equalities, key=lambda row: any(True for _ in row.form.lookups()) == between):
            for name in names:
                told = _told(row.form, name)
                if told is not None and not (between and names is self.own and self.is_lone(row)):
                    self.substitute(name, told, row)
                    return True
        return False

    def is_lone(self, row: Constraint) -> bool:
        """Whether the bound indices that a row has to do with tell one index of the tensor and no other: sums
        over them, of one element, are fewer than their values."""
        bound, before = row.form.variables.intersection(self.binders), frozenset[str]()
        met = row.form.variables
        while bound != before:
            before = bound
            met = met.union(*(r.form.variables for r in self.rows if not bound.isdisjoint(r.form.variables)))
            bound = met.intersection(self.binders)
        placed = any(not bound.isdisjoint(form.variables) for form in self.at)
        return bool(bound) and not placed and len(met.intersection(self.own)) == 1

    def substitute(self, name: str, told: Affine, *rows: Constraint) -> None:
        """Put a form in the place of an index; these rows say it."""
        mapping = {name: told}
        left = [row.substitute(mapping) for row in self.rows if row not in rows]
        if name in self.own:
            self.own.remove(name)
            left += box_rows([told], [self.extents[name]])
        else:
            self.binders.remove(name)
        self.rows = tuple(left)
        self.at = tuple(form.substitute(mapping) for form in self.at)
        self.value = self.lists.terms.substitute(self.value, mapping)

    def range_of_owner(self) -> bool:
        """`ptr[i] <= e <= ptr[i + 1] - 1` says that i is the owner of e, and tells it."""
        between = not self.definition.is_output
        for row in self.rows:
            if between and self.is_lone(row):
                continue
            for atom, k in row.form.terms if not row.equality else ():
                if not isinstance(atom, Lookup) or k != -1 or len(atom.at) != 1:
                    continue
                place, (index,) = row.form + Affine.atom(atom), atom.at
                end = Affine.atom(Lookup(atom.array, (index + 1,), atom.below)) - 1 - place
                other = Constraint(end)
                owner = self.lists.owner(atom.array) if other in self.rows else None
                if owner is None:
                    continue
                told = owner.lookup([place])
                name = next((n for n in (*self.binders, *self.own) if index == Affine.var(n)), None)
                if name is not None and name not in place.variables:
                    self.substitute(name, told, row, other)
                    self.rows = (*self.rows, *box_rows([place], owner.shape))
                    return True
                if not index.variables.isdisjoint((*self.own, *self.binders)) and any(
                    True for _ in index.lookups()
                ):
                    left = tuple(r for r in self.rows if r not in (row, other))
                    same = Constraint(told - index, equality=True)
                    self.rows = (*left, same, *box_rows([place], owner.shape))
                    return True
        return False

    def extent(self, name: str) -> Extent:
        """How many values a bound index may have, from 0 on. Raises NotListed."""
        for row in self.rows:
            if row.equality or row.form.coefficient(name) != -1:
                continue
            most = self.most(row.form + Affine.var(name))
            if most is not None and name not in most.variables:
                bounds = [r for r in self.rows if not r.equality and r.form.coefficient(name) == 1]
                if any(self.least(Affine.var(name) - r.form) for r in bounds):
                    self.rows = tuple(r for r in self.rows if r not in box([name], [extent(most + 1)]))
                    return extent(most + 1)
        raise NotListed(f"nothing bounds an index of `{self.definition.name}` by sizes")

    def least(self, form: Affine) -> bool:
        """Whether a lower bound is at least 0."""
        found = self.most(-form)
        return found is not None and implied(-found, self.lists.program.size_facts())

    def most(self, form: Affine) -> Affine | None:
        """A form of sizes that one is never more than; None where that is not seen."""
        total = Affine.const(form.constant)
        for atom, k in form.terms:
            match atom:
                case str() if atom in self.extents:
                    total += (as_form(self.extents[atom]) - 1) * k if k > 0 else ZERO
                case str() if atom in self.lists.program.sizes:
                    total += Affine.var(atom) * k
                case Lookup():
                    total += (atom.below - 1) * k if k > 0 else ZERO
                case _:
                    return None
        return total


def _told(form: Affine, name: str) -> Affine | None:
    """The value of an index that an equality tells; None where it stands inside of atoms, or has a factor."""
    k = form.coefficient(name)
    if abs(k) != 1:
        return None
    rest = form - Affine.var(name) * k
    return None if name in rest.variables else rest * -k


def _holds(row: Constraint, facts: Sequence[Constraint]) -> bool:
    return all(implied(form, facts) for form in ((row.form, -row.form) if row.equality else (row.form,)))
