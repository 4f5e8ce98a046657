"""How many steps a reduction takes between elements of index arrays: a guess, as they are not known."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from tadc.lattice.affine import Affine
from tadc.passes.maps.map import TensorDecl
from tadc.passes.terms.costs import FIBRE
from tadc.passes.terms.inspected_arrays import ends_match


def steps_between(name: str, forms: Iterable[Affine], tensors: Mapping[str, TensorDecl]) -> int | None:
    """About how many values an index has whose bounds are forms at least 0; None where no element of an
    index array bounds it.

    It has as many as bounds that move together leave, else as many as a fibre has, which the array of its
    upper bound tells.
    """
    bounds = [form for form in forms if form.coefficient(name)]
    if not any(form.has_lookups for form in bounds):
        return None
    lower = [form for form in bounds if form.coefficient(name) == 1]
    upper = [form for form in bounds if form.coefficient(name) < 0]
    apart = (low + high for low in lower for high in upper)
    together = [max(form.constant + 1, 0) for form in apart if form.is_constant]
    arrays = {lookup.array for form in upper or bounds for lookup in form.lookups()}
    if any(map(ends_match, arrays)):
        return 1
    return min(together or [_average(tensors.get(array)) for array in arrays], default=FIBRE)


def _average(array: TensorDecl | None) -> int:
    """How far it is on average from one element of an array to the next, where they increase."""
    if array is None:
        return FIBRE
    places = math.prod(size.constant if size.is_constant else 0 for size in array.shape)
    if not array.increasing or array.below is None or not array.below.is_constant or places < 2:
        return FIBRE
    return -(-array.below.constant // (places - 1))
