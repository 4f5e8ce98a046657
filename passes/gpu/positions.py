"""The indices of an element by its position among all."""

from __future__ import annotations

from collections.abc import Sequence

from tadc.dialect.mlir import ir
from tadc.lattice.affine import Affine
from tadc.passes.maps.lower_body import BodyLowering
from tadc.passes.nest.primitives.boxes import row_major


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
