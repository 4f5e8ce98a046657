"""Ranges between neighbours of an increasing index array as equalities with elements of another.

    sum{e}_(ptr[v])^(ptr[v + 1] - 1) f(e)   becomes   sum{e: E: ptr.owner[e] = v} f(e)

where `ptr.owner[e]` is the v in whose range e is (`Inspected`). So a program over rows that are stored one
after the other, as in CSR, is the one that names the row of each element, as in COO, and whatever is done for
elements of an index array is done for it. Its loops come back as they were (`tad-fibres`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tadc.frontend.extents import as_form
from tadc.frontend.program import Program
from tadc.frontend.terms import Domain, Guard, Reduce, Term, bottom_up
from tadc.lattice.affine import Constraint
from tadc.lattice.fibre import fibres_in
from tadc.passes.derivatives.cancel import cancel_program
from tadc.passes.terms.inspected_arrays import Arrays


def with_owners(program: Program) -> Program:
    """The program whose conditions speak of owners; the index arrays that it needs are further arguments."""
    arrays, known, terms = Arrays(program), dict[int, Term](), program.terms
    increasing = {name for name, array in arrays.given.items() if array.increasing and not array.inspected}

    def node(term: Term, below: Sequence[Term]) -> Term:
        made = terms.rebuild(term, below)
        if not isinstance(made, Reduce | Guard):
            return made
        old = made.domain if isinstance(made, Reduce) else made.conditions
        rows = _with_owners(old, increasing, arrays)
        if rows is old:
            return made
        if isinstance(made, Guard):
            return terms.guard(rows, made.then, made.otherwise, made.span)
        return terms.reduce(made.binders, rows, made.body, kind=made.kind, hints=made.hints, span=made.span)

    if not increasing:
        return program
    found = program.with_bodies(bottom_up(d.body, known, node) for d in program.definitions)
    return found if found is program else cancel_program(arrays.in_program(found))


def _with_owners(rows: Domain, increasing: Collection[str], arrays: Arrays) -> Domain:
    """Conditions with the owner of what is in a range in the place of that; what more they say stays."""
    for found in fibres_in(rows, increasing):
        owner = arrays.owner(found.array)
        equal = Constraint(owner.lookup([found.place]) - found.values[0], equality=True)
        if equal not in rows:
            inside = (Constraint(found.place), Constraint(as_form(owner.shape[0]) - 1 - found.place))
            left = (row for row in rows if not found.exactly or row not in found.rows)
            return _with_owners((*dict.fromkeys((*inside, *left)), equal), increasing, arrays)
    return rows
