"""Programs of Jacobians with index arrays, as programs of their entries.

An element `J[i, j]` of such a Jacobian is a sum of terms that are 0 but where index arrays say so:
`sum{e: src[e] = i and dst[e] = j} v(e)`. So the Jacobian is a list of entries: for each e, one of the value
v(e) in the row src[e] and the column dst[e]; entries of one place are added. The equalities tell indices of
the Jacobian, and what is left of the indices of the term are the dimensions of the list.

Tensors in between that are 0 but where index arrays say so are such lists too: `D[i, e]`, which is a(e) where
`src[e] = i` and else 0, is the list a, which is at (src[e], e). What reads an element of D, and is 0 where it
is, adds up what is read of the lists, each where it is at that element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from tadc.frontend.extents import Extent, Shape, as_form, extent
from tadc.frontend.program import Argument, Definition, Inspected, Program
from tadc.frontend.terms import Apply, Domain, Guard, Read, Reduce, Term, bottom_up
from tadc.lattice.affine import ZERO, Affine, Constraint, Lookup, box
from tadc.lattice.polyhedron import implied, is_empty
from tadc.passes.supports.compress import box_rows
from tadc.passes.supports.sets import elsewhere
from tadc.passes.terms.algebra import Algebra, is_const
from tadc.passes.terms.names import Names


class NotListed(Exception):
    """A Jacobian whose entries cannot be listed; the text says why."""


@dataclass(frozen=True)
class Entries:
    """A list of entries of a tensor.

    `at` says of which element there is one at each point of `indices`, where one of the `domains` holds.
    """

    name: str
    indices: tuple[str, ...]
    shape: Shape
    at: tuple[Affine, ...]
    domains: tuple[Domain, ...] = ()

    @property
    def is_all(self) -> bool:
        """Whether it has an entry for each element of the tensor."""
        return self.at == tuple(map(Affine.var, self.indices))


def listed(program: Program) -> tuple[Program, dict[str, tuple[Entries, ...]]]:
    """The program whose outputs are lists, and the lists of each output of the program. Raises NotListed."""
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

    def __post_init__(self) -> None:
        self.terms, self.algebra = self.program.terms, Algebra(self.program.terms)
        self.names = Names(self.program)
        self.types = self.program.types()

    def run(self) -> tuple[Program, dict[str, tuple[Entries, ...]]]:
        """All definitions, those that are lists as such."""
        made: list[Definition] = []
        for definition in self.program.definitions:
            made += self.definition(definition)
        arguments = (*self.program.arguments, *self.owners.values())
        found = {d.name: self.lists[d.name] for d in self.program.outputs}
        return replace(self.program, arguments=arguments, definitions=tuple(made)), found

    def definition(self, old: Definition) -> list[Definition]:
        """The definitions of the lists of a tensor; itself where it is no such tensor."""
        reader = _Reader(self, frozenset(old.indices))
        is_listed = old.is_output or reader.holds(old.body)
        if old.order is not None and is_listed:
            raise NotListed("a recurrence hands on from step to step what it reads")
        if not is_listed:
            return [replace(old, body=self.read_through(old.body))]
        points = [_Point(self, old, part).solved() for part in reader.parts(old.body)]
        if not old.is_output and all(len(point.own) == len(old.indices) for point in points):
            return [replace(old, body=self.read_through(old.body))]
        alike: dict[tuple[Shape, tuple[Affine, ...]], list[_Point]] = {}
        for point in points:
            if not is_empty((*point.rows, *self.program.size_facts())):
                alike.setdefault((point.shape, point.at), []).append(point)
        made: list[Definition] = []
        lists: list[Entries] = []
        for (shape, at), same in alike.items():
            body: Term = self.algebra.zero
            for point in same:
                body = self.algebra.add(body, point.value)
            name = self.names.free(old.name)
            lists.append(Entries(name, same[0].indices, shape, at, tuple(point.rows for point in same)))
            made.append(Definition(name, old.type, shape, same[0].indices, body, old.is_output, old.span))
        self.lists[old.name] = tuple(lists)
        return made

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

    def solved(self) -> _Point:
        """The point, whose indices are those of the tensor that are left, and those that its place needs."""
        while self.step():
            pass
        used = set[str]().union(*(form.variables for form in self.at))
        inner = [name for name in self.binders if name not in used]
        dims = [*self.own, *(name for name in self.binders if name in used)]
        extents = [self.extents[n] if n in self.extents else self.extent(n) for n in dims]
        facts = (*self.lists.program.size_facts(), *box(dims, extents))
        self.rows = tuple(
            row
            for row in dict.fromkeys(self.rows)
            if not (row.form.variables.isdisjoint(inner) and _holds(row, facts))
        )
        summed = tuple(row for row in self.rows if not row.form.variables.isdisjoint(inner))
        outside = tuple(row for row in self.rows if row not in summed)
        if any(row.equality and _joins(row.form, dims) for row in outside):
            # A box of all pairs has many more points than there are entries.
            raise NotListed("its entries are at pairs of places of one value")
        algebra = self.lists.algebra
        value = algebra.guard(outside, algebra.sum(inner, summed, self.value), algebra.zero)
        self.rows = outside
        self.name(dims, value)
        self.shape = tuple(extents)
        return self

    def name(self, dims: Sequence[str], value: Term) -> None:
        """Give bound indices names that can be read, the same ones in points that are alike."""
        names: list[str] = []
        for name in dims:
            taken = [*self.definition.indices, *names]
            names.append(name if name in self.own else self.lists.names.index("p", taken))
        mapping = {old: Affine.var(new) for old, new in zip(dims, names, strict=True) if old != new}
        self.at = tuple(form.substitute(mapping) for form in self.at)
        self.rows = tuple(row.substitute(mapping) for row in self.rows)
        self.value = self.lists.terms.substitute(value, mapping)
        self.indices = tuple(names)

    # -- solving -----------------------------------------------------------------------------------

    def step(self) -> bool:
        """Solve one equality, for a bound index where one can be told, or a range of rows."""
        equalities = [row for row in self.rows if row.equality]
        for names in (self.binders, self.own):
            # Those with lookups first: a diagonal then is one of what is looked up.
            for row in sorted(equalities, key=lambda row: not row.form.has_lookups):
                for name in names:
                    told = _told(row.form, name)
                    if told is not None:
                        self.substitute(name, told, row)
                        return True
        return self.range_of_owner()

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
        """`ptr[i] <= e <= ptr[i + 1] - 1` tells i: the owner of e."""
        for row in self.rows:
            for atom, k in row.form.terms if not row.equality else ():
                if not isinstance(atom, Lookup) or k != -1 or len(atom.at) != 1:
                    continue
                place = row.form + Affine.atom(atom)
                (index,) = atom.at
                name = next((n for n in self.own if index == Affine.var(n)), None)
                end = Affine.atom(Lookup(atom.array, (index + 1,), atom.below)) - 1 - place
                other = Constraint(end)
                if name is None or other not in self.rows or name in place.variables:
                    continue
                owner = self.lists.owner(atom.array)
                if owner is not None:
                    told = owner.lookup([place])
                    self.substitute(name, told, row, other)
                    self.rows = (*self.rows, *box_rows([place], owner.shape))
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


def _joins(form: Affine, dims: Sequence[str]) -> bool:
    """Whether an equality is one of lookups by several indices."""
    looked = {name for lookup in form.lookups() for name in lookup.variables}
    return len(looked.intersection(dims)) > 1


def _holds(row: Constraint, facts: Sequence[Constraint]) -> bool:
    return all(implied(form, facts) for form in ((row.form, -row.form) if row.equality else (row.form,)))
