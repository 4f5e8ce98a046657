"""How a map becomes loops: in tiles of vectors, in parts, or plainly where time to compile is worth more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tadc.lattice.affine import Affine
from tadc.passes.divide import dividable, dividable_batch
from tadc.passes.machine import Machine
from tadc.passes.packing_plan import Packed
from tadc.passes.probes import probed_operations
from tadc.passes.schedule import EACH, schedule_of
from tadc.passes.splits import PLAIN, Split, copies, splits
from tadc.passes.steps import Steps
from tadc.passes.tile_schedule import Schedule
from tadc.passes.tile_values import region_operations
from tadc.passes.work import LEAST

TYPICAL = 32
"""A body of more operations than this takes longer to compile, and gets vectors for more work only."""

SMALL = 8
"""A map of fewer operations than the least work over this is compiled for the size of its code."""

LEAST_CODE = 256
MOST_CODE = 1 << 12
"""Code of more than LEAST_CODE operations is worth compiling for so many operations of work, each."""


MOST_PACKING = 0.04
"""A map that packs again for every few rows, and takes more of its time for it, runs over all at once."""


@dataclass(frozen=True)
class Plan:
    """What is decided before a map is lowered.

    `work` is about the number of its operations, None where sizes are not known; `parts` says how the loop
    of each index is split; `schedule` how tiles are laid, None for single elements; `axes` which indices may
    be divided among threads.
    """

    work: int | None
    parts: tuple[Split, ...]
    schedule: Schedule | None
    axes: tuple[int, ...]
    is_small: bool = False
    steps: Steps | None = None

    @property
    def is_plain(self) -> bool:
        """Whether the body stands once, for single elements."""
        return self.schedule is None and all(part is PLAIN for part in self.parts)

    @property
    def plain(self) -> Plan:
        """The plan with the least code."""
        return Plan(self.work, (PLAIN,) * len(self.parts), None, self.axes, True, self.steps)


def is_worth(code: int, work: int | None) -> bool:
    """Whether so many operations are worth compiling for this work, None where it is not known."""
    return work is None or code <= _worthwhile(work)


def _worthwhile(work: int) -> int:
    """So many operations of code are worth compiling for this work."""
    return max(LEAST_CODE, work // MOST_CODE)


def plan_of(
    op: Any,
    shape: Sequence[Affine],
    forms: Mapping[Any, Affine],
    machine: Machine,
    steps: Steps | None = None,
    rows: int | None = None,
) -> Plan:
    """The plan of a map of this shape, or of a recurrence with steps.

    `forms` has the forms of values from above it. With `rows`, so many values of the first index or more are
    computed at a time.
    """
    work = None
    # The forms from above are sizes.
    if all(extent.is_constant for extent in shape) and not _uses(op, forms):
        work = probed_operations(op, [extent.constant for extent in shape])
        if SMALL * work < machine.least_work:
            return Plan(work, (PLAIN,) * len(shape), None, (), True, steps)
    if steps is not None and steps.order is not None:
        return Plan(work, (PLAIN,) * len(shape), None, (), steps=steps)
    parts, schedule = tuple(splits(op, shape, forms)), None
    body = operations_in(op)
    in_batches = steps is not None and bool(steps.batch)
    # Of a batch each step computes the same elements in the same thread, those of tiles past an end too.
    if in_batches or (machine.least_work and not is_worth(EACH * copies(parts) * body, work)):
        parts = (PLAIN,) * len(shape)
    if work is None or TYPICAL * work >= machine.least_work * max(TYPICAL, body):
        code = None if work is None or not machine.least_work else _worthwhile(work)
        at_once = shape if rows is None else (Affine.const(rows), *shape[1:])
        schedule = schedule_of(op, at_once, parts, forms, machine, code, steps)
    axes: tuple[int, ...] = ()
    if work is None or work >= LEAST:
        axes = dividable(shape, schedule) if steps is None else dividable_batch(shape, steps.batch)
    return Plan(work, parts, schedule, axes, steps=steps)


def plan_in_chain(
    op: Any, shape: Sequence[Affine], forms: Mapping[Any, Affine], machine: Machine, rows: int
) -> Plan | None:
    """The plan of a map that runs over so many rows at a time, or more; None where it cannot."""
    plan = plan_of(op, shape, forms, machine, rows=rows)
    schedule = plan.schedule
    if plan.parts[0] is not PLAIN:
        return None
    if schedule is not None:
        packed = schedule.packed
        if packed is not None and (packed.block is not None or _packs_again(packed)):
            return None
        schedule = replace(schedule, stays=True)
    return replace(plan, schedule=schedule, axes=(0,))


def _packs_again(packed: Packed) -> bool:
    """Whether much of the time goes into packing the same for every few rows."""
    each = packed.names | packed.around
    return "b0" not in each and packed.share + (packed.rows.share if packed.rows else 0) > MOST_PACKING


def operations_in(op: Any) -> int:
    """The number of operations of an operation of one region, itself among them."""
    return 1 + sum(1 for _ in region_operations(op.regions[0].blocks[0]))


def _uses(op: Any, values: Mapping[Any, Any]) -> bool:
    """Whether an operation, or one in its region, has one of these values as an operand."""
    inside = (op, *region_operations(op.regions[0].blocks[0])) if values else ()
    return any(value in values for each in inside for value in each.operands)
