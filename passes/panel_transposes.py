"""Panels of what is consecutive along a reduction, not along the lanes: transposed in registers.

A vector is read for each lane, along the reduction; as many of them as a vector has elements are transposed
and stored as vectors of lanes. A gather reads one element of a line at a time instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tadc.lattice.affine import Affine
from tadc.passes.lanes import LANE, Lanes
from tadc.passes.packing import Packer, Spans
from tadc.passes.packing_plan import along


class PanelTransposes:
    """Emits the copies of one read to a buffer, for `bounds` of the binders."""

    def __init__(self, packer: Packer, read: Any, bounds: Spans, buffer: Any) -> None:
        self.packer, self.read, self.bounds, self.buffer = packer, read, bounds, buffer
        self.own = packer.own(read)
        self.lanes = Lanes(packer.low, packer.schedule.width)

    def fill(self, first: int, point: Any) -> None:
        """Copy the lanes from a first one on."""
        name = along(self.packer.packed.loop, self.read, self.lanes.width)
        binder = next(n for n in self.own if self.packer.packed.loop.binders[n] == name)
        others = [n for n in self.own if n != binder]
        start, stop = self.bounds[binder]
        width, span = self.lanes.width, stop - start
        middle = start + span.floordiv(width) * width

        def body(indices: Mapping[int, Affine], at: Any) -> None:
            self.square({**indices, binder: indices[binder]}, binder, first, at)

        def squares(indices: Mapping[int, Affine], at: Any) -> None:
            ends = {**dict(enumerate(self.bounds)), binder: (start, middle)}
            self.packer.loops([binder], ends, indices, body, at, width)
            if span.is_constant and span.constant >= width:
                if span.constant % width:
                    # The last one is moved back.
                    body({**indices, binder: stop - width}, at)
                return
            ends[binder] = (middle, stop)
            plain = self.packer.filler(
                self.read, self.own, self.bounds, self.buffer, self.packer.scattered, self.pieces(first)
            )
            self.packer.loops([binder], ends, indices, plain, at)

        self.packer.loops(others, self.bounds, {}, squares, point)

    def pieces(self, first: int) -> Sequence[int]:
        """Where the vectors that are gathered start."""
        return range(first, first + self.lanes.width, self.packer.scattered.width)

    def square(self, indices: Mapping[int, Affine], binder: int, first: int, point: Any) -> None:
        """Copy as many values of a binder as there are lanes."""
        packer, low, lanes = self.packer, self.packer.low, self.lanes
        argument = packer.block.arguments[packer.schedule.lanes]
        base = low.forms[argument]
        there = {**indices, binder: indices[binder] + Affine.var(LANE)}
        vectors: list[Any] = []
        for lane in range(lanes.width):
            low.forms[argument] = base + (first + lane)
            forms = packer.subscripts(self.read, there, self.bounds)
            vectors.append(lanes.load(low.memrefs[self.read.op.operands[0]], forms, None, point))
        low.forms[argument] = base
        for step, vector in enumerate(lanes.transposed(vectors, point)):
            place = {**indices, binder: indices[binder] + step}
            forms = [*(place[n] - self.bounds[n][0] for n in self.own), Affine.var(LANE) + first]
            lanes.store_run(vector, self.buffer, forms, point)
