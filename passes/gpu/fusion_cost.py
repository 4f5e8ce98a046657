"""What maps cost that are to be computed together, by threads of a GPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tadc.dialect.shapes import argument_shape, map_shape
from tadc.lattice.affine import Affine
from tadc.passes.gpu.schedule import priced_variants
from tadc.passes.maps.machine import Gpu
from tadc.passes.maps.tile_values import region_operations

LAUNCH = 1 << 23
"""The price of a launch, in that of instructions of threads (`prices.py`): about two microseconds."""


@dataclass(frozen=True)
class ThreadCost:
    """The price of the plan that a map gets, and of its launch."""

    gpu: Gpu

    def cost(self, op: Any, forms: Mapping[Any, Affine]) -> tuple[float, int]:
        """What a map costs: all of it, or an element where sizes are not known."""
        sizes = map_shape(op, forms)
        variants = priced_variants(self.gpu, op, sizes, forms, _shapes(op, forms))
        known = all(size.is_constant for size in sizes)
        return variants[0][0] + (LAUNCH if known else 0), 0

    def is_small(self, op: Any, forms: Mapping[Any, Affine], point: Any) -> bool:
        """Every map has a plan that could suffer."""
        return False

    def pays(self, whole: tuple[float, int], parts: Sequence[tuple[float, int]]) -> bool:
        """Whether the whole is no dearer."""
        return whole[0] <= sum(price for price, _ in parts)


def _shapes(op: Any, forms: Mapping[Any, Affine]) -> dict[Any, tuple[Affine, ...]]:
    """The shapes of the tensors that a map reads."""
    tensors = {
        inner.operands[0] for inner in region_operations(op.regions[0].blocks[0]) if inner.name == "tad.read"
    }
    return {tensor: _shape(tensor, op, forms) for tensor in tensors}


def _shape(tensor: Any, op: Any, forms: Mapping[Any, Affine]) -> tuple[Affine, ...]:
    made = tensor.owner
    if hasattr(made, "arguments"):
        function = op.parent
        return tuple(argument_shape(function, tensor))
    return tuple(map_shape(made, forms))
