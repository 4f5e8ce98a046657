"""The loops around panels: chunks of rows, blocks of a reduction, and what is packed in them.

Without panels for rows: the indices that panels for lanes depend on, blocks, packing, the other indices.
With them: the indices that those depend on, chunks of rows, blocks, packing for rows; then the indices that
panels for lanes depend on, packing for lanes, the other indices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tadc.dialect.locations import unnamed
from tadc.dialect.mlir import ir
from tadc.lattice.affine import Affine
from tadc.passes.cpu.packing import Block, Packer, Panels
from tadc.passes.cpu.packing_plan import Packed, Rows
from tadc.passes.cpu.row_packing import RowPacker
from tadc.passes.cpu.splits import Split

if TYPE_CHECKING:
    from tadc.passes.cpu.tile_loops import Around, TileLoops


class PanelLoops:
    """What the loops over tiles make besides."""

    def __init__(self, tiles: TileLoops, packed: Packed | None) -> None:
        self.tiles: TileLoops = tiles
        self.packed: Packed | None = packed
        self.has_rows = self.has_lanes = False
        """Whether what is here has been packed for rows, and for lanes."""

    def around(self, rest: Sequence[int], found: Sequence[Split], around: Around, point: Any) -> bool:
        """Whether packing comes before the loops over the rest of the indices; then all are made."""
        packed = self.packed
        if packed is None:
            return False

        def inner(inside: Any) -> None:
            self.tiles.loops(rest, found, around, inside)

        if packed.rows and not self.has_rows and len(around.bases) == len(packed.around):
            self.has_rows = True
            self.ranges(packed, packed.rows, around, inner, point)
            self.has_rows = False
            return True
        if not self.has_lanes and len(around.bases) == len(packed.around | packed.names):
            self.has_lanes = True
            self.for_lanes(packed, around, inner, point)
            self.has_lanes = False
            return True
        return False

    def packer(self, packed: Packed) -> Packer:
        """What copies."""
        return Packer(self.tiles.block, self.tiles.low, self.tiles.schedule, packed)

    def for_lanes(self, packed: Packed, around: Around, inner: Callable[[Any], None], point: Any) -> None:
        """The panels for lanes; for each block of the reduction, unless blocks are made already."""
        packer, before = self.packer(packed), self.tiles.panels

        def pack(block: Block, inside: Any) -> None:
            made = packer.pack(around.bases, block, inside)
            self.tiles.panels = Panels({**before.by_read, **made}, packer.op, block)
            inner(inside)
            self.tiles.panels = before

        if before.block is not None:
            pack(before.block, point)
        else:
            packer.emit(around.bases, (*around.known, *self.tiles.low.known), point, pack)

    def ranges(
        self, packed: Packed, rows: Rows, around: Around, inner: Callable[[Any], None], point: Any
    ) -> None:
        """Everything for whole tiles of lanes, then for one at the end if something is left.

        Loops over lanes are inside blocks, where no element may be in two tiles. The last one starts anew.
        """
        tiles, low = self.tiles, self.tiles.low
        lanes = tiles.schedule.lanes
        assert lanes is not None
        size, tile = tiles.sizes[lanes], tiles.schedule.extent(lanes)
        if packed.block is None or (size.is_constant and not size.constant % tile):
            self.chunks(packed, rows, around, inner, point)
            return
        start, stop = tiles.given(lanes, point)
        middle = low.variable(low.affine([start + (stop - start).floordiv(tile) * tile], point))
        low.location = unnamed(tiles.op.location)
        zero, one, two = (low.constant(low.index_type, n, point) for n in (0, 1, 2))
        left = low.compare("sgt", low.affine([stop], point), low.affine([middle], point), point)
        times = low.select(left, two, one, point)

        def once(number: Any, inside: Any) -> None:
            is_last = low.compare("eq", number, one, inside)
            first = low.affine([start], inside), low.affine([stop - tile], inside)
            last = low.affine([middle], inside), low.affine([stop], inside)
            ends = [low.variable(low.select(is_last, b, a, inside)) for a, b in (first, last)]
            self.within(lanes, (ends[0], ends[1]), lambda: self.chunks(packed, rows, around, inner, inside))

        self.loop(zero, times, 1, once, point)

    def chunks(
        self, packed: Packed, rows: Rows, around: Around, inner: Callable[[Any], None], point: Any
    ) -> None:
        """Chunks of rows, blocks of the reduction, and the panels for rows."""
        tiles, low, packer = self.tiles, self.tiles.low, self.packer(packed)
        index = int(rows.name[1:])
        start, stop = tiles.given(index, point)
        variable = next(name for name in tiles.schedule.tile.copies if name == f"copy{index}")
        row_packer = RowPacker(packer, rows, index, variable)

        def chunk(begin: Any, inside: Any) -> None:
            ends = (low.variable(begin), self.least(low.variable(begin) + rows.chunk, stop, inside))

            def pack(block: Block, at: Any) -> None:
                made = row_packer.pack(around.bases, ends, tiles.sizes[index].constant, block, at)
                tiles.panels = Panels(made, packer.op, block)
                inner(at)
                tiles.panels = Panels()

            facts = (*around.known, *low.known)
            self.within(index, ends, lambda: packer.emit(around.bases, facts, inside, pack))

        first, last = (low.affine([form], point) for form in (start, stop))
        self.loop(first, last, rows.chunk, chunk, point)

    def within(self, index: int, ends: tuple[Affine, Affine], fill: Callable[[], None]) -> None:
        """Make something where an index takes no values but these."""
        before = self.tiles.ends
        self.tiles.ends = {**(before or {}), index: ends}
        fill()
        self.tiles.ends = before

    def loop(self, start: Any, stop: Any, step: int, fill: Callable[[Any, Any], None], point: Any) -> None:
        """An `scf.for` without results."""
        low = self.tiles.low
        low.location = unnamed(self.tiles.op.location)
        by = low.constant(low.index_type, step, point)
        made = low.create("scf.for", [], [start, stop, by], point, regions=1)
        block = ir.Block.create_at_start(made.regions[0], [low.index_type], [low.location])
        inside = ir.InsertionPoint(block)
        fill(block.arguments[0], inside)
        low.location = unnamed(self.tiles.op.location)
        low.create("scf.yield", [], [], inside)

    def least(self, x: Affine, y: Affine, point: Any) -> Affine:
        """The lesser of two indices."""
        return self.tiles.low.extreme("affine.min", [x, y], point)
