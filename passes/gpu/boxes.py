"""The boxes of tensors that a block of threads reads, and how its threads copy them to shared memory."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tadc.dialect.locations import unnamed
from tadc.dialect.mlir import ir
from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine, Constraint
from tadc.lattice.polyhedron import implied
from tadc.passes.gpu.plan import VECTOR_BYTES
from tadc.passes.maps.machine import Gpu
from tadc.passes.maps.operand_forms import subscripts
from tadc.passes.nest.lanes import extreme

if TYPE_CHECKING:
    from tadc.passes.gpu.kernel import Kernel


SECTOR = 32
"""The bytes that memory gives at least."""


def within(ranges: Mapping[str, int]) -> Domain:
    """The rows that hold of variables from 0 to a number less one."""
    rows: list[Constraint] = []
    for name, size in ranges.items():
        rows += [Constraint(Affine.var(name)), Constraint(size - 1 - Affine.var(name))]
    return tuple(rows)


@dataclass(frozen=True)
class Box:
    """What a block reads of a tensor: along each dimension `extents` elements from `bases` on, by `steps`."""

    op: Any
    bases: tuple[Affine, ...]
    extents: tuple[int, ...]
    steps: tuple[int, ...]

    def within(self, forms: Sequence[Affine]) -> list[Affine]:
        """The place in the box of an element at subscripts."""
        return [
            (form - base).floordiv(step)
            for form, base, step in zip(forms, self.bases, self.steps, strict=True)
        ]


def box_of(op: Any, forms: Sequence[Affine], ranges: Mapping[str, int]) -> Box | None:
    """The box of a read at subscripts where variables are in their ranges; None if its size varies."""
    spans = spans_of(forms, ranges, op.results[0].type.width // 8)
    if spans is None:
        return None
    bases = tuple(extreme(form, ranges, -1) for form in forms)
    return Box(op, bases, tuple(n for n, _ in spans), tuple(step for _, step in spans))


def spans_of(
    forms: Sequence[Affine], ranges: Mapping[str, int], bytes_each: int
) -> tuple[tuple[int, int], ...] | None:
    """For each form how many values it takes, at which distance; None if their number varies.

    Rows that are longer than a sector are whole sectors: the next row then begins with one.
    """
    spans: list[tuple[int, int]] = []
    for form in forms:
        if form.is_linear:
            moves = [(abs(form.coefficient(name)), count - 1) for name, count in ranges.items()]
            step = math.gcd(*(k for k, _ in moves)) or 1
            spans.append((sum(k * most for k, most in moves) // step + 1, step))
            continue
        span = extreme(form, ranges, 1) - extreme(form, ranges, -1)
        if not span.is_constant:
            return None
        spans.append((span.constant + 1, 1))
    whole = SECTOR // bytes_each
    if spans and spans[-1][0] > whole and spans[-1][1] == 1:
        spans[-1] = (-(-spans[-1][0] // whole) * whole, 1)
    return tuple(spans)


@dataclass(frozen=True)
class Stage:
    """A box in shared memory; `order` are its dimensions in the order of the buffer's."""

    box: Box
    buffer: Any
    order: tuple[int, ...]

    def subscripts(self, forms: Mapping[Any, Affine]) -> list[Affine]:
        """Where a point of the reduction finds its element."""
        within = self.box.within(subscripts(self.box.op, list(self.box.op.operands)[1:], forms))
        return [within[d] for d in self.order]


@dataclass(frozen=True)
class Copier:
    """Copies boxes by so many threads, of which `thread` is the number of one."""

    kernel: Kernel
    thread: Affine
    threads: int
    has_vectors: bool = True

    def copy_box(self, box: Box, buffer: Any, order: Sequence[int], facts: Domain, point: Any) -> None:
        """Each thread copies every so many elements, or vectors, of a box, in the order of memory."""
        low = self.kernel.low
        sizes = self.kernel.extents(box.op.operands[0])
        width = self.width(box, sizes)
        extents = [*box.extents[:-1], box.extents[-1] // width] if box.extents else []
        total = math.prod(extents)
        low.location = unnamed(box.op.location)
        for first in range(0, total, self.threads):
            flat = self.thread + first
            places = [self.kernel.named(low.affine([f], point)) for f in _places(flat, extents)]
            names = {next(iter(p.variables)): n for p, n in zip(places, extents, strict=True)}
            if width > 1:
                places[-1] = places[-1] * width
            own = (Constraint(total - 1 - flat),) if first + self.threads > total else ()
            rows: list[Constraint] = []
            inside = (*facts, *within(names))
            at = [base + p * k for base, p, k in zip(box.bases, places, box.steps, strict=True)]
            # A vector is in range where its first element is: all ends are multiples of its width.
            for form, size in zip(at, sizes, strict=True):
                rows += [Constraint(f) for f in (form, size - 1 - form) if not implied(f, inside)]

            def copied(
                here: Any,
                places: Sequence[Affine] = places,
                at: Sequence[Affine] = at,
                rows: Domain = tuple(rows),
            ) -> None:
                self.copy_element(box, buffer, order, places, at, rows, width, here)

            self.kernel.where(own, copied, point)

    def width(self, box: Box, sizes: Sequence[Affine]) -> int:
        """How many consecutive elements are copied at once: each such vector is aligned, and whole."""
        width = VECTOR_BYTES * 8 // box.op.results[0].type.width
        if not self.has_vectors or not box.extents or box.steps[-1] != 1 or not sizes[-1].is_constant:
            return 1
        ends = (box.extents[-1], sizes[-1].constant, self.kernel.divisor(box.bases[-1]))
        return 1 if any(end % width for end in ends) else width

    def copy_element(
        self,
        box: Box,
        buffer: Any,
        order: Sequence[int],
        places: Sequence[Affine],
        at: Sequence[Affine],
        rows: Domain,
        width: int,
        point: Any,
    ) -> None:
        """Copy the elements of a vector, or one, to their places in a box; zeros where rows do not hold."""
        low, type = self.kernel.low, box.op.results[0].type
        vector_type = ir.VectorType.get([width], type) if width > 1 else type
        memory = low.memrefs[box.op.operands[0]]

        def load(here: Any) -> list[Any]:
            source = [low.affine([form], here) for form in at]
            if width > 1:
                return [self.kernel.vector_load(vector_type, memory, source, here)]
            return list(low.create("memref.load", [type], [memory, *source], here).results)

        def zero(here: Any) -> list[Any]:
            return [low.constant(vector_type, 0.0, here)]

        held = low.choose(low.holds(rows, point), [vector_type], load, zero, point) if rows else load(point)
        vector = held[0]
        if width == 1:
            target = [low.affine([places[d]], point) for d in order]
            low.create("memref.store", [], [vector, buffer, *target], point)
            return
        aligned = {"alignment": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), VECTOR_BYTES)}
        if order[-1] == len(order) - 1:
            target = [low.affine([places[d]], point) for d in order]
            low.create("vector.store", [], [vector, buffer, *target], point, aligned)
            return
        for lane in range(width):
            value = self.kernel.element(vector, lane, point)
            moved = [*places[:-1], places[-1] + lane]
            target = [low.affine([moved[d]], point) for d in order]
            low.create("memref.store", [], [value, buffer, *target], point)


def padded(gpu: Gpu, shape: Sequence[int], turned: bool, aligned: int = 4) -> list[int]:
    """A shape whose rows are aligned for vectors; turned ones, and those without vectors, start in different
    banks."""
    if not shape:
        return []
    row = -(-shape[-1] // aligned) * aligned
    if (turned or aligned == 1) and row % (gpu.banks if turned else 2) == 0:
        row += aligned
    return [*shape[:-1], row]


def _places(flat: Affine, extents: Sequence[int]) -> list[Affine]:
    """The place in a box of a row-major position."""
    forms: list[Affine] = []
    stride = math.prod(extents)
    for n, size in enumerate(extents):
        stride //= size
        index = flat.floordiv(stride)
        forms.append(index.mod(size) if n else index)
    return forms
