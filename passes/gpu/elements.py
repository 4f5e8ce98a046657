"""The elements of a map over the threads of a grid: a tile to a thread, or an element to a group."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tadc.lattice.affine import Affine, Constraint
from tadc.passes.gpu.kernel import Kernel
from tadc.passes.gpu.plan import ThreadPlan
from tadc.passes.maps.buffers import product
from tadc.passes.maps.lower_body import BodyLowering
from tadc.passes.maps.tile_values import LANE, Tile


def emit_flat(kernel: Kernel, plan: ThreadPlan, point: Any) -> None:
    """A vector by the thread that has its position in memory; after the last whole one each element.

    Subscripts are 0 but for the last one, which is the position: what is read and stored is row-major.
    """
    low, sizes, width = kernel.low, kernel.sizes, plan.width
    thread, block = kernel.register("gpu.thread_id"), kernel.register("gpu.block_id")
    first = kernel.named(low.affine([(block * plan.block + thread) * width], point), width)
    total = low.variable(product(low, sizes, point))
    if all(size.is_constant for size in sizes):
        total = Affine.const(math.prod(size.constant for size in sizes))

    def elements(start: Affine, count: int, inside: Any) -> None:
        last = start + Affine.var(LANE) if count > 1 else start
        forms = [*(Affine.const(0) for _ in sizes[1:]), last]
        made = kernel.values(kernel.body(forms, Tile(count)), forms, (), inside, is_within=False)
        kernel.store(made, forms, (), count, inside)

    def whole(inside: Any) -> list[Any]:
        elements(first, width, inside)
        return []

    def rest(inside: Any) -> list[Any]:
        for number in range(width - 1):
            rows = (Constraint(total - 1 - number - first),)
            kernel.where(rows, lambda at, number=number: elements(first + number, 1, at), inside)
        return []

    is_whole = (Constraint(total - width - first),)
    divides = total.is_constant and total.constant % width == 0
    low.choose(low.holds(is_whole, point), [], whole, None if divides else rest, point)


def unravel(kernel: Kernel, flat: Affine, shape: Sequence[Affine], point: Any) -> list[Affine]:
    """The indices of a row-major position."""
    low = kernel.low
    if all(extent.is_constant for extent in shape):
        forms = _static(flat, [extent.constant for extent in shape])
        return [_named(kernel, form, point) for form in forms]
    indices: list[Affine] = []
    left = low.affine([flat], point)
    for extent in reversed(shape[1:]):
        operands = [left, low.affine([extent], point)]
        whole, rest = (_divided(low, name, operands, point) for name in ("divui", "remui"))
        indices.append(kernel.named(rest))
        left = whole
    return [kernel.named(left), *reversed(indices)] if shape else []


def _named(kernel: Kernel, form: Affine, point: Any) -> Affine:
    """A variable that stands for a form: forms of indices stay small."""
    return form if form.is_linear else kernel.named(kernel.low.affine([form], point))


def _divided(low: BodyLowering, name: str, operands: Sequence[Any], point: Any) -> Any:
    return low.create(f"arith.{name}", [low.index_type], operands, point).results[0]


def _static(flat: Affine, shape: Sequence[int]) -> list[Affine]:
    """The same as forms, for extents that are known."""
    forms: list[Affine] = []
    stride = math.prod(shape)
    for size in shape:
        stride //= max(size, 1)
        index = flat.floordiv(max(stride, 1))
        forms.append(index.mod(max(size, 1)) if forms else index)
    return forms
