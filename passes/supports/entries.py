"""The entries of a Jacobian, one for each point that reads: where index maps are no forms of indices alone.

Reverse mode gathers for each element of an argument what reads it,

    dx[b] = sum{p in D, access(p) = b} df[element(p)] * partial(p)

so the Jacobian of f by x has at each point p of D the entry `partial(p)` in row `element(p)` and column
`access(p)`: several points may have entries at one place, which add up. The equalities of D are solved for
p as in `tad-cancel-deltas`; indices that neither the row nor the column has are summed up. A Hessian is the
Jacobian of a gradient, so that of an energy over the elements of a mesh has an entry for each pair of nodes
of each element (a finite-element matrix in the form of triplets).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from tadc.frontend.extents import as_form, extent
from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import Apply, Domain, Guard, Read, Reduce, Select, Term, tensors_read
from tadc.lattice.affine import ZERO, Affine, Constraint
from tadc.lattice.solve import solve
from tadc.passes.derivatives.cancel import substitute_solution
from tadc.passes.derivatives.fibres import Arrays
from tadc.passes.derivatives.reverse import reverse_program
from tadc.passes.terms.algebra import Algebra
from tadc.passes.terms.collect import addends
from tadc.passes.terms.index_ranges import ranges_within
from tadc.passes.terms.inlined import without


class NoEntries(Exception):
    """The entries cannot be told one by one; the message says why."""


@dataclass(frozen=True)
class Entries:
    """Entries of the Jacobian of `output` by `argument`: a value for each point of a box over `indices`.

    `rows` and `columns` are the places of elements of the output and of the argument; there is an entry where
    the conditions `where` hold.
    """

    output: str
    argument: str
    indices: tuple[str, ...]
    shape: tuple[Affine, ...]
    rows: tuple[Affine, ...]
    columns: tuple[Affine, ...]
    where: Domain
    value: Term


@dataclass(frozen=True)
class _Part:
    """`coefficient * read` for each point of a set, where all rows hold."""

    binders: tuple[str, ...]
    rows: Domain
    read: Read
    coefficient: Term


def entries_of(program: Program, wrt: Sequence[str]) -> tuple[Program, list[Entries]]:
    """A program without tensors in between, over whose terms the entries are, and these, of all outputs by
    all of `wrt`. Raises NoEntries."""
    if any(d.order is not None for d in program.definitions):
        raise NoEntries("a recurrence hands on from step to step")
    between = [d.name for d in program.definitions if not d.is_output]
    direct = replace(program, definitions=tuple(without(program.terms, program.definitions, between)))
    outputs = {d.name for d in direct.definitions}
    if any(outputs & tensors_read([d.body]) for d in direct.definitions):
        raise NoEntries("an output is read by another")
    found: list[Entries] = []
    arrays = Arrays(direct)
    for output in direct.definitions:
        alone = replace(direct, definitions=(output,))
        gradients = reverse_program(alone, list(wrt))
        (cotangent,) = (a.name for a in gradients.arguments if a.cotangent_of == output.name)
        for gradient in gradients.definitions:
            found += _Gradient(gradients, gradient, cotangent, output.name, arrays).entries()
    return replace(direct, arguments=(*direct.arguments, *arrays.made.values())), _merged(direct, found)


def _merged(program: Program, entries: Sequence[Entries]) -> list[Entries]:
    """The entries, those at the same places as one."""
    groups: dict[Entries, list[Term]] = {}
    zero = program.terms.const(0)
    for one in entries:
        groups.setdefault(replace(one, value=zero), []).append(one.value)
    algebra = Algebra(program.terms)
    return [replace(one, value=reduce(algebra.add, values)) for one, values in groups.items()]


class _Gradient:
    """The gradient of an output by an argument, which is linear in the output's cotangent."""

    def __init__(
        self, program: Program, gradient: Definition, cotangent: str, output: str, arrays: Arrays
    ) -> None:
        self.program, self.gradient, self.cotangent, self.output = program, gradient, cotangent, output
        self.arrays, self.terms, self.algebra = arrays, program.terms, Algebra(program.terms)
        self.facts = program.size_facts()

    def entries(self) -> Iterator[Entries]:
        """What each read contributes."""
        for negative, term in addends(self.gradient.body):
            for part in self.parts(term):
                made = self.entry(part)
                if made is not None:
                    yield replace(made, value=self.algebra.neg(made.value)) if negative else made

    # -- linear parts --------------------------------------------------------------------------------

    def holds(self, term: Term) -> bool:
        """Whether a term reads the cotangent."""
        return self.cotangent in tensors_read([term])

    def parts(self, term: Term) -> Iterator[_Part]:
        """What a term adds up, each a multiple of an element of the cotangent."""
        algebra = self.algebra
        match term:
            case Read():
                if term.tensor == self.cotangent:
                    yield _Part((), (), term, algebra.one)
            case Apply(function="add" | "sub"):
                for operand, negative in zip(term.operands, (False, term.function == "sub"), strict=True):
                    for part in self.parts(operand):
                        yield _times(part, lambda c, n=negative: algebra.neg(c) if n else c)
            case Apply(function="neg"):
                yield from (_times(part, algebra.neg) for part in self.parts(term.operands[0]))
            case Apply(function="mul" | "safe" | "div", operands=(x, y)):
                linear, other, right = (x, y, False) if self.holds(x) else (y, x, True)
                if self.holds(other) or (term.function == "div" and right):
                    raise NoEntries("a derivative is not linear in its cotangent")
                make = {"mul": algebra.mul, "safe": algebra.safe, "div": algebra.div}[term.function]
                for part in self.parts(linear):
                    yield _times(part, lambda c, m=make, r=right, o=other: m(o, c) if r else m(c, o))
            case Guard():
                yield from (
                    replace(part, rows=(*term.conditions, *part.rows)) for part in self.parts(term.then)
                )
                for part in self.parts(term.otherwise):
                    yield _times(part, lambda c, t=term: algebra.guard(t.conditions, algebra.zero, c))
            case Select():
                how = term.relation, term.lhs, term.rhs
                for part in self.parts(term.then):
                    yield _times(part, lambda c, h=how: algebra.select(*h, c, algebra.zero))
                for part in self.parts(term.otherwise):
                    yield _times(part, lambda c, h=how: algebra.select(*h, algebra.zero, c))
            case Reduce(kind="sum") if self.holds(term):
                binders, rows, body = self.terms.open(term)
                for part in self.parts(body):
                    yield replace(part, binders=(*binders, *part.binders), rows=(*rows, *part.rows))
            case _ if self.holds(term):
                raise NoEntries("a derivative is not linear in its cotangent")
            case _:
                pass

    # -- one of them ---------------------------------------------------------------------------------

    def entry(self, part: _Part) -> Entries | None:
        """The entries of a part, its equalities solved; None where no point satisfies them."""
        rows, columns = self.columns(part.rows)
        rows = self.with_owners(part.binders, rows)
        solution = solve(part.binders, rows, self.facts, self.terms.fresh)
        if solution is None:
            return None
        places = (*part.read.indices, *columns)

        def solved(form: Affine) -> Affine:
            return form.replace(
                lambda atom: (
                    solution.substitution.get(atom) if isinstance(atom, str) else solution.atoms.get(atom)
                )
            )

        places = tuple(map(solved, places))
        value = substitute_solution(self.terms, part.coefficient, solution)
        shown = frozenset[str]().union(*(form.variables for form in places))
        own = [name for name in solution.kernel if name in shown]
        rest = [name for name in solution.kernel if name not in shown]
        domain = (*solution.guards, *solution.domain)
        inside = [row for row in domain if not row.form.variables.isdisjoint(rest)]
        where = [row for row in domain if row not in inside]
        value = self.algebra.sum(rest, tuple(inside), value, ["k"] * len(rest))
        return self.boxed(own, where, places, value, len(part.read.indices))

    def columns(self, rows: Domain) -> tuple[list[Constraint], list[Affine]]:
        """The rows that do not speak of the argument's element, and the places that the others give it."""
        left, places = list(rows), list[Affine]()
        for name in self.gradient.indices:
            row = next((r for r in left if r.equality and abs(r.form.coefficient(name)) == 1), None)
            if row is None:
                raise NoEntries(f"no read tells the index `{name}` of `{self.gradient.gradient_of}`")
            left.remove(row)
            k = row.form.coefficient(name)
            place = (row.form - Affine.var(name) * k) * -k
            left = [Constraint(r.form.substitute({name: place}), r.equality) for r in left]
            places.append(place)
        return left, places

    def with_owners(self, binders: Sequence[str], rows: Sequence[Constraint]) -> list[Constraint]:
        """The rows where `ptr[n] <= e < ptr[n + 1]` says that n is the owner of e."""
        found = list(rows)
        for low in rows:
            for lookup in low.form.lookups():
                argument = self.arrays[lookup.array]
                if not argument.increasing or low.equality or low.form.coefficient(lookup) != -1:
                    continue
                value = low.form + Affine.atom(lookup)
                high = Constraint(argument.lookup([lookup.at[0] + 1]) - 1 - value)
                if high not in found or not value.variables & set(binders):
                    continue
                owner = self.arrays.owner(lookup.array)
                found = [row for row in found if row not in (low, high)]
                found.append(Constraint(lookup.at[0] - owner.lookup([value]), equality=True))
                found += [Constraint(value), Constraint(as_form(owner.shape[0]) - 1 - value)]
        return found

    def boxed(
        self, names: Sequence[str], where: Sequence[Constraint], places: Sequence[Affine], value: Term,
        split: int,
    ) -> Entries:  # fmt: skip
        """The entries over a box that starts at 0."""
        ranges = ranges_within(names, where, {}, frozenset(self.program.sizes))
        shift: dict[str, Affine] = {}
        shape: list[Affine] = []
        for n, name in enumerate(names):
            found = ranges[name]
            if found is None:
                raise NoEntries("the number of its entries is not told by sizes")
            shift[name] = Affine.var(f"z{n}") + found.low
            shape.append(found.extent)
        names = [f"z{n}" for n in range(len(names))]
        forms = [form.substitute(shift) for form in places]
        return Entries(
            self.output, self.gradient.gradient_of, tuple(names), tuple(shape),
            tuple(forms[:split]), tuple(forms[split:]),
            tuple(row.substitute(shift) for row in where), self.terms.substitute(value, shift),
        )  # fmt: skip


def _times(part: _Part, change: Callable[[Term], Term]) -> _Part:
    return replace(part, coefficient=change(part.coefficient))


def values_program(program: Program, entries: Sequence[Entries]) -> Program:
    """The program of the values of entries, 0 where there is none: outputs `entries_0`, `entries_1`, …"""
    algebra = Algebra(program.terms)
    types = program.types()
    made: list[Definition] = []
    for n, one in enumerate(entries):
        body = algebra.guard(one.where, one.value, algebra.zero)
        made.append(replace(_definition(str(n), one, body), type=types[one.argument]))
    return replace(program, definitions=tuple(made))


def places_program(program: Program, entries: Sequence[Entries]) -> Program:
    """The program of the subscripts of entries, rows first, -1 where there is none."""
    algebra, terms = Algebra(program.terms), program.terms
    made: list[Definition] = []
    for n, one in enumerate(entries):
        # A scalar has one element, which has no subscript.
        for k, form in enumerate((*(one.rows or (ZERO,)), *(one.columns or (ZERO,)))):
            body = algebra.guard(one.where, terms.index(form), terms.const(-1))
            made.append(_definition(f"{n}_{k}", one, body))
    return replace(program, definitions=tuple(made))


def _definition(number: str, entries: Entries, body: Term) -> Definition:
    shape = tuple(map(extent, entries.shape))
    return Definition(f"entries_{number}", "f64", shape, entries.indices, body)
