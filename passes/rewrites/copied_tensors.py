"""Tensors that hold elements of another are not made: what reads them reads that.

    let h[j, i] = if {i >= j} then (m[i, j]) else (0),  f[j] = sum{i}_(j)^4 (h[j, i])
    is  f[j] = sum{i}_(j)^4 (m[i, j])

So what two tensors compute of `h` and of `m` is found to be one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import Guard, Read, Term, bottom_up
from tadc.passes.terms.algebra import is_const
from tadc.passes.terms.liveness import needed
from tadc.passes.terms.simplify import Simplifier


def without_copies(program: Program, kept: Collection[str] = ()) -> Program:
    """The program without them, but for some that are kept; it itself where there are none."""
    terms = program.terms
    copies = {d.name: d for d in program.definitions if is_copy(d) and d.name not in kept}
    if not copies:
        return program

    def node(term: Term, below: Sequence[Term]) -> Term:
        if not (isinstance(term, Read) and term.tensor in copies):
            return terms.rebuild(term, below)
        copy = copies[term.tensor]
        found = terms.substitute(copy.body, dict(zip(copy.indices, term.indices, strict=True)))
        return bottom_up(found, known, node)

    known: dict[int, Term] = {}
    definitions: list[Definition] = []
    for definition in program.definitions:
        body = bottom_up(definition.body, known, node)
        if body is not definition.body:
            body = Simplifier(terms).visit(body, program.facts(definition))
            definition = replace(definition, body=body)
        definitions.append(definition)
    return replace(program, definitions=needed(definitions))


def is_copy(definition: Definition) -> bool:
    """Whether all that a tensor between others holds is elements of one."""
    body = definition.body
    if isinstance(body, Guard) and is_const(body.otherwise, 0):
        body = body.then
    return not definition.is_output and isinstance(body, Read) and body.type == definition.type
