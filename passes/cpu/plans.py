"""How a map becomes loops: in tiles of vectors, in parts, or plainly where time to compile is worth more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tadc.lattice.affine import Affine
from tadc.passes.cpu.divide import dividable, dividable_batch
from tadc.passes.cpu.schedule import EACH, least_price, schedule_of
from tadc.passes.cpu.splits import PLAIN, Split, copies, splits
from tadc.passes.cpu.tile_schedule import Schedule
from tadc.passes.maps.machine import Machine
from tadc.passes.maps.marks import IN_PLACE, STEPS
from tadc.passes.maps.probes import probed_operations
from tadc.passes.maps.steps import Steps
from tadc.passes.maps.tile_values import region_operations
from tadc.passes.maps.work import LEAST

TYPICAL = 32
"""A body of more operations than this takes longer to compile, and gets vectors for more work only."""

SMALL = 8
"""A map of fewer operations than the least work over this has no vectors, and its body once."""

TINY = 16
"""Of fewer than the least work over this, it is compiled for the size of its code: that takes 20 ms less, and
up to a fifth more time, which is some microseconds for more operations."""

LEAST_CODE = 256
MOST_CODE = 1 << 12
"""Code of more than LEAST_CODE operations is worth compiling for so many operations of work, each."""

LEAST_WOVEN = 2 * LEAST_CODE
"""Where so much code is worth compiling, vectors are woven."""

SLACK = 1.05
"""A map whose elements have more than so many times the price in a few rows runs over all rows at once: what
it packs would not be read often enough."""


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

    def smaller(self, code: int) -> Plan:
        """A plan with less code than so many operations, which are more than is worth compiling."""
        assert self.work is not None
        schedule = self.schedule and self.schedule.smaller(_worthwhile(self.work) / code)
        if schedule is not None:
            return replace(self, schedule=schedule)
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
    if IN_PLACE in op.attributes:
        return Plan(None, (PLAIN,) * len(shape), None, ())
    work = None
    # The forms from above are sizes.
    if all(extent.is_constant for extent in shape) and not _uses(op, forms):
        work = probed_operations(op, [extent.constant for extent in shape])
        if SMALL * work < machine.least_work:
            return Plan(work, (PLAIN,) * len(shape), None, (), TINY * work < machine.least_work, steps)
    if steps is not None and steps.order is not None:
        return Plan(work, (PLAIN,) * len(shape), None, (), steps=steps)
    parts, schedule = tuple(splits(op, shape, forms)), None
    if STEPS in op.attributes:
        parts = (PLAIN, *parts[1:])
    body = operations_in(op)
    in_batches = steps is not None and bool(steps.batch)
    # Of a batch each step computes the same elements in the same thread, those of tiles past an end too.
    if in_batches or (machine.least_work and not is_worth(EACH * copies(parts) * body, work)):
        parts = (PLAIN,) * len(shape)
    if work is None or TYPICAL * work >= machine.least_work * max(TYPICAL, body):
        code = None if work is None or not machine.least_work else _worthwhile(work)
        at_once = shape if rows is None else (Affine.const(rows), *shape[1:])
        schedule = schedule_of(op, at_once, parts, forms, machine, code, steps)
        if schedule is not None and code is not None and code < LEAST_WOVEN:
            schedule = replace(schedule, weaves=False)
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
        if schedule.packed is not None and schedule.packed.block is not None:
            return None
        if _suffers(op, shape, plan.parts, forms, machine, rows):
            return None
        schedule = replace(schedule, stays=True)
    return replace(plan, schedule=schedule, axes=(0,))


def _suffers(
    op: Any,
    shape: Sequence[Affine],
    parts: Sequence[Split],
    forms: Mapping[Any, Affine],
    machine: Machine,
    rows: int,
) -> bool:
    """Whether elements have a higher price where only so many rows are computed at a time."""
    block = op.regions[0].blocks[0]
    reads = [inner for inner in region_operations(block) if inner.name == "tad.read"]
    if STEPS in op.attributes or all(block.arguments[0] in read.operands for read in reads):
        # No two rows read the same.
        return False
    few = least_price(op, (Affine.const(rows), *shape[1:]), parts, forms, machine)
    full = least_price(op, shape, parts, forms, machine)
    # What packing saves in caches is not in the price.
    return few[0] > SLACK * full[0] or few[1] < full[1]


def operations_in(op: Any) -> int:
    """The number of operations of an operation of one region, itself among them."""
    return 1 + sum(1 for _ in region_operations(op.regions[0].blocks[0]))


def _uses(op: Any, values: Mapping[Any, Any]) -> bool:
    """Whether an operation, or one in its region, has one of these values as an operand."""
    inside = (op, *region_operations(op.regions[0].blocks[0])) if values else ()
    return any(value in values for each in inside for value in each.operands)
