"""Reductions whose steps grow faster than the elements of index arrays, which counts do not show.

Counts take all values of an index array to be equally frequent. Then a walk over the fibre that a place is
in, for each place, takes few steps; where one value has nearly all places, the square of their number. And a
walk over all places that tests each for an element is what no fibre says.
"""

from __future__ import annotations

from collections.abc import Iterator

from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import Guard, Reduce, Term, Terms, operands
from tadc.lattice.affine import Constraint, Lookup
from tadc.lattice.fibre import fibre_of


def uneven_walks(program: Program) -> tuple[str, ...]:
    """What a program as it is compiled walks for each place, or for each element, in a few words."""
    if not program.index_arrays():
        return ()
    names = {a.name: a.inspected.of[0] if a.inspected else a.name for a in program.arguments}
    found = (walk for d in program.definitions for walk in _walks(program.terms, d, names))
    return tuple(dict.fromkeys(found))


def _walks(terms: Terms, definition: Definition, names: dict[str, str]) -> Iterator[str]:
    """Those of one definition."""
    stack, seen = (
        list[tuple[Term, bool]]([(definition.body, bool(definition.shape))]),
        set[tuple[int, bool]](),
    )
    while stack:
        term, inside = stack.pop()
        if (term.number, inside) in seen:
            continue
        seen.add((term.number, inside))
        if not isinstance(term, Reduce):
            stack += [(below, inside) for below in operands(term)]
            continue
        binders, domain, body = terms.open(term)
        stack.append((body, True))
        fibres = {name: fibre_of(name, domain) for name in binders}
        for fibre in filter(None, fibres.values()):
            if inside and any(form.has_lookups for form in fibre.values):
                array = names[fibre.array]
                yield f"{definition.name}: for each place of `{array}` all places with the same element"
        free = {name for name, fibre in fibres.items() if fibre is None}
        for lookup in _tested(domain, body):
            if inside and not free.isdisjoint(lookup.variables):
                yield f"{definition.name}: for each element all places of `{names[lookup.array]}`"


def _tested(domain: tuple[Constraint, ...], body: Term) -> Iterator[Lookup]:
    """The elements that conditions of a reduction, and of what it reduces, ask for."""
    rows = [row for row in domain if row.equality]
    while isinstance(body, Guard):
        rows += body.conditions
        body = body.then if body.then.free else body.otherwise
    for row in rows:
        yield from row.form.lookups()
