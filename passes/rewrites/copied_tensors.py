"""Tensors that hold elements of another are not made: what reads them reads that.

    let h[j, i] = if {i >= j} then (m[i, j]) else (0),  f[j] = sum{i}_(j)^4 (h[j, i])
    is  f[j] = sum{i}_(j)^4 (m[i, j])

So what two tensors compute of `h` and of `m` is found to be one. A result that is a copy is what it copies:

    let d[t] = …,  dx[t] = d[t]    is    dx[t] = …
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import Guard, Read, Term
from tadc.lattice.affine import Affine
from tadc.passes.terms.algebra import is_const
from tadc.passes.terms.alike import with_tensors
from tadc.passes.terms.liveness import needed
from tadc.passes.terms.simplify import simplified


def without_copies(program: Program, kept: Collection[str] = ()) -> Program:
    """The program without them, but for some that are kept; it itself where there are none."""
    terms = program.terms
    copies = {d.name: d for d in program.definitions if is_copy(d) and d.name not in kept}
    if not copies:
        return program

    def copied(read: Read) -> Term | None:
        copy = copies.get(read.tensor)
        if copy is None:
            return None
        found = terms.substitute(copy.body, copy.at(read.indices))
        return terms.with_reads(found, copied, known)

    known: dict[int, Term] = {}
    definitions: list[Definition] = []
    for definition in program.definitions:
        body = terms.with_reads(definition.body, copied, known)
        is_same = body is definition.body
        definitions.append(definition if is_same else simplified(program, replace(definition, body=body)))
    return replace(program, definitions=needed(definitions))


def without_copied_results(program: Program) -> Program:
    """The program where no result is a copy of all of a tensor, unless that would change their order."""
    for place, result in enumerate(program.definitions):
        body = result.body
        if not (result.is_output and isinstance(body, Read)):
            continue
        at = next((n for n, d in enumerate(program.definitions) if d.name == body.tensor), place)
        source = program.definitions[at]
        if body.indices != result.own or (source.shape, source.type) != (result.shape, result.type):
            continue
        if source.is_output or any(d.is_output for d in program.definitions[at:place]):
            continue
        made = replace(result, indices=source.indices, body=source.body, order=source.order)
        others = (*program.definitions[:at], made, *program.definitions[at + 1 : place])
        definitions = (*others, *program.definitions[place + 1 :])
        return without_copied_results(
            _renamed(replace(program, definitions=definitions), source.name, made.name)
        )
    return program


def _renamed(program: Program, old: str, new: str) -> Program:
    terms, known = program.terms, dict[int, Term]()
    return program.with_bodies(with_tensors(terms, d.body, {old: new}, known) for d in program.definitions)


def has_own_order(definition: Definition) -> bool:
    """Whether a copy has its elements in another order in memory, or others besides them."""
    body = definition.body
    if not isinstance(body, Read):
        return True
    shifts = [form - Affine.var(n) for n, form in zip(definition.indices, body.indices, strict=False)]
    return len(shifts) != len(body.indices) or not all(shift.is_constant for shift in shifts)


def is_copy(definition: Definition) -> bool:
    """Whether all that a tensor between others holds is elements of one."""
    body = definition.body
    if isinstance(body, Guard) and is_const(body.otherwise, 0):
        body = body.then
    return not definition.is_output and isinstance(body, Read) and body.type == definition.type
