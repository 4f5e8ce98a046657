"""A map as loops over its elements, in tiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tadc.lattice.affine import Affine, Constraint
from tadc.passes.cpu.splits import Split
from tadc.passes.cpu.step_loops import StepLoops
from tadc.passes.cpu.tile_loops import Ends, TileLoops
from tadc.passes.cpu.tile_schedule import Schedule
from tadc.passes.maps.lower_body import BodyLowering
from tadc.passes.maps.steps import Steps


def element_loops(
    op: Any,
    sizes: Sequence[Affine],
    lowering: BodyLowering,
    point: Any,
    found: Sequence[Split],
    ends: Ends | None = None,
    schedule: Schedule | None = None,
    steps: Steps | None = None,
) -> None:
    """Lower a map of these sizes to loops over tiles; over single elements where a tile does not fit.

    `found` says how the loop of each index is split. An index without `ends` takes all of its values. The
    loops of a recurrence with `steps` run in its order.
    """
    single = Schedule(1, tuple(range(len(sizes))) if steps is None else steps.loops(len(sizes)))

    def loops(schedule: Schedule) -> Callable[[Any], list[Any]]:
        def emit(inside: Any) -> list[Any]:
            if steps is None:
                TileLoops(op, sizes, lowering, schedule, found, ends).emit(inside)
            else:
                StepLoops(op, sizes, lowering, schedule, found, ends, steps).emit(inside)
            return []

        return emit

    schedule = schedule or single
    tiled = [(size, schedule.extent(index)) for index, size in enumerate(sizes)]
    # A loop over no element needs no room for one.
    unknown = tuple(Constraint(size - tile) for size, tile in tiled if tile > 1 and not size.is_constant)
    if schedule is single or not unknown:
        loops(schedule)(point)
    else:
        lowering.choose(lowering.holds(unknown, point), [], loops(schedule), loops(single), point)
