"""What passes look for before they read the maps or the program of a function, which takes longer."""

from __future__ import annotations

import math

from tadc.dialect.mlir import ir
from tadc.dialect.scalar_ops import FUNCTION_OF
from tadc.passes.maps import chains
from tadc.passes.maps.buffers import maps_of
from tadc.passes.rewrites.rows import MOST
from tadc.passes.terms.costs import EXPENSIVE, WEIGHTS


def may_have_rows(op: ir.Operation) -> bool:
    """Whether a `tad.map` has a short row and a sum with something expensive, as `passes/rewrites/rows.py`
    splits."""
    type = op.results[0].type
    short = [n for n in range(type.rank) if not type.is_dynamic_dim(n) and 1 < type.get_dim_size(n) <= MOST]
    if type.rank < 2 or not short:
        return False
    block = op.regions[0].blocks[0]
    guards = [inner.operation for inner in block.operations if inner.operation.name == "tad.guard"]
    blocks = [block, *(guard.regions[0].blocks[0] for guard in guards)]
    sums = (o.operation for each in blocks for o in each.operations if o.operation.name == "tad.sum")
    return any(_is_expensive(o.operation) for found in sums for o in found.regions[0].blocks[0].operations)


def is_reduction(op: ir.Operation) -> bool:
    """Whether an operation reduces over a set."""
    return op.name in ("tad.sum", "tad.sums", "tad.reduce")


def _is_expensive(op: ir.Operation) -> bool:
    if op.name == "tad.apply":
        return WEIGHTS[ir.StringAttr(op.attributes["fn"]).value] >= EXPENSIVE
    return is_reduction(op) or WEIGHTS.get(FUNCTION_OF.get(op.name, ""), 0) >= EXPENSIVE


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
