"""Index arrays whose values are spread evenly, to count what a program does without their data.

The n-th element of an increasing array of s elements in m is `n*(m - 1) // (s - 1)`, so that all its fibres
are about equally long; that of an array of ranges is `n*m // s`; any other is `n % m`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from tadc.frontend.extents import shape_at
from tadc.frontend.program import Argument, Program
from tadc.frontend.terms import Term, Terms, index_forms, reachable
from tadc.lattice.affine import ZERO, Affine, Floor, Lookup

FEW = 8
"""So many elements are taken for a fibre, where the sizes of its array are not known."""


def with_even_lookups(program: Program) -> Program:
    """The program without index arrays, each element of which is a form of its place. It has no sizes."""
    arrays = program.index_arrays()
    if not arrays:
        return program
    return program.with_bodies(evened(program.terms, d.body, arrays) for d in program.definitions)


def evened(terms: Terms, root: Term, arrays: Mapping[str, Argument]) -> Term:
    """A term with forms in the place of lookups; in fibres of arrays that are not told are `FEW` elements."""
    if not any(any(form.lookups()) for term in reachable([root]) for form in index_forms(term)):
        return root

    def value(atom: str | Floor | Lookup) -> Affine | None:
        if not isinstance(atom, Lookup):
            return None
        at = tuple(form.replace(value) for form in atom.at)
        return _evenly(at, atom.below, arrays.get(atom.array))

    return terms.with_forms(root, lambda form: form.replace(value))


def _evenly(at: tuple[Affine, ...], below: Affine, array: Argument | None) -> Affine:
    """The element at a place."""
    if not at:
        return ZERO
    if array is None:
        return at[-1] * FEW
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
