"""Values of entries that are computed in the order of an index array's fibres.

    dw[e] = sum{c} (dy[dst[e], c] * x[src[e], c])

reads for each entry a row of `dy` and one of `x` that are anywhere in memory. In the order of the places of
`dst` all entries of a node read the same row of `dy`, one after the other:

    let dw_0[q] = sum{c} (dy[dst[dst.perm[q]], c] * x[src[dst.perm[q]], c])
    dw[e] = dw_0[dst.perm.perm[e]]

Where an entry stands in that order say the places of places, `dst.perm.perm`. What reads `dw` in that order
reads `dw_0`. It is done where rows are long, so that to move a number of each entry is little beside them,
and where the order is known: the program walks fibres of the array anyway.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import Read, Term, reachable
from tadc.lattice.affine import Affine, Lookup
from tadc.passes.terms.costs import LINE, SECOND, bytes_of
from tadc.passes.terms.inspected_arrays import Arrays
from tadc.passes.terms.names import Names

NEAR = SECOND

ROWS = 2
"""So many lines of rows are read less for each line that is read out of order instead."""


def with_entries_in_order(program: Program, arrays: Arrays) -> Program:
    """The program with such tensors in the order of fibres; `arrays` are its index arrays."""
    if program.sizes:
        return program
    ordering = _Ordering(program, arrays)
    return program.with_definitions(one for d in program.definitions for one in ordering.definitions(d))


class _Ordering:
    """Definitions one after the other; of those in order `ordered` has the tensor that is, and the order."""

    def __init__(self, program: Program, arrays: Arrays) -> None:
        self.terms, self.arrays, self.names = program.terms, arrays, Names(program)
        self.shapes = {each.name: each.shape for each in (*program.arguments, *program.definitions)}
        self.ordered: dict[str, tuple[str, str]] = {}
        reads = [read for read in reachable(d.body for d in program.definitions) if isinstance(read, Read)]
        self.asked = {(read.tensor, each.array) for read in reads for each in _lookups(read.indices[:1])}
        """Tensors, each with an array whose elements say of which entry it is read."""

    def definitions(self, definition: Definition) -> list[Definition]:
        """A definition, after that of a tensor in order where this pays."""
        made = definition.with_body(self.reading(definition.body))
        by = self.best_order(made)
        if by is None:
            return [made]
        perm, (first, *others) = self.arrays.perm([by], 0), made.indices
        place, name = self.names.index("q", made.indices), self.names.free(f"{made.name}_0")
        body = self.terms.substitute(made.body, {first: perm.lookup([Affine.var(place)])})
        indices, own = (place, *others), made.type
        in_order = Definition(name, own, made.shape, indices, body, is_output=False, span=made.span)
        rank = self.arrays.perm([perm.name], 0).lookup([Affine.var(first)])
        self.ordered[made.name], self.shapes[name] = (name, perm.name), made.shape
        return [in_order, replace(made, body=self.terms.read(name, (rank, *map(Affine.var, others)), own))]

    def reading(self, body: Term) -> Term:
        """A term that reads in the order of fibres what is in that order."""

        def in_order(read: Read) -> Term | None:
            if read.tensor in self.ordered:
                name, perm = self.ordered[read.tensor]
                first, *others = read.indices
                if (place := first.lookup) is not None and place.array == perm:
                    return self.terms.reread(read, name, (*place.at, *others))
            return None

        return self.terms.with_reads(body, in_order) if self.ordered else body

    def best_order(self, definition: Definition) -> str | None:
        """The index array in whose order the most lines of rows are read less; None where none pays."""
        if definition.order is not None or not definition.shape:
            return None
        first, lines = definition.indices[0], dict[str, int]()
        own = -(-bytes_of(definition.shape[1:], definition.type) // LINE)
        for read in reachable([definition.body]):
            if not isinstance(read, Read) or not read.indices:
                continue
            shape = self.shapes[read.tensor]
            size, row = bytes_of(shape, read.type), bytes_of(shape[1:], read.type)
            by = _looked_up(read.indices[0], first)
            if by is not None and size > NEAR:
                lines[by] = lines.get(by, 0) + row // LINE
            elif by is None and any(first in form.variables for form in read.indices):
                own += -(-row // LINE)
        known = {
            a.inspected.of for a in self.arrays.given.values() if a.inspected and a.inspected.kind == "perm"
        }
        found = [by for by in lines if (by,) in known and self.arrays[by].shape == definition.shape[:1]]

        def gain(by: str) -> tuple[int, bool]:
            return lines[by], (definition.name, self.arrays.perm([by], 0).name) in self.asked

        best = max(found, key=gain, default=None)
        return best if best is not None and lines[best] >= ROWS * own else None


def _lookups(forms: Sequence[Affine]) -> Iterator[Lookup]:
    return (lookup for form in forms for lookup in form.lookups())


def _looked_up(form: Affine, index: str) -> str | None:
    """The index array whose element at an index a form is."""
    lookup = form.lookup
    return lookup.array if lookup is not None and lookup.at == (Affine.var(index),) else None
