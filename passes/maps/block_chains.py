"""Maps that a block of threads computes for a few rows, one after the other, in one launch.

No block waits for another: each computes all maps for its rows. Intermediates stay in shared memory, and
common operands are loaded once.
"""

from __future__ import annotations

import math

from tadc.lattice.late_dataclasses import dataclass, replace
from tadc.passes.maps.blocks import BlockNames
from tadc.passes.maps.gather_rows import gathered, gathered_in_sums
from tadc.passes.maps.machine import TYPICAL, Gpu
from tadc.passes.maps.map import Map, MapFunction, Marks
from tadc.passes.maps.row_reads import RowReads, bytes_of
from tadc.passes.maps.run_together import RowMachine, RunTogether
from tadc.passes.terms.costs import LARGER

WORTH_GATHERING = TYPICAL.warp
"""So many rows at least read what is gathered for them in a launch of its own: a warp does all of fewer."""

LEAST_ROWS = 2 * LARGER
"""Parts of sums are of so many rows at least: they are few beside what they are sums of."""


def with_gathered_rows(function: MapFunction) -> MapFunction:
    """The function where what all rows of a matrix read apart is gathered.

    Of maps with more indices, what is gathered may be as large as they are.
    """
    if function.sizes:
        return function
    tensors = function.tensors()
    names, maps = BlockNames(set(tensors)), list[Map]()
    for item in function.maps:
        is_matrix = item.order is None and len(item.tensors) == 1 and len(item.extents) == 2
        if is_matrix and item.extents[0].constant >= WORTH_GATHERING:
            made, item = gathered(item, tensors, names)
            maps += made
        if item.order is None and math.prod(extent.constant for extent in item.extents) >= WORTH_GATHERING:
            made, item = gathered_in_sums(item, tensors, names)
            maps += made
        maps.append(item)
    return replace(function, maps=tuple(maps))


@dataclass(frozen=True, kw_only=True)
class RowsInBlocks(RowMachine):
    """Rows in the blocks of a GPU."""

    gpu: Gpu

    def fits(self, member: RowReads) -> bool:
        """Whether all that a map reads elsewhere is the same for all rows, and no more than a row is."""
        item, tensors, depth = member.item, member.tensors, member.depth
        rows = {f"?{n}" for n in range(depth)}
        forms = (form for found in member.far.values() for at in found for form in at)
        if any(not rows.isdisjoint(form.variables) for form in forms):
            return False
        own = bytes_of(item.tensors[0], 0 if member.row else depth)
        most = max([own, *(bytes_of(tensors[name], depth) for name in member.read_in_row)])
        if any(bytes_of(tensors[name]) > 2 * most for name in member.far):
            return False
        is_longer = not member.row and len(item.extents) > depth
        return not (is_longer and any(item.body.folds()))

    def marks(self, together: RunTogether, number: int, given: int = 0) -> Marks | None:
        """How the maps run; not where there are too few rows to keep the multiprocessors busy."""
        gpu, count = self.gpu, together.count
        shapes = [together.tensors[name].shape[together.depth :] for name in together.used]
        longest = max(math.prod(extent.constant for extent in shape) for shape in shapes)
        if longest < 2 or (not given and count < gpu.multiprocessors and longest > 8 * gpu.row_of_warp):
            return None
        block = gpu.usual_block * (1 if longest <= gpu.carried * gpu.usual_block else 2)
        together.sums = [
            one
            for one in together.sums
            if math.prod(extent.constant for extent in one.item.extents) <= gpu.carried * block
        ]
        group = gpu.warp if longest <= gpu.row_of_warp and self.is_near(together) else block
        while block > max(group, gpu.least_block) and count * group < 2 * gpu.multiprocessors * block:
            block //= 2
        rows = block // group
        if together.sums:
            rows = max(LEAST_ROWS, -(-count // (4 * gpu.multiprocessors)) // rows * rows)
            rows = -(-rows // (block // group)) * (block // group)
        if len(together.members) + len(together.sums) < 2:
            return None
        return Marks(chain=number, rows=min(given or rows, count), blocks=(together.depth, group, block))

    def is_near(self, together: RunTogether) -> bool:
        """Whether shared memory holds what is computed of some rows, of a warp each."""
        made = [tensor for member in together.members for tensor in member.item.tensors]
        count = max(LEAST_ROWS if together.sums else 0, self.gpu.least_block // self.gpu.warp)
        room = self.gpu.static_shared - self.gpu.shared_of_warps
        return count * sum(bytes_of(tensor, together.depth) for tensor in made) <= room
