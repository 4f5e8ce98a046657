"""If a tensor adds up several contractions, all but the last become tensors of their own.

    g[b, i] = sum{k} (w[i, k] * x[b, k]) + sum{k} (u[i, k] * h[b, k])
    is  let g_0[b, i] = sum{k} (w[i, k] * x[b, k]),  g[b, i] = g_0[b, i] + sum{k} (u[i, k] * h[b, k])

A contraction is fast if its operands are packed for its loop, and a nest packs for one loop only. The
additional tensor costs a store and a load per long sum; rounding is the same.

A sum too long for its packed operands to stay in a cache is computed in blocks, with partial results in
memory, which need a tensor of the sum itself. So the sum in `y[i, j] = c * sum{k} (...)`, over many k,
becomes a tensor too.
"""

from __future__ import annotations

import math

from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import Apply, Read, Reduce, Term, bottom_up, in_text_order, operands, reachable
from tadc.passes.terms.costs import BUFFER, LINE, extent, has_room
from tadc.passes.terms.index_ranges import Range, ranges_of, ranges_within
from tadc.passes.terms.names import Names
from tadc.passes.terms.products import product_of
from tadc.passes.where import TAKE_ALL, Takes

LEAST_STEPS = 16
"""A shorter sum takes no longer than its store and load."""

LONG = BUFFER // (4 * LINE)
"""Panels of so many steps take all that they may of the second cache (`passes/schedule/packing.py`): each is
as long as four vectors."""


def separate_contractions(program: Program, limit: int | None = None, takes: Takes = TAKE_ALL) -> Program:
    """The program with one contraction a tensor that it `takes`, each of at most `limit` bytes."""
    names: Names | None = None
    made: list[Definition] = []
    for definition in program.definitions:
        found = (
            _contractions(program, definition) if has_room(definition.shape, definition.type, limit) else []
        )
        if found and not _ends_long(found, definition, program):
            found = found[:-1]
        instead: dict[int, Term] = {}
        for term in found if found and takes(definition.name) else ():
            names = names or Names(program)
            own = definition.between(names.free(f"{definition.name}_0"), body=term)
            made.append(own)
            instead[term.number] = program.terms.read(own.name, own.own, own.type)
        body = bottom_up(definition.body, instead, program.terms.rebuild) if instead else definition.body
        made.append(definition.with_body(body))
    return program.with_definitions(made)


def _ends_long(found: list[Reduce], definition: Definition, program: Program) -> bool:
    """Whether the last of these sums is known to have so many steps that it is computed in blocks, and is not
    the value as it stands."""
    last = found[-1]
    if last is definition.body:
        return False
    own = _ranges(last, definition, program).values()
    known = all(each is not None and each.extent.is_constant for each in own)
    return known and _steps(last, definition, program) >= LONG


def _ranges(term: Reduce, definition: Definition, program: Program) -> dict[str, Range | None]:
    return ranges_within(term.binders, term.domain, ranges_of(definition), frozenset(program.sizes))


def _steps(term: Reduce, definition: Definition, program: Program) -> int:
    """The number of steps of a sum; a large one where that is not known."""
    own = _ranges(term, definition, program)
    return math.prod(map(extent, own.values()))


def _contractions(program: Program, definition: Definition) -> list[Reduce]:
    """The long contractions that each element evaluates, in order."""
    if definition.order is not None:
        return []
    # What an element evaluates under no choice, and in no reduction but its own.
    return [
        term
        for term in in_text_order(definition.body, lambda t: operands(t) if isinstance(t, Apply) else ())
        if isinstance(term, Reduce)
        and term.type == definition.type
        and _is_contraction(term, definition)
        and _steps(term, definition, program) >= LEAST_STEPS
    ]


def _is_contraction(term: Reduce, definition: Definition) -> bool:
    """Whether a sum multiplies two factors, each of which is the same for some elements of the tensor."""
    if term.kind != "sum":
        return False
    indices = set(definition.indices)
    if not indices <= term.free:
        return False
    factors = [
        factor.free & indices
        for factor in product_of(term.body).over
        if not factor.free.isdisjoint(term.binders) and any(isinstance(t, Read) for t in reachable([factor]))
    ]
    return len(factors) > 1 and all(own < indices for own in factors)
