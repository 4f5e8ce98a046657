"""Elements of index arrays are stored in the order in which loops over fibres read them.

In the loop over the fibre of a value, `ptr[v] <= q < ptr[v + 1]` of `src`, `dst[src.perm[q]]` is
`dst.src.taken[q]`, which the inspector sorts by the positions of `src`, so that neighbouring elements are
read one after the other. Computed index arrays without lookups are dropped.
"""

from __future__ import annotations

from tadc.frontend.program import Program
from tadc.lattice.affine import Affine, Floor, Lookup
from tadc.lattice.late_dataclasses import dataclass
from tadc.passes.rewrites.entries_in_order import with_entries_in_order
from tadc.passes.terms.inspected_arrays import Arrays


def packed_program(program: Program) -> Program:
    """The program with elements in the order of fibres, and without index arrays of the inspector's that
    nothing looks up."""
    if not program.index_arrays():
        return program
    arrays = Arrays(program)
    program = with_entries_in_order(program, arrays)
    packing = _LookupPacking(arrays)
    found = program.with_bodies(
        program.terms.with_forms(d.body, lambda form: form.replace(packing.value))
        for d in program.definitions
    )
    made = arrays.in_program(found)
    return program if found is program and len(made.arguments) == len(program.arguments) else made


#: Kinds of what the inspector makes that it brings into the order of another array too.
_PACKED = ("owner", "before", "until")


@dataclass
class _LookupPacking:
    arrays: Arrays

    def value(self, atom: str | Floor | Lookup) -> Affine | None:
        return self.in_order(atom) if isinstance(atom, Lookup) else None

    def in_order(self, atom: Lookup) -> Affine | None:
        """An element at a place of a `perm`, from an array that is in its order."""
        first = next(iter(atom.at), None)
        inner = next((each for each, _ in first.terms), None) if first is not None else None
        if not isinstance(inner, Lookup) or atom.at != (Affine.atom(inner),):
            return None
        about, own = self.arrays[inner.array].inspected, self.arrays[atom.array].inspected
        if about is None or about.kind != "perm" or (own is not None and own.kind not in _PACKED):
            return None
        by, *others = about.of
        if others or self.arrays[by].shape != self.arrays[atom.array].shape:
            return None
        return self.arrays.taken(atom.array, by).lookup(inner.at)
