"""Tensors whose sums divide an index are computed for groups, or for residues, of its elements.

    y[o, i] = sum{c: 8} (x[8*(o // 8) + c, i] * w[o, c])

becomes

    let y_0[g, r: 8, i] = sum{c: 8} (x[8*g + c, i] * w[8*g + r, c])
    y[o, i] = y_0[o // 8, o % 8, i]

where all reads are affine, so that lanes and tiles stay within a group. In the gradient by x, the sum over o
from 8*g to 8*g + 7 is shifted to start at 0. If the bounds of a sum depend on the residue,

    dx[i] = sum{t}_(max [0; -((2 - i) // 2)])^(min [9; i // 2]) (dy[t] * w[i - 2*t])

each residue becomes a tensor, `dx_0[g] = sum{t}_0^1 (dy[g + t - 1] * w[2 - 2*t])` and `dx_1`, whose sums have
the same number of steps for all elements except a few at the edges. dx interleaves them, and vectors run
along it. The gradient by w has few elements and stays one tensor. Cheap tensors stay as they are, because the
copy would cost as much.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

from tadc.frontend.extents import is_static
from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import Domain, Reduce, Term, Terms, bottom_up, index_forms, reachable
from tadc.lattice.affine import Affine, Constraint, Floor, equals_zero
from tadc.lattice.polyhedron import without_floor
from tadc.passes.terms.algebra import Algebra
from tadc.passes.terms.costs import LANES, LARGE, WORTH_COMPILING, WRITTEN_OUT, Costs, about, has_room
from tadc.passes.terms.index_ranges import ranges_of
from tadc.passes.terms.names import Names
from tadc.passes.terms.simplify import simplified

HEAVY = LARGE
"""An element of a tensor that takes so many operations, as a long sum does, is worth copying."""

WORTH = WORTH_COMPILING
"""So many operations are worth a tensor for a residue."""


def split_divided_indices(program: Program, limit: int | None = None) -> Program:
    """The program where tensors whose index is divided are computed for groups, or residues, of elements.

    What is made is as large as what it is for; `limit` bounds its bytes.
    """
    names = Names(program)
    definitions: list[Definition] = []
    for definition in program.definitions:
        definitions += _computed(program, names, definition, limit)
    return program.with_definitions(definitions)


def _computed(
    program: Program, names: Names, definition: Definition, limit: int | None
) -> Sequence[Definition]:
    """The definitions that a definition becomes: itself alone where that is best."""
    heavy = _operations(program, definition)
    if not heavy or heavy < HEAVY:
        return (definition,)
    if not has_room(definition.shape, definition.type, limit):
        return (definition,)
    if (found := _divided(definition)) is not None:
        return tuple(_split(program, names, definition, *found))
    steps = _strided(definition)
    # As many as are written out along each of two indices.
    most = min(WRITTEN_OUT**2, heavy * about(definition.shape) // WORTH)
    while steps and math.prod(steps.values()) > most:
        # Vectors go along the innermost index.
        del steps[next(iter(steps))]
    if steps:
        return tuple(_by_residue(program, names, definition, steps))
    return (definition,)


def _divided(definition: Definition) -> tuple[int, int] | None:
    """The place of an index that is divided, and by what; None where there is none."""
    for place, (index, size) in enumerate(zip(definition.indices, definition.shape, strict=True)):
        period = math.lcm(1, *_periods(definition, index))
        if isinstance(size, int) and 1 < period < size and size % period == 0:
            return place, period
    return None


def _operations(program: Program, definition: Definition) -> int:
    """About how many operations an element with sums takes; 0 where sizes are not known."""
    if definition.order is not None or not any(isinstance(t, Reduce) for t in reachable([definition.body])):
        return 0
    if not is_static(definition.shape):
        return 0
    return Costs(frozenset(program.sizes)).term(definition.body, ranges_of(definition))


def _strided(definition: Definition) -> dict[str, int]:
    """The indices that bound an index of a sum of which each step counts several times, and how many."""
    found: dict[str, int] = {}
    for term in (term for term in reachable([definition.body]) if isinstance(term, Reduce)):
        for row in term.domain:
            binders = [abs(k) for name in term.binders if (k := row.form.coefficient(name))]
            for index in definition.indices:
                if len(binders) == 1 and binders[0] > 1 and abs(row.form.coefficient(index)) == 1:
                    found[index] = math.lcm(found.get(index, 1), binders[0])
    # Where a residue has fewer elements, no vectors go along it, which alone gain by equal numbers of steps.
    sizes = zip(definition.indices, definition.shape, strict=True)
    large = [i for i, n in sizes if i in found and isinstance(n, int) and n >= LANES * found[i]]
    return {index: found[index] for index in large}


def _periods(definition: Definition, index: str) -> Iterator[int]:
    """What divides an index in a body, or comes with it where a sum runs over a group of elements."""
    for atom in _floors(definition.body):
        if index in atom.variables and atom.variables <= set(definition.indices):
            yield period_of(atom, index)
    for term in reachable([definition.body]):
        for row in term.domain if isinstance(term, Reduce) else ():
            if abs(row.form.coefficient(index)) == 1:
                yield from (abs(k) for atom, k in row.form.terms if isinstance(atom, Floor))


def _floors(body: Term) -> Iterator[Floor]:
    """The floors in all forms of a term, of its domains and guards too."""
    for term in reachable([body]):
        for form in index_forms(term):
            yield from form.floors()


def period_of(atom: Floor, index: str) -> int:
    """The least c such that with `index = c*g + r` the floor is a multiple of g and one without g."""
    period = 1
    for inner, k in atom.numerator.terms:
        if index in (inner.variables if isinstance(inner, Floor) else (inner,)):
            below = period_of(inner, index) if isinstance(inner, Floor) else 1
            period = math.lcm(period, below * (atom.denominator // math.gcd(atom.denominator, k)))
    return period


def _split(
    program: Program, names: Names, definition: Definition, place: int, period: int
) -> Iterator[Definition]:
    """The tensor with an index in two, and the definition that reads it."""
    terms, index, size = program.terms, definition.indices[place], definition.shape[place]
    assert isinstance(size, int)
    group, rest = (names.index(f"{index}_{word}", definition.indices) for word in ("group", "rest"))
    form = Affine.var(group) * period + Affine.var(rest)
    shape, indices = [*definition.shape], [*definition.indices]
    shape[place : place + 1], indices[place : place + 1] = [size // period, period], [group, rest]
    name = names.free(f"{definition.name}_0")
    inner = definition.between(name, shape=tuple(shape), indices=tuple(indices))
    yield _rewritten(program, inner, {index: form})
    own = Affine.var(index)
    at = [own.floordiv(period) if name == group else own - own.floordiv(period) * period if name == rest
          else Affine.var(name) for name in inner.indices]  # fmt: skip
    yield replace(definition, body=terms.read(inner.name, at, definition.type))


def _by_residue(
    program: Program, names: Names, definition: Definition, steps: Mapping[str, int]
) -> Iterator[Definition]:
    """A tensor for each residue of some indices, and the definition that reads them."""
    terms, algebra = program.terms, Algebra(program.terms)
    cases: list[tuple[Domain, Term]] = []
    for residues in product(*(range(step) for step in steps.values())):
        here = dict(zip(steps, residues, strict=True))
        sizes = [
            -(-(size - here[index]) // steps[index]) if index in steps and isinstance(size, int) else size
            for index, size in zip(definition.indices, definition.shape, strict=True)
        ]
        wish = "_".join([definition.name, *map(str, residues)])
        part = definition.between(names.free(wish), shape=tuple(sizes))
        yield _rewritten(program, part, {i: Affine.var(i) * steps[i] + r for i, r in here.items()})
        at = [Affine.var(i).floordiv(steps[i]) if i in steps else Affine.var(i) for i in definition.indices]
        places = [(i, form) for i, form in zip(definition.indices, at, strict=True) if i in here]
        rows = tuple(equals_zero(Affine.var(i) - form * steps[i] - here[i]) for i, form in places)
        cases.append((rows, terms.read(part.name, at, definition.type)))
    yield replace(definition, body=algebra.first(cases[:0:-1], cases[0][1]))


def _rewritten(program: Program, part: Definition, forms: Mapping[str, Affine]) -> Definition:
    """A part of a definition, where indices of the whole are forms of its own."""
    terms = program.terms
    made = simplified(program, replace(part, body=terms.substitute(part.body, forms)))
    body = _from_zero(terms, made.body, frozenset(part.indices))
    return simplified(program, replace(part, body=body))


def _from_zero(terms: Terms, body: Term, indices: frozenset[str]) -> Term:
    """A term whose sums count from 0 where they start at a form of indices."""

    def moved(term: Term, below: list[Term]) -> Term:
        made = terms.rebuild(term, below)
        if not isinstance(made, Reduce):
            return made
        binders, domain, inside = terms.open(made)
        domain = [_solved(row, binders) for row in domain]
        starts: dict[str, Affine] = {}
        for name in binders:
            lower = [Affine.var(name) - row.form for row in domain if row.form.coefficient(name) == 1]
            start = next((f for f in lower if f.variables and f.is_linear and f.variables <= indices), None)
            if start is not None:
                starts[name] = Affine.var(name) + start
        if not starts:
            return made
        rows = [row.substitute(starts) for row in domain]
        inside = terms.substitute(inside, starts)
        return terms.reduce_like(made, binders, rows, inside)

    return bottom_up(body, {}, moved)


def _solved(row: Constraint, binders: Sequence[str]) -> Constraint:
    """A row on the floor of an index of a sum as one on the index."""
    for atom in row.form.floors():
        if any(name in atom.variables for name in binders):
            return without_floor(row, atom) or row
    return row
