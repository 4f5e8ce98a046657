"""The elements of a map over the threads of a grid: a tile to a thread, or an element to a group."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine, Constraint
from tadc.passes.cpu.tile_schedule import variable
from tadc.passes.gpu.groups import Group
from tadc.passes.gpu.kernel import Kernel
from tadc.passes.gpu.launch import GridAxis
from tadc.passes.gpu.plan import GroupPlan, Plan, ThreadPlan, TilePlan
from tadc.passes.maps.buffers import product
from tadc.passes.maps.lower_body import BodyLowering
from tadc.passes.maps.tile_values import LANE, Tile


def grid_of(plan: Plan, shape: Sequence[Affine]) -> tuple[GridAxis, ...]:
    """The grid for a map of this shape."""
    if isinstance(plan, GroupPlan):
        own = tuple(size for n, size in enumerate(shape) if n not in plan.copies)
        return (GridAxis(own, plan.elements),)
    if isinstance(plan, TilePlan):
        return (GridAxis(tuple(_ceil(size, plan.along(n).extent) for n, size in enumerate(shape)), 1),)
    if plan.flat:
        return (GridAxis(tuple(shape), plan.block * plan.width),)
    return (GridAxis(tuple(tiles(plan, shape)), plan.block),)


def tiles(plan: ThreadPlan, shape: Sequence[Affine]) -> list[Affine]:
    """The number of tiles along each index."""
    return [_ceil(size, plan.extent(index)) for index, size in enumerate(shape)]


def _ceil(size: Affine, step: int) -> Affine:
    return (size + (step - 1)).floordiv(step) if step > 1 else size


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


def emit_threads(kernel: Kernel, plan: ThreadPlan, point: Any) -> None:
    """A tile by the thread that has its position, in the order of the plan."""
    if plan.flat:
        emit_flat(kernel, plan, point)
        return
    low, sizes = kernel.low, kernel.sizes
    thread, block = kernel.register("gpu.thread_id"), kernel.register("gpu.block_id")
    flat = kernel.named(low.affine([block * plan.block + thread], point))
    counts = [tiles(plan, sizes)[index] for index in plan.order]
    total = low.variable(product(low, counts, point))
    if all(count.is_constant for count in counts):
        total = Affine.const(math.prod(count.constant for count in counts))

    def tile(inside: Any) -> None:
        positions = unravel(kernel, flat, counts, inside)
        by_index = dict(zip(plan.order, positions, strict=True))
        _emit_tile(kernel, plan, by_index, inside)

    kernel.where((Constraint(total - 1 - flat),), tile, point)


def _emit_tile(kernel: Kernel, plan: ThreadPlan, positions: Mapping[int, Affine], point: Any) -> None:
    """The tile at a position; where the last one does not fit, it is moved back and stores what is new."""
    low = kernel.low
    forms: list[Affine] = []
    stored: list[Constraint] = []
    for index, size in enumerate(kernel.sizes):
        extent, copies = plan.extent(index), plan.copies.get(index, 1)
        base = first = positions[index] * extent
        vector = extent // copies
        divides = size.is_constant and size.constant % extent == 0
        if extent > 1 and vector == 1 and not divides:
            base = kernel.named(low.affine([first, size - extent], point, "affine.min"))
        form = base + Affine.var(LANE) if vector > 1 else base
        if copies > 1:
            form += Affine.var(variable(index)) * vector
        if base is not first:
            stored.append(Constraint(form - first))
        forms.append(form)
    copied = {variable(index): count for index, count in plan.copies.items() if count > 1}
    body = kernel.body(forms, Tile(plan.width, copied))
    made = kernel.values(body, forms, (), point)
    kernel.store(made, forms, tuple(stored), plan.width, point)


def emit_groups(kernel: Kernel, plan: GroupPlan, point: Any) -> None:
    """An element by the group of threads that has its position in the order of the plan."""
    low = kernel.low
    own = tuple(n for n in range(len(kernel.sizes)) if n not in plan.copies)
    order = own if plan.order is None else plan.order
    shape = [kernel.sizes[index] for index in order]
    thread, block = kernel.register("gpu.thread_id"), kernel.register("gpu.block_id")
    flat, number, column, rows = block, thread, None, ()
    if plan.order is not None:
        number, column = thread.floordiv(plan.elements), thread.mod(plan.elements)
        position = kernel.named(low.affine([block * plan.elements + column], point))
        rows = _below(kernel, position, shape, point)
        # All threads meet: those without an element of their own help with the last one.
        last = rows[0].form + position
        flat = kernel.named(low.affine([position, last], point, "affine.min"))
    elif plan.elements > 1:
        flat = kernel.named(low.affine([block * plan.elements + thread.floordiv(plan.size)], point))
        number = thread.mod(plan.size)
        rows = _below(kernel, flat, shape, point)

    def element(inside: Any) -> None:
        positions = dict(zip(order, unravel(kernel, flat, shape, inside), strict=True))
        copies = {variable(index): count for index, count in plan.copies.items()}
        positions |= {index: Affine.var(variable(index)) for index in plan.copies}
        forms = [positions[index] for index in range(len(positions))]
        body = kernel.body(forms, Tile(1, copies))
        body.group = Group(kernel, plan.size, number, plan.lanes, column)
        made = kernel.values(body, forms, (), inside)
        stored = (*(rows if column is not None else ()), Constraint(number, equality=True))
        kernel.store(made, forms, stored, 1, inside)

    kernel.where(rows if column is None else (), element, point)


def _below(kernel: Kernel, flat: Affine, shape: Sequence[Affine], point: Any) -> Domain:
    """Whether a position is one of a shape."""
    if all(extent.is_constant for extent in shape):
        total = Affine.const(math.prod(extent.constant for extent in shape))
    else:
        total = kernel.low.variable(product(kernel.low, shape, point))
    return (Constraint(total - 1 - flat),)


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
