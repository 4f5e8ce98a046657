"""Maps to the nests of kernels: a plan as steps, which are taken on the plain nest of a map."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tadc.lattice.affine import Affine, Constraint
from tadc.passes.gpu.flat import flat_map
from tadc.passes.gpu.interleaved import Place, placed
from tadc.passes.gpu.plan import BLOCK_SIZE, GroupPlan, Plan, ThreadPlan, TilePlan
from tadc.passes.gpu.steps_of_plan import (
    steps_in_place,
    steps_of_group_plan,
    steps_of_thread_plan,
    steps_of_tile_plan,
)
from tadc.passes.maps.map import Map, MapFunction
from tadc.passes.nest.nest import Nest
from tadc.passes.nest.plain import plain_nest
from tadc.passes.nest.primitives.apply import apply_steps
from tadc.passes.nest.steps import Steps


@dataclass(frozen=True)
class KernelNest:
    """The nest of a kernel, and the steps that made it of the plain nest of a map in a function; `total` is
    a size that is the product of `extents`. Tensors of a chain that are `inner` have shared memory alone."""

    function: MapFunction
    item: Map
    steps: Steps
    nest: Nest
    total: str = ""
    extents: tuple[Affine, ...] = ()
    inner: frozenset[str] = frozenset()


def kernel_nest(
    function: MapFunction,
    item: Map,
    plan: Plan | None,
    places: Mapping[str, Place],
    warp: int,
) -> KernelNest:
    """The nest of a map with a plan; a map that completes another in its memory has none."""
    total, extents = "", ()
    if isinstance(plan, ThreadPlan) and plan.flat:
        extents = item.extents
        function, item, total = flat_map(function, item)
    elif isinstance(plan, ThreadPlan) and plan.width > 1 and not item.extents[plan.order[-1]].is_constant:
        # Such a plan is for sizes of which it holds.
        whole = Constraint(item.extents[plan.order[-1]].mod(plan.width), equality=True)
        function = replace(function, known=(*function.known, whole))
    plain = plain_nest(function, item)
    match plan:
        case None:
            steps = steps_in_place(item, plain, BLOCK_SIZE)
        case GroupPlan():
            steps = steps_of_group_plan(item, plan, warp)
        case ThreadPlan():
            steps = steps_of_thread_plan(item, function, plan)
        case TilePlan():
            steps = steps_of_tile_plan(item, function, plan)
    nest = placed(apply_steps(plain, steps), places)
    return KernelNest(function, item, steps, nest, total, extents)
