"""The steps by which a block runs a chain of maps (`maps/block_chains.py`), and the nest that they make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tadc.passes.gpu.chain_nests import ChainNest
from tadc.passes.gpu.kernel_nests import KernelNest
from tadc.passes.gpu.row_chains import RowChain, is_inner, near_tensors
from tadc.passes.gpu.thread_plans import can_be_vector
from tadc.passes.maps.machine import Gpu
from tadc.passes.maps.map import Map, MapFunction
from tadc.passes.nest.primitives.rewriting import DoesNotFit
from tadc.passes.nest.steps import InBlocks, Keep, RowBlocks, Step, Steps, Vectors
from tadc.passes.schedule.accesses import Accesses


def chosen_chain_steps(items: Sequence[Map], function: MapFunction, gpu: Gpu) -> Steps:
    """The steps for a chain as its mark says: all that later maps read is kept, if there is room."""
    chain = RowChain.of(items[0])
    keep = tuple(tensor.name for tensor in near_tensors(items, chain, gpu))
    widths = {item.tensors[0].name: most_lanes(item, function) for item in items}
    wide = {name: width for name, width in widths.items() if width > 1}
    steps: list[Step] = [RowBlocks(chain.rows, chain.group)]
    steps += [Keep(keep)] if keep else []
    steps += [Vectors(tuple(wide), tuple(wide.values()))] if wide else []
    return (*steps, InBlocks(chain.block))


def most_lanes(item: Map, function: MapFunction) -> int:
    """The most elements of a vector of a map of a chain."""
    return next((width for width in (4, 2) if may_have_lanes(item, function, width)), 1)


def may_have_lanes(item: Map, function: MapFunction, width: int) -> bool:
    """Whether a map of a chain has vectors of so many elements along its last index."""
    accesses, order = Accesses(item, function, item.extents, [1] * len(item.extents)), item.indices
    is_row = not item.marks.steps and len(order) > RowChain.of(item).depth
    return is_row and can_be_vector(accesses, range(len(order)), width)


@dataclass(frozen=True)
class ChainSteps:
    """What the steps of a chain say."""

    chain: RowChain
    keep: tuple[str, ...]
    widths: dict[str, int]

    @staticmethod
    def of(steps: Steps, items: Sequence[Map]) -> ChainSteps:
        """Raises DoesNotFit where rows or threads are missing."""
        rows = [step for step in steps if isinstance(step, RowBlocks)]
        blocks = [step.threads for step in steps if isinstance(step, InBlocks)]
        if len(rows) != 1 or len(blocks) != 1:
            raise DoesNotFit("a chain has one step `row_blocks` and one `in_blocks`")
        keep = tuple(name for step in steps if isinstance(step, Keep) for name in step.tensors)
        widths = {
            name: width
            for step in steps
            if isinstance(step, Vectors)
            for name, width in zip(step.tensors, step.widths, strict=True)
        }
        depth = RowChain.of(items[0]).depth
        return ChainSteps(RowChain(rows[0].rows, depth, rows[0].threads, blocks[0]), keep, widths)


def chain_nest(items: Sequence[Map], function: MapFunction, steps: Steps, warp: int) -> KernelNest:
    """The nest that steps make of a chain. Raises DoesNotFit where one of them is missing."""
    said, tensors = ChainSteps.of(steps, items), function.tensors()
    near = [tensors[name] for name in dict.fromkeys(said.keep)]
    inner = frozenset(name for name in said.keep if is_inner(name, items, function))
    widths = {item.tensors[0].name: said.widths.get(item.tensors[0].name, 1) for item in items}
    nest = ChainNest(function, items, said.chain, near, inner, widths, warp).nest()
    return KernelNest(function, items[0], steps, nest, inner=inner)
