"""How the threads of a block copy what they read to memory that they share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from tadc.dialect.mlir import ir
from tadc.frontend.terms import Domain
from tadc.lattice.affine import ZERO, Affine, Constraint
from tadc.lattice.polyhedron import implied
from tadc.passes.gpu.block_memory import shared_buffer
from tadc.passes.gpu.boxes import Box, padded, within
from tadc.passes.gpu.occupancy import VECTOR_BYTES
from tadc.passes.gpu.positions import row_major
from tadc.passes.gpu.thread_lanes import divisor, element
from tadc.passes.maps.lower_body import BodyLowering
from tadc.passes.maps.machine import Gpu
from tadc.passes.nest.lockstep import Lockstep
from tadc.passes.nest.tile import LANE
from tadc.passes.terms.costs import ELEMENT


@dataclass(frozen=True)
class BlockThreads:
    """The threads of a block of a kernel: how many they are, and the number of this one.

    They differ in the variables of `ranges`, each of which is from 0 on below its number.
    """

    gpu: Gpu
    function: ir.Operation
    count: int
    number: Affine
    ranges: Mapping[str, int]

    def meet(self, low: BodyLowering, point: ir.InsertionPoint) -> None:
        """All threads wait for each other."""
        low.create("gpu.barrier", [], [], point)


@dataclass(frozen=True)
class Copier:
    """Copies boxes of tensors to memory that threads share; `body` has the tensors' buffers and shapes."""

    threads: BlockThreads
    body: Lockstep
    has_vectors: bool = True

    def room(self, box: Box, order: Sequence[int]) -> ir.Value:
        """Memory for a box, whose dimensions are in this order there."""
        shape = [box.extents[d] for d in order]
        is_turned = list(order) != sorted(order)
        padding = padded(self.threads.gpu, shape, is_turned, 4 if self.has_vectors else 1)
        return shared_buffer(self.threads.function, padding, self.body.low.scalar_type(box.load.type))

    def copy_box(
        self, box: Box, buffer: ir.Value, order: Sequence[int], facts: Domain, point: ir.InsertionPoint
    ) -> None:
        """Each thread copies every so many elements, or vectors, of a box, in the order of memory.

        `order` has the dimensions of the box in the order of those of the buffer.
        """
        low, threads = self.body.low, self.threads
        sizes = self.body.shapes[box.load.tensor]
        width = self.width(box, sizes)
        extents = [*box.extents[:-1], box.extents[-1] // width] if box.extents else []
        total = math.prod(extents)
        for first in range(0, total, threads.count):
            flat = threads.number + first
            places = [low.variable(low.affine([f], point)) for f in row_major(flat, extents)]
            names = {next(iter(p.variables)): n for p, n in zip(places, extents, strict=True)}
            if width > 1:
                places[-1] = places[-1] * width
            own = (Constraint(total - 1 - flat),) if first + threads.count > total else ()
            rows: list[Constraint] = []
            inside = (*facts, *within(names))
            at = [base + p * k for base, p, k in zip(box.bases, places, box.steps, strict=True)]
            # A vector is in range where its first element is: all ends are multiples of its width.
            for form, size in zip(at, sizes, strict=True):
                rows += [Constraint(f) for f in (form, size - 1 - form) if not implied(f, inside)]
            copied = partial(self.copied, box, buffer, order, places, at, tuple(rows), width)
            if own:
                low.choose(low.holds(own, point), [], copied, None, point)
            else:
                copied(point)

    def width(self, box: Box, sizes: Sequence[Affine]) -> int:
        """How many consecutive elements are copied at once: each such vector is aligned, and whole."""
        width = VECTOR_BYTES // ELEMENT[box.load.type]
        if not self.has_vectors or not box.extents or box.steps[-1] != 1 or not sizes[-1].is_constant:
            return 1
        ends = (box.extents[-1], sizes[-1].constant, divisor(box.bases[-1]))
        return 1 if any(end % width for end in ends) else width

    def copied(
        self,
        box: Box,
        buffer: ir.Value,
        order: Sequence[int],
        places: Sequence[Affine],
        at: Sequence[Affine],
        rows: Domain,
        width: int,
        point: ir.InsertionPoint,
    ) -> list[ir.Value]:
        """Copy the elements of a vector, or one, to their places in a box; zeros where rows do not hold."""
        low, lanes = self.body.low, replace(self.body.lanes, width=width)
        type = low.scalar_type(box.load.type)
        type = lanes.type(type) if width > 1 else type
        memory = self.body.buffers[box.load.tensor]
        run = Affine.var(LANE) if width > 1 else ZERO

        def load(here: ir.InsertionPoint) -> list[ir.Value]:
            made = lanes.load(memory, [*at[:-1], at[-1] + run] if at else [], None, here)
            if width > 1:
                whole = ir.IntegerType.get_signless(64, low.context)
                made.owner.attributes["alignment"] = ir.IntegerAttr.get(whole, VECTOR_BYTES)
            return [made]

        def zero(here: ir.InsertionPoint) -> list[ir.Value]:
            return [low.constant(type, 0.0, here)]

        held = low.choose(low.holds(rows, point), [type], load, zero, point) if rows else load(point)
        if width == 1 or order[-1] == len(order) - 1:
            moved = [*places[:-1], places[-1] + run] if places else []
            lanes.store(held[0], buffer, [moved[d] for d in order], point)
            return []
        for lane in range(width):
            moved = [*places[:-1], places[-1] + lane]
            lanes.store(element(low, held[0], lane, point), buffer, [moved[d] for d in order], point)
        return []
