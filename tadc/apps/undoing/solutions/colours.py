"""Seeds that tell columns of a matrix apart.

Columns of one colour share no row (A. Curtis, M. Powell and J. Reid, 1974).
"""

from __future__ import annotations

from collections.abc import Sequence

from tadc.apps.undoing.plans.forms import flat, positions
from tadc.apps.undoing.plans.kinds import MatrixClass
from tadc.apps.undoing.solutions.pieces import Pieces, Seed
from tadc.toolkit.language import Affine, Constraint, Term, equals_zero


def colours(pieces: Pieces, names: Sequence[str], kind: MatrixClass) -> tuple[int, dict[str, Seed]]:
    """How many colours the columns need, and the seed of each value, 1 in its colour's lane."""
    width = kind.width
    left = kind.size % width if kind.cyclic else 0
    # Columns are numbered as the vectors that are solved for.
    places = positions(pieces.form, names, kind.interleaved, kind.batch)

    def seed(name: str) -> Seed:
        start, step, _ = places[name]

        def found(forms: Sequence[Affine]) -> Term:
            lane, *element = forms
            place = flat(pieces.form.shapes[name][kind.batch :], element[kind.batch :]) * step + start
            same = where(pieces, lane - (place if width == kind.size else place.mod(width)))
            if not left:
                return same
            # The columns that do not fill a round have colours of their own.
            cut = kind.size - left
            own = where(pieces, lane - (place - cut + width))
            return pieces.algebra.guard([Constraint(cut - 1 - place)], same, own)

        return found

    return width + left, {name: seed(name) for name in names}


def where(pieces: Pieces, form: Affine) -> Term:
    """1 where a form is 0, else 0."""
    return pieces.algebra.guard([equals_zero(form)], pieces.algebra.one, pieces.algebra.zero)
