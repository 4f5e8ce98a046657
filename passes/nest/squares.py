"""Loads that are side by side in memory along copies of a tile, where its lanes are far apart.

    x[j, i]    of lanes along j and as many copies along i

A gather takes one element of a line for each lane, and comes back to the line for the next copy, if it is
still near then: lines a power of two apart share few places of a cache. So a vector is read along the copies
for each lane instead, and as many of them as it has elements are transposed in registers.
"""

from __future__ import annotations

from collections.abc import Sequence

from tadc.dialect.mlir import ir
from tadc.lattice.affine import Affine
from tadc.passes.nest.joins import Made, Point
from tadc.passes.nest.shuffles import transposed
from tadc.passes.nest.tile import LANE, Copy, Tile, at
from tadc.passes.nest.vector_lanes import Lanes


class Squares:
    """One load of a block: its vector in each copy of a tile, made with those of the copies beside it."""

    def __init__(
        self, lanes: Lanes, buffer: ir.Value, forms: Sequence[Affine], name: str, point: Point
    ) -> None:
        """`name` is the variable of the copies, as `copies_of_square` finds it."""
        self.lanes, self.buffer, self.forms, self.name, self.point = lanes, buffer, forms, name, point
        self.made: dict[tuple[Affine, ...], Made] = {}

    def vector(self, copy: Copy) -> ir.Value:
        """The elements that the lanes read in a copy."""
        forms = tuple(at(form, {**copy, self.name: 0}) for form in self.forms)
        if forms not in self.made:
            rows = [self.row(forms, lane) for lane in range(self.lanes.width)]
            self.made[forms] = transposed(self.lanes.low, rows, self.point)
        return self.made[forms][copy[self.name]]

    def row(self, forms: Sequence[Affine], lane: int) -> ir.Value:
        """The elements that a lane reads in all copies."""
        *others, last = (form.substitute({LANE: Affine.const(lane)}) for form in forms)
        return self.lanes.load(self.buffer, [*others, last + Affine.var(LANE)], None, self.point)


def copies_of_square(forms: Sequence[Affine], tile: Tile) -> str | None:
    """The variable of as many copies as there are lanes, if these are side by side in memory.

    Shuffles transpose squares of a power of two.
    """
    if tile.width & (tile.width - 1):
        return None
    name = along_copies(forms, tile, tile.width)
    return name if name is not None and tile.copies[name] == tile.width else None


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
