"""What passes look for before they read the maps of a function, which takes longer."""

from __future__ import annotations

import math

from tadc.dialect.mlir import ir
from tadc.passes.maps import chains
from tadc.passes.maps.buffers import maps_of


def may_fuse(function: ir.Operation) -> bool:
    """Whether there are several maps, or several sums in one."""
    maps = maps_of(function)
    sums = (inner.operation.name == "tad.sum" for op in maps for inner in op.regions[0].blocks[0].operations)
    return len(maps) > 1 or sum(sums) > 1


def may_chain(function: ir.Operation) -> bool:
    """Whether there are several maps, and tensors larger than what stays in the caches anyway."""
    maps = maps_of(function)
    values = [*function.regions[0].blocks[0].arguments, *(value for op in maps for value in op.results)]
    types = [value.type for value in values]
    if len(maps) < 2 or any(isinstance(type, ir.IndexType) or not type.has_static_shape for type in types):
        return False
    total = sum(math.prod(type.shape) * type.element_type.width // 8 for type in types)
    return total >= chains.LEAST_BYTES
