"""Panels of what is consecutive along a reduction, not along the lanes: transposed in registers.

A vector is read for each lane, along the reduction; as many of them as a vector has elements are transposed
and stored as vectors of lanes. A gather reads one element of a line at a time instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tadc.dialect.mlir import ir
from tadc.lattice.affine import ZERO, Affine
from tadc.passes.cpu.packing import Packer, Spans
from tadc.passes.cpu.packing_plan import along
from tadc.passes.maps.tile_values import LANE
from tadc.passes.nest.lanes import Lanes
from tadc.passes.nest.shuffles import transposed


class PanelTransposes:
    """Emits the copies of one read to a buffer, for `bounds` of the binders."""

    def __init__(self, packer: Packer, read: Any, bounds: Spans, buffer: Any) -> None:
        self.packer, self.read, self.bounds, self.buffer = packer, read, bounds, buffer
        self.own = packer.own(read)
        self.lanes = Lanes(packer.low, packer.schedule.width)

    def fill(self, point: Any) -> None:
        """Copy the lanes of a tile, as many at a time as a vector has."""
        low, width = self.packer.low, self.lanes.width
        lanes = self.packer.schedule.lanes
        assert lanes is not None
        extent = self.packer.schedule.extent(lanes)
        if extent == width:
            self.squares(ZERO, point)
            return
        low.location = self.packer.location
        ends = [low.constant(low.index_type, n, point) for n in (0, extent, width)]
        made = low.create("scf.for", [], ends, point, regions=1)
        block = ir.Block.create_at_start(made.regions[0], [low.index_type], [low.location])
        inside = ir.InsertionPoint(block)
        self.squares(low.variable(block.arguments[0]), inside)
        low.create("scf.yield", [], [], inside)

    def squares(self, first: Affine, point: Any) -> None:
        """Copy the lanes from a first one on, as many values of the reduction's index at a time; those at the
        end that are fewer again with some before them, or by gathers."""
        packer, width = self.packer, self.lanes.width
        name = along(packer.packed.loop, self.read, width)
        binder = next(n for n in self.own if packer.packed.loop.binders[n] == name)
        others = [n for n in self.own if n != binder]
        start, stop = self.bounds[binder]
        span = stop - start
        fits = span.is_constant and span.constant >= width
        middle = stop if fits else start + span.floordiv(width) * width

        def square(indices: Mapping[int, Affine], at: Any) -> None:
            last = indices[binder]
            if fits and span.constant % width:
                last = packer.low.variable(packer.low.affine([last, stop - width], at, "affine.min"))
            self.square({**indices, binder: last}, binder, first, at)

        def row(indices: Mapping[int, Affine], at: Any) -> None:
            ends = {**dict(enumerate(self.bounds)), binder: (start, middle)}
            packer.loops([binder], ends, indices, square, at, width)
            if not fits:
                lanes = packer.scattered
                pieces = [first + n for n in range(0, width, lanes.width)]
                plain = packer.filler(self.read, self.own, self.bounds, self.buffer, lanes, pieces)
                packer.loops([binder], {**ends, binder: (middle, stop)}, indices, plain, at)

        packer.loops(others, self.bounds, {}, row, point)

    def square(self, indices: Mapping[int, Affine], binder: int, first: Affine, point: Any) -> None:
        """Copy as many values of a binder as there are lanes."""
        packer, low, lanes = self.packer, self.packer.low, self.lanes
        argument = packer.block.arguments[packer.schedule.lanes]
        base = low.forms[argument]
        there = {**indices, binder: indices[binder] + Affine.var(LANE)}
        vectors: list[Any] = []
        for lane in range(lanes.width):
            low.forms[argument] = base + first + lane
            forms = packer.subscripts(self.read, there, self.bounds)
            vectors.append(lanes.load(low.memrefs[self.read.op.operands[0]], forms, None, point))
        low.forms[argument] = base
        for step, vector in enumerate(transposed(low, vectors, point)):
            place = {**indices, binder: indices[binder] + step}
            forms = [*(place[n] - self.bounds[n][0] for n in self.own), first + Affine.var(LANE)]
            lanes.store_run(vector, self.buffer, forms, point)
