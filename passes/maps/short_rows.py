"""Which maps may have short rows to make tensors of, as `passes/rewrites/rows.py` does."""

from __future__ import annotations

from typing import Any

from tadc.passes.maps.merge_sums import holds_dear_values, sums_of
from tadc.passes.rewrites.rows import MOST


def may_have_rows(op: Any) -> bool:
    """Whether a `tad.map` has a short row and a sum with something dear."""
    type = op.results[0].type
    short = [n for n in range(type.rank) if not type.is_dynamic_dim(n) and 1 < type.get_dim_size(n) <= MOST]
    if type.rank < 2 or not short:
        return False
    block = op.regions[0].blocks[0]
    guards = [inner.operation for inner in block.operations if inner.operation.name == "tad.guard"]
    blocks = [block, *(guard.regions[0].blocks[0] for guard in guards)]
    return any(holds_dear_values(found) for each in blocks for found in sums_of(each))
