"""The elements of a map over the threads of a grid: a tile to a thread, or an element to a group."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tadc.dialect.mlir import ir
from tadc.lattice.affine import Affine, Constraint
from tadc.lattice.polyhedron import implied
from tadc.passes.cpu.packing import Panels
from tadc.passes.cpu.tile_schedule import variable
from tadc.passes.gpu.boxes import Copier, Stage, box_of, padded
from tadc.passes.gpu.interleaved import Place
from tadc.passes.gpu.kernel import Kernel, ThreadBody
from tadc.passes.gpu.launch import GridAxis
from tadc.passes.gpu.plan import TilePlan
from tadc.passes.gpu.staging import StagedLoops, in_order
from tadc.passes.maps.lower_body import BodyLowering
from tadc.passes.maps.tile_values import Tile


def tile_grid(plan: TilePlan, shape: Sequence[Affine]) -> tuple[GridAxis, ...]:
    """The grid for a map of this shape."""
    return (GridAxis(tuple(_ceil(size, plan.along(n).extent) for n, size in enumerate(shape)), 1),)


def _ceil(size: Affine, step: int) -> Affine:
    return (size + (step - 1)).floordiv(step) if step > 1 else size


def emit_tiles(kernel: Kernel, plan: TilePlan, point: Any) -> None:
    """A tile by the block of threads that has its position; what is beyond the map is not stored."""
    low, sizes = kernel.low, kernel.sizes
    thread, block = kernel.register("gpu.thread_id"), kernel.register("gpu.block_id")
    counts = [_ceil(size, plan.along(n).extent) for n, size in enumerate(sizes)]
    ranges: dict[str, int] = {}
    known: list[Constraint] = []
    forms: list[Affine] = []
    places = {plan.fast[0]: thread.mod(plan.fast[1].threads)}
    if plan.slow is not None:
        places[plan.slow[0]] = thread.floordiv(plan.fast[1].threads)
    positions = unravel(kernel, block, counts, point)
    copies: dict[str, int] = {}
    for n, position in enumerate(positions):
        along = plan.along(n)
        known += [Constraint(position), Constraint(counts[n] - 1 - position)]
        form = position * along.extent
        if along.threads > 1:
            place = kernel.named(low.affine([places[n]], point))
            ranges[next(iter(place.variables))] = along.threads
            form += place * along.run
        for name, count, step in (
            (variable(n) + "far", along.copies // along.run, along.run * along.threads),
            (variable(n), along.run, 1),
        ):
            if count > 1:
                copies[name] = count
                form += Affine.var(name) * step
        forms.append(form)
    body = kernel.body(forms, Tile(1, copies))
    staged = body.staged = StagedLoops(plan, thread, {**ranges, **copies}, (*known, *low.known))
    rows = [Constraint(size - 1 - form) for form, size in zip(forms, sizes, strict=True)]
    stored = tuple(row for row in rows if not implied(row.form, staged.facts))
    if stored:
        staged.beyond = staged.facts
    if plan.over is None and plan.staged:
        _copy_all(kernel, body, staged, point)
    made = kernel.values(body, forms, tuple(known), point)
    kernel.store(made, forms, stored, 1, point, _run(kernel, body, forms))


def _copy_all(kernel: Kernel, body: ThreadBody, staged: StagedLoops, point: Any) -> None:
    """Copy what a block reads along another index than it stores along."""
    copier = Copier(kernel, staged.thread, staged.plan.block, has_vectors=False)
    found: dict[Any, Any] = {}
    for op in in_order(kernel.block, kernel.low.forms):
        if op in staged.plan.staged:
            box = box_of(op, kernel.low.subscripts(op, list(op.operands)[1:]), staged.ranges)
            assert box is not None
            buffer = kernel.shared(padded(kernel.gpu, box.extents, False, 1), op.results[0].type)
            order = tuple(range(len(box.extents)))
            copier.copy_box(box, buffer, order, staged.facts, point)
            found[op] = Stage(box, buffer, order)
    body.panels = Panels(found)
    kernel.barrier(point)


def _run(kernel: Kernel, body: ThreadBody, forms: Sequence[Affine]) -> str | None:
    """The copies that are stored as vectors: rows of the tensor start aligned, and hold them whole."""
    type = kernel.op.results[0].type.element_type
    name = body.run_of(forms, type)
    if name is None or not all(size.is_constant for size in kernel.sizes[1:]):
        return None
    size = kernel.sizes[-1]
    return name if size.is_constant and size.constant % body.tile.copies[name] == 0 else None


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


def view_of(place: Place, buffer: Any, low: BodyLowering, point: Any) -> Any:
    """The elements of a place in the buffer of all rows."""
    shape = [extent.constant for extent in place.whole.shape]
    sizes = [max(n, 1) for n in shape[:-1]]
    strides = [math.prod(max(n, 1) for n in shape[d + 1 :]) for d in range(len(sizes))]
    layout = ir.StridedLayoutAttr.get(place.number, strides)
    attributes = {
        "static_offsets": ir.DenseI64ArrayAttr.get([place.number]),
        "static_sizes": ir.DenseI64ArrayAttr.get(sizes),
        "static_strides": ir.DenseI64ArrayAttr.get(strides),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 0, 0, 0]),
    }
    type = ir.MemRefType.get(sizes, buffer.type.element_type, layout)
    return low.create("memref.reinterpret_cast", [type], [buffer], point, attributes).results[0]
