"""Programs of lists of entries for a block of their rows, which is computed where it stays near.

    s[e, a] = x[t[e], a]**2
    list_1[e, a] = w[e]*s[e, a]

has a row for each e: what it reads of s, t and w is in the same row, and of x anything. So the same program
with fewer rows, of t and w alone, computes these rows of the list. Rows come last in a block, where lanes are
rows however short they are: `list_1[a, e]`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TypeVar

from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import Read, Term, index_forms, reachable
from tadc.lattice.affine import Affine, Floor, Lookup
from tadc.lattice.late_dataclasses import dataclass, field, replace
from tadc.passes.supports.entry_listing import ListedRows

T = TypeVar("T")

#: A tensor without rows, of so many elements at most, is computed again for each block.
FEW = 64


def rows_of(program: Program) -> ListedRows | None:
    """What has a row for each one of the outputs; None where some need more than their row."""
    found = _rows_of(program)
    if found is None:
        return None
    rest = [_numbers(d)[1:] for d in program.definitions if d.name in found.names]
    names = tuple(a.name for a in program.arguments if a.name in found.names)
    return ListedRows(names, sum(map(math.prod, rest)))


def block_program(program: Program, rows: int) -> Program:
    """The program for so many rows, which come last in all that it computes."""
    found = _rows_of(program)
    assert found is not None
    computed = {d.name for d in program.definitions} & found.names

    def with_last(read: Read) -> Term | None:
        is_computed = read.tensor in computed
        return program.terms.reread(read, read.tensor, _last(read.indices)) if is_computed else None

    known: dict[int, Term] = {}
    definitions = tuple(
        replace(
            d,
            shape=(*d.shape[1:], rows),
            indices=_last(d.indices),
            body=program.terms.with_reads(d.body, with_last, known),
        )
        if d.name in computed
        else d
        for d in program.definitions
        if d.name in computed or d.name in found.others
    )
    arguments = tuple(
        replace(a, shape=(rows, *a.shape[1:])) if a.name in found.names else a for a in program.arguments
    )
    return replace(program, arguments=arguments, definitions=definitions, doubts=())


def _last(items: tuple[T, ...]) -> tuple[T, ...]:
    return (*items[1:], items[0])


@dataclass
class _Found:
    """The tensors that have rows, and the others that these read."""

    names: set[str] = field(default_factory=set[str])
    others: set[str] = field(default_factory=set[str])


def _rows_of(program: Program) -> _Found | None:
    """Which tensors have a row for each one of the outputs; None where one reads more than its own row."""
    by_name = {d.name: d for d in program.definitions}
    arguments = {a.name: a for a in program.arguments}
    extents = {d.shape[:1] for d in program.outputs}
    if len(extents) != 1 or () in extents or any(a.inspected or a.pattern for a in program.arguments):
        return None
    (extent,) = extents
    found, waiting = _Found(), [d.name for d in program.outputs]
    while waiting:
        name = waiting.pop()
        definition = by_name[name]
        row = definition.indices[0] if name in found.names or definition.is_output else None
        if definition.order is not None or definition.pattern is not None:
            return None
        if row is not None:
            found.names.add(name)
        for tensor, has_row in _reads(definition, row):
            if tensor is None:
                return None
            if tensor not in found.names | found.others and tensor in by_name:
                waiting.append(tensor)
            (found.names if has_row else found.others).add(tensor)
    tensors = {**arguments, **by_name}
    if found.names & found.others or any(tensors[name].shape[:1] != extent for name in found.names):
        return None
    again = [math.prod(_numbers(by_name[name])) for name in found.others & by_name.keys()]
    return found if sum(again) <= FEW else None


def _numbers(definition: Definition) -> list[int]:
    return [size if isinstance(size, int) else FEW + 1 for size in definition.shape]


def _reads(definition: Definition, row: str | None) -> Iterator[tuple[str | None, bool]]:
    """The tensors that an element reads, with whether that is in its row; None for what reads others."""
    own = None if row is None else Affine.var(row)
    for term in reachable([definition.body]):
        forms = index_forms(term)
        if isinstance(term, Read):
            has_row = own is not None and forms[:1] == (own,)
            yield term.tensor, has_row
            forms = forms[1:] if has_row else forms
        for form in forms:
            yield from _in_form(form, own)


def _in_form(form: Affine, own: Affine | None) -> Iterator[tuple[str | None, bool]]:
    for atom, _ in form.terms:
        match atom:
            case Lookup():
                has_row = own is not None and atom.at[:1] == (own,)
                yield atom.array, has_row
                for part in atom.at[has_row:]:
                    yield from _in_form(part, own)
            case Floor():
                yield from _in_form(atom.numerator, own)
            case str() if own == Affine.var(atom):
                yield None, False
            case _:
                pass
