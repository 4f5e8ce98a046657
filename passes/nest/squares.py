"""Loads that are side by side in memory along copies of a tile, where its lanes are far apart.

    x[j, i]    of lanes along j and a few copies along i

A gather takes one element of a line for each lane, and comes back to the line for the next copy, if it is
still near then: lines a power of two apart share few places of a cache. So a vector is read along the copies
for each lane instead, and these are transposed in registers: squares of as many copies as there are lanes, or
short vectors of what a few copies have, under a mask where they are fewer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tadc.dialect.mlir import ir
from tadc.lattice.affine import Affine
from tadc.passes.nest.joins import Made, Point
from tadc.passes.nest.shuffles import columns, transposed
from tadc.passes.nest.tile import LANE, Copy, Tile, at
from tadc.passes.nest.vector_lanes import Lanes

TOGETHER = 4
"""So many copies at most are together in a short vector."""

FEWEST = 3
"""Fewer copies are not worth shuffles."""


class Squares:
    """One load of a block: its vector in each copy of a tile, made with those of the copies beside it."""

    def __init__(
        self,
        lanes: Lanes,
        buffer: ir.Value,
        forms: Sequence[Affine],
        copies: tuple[str, int],
        point: Point,
    ) -> None:
        """`copies` are their variable and number, as `copies_of_square` finds it."""
        self.lanes, self.buffer, self.forms, self.point = lanes, buffer, forms, point
        self.name, self.count = copies
        is_square = self.count == lanes.width
        self.short = lanes if is_square else replace(lanes, width=TOGETHER)
        self.transposed = transposed if is_square else columns
        self.made: dict[tuple[Affine, ...], Made] = {}

    def vector(self, copy: Copy) -> ir.Value:
        """The elements that the lanes read in a copy."""
        place, width = copy[self.name], self.short.width
        first = place - place % width
        forms = tuple(at(form, {**copy, self.name: first}) for form in self.forms)
        if forms not in self.made:
            mask = self.mask(self.count - first)
            rows = [self.row(forms, lane, mask) for lane in range(self.lanes.width)]
            self.made[forms] = self.transposed(self.lanes.low, rows, self.point)
        return self.made[forms][place - first]

    def mask(self, left: int) -> ir.Value | None:
        """Which elements of a short vector there are, if not all."""
        width = self.short.width
        return self.short.first(left, self.point) if left < width else None

    def row(self, forms: Sequence[Affine], lane: int, mask: ir.Value | None) -> ir.Value:
        """The elements that a lane reads in copies side by side."""
        *others, last = (form.substitute({LANE: Affine.const(lane)}) for form in forms)
        return self.short.load_run(self.buffer, [*others, last + Affine.var(LANE)], mask, self.point)


def copies_of_square(forms: Sequence[Affine], tile: Tile) -> tuple[str, int] | None:
    """The variable and the number of copies that are side by side in memory where lanes are not, as many as
    there are lanes, or a few.

    Shuffles transpose squares of a power of two.
    """
    if tile.width & (tile.width - 1) or tile.width < TOGETHER:
        return None
    name = along_copies(forms, tile, FEWEST)
    return None if name is None else (name, tile.copies[name])


def along_copies(forms: Sequence[Affine], tile: Tile, least: int) -> str | None:
    """The variable of at least so many copies that are side by side in memory where lanes are not."""
    if not forms:
        return None
    *others, last = forms
    names = frozenset[str]().union(*(form.variables for form in others))
    if LANE not in names or LANE in last.variables:
        return None
    for name, count in tile.copies.items():
        if count >= least and name not in names and last.coefficient(name) == 1:
            return name if name not in (last - Affine.var(name)).variables else None
    return None
