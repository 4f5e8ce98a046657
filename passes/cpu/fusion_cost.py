"""What maps cost that are to be computed together, by vectors of a CPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tadc.dialect.shapes import map_shape
from tadc.lattice.affine import Affine
from tadc.passes.cpu.schedule import least_price
from tadc.passes.cpu.splits import splits
from tadc.passes.maps.lower_body import BodyLowering
from tadc.passes.maps.machine import Machine
from tadc.passes.maps.work import operations_of

SLACK = 1.02
"""So many times the price of the parts the whole may have: a nest of loops less is worth something."""


@dataclass(frozen=True)
class VectorCost:
    """The price of an element in the schedule that a map gets, and how many of its reads are packed."""

    machine: Machine

    def cost(self, op: Any, forms: Mapping[Any, Affine]) -> tuple[float, int]:
        """What a map costs."""
        sizes = map_shape(op, forms)
        return least_price(op, sizes, splits(op, sizes, forms), forms, self.machine)

    def is_small(self, op: Any, forms: Mapping[Any, Affine], point: Any) -> bool:
        """Whether a map gets no vectors, so no schedule that could suffer."""
        if not self.machine.vector_bytes:
            return True
        if forms or not self.machine.least_work:
            return False
        count = operations_of(op, map_shape(op, {}), BodyLowering(op.context), point)
        return isinstance(count, int) and count < self.machine.least_work

    def pays(self, whole: tuple[float, int], parts: Sequence[tuple[float, int]]) -> bool:
        """Whether the whole is no dearer. What packing saves in caches is not in the price."""
        price = SLACK * sum(price for price, _ in parts)
        return whole[0] <= price and whole[1] >= sum(packed for _, packed in parts)
