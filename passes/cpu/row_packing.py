"""Panels for the rows of tiles: what a step of a reduction reads for them, one after the other.

They are made for a chunk of rows and a block of the reduction, before the panels for lanes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tadc.dialect.mlir import ir
from tadc.lattice.affine import Affine
from tadc.passes.cpu.packing import Block, Packer, RowPanel
from tadc.passes.cpu.packing_plan import Rows
from tadc.passes.maps.tile_values import LANE
from tadc.passes.nest.lanes import Lanes


class RowPacker:
    """Emits the copies of a chunk: its rows are those from `begin` up to `end`, of `size` in all."""

    def __init__(self, packer: Packer, rows: Rows, index: int, variable: str) -> None:
        """`index` is the position of the rows' index, `variable` that of its copies in a tile."""
        self.packer, self.rows, self.index, self.variable = packer, rows, index, variable
        self.tile = packer.schedule.blocks[index]

    def pack(
        self,
        outer: Mapping[int, Affine],
        chunk: tuple[Affine, Affine],
        size: int,
        block: Block,
        point: Any,
    ) -> dict[Any, RowPanel]:
        """Make and fill the panels; the chunk starts at a multiple of the rows of a tile."""
        self.packer.place(outer)
        panels: dict[Any, RowPanel] = {}
        for read in self.rows.reads:
            panel = panels[read.op] = self.panel(read, chunk[0], block, point)
            self.fill(read, panel, chunk, size, block, point)
        return panels

    def panel(self, read: Any, begin: Affine, block: Block, point: Any) -> RowPanel:
        """Room for what is read."""
        packer = self.packer
        own = packer.own(read)
        extents = [packer.extent(n) for n in own]
        strides = tuple(self.tile * math.prod(extents[n + 1 :]) for n in range(len(own)))
        points = math.prod(extents)
        buffer = packer.room(ir.MemRefType.get([self.rows.chunk * points], read.op.results[0].type), point)
        return RowPanel(
            buffer,
            tuple(packer.binders[n] for n in own),
            tuple(block.bounds[n][0] for n in own),
            strides,
            packer.block.arguments[self.index],
            self.variable,
            begin,
            points,
        )

    def fill(
        self,
        read: Any,
        panel: RowPanel,
        chunk: tuple[Affine, Affine],
        size: int,
        block: Block,
        point: Any,
    ) -> None:
        """Copy whole tiles, then the rows that are left, point by point of the reduction."""
        begin, end = chunk
        own = self.packer.own(read)
        middle = begin + (end - begin).floordiv(self.tile) * self.tile

        def rows(indices: Mapping[int, Affine], at: Any) -> None:
            self.tiles(begin, middle, self.tile, self.copier(read, panel, indices, block.bounds), at)
            if size % self.tile:
                self.tiles(middle, end, size % self.tile, self.copier(read, panel, indices, block.bounds), at)

        self.packer.loops(own, block.bounds, {}, rows, point)

    def tiles(
        self, start: Affine, stop: Affine, rows: int, fill: Callable[[Affine, int, Any], None], point: Any
    ) -> None:
        """A loop over tiles of so many rows."""
        low = self.packer.low
        low.location = self.packer.location
        ends = [low.affine([form], point) for form in (start, stop)]
        step = low.constant(low.index_type, rows, point)
        made = low.create("scf.for", [], [*ends, step], point, regions=1)
        block = ir.Block.create_at_start(made.regions[0], [low.index_type], [low.location])
        inside = ir.InsertionPoint(block)
        fill(low.variable(block.arguments[0]), rows, inside)
        low.create("scf.yield", [], [], inside)

    def copier(
        self,
        read: Any,
        panel: RowPanel,
        indices: Mapping[int, Affine],
        bounds: Sequence[tuple[Affine, Affine]],
    ) -> Callable[[Affine, int, Any], None]:
        """What copies the rows of a tile, as one vector where they are consecutive."""
        packer, low = self.packer, self.packer.low
        consecutive = read.strides[self.rows.name] == 1

        def copy(base: Affine, rows: int, at: Any) -> None:
            run = rows if consecutive else 1
            lanes = Lanes(low, run)
            for first in range(0, rows, run):
                low.forms[panel.row] = base + first + (Affine.var(LANE) if run > 1 else 0)
                forms = packer.subscripts(read, indices, bounds)
                value = lanes.load(low.memrefs[read.op.operands[0]], forms, None, at)
                low.forms[panel.row] = base
                (place,) = panel.subscripts(low.forms)
                place += first + (Affine.var(LANE) if run > 1 else 0)
                lanes.store(value, panel.buffer, [place], at)

        return copy
