"""Seeds that tell columns of a matrix apart.

Columns of one colour share no row (A. Curtis, M. Powell and J. Reid, 1974).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tadc.apps.undoing.forms import positions
from tadc.apps.undoing.kinds import Banded, Bands, Blocks, Class, Permutation, is_interleaved
from tadc.apps.undoing.pieces import Pieces, Seed
from tadc.toolkit.language import Affine, Constraint, Term, equals_zero


def colours(pieces: Pieces, kind: Class) -> tuple[int, dict[str, Seed]]:
    """How many colours the columns need, and the seed of each dying value, 1 in its colour's lane."""
    form = pieces.form
    if isinstance(kind, Permutation):
        return 1, {name: pieces.one for name in form.dying}
    if isinstance(kind, Blocks):
        return one_each(pieces, form.dying, kind.batch)
    if isinstance(kind, Bands):
        return _in_bands(pieces, kind)
    is_band = isinstance(kind, Banded)
    width = kind.lower + kind.upper + 1 if is_band else form.size
    left = form.size % width if is_band and kind.cyclic else 0
    # Columns are numbered as the vectors that are solved for.
    places = positions(form, form.dying, is_interleaved(kind))

    def seed(name: str) -> Seed:
        start, step, _ = places[name]

        def found(forms: Sequence[Affine]) -> Term:
            lane, *element = forms
            place = _flat(form.shapes[name], element) * step + start
            same = where(pieces, lane - (place.mod(width) if is_band else place))
            if not left:
                return same
            # The columns that do not fill a round have colours of their own.
            cut = form.size - left
            own = where(pieces, lane - (place - cut + width))
            return pieces.algebra.guard([Constraint(cut - 1 - place)], same, own)

        return found

    return width + left, {name: seed(name) for name in form.dying}


def _in_bands(pieces: Pieces, kind: Bands) -> tuple[int, dict[str, Seed]]:
    """A lane for each of so many columns in turn that share no row, in all blocks alike."""
    (name,), width = pieces.form.dying, kind.lower + kind.upper + 1
    shape = pieces.form.shapes[name][kind.batch :]

    def seed(forms: Sequence[Affine]) -> Term:
        lane, *element = forms
        return where(pieces, lane - _flat(shape, element[kind.batch :]).mod(width))

    return width, {name: seed}


def one_each(pieces: Pieces, names: Sequence[str], batch: int) -> tuple[int, dict[str, Seed]]:
    """A lane for each element beyond the dimensions of a batch."""
    seeds: dict[str, Seed] = {}
    start = 0
    for name in names:
        shape = pieces.form.shapes[name][batch:]

        def seed(forms: Sequence[Affine], shape: tuple[int, ...] = shape, start: int = start) -> Term:
            lane, *element = forms
            return where(pieces, lane - _flat(shape, element[batch:]) - start)

        seeds[name] = seed
        start += prod(shape)
    return start, seeds


def where(pieces: Pieces, form: Affine) -> Term:
    """1 where a form is 0, else 0."""
    return pieces.algebra.guard([equals_zero(form)], pieces.algebra.one, pieces.algebra.zero)


def _flat(shape: Sequence[int], forms: Sequence[Affine]) -> Affine:
    flat = Affine.const(0)
    for extent, form in zip(shape, forms, strict=True):
        flat = flat * extent + form
    return flat
