"""Elements of index arrays in the order of fibres: read one after the other, or known.

In the loop over the fibre of a value, `ptr[v] <= q < ptr[v + 1]` of `src`,

    src[src.perm[q]]   is   v,
    dst[src.perm[q]]   is   dst.src.taken[q]

where the inspector has brought `dst` into the order of the places of `src`: the one array is read at places
next to each other, the other at any.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tadc.frontend.program import Program
from tadc.frontend.terms import Domain, Reduce, Term, Terms, operands
from tadc.lattice.affine import Affine, Floor, Lookup
from tadc.passes.terms.inspected_arrays import Arrays

Known = Mapping[Lookup, Affine]
"""Values of elements."""


def packed_program(program: Program) -> Program:
    """The program with elements in the order of fibres, and without index arrays of the inspector's that
    nothing looks up."""
    if not program.index_arrays():
        return program
    arrays = Arrays(program)
    walk = _Packing(program.terms, arrays)
    found = program.with_bodies(walk.term(d.body, {}) for d in program.definitions)
    arguments = arrays.used_by(found)
    if found is program and len(arguments) == len(program.arguments):
        return program
    return replace(found, arguments=arguments, sizes=(*program.sizes, *arrays.counts))


@dataclass
class _Packing:
    terms: Terms
    arrays: Arrays
    memo: dict[tuple[int, tuple[Lookup, ...]], Term] = field(
        default_factory=dict[tuple[int, tuple[Lookup, ...]], Term]
    )

    def term(self, term: Term, known: Known) -> Term:
        """The term where elements have these values."""
        key = term.number, tuple(known)
        if key not in self.memo:
            self.memo[key] = self.rewritten(term, known)
        return self.memo[key]

    def rewritten(self, term: Term, known: Known) -> Term:
        """The term, where it is new under these values."""
        if not isinstance(term, Reduce):
            below = [self.term(t, known) for t in operands(term)]
            return self.terms.rebuild(term, below, lambda form: self.form(form, known))
        binders, rows, body = self.terms.open(term)
        inner = {**known, **self.told(binders, rows)}
        rows = tuple(replace(row, form=self.form(row.form, inner)) for row in rows)
        body = self.term(body, inner)
        return self.terms.reduce(binders, rows, body, kind=term.kind, hints=term.hints, span=term.span)

    def told(self, binders: tuple[str, ...], rows: Domain) -> Known:
        """The values of the elements that indices run over the fibres of."""
        found: dict[Lookup, Affine] = {}
        for name in binders:
            index = Affine.var(name)
            for row in rows:
                low = next((atom for atom, k in row.form.terms if isinstance(atom, Lookup) and k == -1), None)
                about = None if low is None else self.arrays[low.array].inspected
                if low is None or about is None or about.kind != "ptr":
                    continue
                if row.form != index - Affine.atom(low):
                    continue
                after = replace(low, at=(*low.at[:-1], low.at[-1] + 1))
                if not any(other.form == Affine.atom(after) - 1 - index for other in rows):
                    continue
                places = [self.arrays.perm(about.of, axis) for axis in range(len(self.shape(about.of[0])))]
                at = tuple(array.lookup([index]) for array in places)
                for array, value in zip(about.of, low.at, strict=True):
                    ((lookup, _),) = self.arrays[array].lookup(at).terms
                    assert isinstance(lookup, Lookup)
                    found[lookup] = value
        return found

    def shape(self, array: str) -> tuple[object, ...]:
        """The extents of an index array."""
        return self.arrays[array].shape

    def form(self, form: Affine, known: Known) -> Affine:
        """A form with what is known, or in order."""
        if not any(form.lookups()):
            return form

        def value(atom: str | Floor | Lookup) -> Affine | None:
            if not isinstance(atom, Lookup):
                return None
            if atom in known:
                return known[atom]
            return self.in_order(atom)

        return form.replace(value)

    def in_order(self, atom: Lookup) -> Affine | None:
        """An element at a place of a `perm`, from an array that is in its order."""
        inner = next((each for each, _ in atom.at[0].terms), None) if len(atom.at) == 1 else None
        if not isinstance(inner, Lookup) or atom.at[0] != Affine.atom(inner):
            return None
        about, own = self.arrays[inner.array].inspected, self.arrays[atom.array].inspected
        if about is None or about.kind != "perm" or (own is not None and own.kind != "owner"):
            return None
        if len(about.of) > 1 or self.shape(about.of[0]) != self.shape(atom.array):
            return None
        return self.arrays.taken(atom.array, about.of[0]).lookup(inner.at)
