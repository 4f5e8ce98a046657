"""The indices of an element by its position among all."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tadc.dialect.mlir import ir
from tadc.lattice.affine import Affine
from tadc.passes.maps.lower_body import BodyLowering


def unravel(
    flat: Affine, shape: Sequence[Affine], low: BodyLowering, point: ir.InsertionPoint
) -> list[Affine]:
    """The indices of a row-major position."""
    if all(extent.is_constant for extent in shape):
        forms = row_major(flat, [extent.constant for extent in shape])
        return [form if form.is_linear else low.variable(low.affine([form], point)) for form in forms]
    indices: list[Affine] = []
    left = low.affine([flat], point)
    for extent in reversed(shape[1:]):
        operands = [left, low.affine([extent], point)]
        left, rest = (
            low.create(f"arith.{name}", [low.index_type], operands, point).results[0]
            for name in ("divui", "remui")
        )
        indices.append(low.variable(rest))
    return [low.variable(left), *reversed(indices)] if shape else []


def row_major(flat: Affine, shape: Sequence[int]) -> list[Affine]:
    """The indices of a row-major position as forms, for extents that are known."""
    forms: list[Affine] = []
    stride = math.prod(shape)
    for size in shape:
        stride //= max(size, 1)
        index = flat.floordiv(max(stride, 1))
        forms.append(index.mod(max(size, 1)) if forms else index)
    return forms
