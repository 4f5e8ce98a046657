"""Tensors in between that are 0 where a sparse tensor stores nothing: they are stored at its places too.

    let B[i, j] = A[i, j] * d[j]        is        let B[e] = A[at e] * d[col[e]]

for `A: f64[N, M] at (row, col)`, and B[i, j] is read as an element of a sparse tensor with the pattern of A.
"""

from __future__ import annotations

from collections.abc import Sequence

from tadc.frontend.dtypes import DEFAULT
from tadc.frontend.extents import Shape
from tadc.frontend.program import Pattern
from tadc.frontend.scope import ProgramNames, ScopedTensor
from tadc.frontend.source import Span
from tadc.frontend.sparse import Sparse, SparsePart
from tadc.frontend.stored_places import pattern_arrays
from tadc.frontend.terms import Term
from tadc.lattice.affine import Affine, Lookup


def stored_let(
    name: str,
    value: Term | Sparse,
    own: Sequence[str],
    whole: Sequence[tuple[int | Affine, Span]],
    names: ProgramNames,
) -> ScopedTensor | None:
    """The sparse tensor, without a type, of a value with some indices; `whole` are the extents of these, and
    what says so. None where it is something at other places than those of one pattern."""
    if not isinstance(value, Sparse):
        return None
    patterns = {_pattern(part, own) for part in value.parts}
    at = patterns.pop()
    if patterns or not at:
        return None
    shape: Shape = tuple(extent for extent, _ in whole)
    dims = tuple(span for _, span in whole)
    pattern = Pattern(at, shape)
    arrays = pattern_arrays(pattern, names)
    if any(array.below != extent for array, extent in zip(arrays, shape, strict=False)):
        return None
    stored, first = (*arrays[0].shape, *shape[len(at) :]), (*arrays[0].dims, *dims[len(at) :])
    span = value.element
    return ScopedTensor(name, DEFAULT, stored, span, first, is_argument=False, pattern=pattern, whole=dims)


def _pattern(part: SparsePart, own: Sequence[str]) -> tuple[str, ...]:
    """The index arrays whose elements at one place are the first of some indices, which tell where a part is
    not 0; nothing where it is so at other places too."""
    found = list[Lookup]()
    for name in own:
        lookup = _element(part, name, found[0].at if found else None)
        if lookup is None:
            break
        found.append(lookup)
    is_all = part.vanishes and part.places <= set(own[: len(found)])
    return tuple(lookup.array for lookup in found) if is_all else ()


def _element(part: SparsePart, name: str, at: tuple[Affine, ...] | None) -> Lookup | None:
    """The element of an index array, at a place that a part runs over, that an index is."""
    index = Affine.var(name)
    for row in part.rows:
        for atom, _ in row.form.terms if row.equality else ():
            if not isinstance(atom, Lookup) or (at is not None and atom.at != at):
                continue
            keys = [form.terms[0][0] if form.terms else None for form in atom.at]
            is_place = all(
                key in part.keys and form == Affine.var(str(key))
                for key, form in zip(keys, atom.at, strict=True)
            )
            if is_place and row.form in (Affine.atom(atom) - index, index - Affine.atom(atom)):
                return atom
    return None
