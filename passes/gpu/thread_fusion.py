"""The cost of fused maps, computed by threads of a GPU."""

from __future__ import annotations

from collections.abc import Sequence

from tadc.lattice.late_dataclasses import dataclass
from tadc.passes.gpu.schedule import tiles_of
from tadc.passes.maps.fuse import Cost
from tadc.passes.maps.machine import Gpu
from tadc.passes.maps.map import Map, MapFunction


@dataclass(frozen=True)
class FusedCost:
    """The cost of the plan that a map gets, and of its launch."""

    gpu: Gpu

    def cost(self, item: Map, function: MapFunction) -> Cost:
        """What a map costs: all of it, or an element where sizes are not known."""
        cost, _ = tiles_of(self.gpu, item, function)
        known = all(size.is_constant for size in item.extents)
        return cost + (self.gpu.launch if known else 0), 0

    def is_small(self, item: Map, function: MapFunction) -> bool:
        """Every map has a plan that could suffer."""
        return False

    def pays(self, whole: Cost, parts: Sequence[Cost]) -> bool:
        """Whether the whole costs no more."""
        return whole[0] <= sum(cost for cost, _ in parts)
