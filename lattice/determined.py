"""Loop variables that the other variables determine: they become floor divisions."""

from __future__ import annotations

from collections.abc import Sequence

from tadc.lattice.affine import Affine
from tadc.lattice.bounds import bounds_innermost


def determined(loops: Sequence[str], rows: Sequence[Affine]) -> tuple[str, Affine, list[Affine]] | None:
    """A loop that runs at most once, its value, and the rows that are left without it.

    Rows `c*z <= e <= c*z + w` with `w < c` leave no choice but `z = e // c`; what `w`
    asks of the remainder stays a row. A loop is only taken if every row that is left
    still bounds its innermost loop variable.
    """
    by_terms = {row.terms: row for row in rows}
    for name in reversed(loops):
        for above in rows:
            c = -above.coefficient(name)
            below = by_terms.get((-above).terms)
            slack = c if below is None else above.constant + below.constant
            if below is None or slack >= c or c <= 1:
                continue
            value = _value(above, below, name, c)
            left = [row for row in rows if row is not above and row is not below]
            if slack < c - 1:
                left.append(below if value == _floor(above, name, c) else above)
            left = [row.substitute({name: value}) for row in left]
            others = [loop for loop in loops if loop != name]
            if name not in value.variables and all(bounds_innermost(row, others) for row in left):
                return name, value, left
    return None


def _floor(above: Affine, name: str, c: int) -> Affine:
    return (above + Affine.var(name) * c).floordiv(c)


def _value(above: Affine, below: Affine, name: str, c: int) -> Affine:
    """The upper bound rounded down or the lower one rounded up, whichever is easier to read."""
    return min(_floor(above, name, c), -(below - Affine.var(name) * c).floordiv(c), key=_reading)


def _reading(form: Affine) -> tuple[int, int]:
    return sum(k < 0 for atom in form.floors() for _, k in atom.numerator.terms), len(str(form))
