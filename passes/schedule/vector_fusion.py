"""The cost of fused maps, computed in vectors of a CPU."""

from __future__ import annotations

from collections.abc import Sequence

from tadc.lattice.late_dataclasses import dataclass
from tadc.passes.maps.fuse import Cost
from tadc.passes.maps.map import Map, MapFunction
from tadc.passes.schedule.accesses import Accesses
from tadc.passes.schedule.cpu_machine import CpuMachine
from tadc.passes.schedule.search import SLACK, least_cost
from tadc.passes.schedule.splits import parts_of
from tadc.passes.schedule.work_counts import operations_of


@dataclass(frozen=True)
class VectorCost:
    """The cost of an element in the schedule that a map gets, and how many of its reads are packed."""

    machine: CpuMachine

    def cost(self, item: Map, function: MapFunction) -> Cost:
        """What a map costs."""
        return least_cost(Accesses(item, function, parts=parts_of(item, item.extents)), self.machine)

    def is_small(self, item: Map, function: MapFunction) -> bool:
        """Whether a map gets no vectors, so no schedule that could suffer."""
        if not self.machine.vector_bytes:
            return True
        if function.sizes or not self.machine.least_work:
            return False
        count = operations_of(item).count
        return isinstance(count, int) and count < self.machine.least_work

    def pays(self, whole: Cost, parts: Sequence[Cost]) -> bool:
        """Whether the whole costs no more. What packing saves in caches is not in the cost."""
        cost = SLACK * sum(cost for cost, _ in parts)
        return whole[0] <= cost and whole[1] >= sum(packed for _, packed in parts)
