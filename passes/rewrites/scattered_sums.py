"""Sums over fibres with scattered reads, in blocks of elements whose summands are read in order.

    dx[b] = sum{q}_(col.ptr[b])^(col.ptr[b + 1] - 1) (v[col.perm[q]] * dy[row.col.taken[q]])

reads each element of `v` from another cache line, far from the processor. Instead, `dx` is computed in blocks
that stay in a near cache, from the entries of all their fibres, which are those of `k[e] = col[e]//64`:

    dx[b] = sum{q: col.k.taken[q] = b}_(k.ptr[b//64])^(k.ptr[b//64 + 1] - 1) (v[k.perm[q]] * …)

The equality determines b from q. With the loops interchanged (`nest/primitives/scattered.py`), the entries of
a block are read once, in the order of their positions, and each is added to its element. The order of the
summands stays, and each element belongs to one block, computed by one thread.
"""

from __future__ import annotations

from collections.abc import Iterator

from tadc.frontend.extents import as_form
from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import Read, Reduce, Term, holds_reduction, reachable
from tadc.lattice.affine import Affine, Constraint
from tadc.lattice.fibre import fibre_of
from tadc.lattice.late_dataclasses import dataclass
from tadc.passes.terms.costs import ELEMENT, FEW_ELEMENTS, LINE, SECOND, bytes_of
from tadc.passes.terms.inspected_arrays import Arrays

NEAR = SECOND

LEAST_ELEMENTS = FEW_ELEMENTS
"""Where elements are fewer, additions to one wait for each other."""

LEAST_BLOCKS = 4
"""So many threads have work. Each block reads again most lines of what its entries read."""

MULTIPLE = LINE
"""Blocks begin at multiples of it: no two threads write one line."""


def with_scattered_sums(program: Program) -> Program:
    """The program with such sums in blocks; the index arrays that they need are further arguments."""
    if program.sizes or not program.index_arrays():
        return program
    arrays = Arrays(program)
    found = program.with_bodies(_ScatteredSum(program, arrays, d).scattered() for d in program.definitions)
    return found if found is program else arrays.in_program(found)


@dataclass
class _ScatteredSum:
    """The sum that a definition is, if it is one."""

    program: Program
    arrays: Arrays
    definition: Definition

    def scattered(self) -> Term:
        """The body with the sum in blocks; the body itself where that does not pay."""
        made, body = self.definition, self.definition.body
        if not isinstance(body, Reduce) or body.kind != "sum" or len(body.binders) != 1:
            return body
        if len(made.indices) != 1 or made.order is not None or body.type != made.type:
            return body
        fibre = fibre_of(body.binders[0], body.domain)
        if fibre is None or fibre.values != (Affine.var(made.indices[0]),) or not fibre.is_all(body.domain):
            return body
        of = self.arrays.made_of("ptr", fibre.array)
        return self.in_blocks(body, of[0]) if len(of) == 1 and self.pays(body, of[0]) else body

    def pays(self, body: Reduce, source: str) -> bool:
        """Whether there are many fibres, and they read what no cache near holds at places all over it."""
        (elements,) = self.definition.shape
        assert isinstance(elements, int)
        if self.arrays[source].increasing or len(self.arrays[source].shape) > 1 or elements < LEAST_ELEMENTS:
            return False
        # In blocks they have another order, and a tensor that was made in that of fibres has not.
        (q,), _, inner = self.program.terms.open(body)
        return (
            not holds_reduction(body.body, {})
            and self.arrays.is_place(q, source, inner)
            and any(self.bytes(read) > NEAR for read in self.far(body.body, source))
        )

    def far(self, body: Term, source: str) -> Iterator[Read]:
        """The reads at places of the elements of an index array."""
        for term in reachable([body]):
            if isinstance(term, Read):
                arrays = {lookup.array for form in term.indices[-1:] for lookup in form.lookups()}
                if any(self.arrays.made_of("perm", name) == (source,) for name in arrays):
                    yield term

    def bytes(self, read: Read) -> int:
        return bytes_of(self.program.shapes()[read.tensor], read.type)

    def in_blocks(self, body: Reduce, source: str) -> Term:
        """The sum over the entries of the block of its element."""
        terms, arrays, count = self.program.terms, self.arrays, self.block()
        (elements,), (index,) = self.definition.shape, self.definition.indices
        assert isinstance(elements, int)
        block, shape = arrays[source].lookup([Affine.var("#0")]).floordiv(count), arrays[source].shape
        below = as_form(-(-elements // count))
        blocks = arrays.values([source], block, list(map(as_form, shape)), below).name
        ptr = arrays.ptr([blocks])
        (q,), _, inner = terms.open(body)
        place, own = Affine.var(q), Affine.var(index).floordiv(count)
        rows = (
            *ptr.fibre([own], place).rows,
            Constraint(arrays.taken(source, blocks).lookup([place]) - Affine.var(index), equality=True),
        )
        inner = arrays.resorted(terms, inner, q, source, blocks)
        return terms.reduce([q], rows, inner, hints=["q"], span=body.span)

    def block(self) -> int:
        """How many elements a block has."""
        (elements,) = self.definition.shape
        assert isinstance(elements, int)
        size = elements * ELEMENT[self.definition.type]
        blocks = max(LEAST_BLOCKS, -(-size // NEAR))
        return -(-elements // (blocks * MULTIPLE)) * MULTIPLE
