"""How many elements the tensors of a compiled program have, those that the compiler adds too."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import tadc
from tadc.analysis.statistics import compiled_form
from tadc.frontend.extents import shape_at

#: A tensor may have so many times the elements of all that goes in and comes out.
MOST = 4


def excess(function: tadc.Function, sizes: Mapping[str, int]) -> str | None:
    """Which tensors of a program are larger than what goes in and comes out by far; None where none is."""
    form = compiled_form(function.at(sizes).program, "value")
    shapes = {name: shape_at(shape, {}) for name, shape in form.shapes().items()}
    shapes |= {a.name: shape_at(a.shape, {}) for a in form.arguments}
    passed = {*(a.name for a in form.arguments if a.inspected is None), *(d.name for d in form.outputs)}
    most = MOST * sum(prod(shapes[name]) for name in passed)
    large = [f"{name}{list(shape)}" for name, shape in shapes.items() if prod(shape) > most]
    return ", ".join(large) or None
