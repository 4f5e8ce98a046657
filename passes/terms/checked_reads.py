"""Reads of IR that can leave their tensor, or are of an element not computed yet, each with a point.

Elements of index arrays in index forms are reads too.

Programs of the language are proven in range by the checker, at their source; IR that comes from
elsewhere is proven here, before anything is lowered.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tadc.frontend.extents import Extent, Shape
from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import Domain, Guard, Read, Reduce, Term, Where, index_forms, operands
from tadc.lattice.affine import Affine, Constraint
from tadc.lattice.points import find_point
from tadc.lattice.polyhedron import implied, is_empty


@dataclass(frozen=True)
class OutOfRange:
    """What is read, where, the dimension, and the point where it takes a value that is no index.

    No dimension: the read is of an element of a recurrence that comes no earlier, `value` steps back.
    """

    tensor: str
    place: Where | None
    dimension: int | None
    size: Extent
    value: int
    point: str


@dataclass(frozen=True)
class Access:
    """What is read, where, and the form that is to be below a size."""

    tensor: str
    place: Where | None
    dimension: int | None
    size: Extent
    form: Affine


def reads_out_of_range(program: Program) -> list[OutOfRange]:
    """All reads of a program that are not in range everywhere they are evaluated."""
    shapes = program.shapes()
    return [found for d in program.definitions for found in out_of_range_in(program, shapes, d)]


def out_of_range_in(program: Program, shapes: dict[str, Shape], definition: Definition) -> list[OutOfRange]:
    """The reads that are not in range of one definition that could join a program."""
    walk = _Walk(program, shapes, definition)
    walk.visit(definition.body, program.facts(definition))
    return walk.found


def all_proven(program: Program, shapes: dict[str, Shape], definition: Definition) -> bool:
    """Whether each read of a definition that could join a program is proven to be in range."""
    walk = _Proof(program, shapes, definition)
    walk.visit(definition.body, program.facts(definition))
    return walk.holds


def own_reads(program: Program, definition: Definition) -> list[tuple[Read, Domain]]:
    """The reads of a recurrence of itself, each with what holds where it is evaluated."""
    walk = _OwnReads(program, program.shapes(), definition)
    walk.visit(definition.body, program.facts(definition))
    return walk.reads


@dataclass
class _Walk:
    program: Program
    shapes: dict[str, Shape]
    definition: Definition
    found: list[OutOfRange] = field(default_factory=list[OutOfRange])
    seen: set[tuple[int, Domain]] = field(default_factory=set[tuple[int, Domain]])
    spoken: dict[str, str] = field(default_factory=dict[str, str])

    def visit(self, root: Term, facts: Domain) -> None:
        stack = [root]
        while stack:
            term = stack.pop()
            if (term.number, facts) in self.seen:
                continue
            self.seen.add((term.number, facts))
            if not isinstance(term, Reduce):
                self.lookups(term, index_forms(term), facts, getattr(term, "conditions", ()))
            match term:
                case Read():
                    self.read(term, facts)
                case Reduce():
                    binders, rows, body = self.program.terms.open(term)
                    self.spoken |= {b: h or b for b, h in zip(binders, term.hints, strict=True)}
                    self.lookups(term, [row.form for row in rows], facts, rows)
                    self.visit(body, facts + rows)
                case Guard():
                    self.visit(term.then, facts + term.conditions)
                    for case in outside(term.conditions, facts):
                        self.visit(term.otherwise, case)
                case _:
                    stack += operands(term)

    def read(self, read: Read, facts: Domain) -> None:
        self.element(read.tensor, read.indices, read.span, facts)
        order = self.definition.order
        if order is not None and read.tensor == self.definition.name:
            there = dict(zip(self.definition.indices, read.indices, strict=True))
            back = order - order.substitute(there)
            self.fails(Access(read.tensor, read.span, None, 0, back), back - 1, facts)

    def lookups(self, term: Term, forms: Iterable[Affine], facts: Domain, rows: Domain) -> None:
        """Elements of index arrays in forms; in those of rows, where the rows without the element hold."""
        for lookup in dict.fromkeys(lookup for form in forms for lookup in form.lookups()):
            others = tuple(row for row in rows if lookup not in row.form.lookups())
            self.element(lookup.array, lookup.at, term.span, facts + others)

    def element(self, tensor: str, at: Sequence[Affine], place: Where | None, facts: Domain) -> None:
        for dimension, (form, size) in enumerate(zip(at, self.shapes[tensor], strict=True)):
            access = Access(tensor, place, dimension, size, form)
            for side in (form, size - 1 - form):
                if self.fails(access, side, facts):
                    break

    def fails(self, access: Access, side: Affine, facts: Domain) -> bool:
        """Whether there is a point where `side` is less than 0; it is noted, with the form's value there."""
        if implied(side, facts):
            return False
        point = violation((*facts, Constraint(-side - 1)), self.program.excluded)
        if point is None:
            return False
        at = ", ".join(f"{self.said(name)} = {value}" for name, value in sorted(point.items()))
        form = access.form
        unknown = [*form.variables, *map(str, form.lookups())]
        value = form.evaluate({**dict.fromkeys(unknown, 0), **point})
        self.found.append(OutOfRange(access.tensor, access.place, access.dimension, access.size, value, at))
        return True

    def said(self, name: str) -> str:
        """The name of an index or of a lookup, for people."""
        return re.sub(r"\?\w+", lambda found: self.spoken.get(found[0], found[0]), name)


@dataclass
class _Proof(_Walk):
    """Whether reads are in range, without a search for points: what is not proven does not hold."""

    holds: bool = True

    def read(self, read: Read, facts: Domain) -> None:
        self.element(read.tensor, read.indices, read.span, facts)

    def element(self, tensor: str, at: Sequence[Affine], place: Where | None, facts: Domain) -> None:
        for form, size in zip(at, self.shapes[tensor], strict=True):
            self.holds = self.holds and implied(form, facts) and implied(size - 1 - form, facts)


@dataclass
class _OwnReads(_Walk):
    """The reads of a recurrence of itself, wherever they are."""

    reads: list[tuple[Read, Domain]] = field(default_factory=list[tuple[Read, Domain]])

    def lookups(self, term: Term, forms: Iterable[Affine], facts: Domain, rows: Domain) -> None:
        pass

    def read(self, read: Read, facts: Domain) -> None:
        if read.tensor == self.definition.name:
            self.reads.append((read, facts))


def violation(rows: Domain, excluded: Sequence[Domain]) -> dict[str, int] | None:
    """A point of the rows whose sizes are in none of the excluded sets; None if there is none."""
    point = find_point(rows)
    if point is None:
        return None
    for number, refused in enumerate(excluded):
        if not all(row.holds(point) for row in refused):
            continue
        others = (*excluded[:number], *excluded[number + 1 :])
        sides = (Constraint(-form - 1) for row in refused for form in row.inequalities)
        return next((p for side in sides if (p := violation((*rows, side), others)) is not None), None)
    return point


def outside(conditions: Domain, facts: Domain) -> list[Domain]:
    """What holds where the facts do and not all conditions, in cases that do not overlap.

    Of several cases none is empty: in a chain of `else`, cases without a point would multiply.
    """
    cases = [facts + rows for rows in negations(conditions)]
    return cases if len(cases) <= 1 else [rows for rows in cases if not is_empty(rows)]


def negations(conditions: Domain) -> Iterator[Domain]:
    """Domains whose union is where not all conditions hold; they do not overlap."""
    before: Domain = ()
    for row in conditions:
        sides: tuple[Affine, ...] = (-row.form - 1, row.form - 1) if row.equality else (-row.form - 1,)
        for side in sides:
            yield (*before, Constraint(side))
        before += (row,)
