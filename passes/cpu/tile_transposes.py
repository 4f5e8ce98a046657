"""Tiles whose lanes are far apart in memory, and whose copies stand side by side there.

To store each lane of a vector alone takes longer than to compute it where a sum is short. Vectors of a few
copies are woven in registers instead: then what each lane has of them is consecutive, and stored together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tadc.dialect.mlir import ir
from tadc.lattice.affine import Affine
from tadc.passes.cpu.tile_stores import Elements, TileStores
from tadc.passes.maps.tile_values import LANE, Tile, at
from tadc.passes.nest.lanes import Lanes

TOGETHER = 4
"""So many copies are woven."""


def woven_copies(forms: Sequence[Affine], tile: Tile) -> str | None:
    """The variable of copies that are stored side by side where lanes are not, if there are enough."""
    return along_copies(forms, tile, TOGETHER) if tile.width >= TOGETHER else None


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


class TransposedStores:
    """Stores of a tile, copy by copy along `name`, of which `TOGETHER` wait for each other."""

    def __init__(self, stores: TileStores, forms: Sequence[Affine], name: str, point: Any) -> None:
        self.stores, self.forms, self.name, self.point = stores, list(forms), name, point
        self.waiting: list[Elements] = []

    def add(self, elements: Elements) -> None:
        """Take in the values of the next copy."""
        self.waiting.append(elements)
        if len(self.waiting) == TOGETHER:
            self.weave(self.waiting)
            self.waiting = []

    def end(self) -> None:
        """Store what is left as it is."""
        for elements in self.waiting:
            self.stores.store(self.forms, self.point, elements)
        self.waiting = []

    def weave(self, copies: Sequence[Elements]) -> None:
        """Store the values of some copies together."""
        stores = self.stores
        lanes = Lanes(stores.low, stores.width)
        for number, tensor in enumerate(stores.op.results):
            for buffer in (stores.low.memrefs[tensor], *stores.low.copies.get(tensor, ())):
                for same in zip(*copies, strict=True):
                    woven = lanes.woven([values[number] for _, values in same], self.point)
                    self.store(lanes, woven, buffer, stores.low.place(tensor, self.forms), same[0][0])

    def store(
        self, lanes: Lanes, woven: Any, buffer: Any, forms: Sequence[Affine], first: Mapping[str, int]
    ) -> None:
        """Store what each lane has, in places whose forms are given."""
        forms = [at(form, first) for form in forms]
        piece = ir.VectorType.get([TOGETHER], woven.type.element_type)
        for lane in range(lanes.width):
            attributes = {
                key: ir.ArrayAttr.get([ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)])
                for key, value in (("offsets", lane * TOGETHER), ("sizes", TOGETHER), ("strides", 1))
            }
            low = self.stores.low
            made = low.create("vector.extract_strided_slice", [piece], [woven], self.point, attributes)
            there = [form.substitute({LANE: Affine.const(lane)}) for form in forms]
            lanes.store_run(made.results[0], buffer, there, self.point)
