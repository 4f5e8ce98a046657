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

from collections.abc import Callable, Sequence
from functools import partial

from tadc.frontend.dtypes import COMPUTING
from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import Apply, Guard, Read, Reduce, Select, Term, holds, operands
from tadc.lattice.affine import Affine, Constraint, box
from tadc.lattice.late_dataclasses import dataclass, field, replace
from tadc.lattice.polyhedron import is_empty, not_implied
from tadc.passes.supports.compress import box_rows
from tadc.passes.supports.entry_listing import Entries, Listing
from tadc.passes.supports.entry_points import Point
from tadc.passes.supports.entry_unknowns import EntryPart
from tadc.passes.supports.entry_windows import outside_lookups
from tadc.passes.supports.handed_on import renamed, told_by_others, without_index
from tadc.passes.supports.joined_places import halves
from tadc.passes.supports.listed_program import Listed, NotListed
from tadc.passes.supports.sets import elsewhere
from tadc.passes.terms.algebra import is_const

__all__ = ["NotListed", "listed"]


def listed(program: Program) -> tuple[Program, Listing]:
    """The program whose outputs are the entries of those of another, and which they are. Raises NotListed.

    Index arrays of pairs are arguments of it.
    """
    return _Lists(Listed(program)).run()


@dataclass
class _Lists:
    made: Listed
    lists: dict[str, tuple[Entries, ...]] = field(default_factory=dict[str, "tuple[Entries, ...]"])

    def __post_init__(self) -> None:
        self.terms, self.algebra, self.names = self.made.terms, self.made.algebra, self.made.names

    def run(self) -> tuple[Program, Listing]:
        """All definitions, those that are lists as such."""
        old, made = self.made.program, list[Definition]()
        for definition in old.definitions:
            made += self.definition(definition)
        shapes, outputs = old.shapes(), old.outputs
        found = Listing(
            {d.name: self.lists[d.name] for d in outputs},
            {d.name: (d.shape, len(d.shape) - len(shapes.get(d.gradient_of, ()))) for d in outputs},
            tuple(a.name for a in old.passed() if a.is_index_array),
            {argument.name: (starts, argument.shape[0]) for starts, argument in self.made.owners.items()},
            tuple(self.made.pairs.values()),
        )
        program = replace(self.made.program, arguments=self.made.arguments(), definitions=tuple(made))
        return program, found

    def definition(self, old: Definition) -> list[Definition]:
        """The definitions of the lists of a tensor; itself where it is no such tensor."""
        reader = _EntryReader(self, frozenset(old.indices))
        is_listed = old.is_output or reader.holds(old.body)
        if not is_listed:
            return [self.whole(old)]
        if old.in_order().order is not None:
            return [self.recurrence(old)]
        points = [Point(self.made, old, part).solved() for part in reader.parts(old.body)]
        if not old.is_output and all(len(point.own) == len(old.indices) for point in points):
            return [self.whole(old)]
        alike: list[list[Point]] = []
        # A diagonal after what it is one of.
        for point in sorted(points, key=lambda point: -len(point.shape)):
            if is_const(point.value, 0) or is_empty((*point.rows, *self.made.program.size_facts())):
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
            made.append(Definition(name, COMPUTING[old.type], shape, indices, body, old.is_output, old.span))
        if old.is_output and not lists:
            # A list of one number that is no entry: a kernel has an output.
            name, indices = self.names.free(old.name), (self.names.index("p", old.indices),)
            lists.append(Entries(name, indices, (1,), tuple(Affine.const(0) for _ in old.indices)))
            made.append(
                Definition(name, COMPUTING[old.type], (1,), indices, self.algebra.zero, True, old.span)
            )
        self.lists[old.name] = tuple(lists)
        return made

    def whole(self, old: Definition) -> Definition:
        return replace(old, body=self.read_through(old.body))

    def recurrence(self, old: Definition) -> Definition:
        """A recurrence of the elements that may be other than 0, as far as it is seen which these are."""
        made, at, rows = old, old.own, list[Constraint]()
        while True:
            points = [
                Point(self.made, made, p)
                for p in _EntryReader(self, frozenset(made.indices)).parts(made.body)
            ]
            parts = [point.settled() for point in points]
            found = told_by_others(made, parts, self.made.program.sizes, self.algebra)
            if found is None:
                break
            name, told = found
            at = tuple(form.substitute({name: told}) for form in at)
            rows += box_rows([told], [made.shape[made.indices.index(name)]])
            made = without_index(self.terms, made, name, told)
        if len(made.indices) < len(old.indices) or old.is_output:
            domain = not_implied(rows, self.made.program.facts(made))
            made = renamed(self.terms, made, self.names.free(old.name))
            self.lists[old.name] = (Entries(made.name, made.indices, made.shape, at, (domain,)),)
        return self.whole(made)

    def read_through(self, term: Term, known: dict[int, bool] | None = None) -> Term:
        """The term where reads of lists are the sums of what is there; `known` has which terms hold some."""
        known = {} if known is None else known
        if not holds(term, known, self.is_element):
            return term
        match term:
            case Read():
                found: Term = self.algebra.zero
                for part in self.elements(term):
                    found = self.algebra.add(found, self.algebra.sum(part.binders, part.rows, part.value))
                return found
            case Reduce():
                # Its indices get other names when sums come into it.
                names, rows, body = self.terms.open(term)
                made = self.read_through(body, known)
                return self.terms.reduce_like(term, names, rows, made)
            case _:
                return self.terms.rebuild(term, [self.read_through(t, known) for t in operands(term)])

    def is_element(self, term: Term) -> bool:
        return isinstance(term, Read) and term.tensor in self.lists

    def elements(self, read: Read) -> list[EntryPart]:
        """What lists have at an element: one for each list."""
        found: list[EntryPart] = []
        for entries in self.lists[read.tensor]:
            own = tuple(self.terms.fresh("s") for _ in entries.indices)
            named = dict(zip(entries.indices, map(Affine.var, own), strict=True))
            pairs = zip(entries.at, read.indices, strict=True)
            rows = [Constraint(at.substitute(named) - index, equality=True) for at, index in pairs]
            rows += box(own, entries.shape)
            # Else it is 0.
            only = entries.domains[0] if len(entries.domains) == 1 else ()
            rows += [row.substitute(named) for row in only]
            assert read.type
            value = self.terms.read(entries.name, list(map(Affine.var, own)), read.type, read.span)
            found.append(EntryPart(own, tuple(rows), value))
        return found


@dataclass
class _EntryReader:
    """Reads a term as a sum of parts, as far as it is 0 where an equality of its indices does not hold."""

    lists: _Lists
    own: frozenset[str]
    known: dict[int, bool] = field(default_factory=dict[int, bool])

    def __post_init__(self) -> None:
        self.terms, self.algebra = self.lists.terms, self.lists.algebra

    def holds(self, term: Term) -> bool:
        """Whether an equality of own indices stands in a term, or a read of a list."""

        def node(term: Term) -> bool:
            match term:
                case Read():
                    return term.tensor in self.lists.lists
                case Guard():
                    return any(map(self.tells, term.conditions))
                case Reduce(kind="sum"):
                    return any(map(self.tells, term.domain))
                case _:
                    return False

        return holds(term, self.known, node)

    def tells(self, row: Constraint) -> bool:
        """Whether a row may tell an own index by others, pairs own ones off, or has a lookup by one."""
        others = row.form.variables - set(self.lists.made.program.sizes)
        inner = {name for lookup in row.form.lookups() for name in lookup.variables}
        told = outside_lookups(row.form) & self.own - inner
        if told and (row.equality or len(others) > 1 or row.form.has_lookups):
            return True
        pair = halves(row, self.own)
        if pair is not None and all(form.variables & self.own for form in pair):
            return True
        if row.equality:
            return halves(row, self.own) is not None
        return bool(inner & self.own)

    def parts(self, term: Term) -> list[EntryPart]:
        """The addends."""
        match term:
            case Guard() if any(is_const(branch, 0) for branch in (term.then, term.otherwise)):
                pass  # Where it is 0 there is no entry.
            case _ if not self.holds(term):
                return [EntryPart((), (), term)]
            case _:
                pass
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
            case Select(relation=relation, lhs=lhs, rhs=rhs) if not self.holds(lhs) and not self.holds(rhs):
                choose, zero = partial(self.algebra.select, relation, lhs, rhs), self.algebra.zero
                return [
                    *self.each(self.parts(term.then), lambda value: choose(value, zero)),
                    *self.each(self.parts(term.otherwise), lambda value: choose(zero, value)),
                ]
            case Reduce(kind="sum"):
                names, domain, body = self.terms.open(term)
                return [part.over(names, domain) for part in self.parts(body)]
            case _:
                return [EntryPart((), (), self.lists.read_through(term))]

    def each(self, parts: Sequence[EntryPart], change: Callable[[Term], Term]) -> list[EntryPart]:
        return [replace(part, value=change(part.value)) for part in parts]

    def products(self, x: Term, y: Term, multiply: Callable[[Term, Term], Term]) -> list[EntryPart]:
        """Each part of a factor with each of the other."""
        found: list[EntryPart] = []
        for one in self.parts(x):
            for other in self.parts(y):
                fresh = {name: Affine.var(self.terms.fresh("s")) for name in other.binders}
                rows = tuple(row.substitute(fresh) for row in other.rows)
                value = multiply(one.value, self.terms.substitute(other.value, fresh))
                names = (*one.binders, *(str(form) for form in fresh.values()))
                found.append(EntryPart(names, (*one.rows, *rows), value))
        return found
