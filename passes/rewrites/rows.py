"""The elements of short rows become tensors, whose sums share expensive values.

    f[i, m: 3] = sum{j} (exp(d[i, j]) * x[j, m])

becomes

    let f_0[i] = sum{j} (exp(d[i, j]) * x[j, 0])
    let f_1[i] = sum{j} (exp(d[i, j]) * x[j, 1])
    let f_2[i] = sum{j} (exp(d[i, j]) * x[j, 2])
    f[i, m] = if {m = 0} then (f_0[i]) else (if {m = 1} then (f_1[i]) else (f_2[i]))

and `tad-fuse` evaluates the exponential once for the three sums. A tensor of all exponentials, which
`tad-materialize` would make, may be too large.

Short sums inside sums are unrolled, so that the innermost loop contains no other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import Apply, Domain, Guard, Reduce, Select, Term, reachable
from tadc.lattice.affine import Affine, Constraint, equals_zero
from tadc.lattice.polyhedron import is_empty
from tadc.passes.rewrites.row_products import short_indices
from tadc.passes.rewrites.short_sums import write_out_short_sums
from tadc.passes.terms.algebra import Algebra, is_const
from tadc.passes.terms.costs import MUCH_CODE, WORTH_COMPILING, Costs, is_candidate, points
from tadc.passes.terms.index_ranges import ranges_of, ranges_within
from tadc.passes.terms.names import Names
from tadc.passes.terms.products import product_of
from tadc.passes.terms.simplify import simplified

WORTH = MUCH_CODE
"""So many operations at least are saved for each row,"""

WORTH_IN_ALL = WORTH_COMPILING
"""and so many in all, where sizes are known: more maps take longer to compile."""


def split_rows(program: Program) -> Program:
    """The program with short rows as tensors of their own, where their sums share something expensive."""
    names = Names(program)
    definitions: list[Definition] = []
    for written in program.definitions:
        short = _short_rows(written)
        definition = replace(written, body=_sum_outside(program, written.body)) if short else written
        index = _row_index(program, definition, short)
        if index is None:
            definitions.append(written)
        else:
            definitions += _split(program, names, definition, index)
    if len(definitions) > len(program.definitions):
        program = replace(program, definitions=tuple(definitions))
    return write_out_short_sums(program)


def _short_rows(definition: Definition) -> list[str]:
    """The indices of short rows, of a tensor that has other indices too and is no recurrence."""
    return [] if definition.order is not None or len(definition.shape) < 2 else short_indices(definition)


def _row_index(program: Program, definition: Definition, short: list[str]) -> str | None:
    """The short index along which sums share what is expensive."""
    if not short:
        return None
    ranges = ranges_of(definition)
    sizes = frozenset(program.sizes)
    costs = Costs(sizes)
    best: tuple[int, str] | None = None
    for index in short:
        saved = 0
        for binders, domain, body in _sums(program, definition.body):
            own = ranges_within(binders, domain, ranges, sizes)
            shared = [t for t in _shared(body, index) if not t.free.isdisjoint(binders)]
            if index in body.free:
                saved += points(own) * sum(costs.term(t, {**ranges, **own}) for t in shared)
        saved *= max(ranges[index].extent.constant - 1, 0)
        in_all = saved * points({name: found for name, found in ranges.items() if name != index})
        enough = saved >= WORTH and (bool(program.sizes) or in_all >= WORTH_IN_ALL)
        if enough and (best is None or saved > best[0]):
            best = saved, index
    return None if best is None else best[1]


def _sum_outside(program: Program, body: Term) -> Term:
    """`if {N >= 1} then (a * sum{i: N} …) else (0)` as `(if {N >= 1} then (a) else (0)) * sum{i: N} …`.

    The sum is 0 where it has no point, whatever a is.
    """
    if not isinstance(body, Guard) or not is_const(body.otherwise, 0):
        return body
    product, algebra = product_of(body.then), Algebra(program.terms)
    sums = [factor for factor in product.over if isinstance(factor, Reduce) and factor.kind == "sum"]
    if len(sums) != 1 or product.under or len(body.conditions) != 1 or body.conditions[0].equality:
        return body
    (row,), facts = body.conditions, program.size_facts()
    if not row.form.variables <= set(program.sizes):
        return body
    if not is_empty((*facts, *sums[0].domain, Constraint(-row.form - 1))):
        return body
    factor = algebra.guard(body.conditions, product.without(sums).term(algebra), algebra.zero)
    return algebra.apply("mul", factor, sums[0])


def _sums(program: Program, root: Term) -> Iterator[tuple[tuple[str, ...], Domain, Term]]:
    """The sums that each element evaluates, opened."""
    sums = (term for term in reachable([root], _always) if isinstance(term, Reduce) and term.kind == "sum")
    return map(program.terms.open, sums)


def _shared(root: Term, index: str) -> list[Term]:
    """What is expensive in a region and the same for all values of an index, each not in another of them; of
    sums in it no part."""

    def is_shared(term: Term) -> bool:
        return index not in term.free and is_candidate(term)

    nodes = reachable([root], lambda term: () if is_shared(term) else _always(term))
    return list(filter(is_shared, nodes))


def _always(term: Term) -> tuple[Term, ...]:
    """What is evaluated for a term in any case."""
    return term.below if isinstance(term, Apply | Select) else ()


def _split(program: Program, names: Names, definition: Definition, index: str) -> Iterator[Definition]:
    """A tensor for each value of an index, and the definition that reads them."""
    terms, algebra = program.terms, Algebra(program.terms)
    place = definition.indices.index(index)
    size = definition.shape[place]
    assert isinstance(size, int)
    indices = definition.indices[:place] + definition.indices[place + 1 :]
    shape = definition.shape[:place] + definition.shape[place + 1 :]
    found: list[Definition] = []
    for value in range(size):
        part = definition.between(names.free(f"{definition.name}_{value}"), shape=shape, indices=indices)
        own = terms.substitute(definition.body, {index: Affine.const(value)})
        found.append(simplified(program, replace(part, body=own)))
    reads = [terms.read(part.name, part.own, part.type) for part in found]
    rows = ((equals_zero(Affine.var(index) - value),) for value in range(size - 1))
    yield from found
    yield replace(definition, body=algebra.first(list(zip(rows, reads, strict=False)), reads[-1]))
