"""Intervals of forms over boxes: cheap bounds."""

from __future__ import annotations

from collections.abc import Mapping

from tadc.lattice.affine import Affine, Floor

#: Least and greatest value.
Interval = tuple[int, int]


def interval_of(form: Affine, intervals: Mapping[str, Interval]) -> Interval:
    """Bounds of a form over a box; exact for a linear form. Raises KeyError for a variable without bounds."""
    least = greatest = form.constant
    for atom, k in form.terms:
        if isinstance(atom, str):
            low, high = intervals[atom]
        elif isinstance(atom, Floor):
            low, high = interval_of(atom.numerator, intervals)
            low, high = low // atom.denominator, high // atom.denominator
        else:
            low, high = 0, interval_of(atom.below, intervals)[1] - 1
        least += k * (low if k > 0 else high)
        greatest += k * (high if k > 0 else low)
    return least, greatest
