"""Index arrays whose values are spread evenly, to count what a program does without their data.

The n-th element of an increasing array of s elements in m is `n*(m - 1) // (s - 1)`, so that all its fibres
are about equally long; that of an array of ranges is `n*m // s`; any other is `n % m`, and one more where
a range ends of what is equal elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from tadc.frontend.extents import shape_at
from tadc.frontend.program import Argument, Program
from tadc.frontend.terms import Term, Terms, bottom_up
from tadc.lattice.affine import ZERO, Affine, Floor, Lookup
from tadc.lattice.late_dataclasses import dataclass, field
from tadc.passes.terms.costs import FIBRE
from tadc.passes.terms.inspected_arrays import ends_match, lookups_of


@dataclass
class EvenLookups:
    """Terms with forms in the place of lookups; in fibres of arrays that are not told are `FIBRE` elements.

    `known` has what was made of terms by their numbers.
    """

    terms: Terms
    arrays: Mapping[str, Argument]
    known: dict[int, Term] = field(default_factory=dict[int, Term])

    def program(self, program: Program) -> Program:
        """A program without sizes that looks up nothing."""
        return program.with_bodies(self.term(d.body) for d in program.definitions)

    def term(self, root: Term) -> Term:
        """A term that looks up nothing."""
        return bottom_up(root, self.known, lambda node, below: self.terms.rebuild(node, below, self.form))

    def form(self, form: Affine) -> Affine:
        """A form over places alone."""
        return form.replace(self.value) if form.has_lookups else form

    def value(self, atom: str | Floor | Lookup) -> Affine | None:
        """What stands for a lookup."""
        if not isinstance(atom, Lookup):
            return None
        found = _evenly(tuple(map(self.form, atom.at)), atom.below, self.arrays.get(atom.array))
        return found + 1 if ends_match(atom.array) else found


def looks_up(roots: Iterable[Term]) -> bool:
    """Whether terms have elements of index arrays."""
    return any(True for _ in lookups_of(roots))


def _evenly(at: tuple[Affine, ...], below: Affine, array: Argument | None) -> Affine:
    """The element at a place."""
    if not at:
        return ZERO
    if array is None:
        return at[-1] * FIBRE
    shape = shape_at(array.shape, {})
    place = ZERO
    for form, size in zip(at, shape, strict=True):
        place = place * size + form
    count, most = math.prod(shape), below.constant
    if array.increasing or (array.inspected and array.inspected.kind == "ptr"):
        return (place * (most - 1)).floordiv(count - 1) if count > 1 else ZERO
    if array.inspected and array.inspected.kind == "owner":
        return (place * (most - 1)).floordiv(count) if count else ZERO
    return place.mod(most) if most > 0 else ZERO
