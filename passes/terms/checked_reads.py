"""Reads of IR that can leave their tensor, or are of an element not computed yet, each with a point.

Elements of index arrays in index forms are reads too.

Programs of the language are proven in range by the checker, at their source; IR that comes from
elsewhere is proven here, before anything is lowered.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from tadc.frontend.extents import Extent, Shape
from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import Below, Domain, Guard, Read, Reduce, Term, Terms, Where, index_forms, operands
from tadc.lattice.affine import Affine, Constraint
from tadc.lattice.late_dataclasses import dataclass
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
class CheckedRead:
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
    found, spoken = list[OutOfRange](), dict[str, str]()
    for access, sides, facts in accesses(program, shapes, definition, spoken=spoken):
        failing = (_failure(side, facts, program.excluded) for side in sides)
        point = next((point for point in failing if point is not None), None)
        if point is None:
            continue
        names = {name: re.sub(r"\?\w+", lambda n: spoken.get(n[0], n[0]), name) for name in sorted(point)}
        at = ", ".join(f"{name} = {point[old]}" for old, name in names.items())
        unknown = [*access.form.variables, *map(str, access.form.lookups())]
        value = access.form.evaluate({**dict.fromkeys(unknown, 0), **point})
        found.append(OutOfRange(access.tensor, access.place, access.dimension, access.size, value, at))
    return found


def all_proven(program: Program, shapes: dict[str, Shape], definition: Definition) -> bool:
    """Whether each read of a definition that could join a program is proven to be in range.

    There is no search for points: what is not proven does not hold.
    """
    found = (found for found in accesses(program, shapes, definition) if found[0].dimension is not None)
    return all(implied(side, facts) for _, sides, facts in found for side in sides)


def own_reads(program: Program, definition: Definition) -> list[tuple[Read, Domain]]:
    """The reads of a recurrence of itself, each with what holds where it is evaluated."""
    nodes = evaluated(program.terms, definition.body, program.facts(definition))
    return [(t, facts) for t, _, facts in nodes if isinstance(t, Read) and t.tensor == definition.name]


def evaluated(
    terms: Terms, root: Term, facts: Domain, spoken: dict[str, str] | None = None, below: Below = operands
) -> Iterator[tuple[Term, Domain, Domain]]:
    """Every node that `below` leads to, with the rows that it has itself and those that hold where it stands.

    Reductions are opened, and `spoken` gets what people call their indices.
    """
    stack, seen = [(root, facts)], set[tuple[int, Domain]]()
    while stack:
        term, known = stack.pop()
        if (term.number, known) in seen:
            continue
        seen.add((term.number, known))
        match term:
            case Reduce():
                binders, rows, body = terms.open(term)
                if spoken is not None:
                    spoken |= {b: h or b for b, h in zip(binders, term.hints, strict=True)}
                stack.append((body, known + rows))
            case Guard(conditions=rows):
                stack += [(term.otherwise, case) for case in reversed(outside(rows, known))]
                stack.append((term.then, known + rows))
            case _:
                rows = ()
                stack += [(part, known) for part in below(term)]
        yield term, rows, known


def accesses(
    program: Program,
    shapes: Mapping[str, Shape],
    definition: Definition,
    facts: Domain | None = None,
    spoken: dict[str, str] | None = None,
) -> Iterator[tuple[CheckedRead, tuple[Affine, ...], Domain]]:
    """What is read, the forms that are not to be less than 0 there, and what holds where it is read.

    `facts` are those of the elements that are computed; by default all of the definition's.
    """
    facts = program.facts(definition) if facts is None else facts

    def element(
        tensor: str, at: Sequence[Affine], place: Where | None, facts: Domain
    ) -> Iterator[tuple[CheckedRead, tuple[Affine, ...], Domain]]:
        for dimension, (form, size) in enumerate(zip(at, shapes[tensor], strict=True)):
            yield CheckedRead(tensor, place, dimension, size, form), (form, size - 1 - form), facts

    order = definition.order
    for term, rows, known in evaluated(program.terms, definition.body, facts, spoken):
        forms = [row.form for row in rows] or index_forms(term)
        for lookup in dict.fromkeys(lookup for form in forms for lookup in form.lookups()):
            # Those in rows, where the rows without the element hold.
            others = tuple(row for row in rows if lookup not in row.form.lookups())
            yield from element(lookup.array, lookup.at, term.span, known + others)
        if isinstance(term, Read):
            yield from element(term.tensor, term.indices, term.span, known)
            if order is not None and term.tensor == definition.name:
                back = order - order.substitute(definition.at(term.indices))
                yield CheckedRead(term.tensor, term.span, None, 0, back), (back - 1,), known


def _failure(side: Affine, facts: Domain, excluded: Sequence[Domain]) -> dict[str, int] | None:
    """A point where a form is less than 0; None if there is none."""
    return None if implied(side, facts) else violation((*facts, Constraint(-side - 1)), excluded)


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
