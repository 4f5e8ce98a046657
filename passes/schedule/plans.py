"""How a map becomes loops: in tiles of vectors, in parts, or plainly where time to compile is worth more."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import product

from tadc.lattice.affine import Affine
from tadc.lattice.late_dataclasses import dataclass, replace
from tadc.passes.maps.blocks import BlockNames, forms_of, indices_bound
from tadc.passes.maps.keyed_sums import keyed_map
from tadc.passes.maps.map import Map, MapFunction, Marks
from tadc.passes.maps.recurrence import RecurrenceLoops, recurrence_of, reversed_map, sweep_of
from tadc.passes.nest.squares import FEWEST, is_transposable
from tadc.passes.nest.steps import Bind, Join, Peel, Residues, Rows, Scatter, Steps, Threads
from tadc.passes.schedule.accesses import Accesses, operations_in
from tadc.passes.schedule.candidate import Candidate
from tadc.passes.schedule.cpu_machine import CpuMachine
from tadc.passes.schedule.given import rows_of
from tadc.passes.schedule.search import EACH, SLACK, Pick, cost_of_tiling, least_cost, tiling_of
from tadc.passes.schedule.splits import (
    FEW_TILES,
    WHOLE,
    Parts,
    copies,
    parts_of,
    without_guards,
    without_outermost,
)
from tadc.passes.schedule.thread_division import MULTIPLE, ThreadDivision
from tadc.passes.schedule.work_counts import known_operations
from tadc.passes.terms.costs import FEW_ELEMENTS, MUCH_CODE, TILE_CODE

MOST_CODE = FEW_ELEMENTS
"""Code of more than MUCH_CODE operations is worth compiling for so many operations of work, each."""


@dataclass(frozen=True)
class NestPlan:
    """What is decided before the nest of a map is made.

    `work` is about the number of its operations, None where sizes are not known; `parts` says in which parts
    the loop of each index runs; `tiling` how tiles are laid, None for single elements; `threads` which
    indices may be divided among threads, of one that runs in `rows` in each step. Steps that are `given`
    stand in the place of those that the plan would make. It is for the map after `joins`.
    """

    work: int | None
    parts: tuple[Parts, ...] = ()
    tiling: Candidate | None = None
    threads: tuple[str, ...] = ()
    rows: Rows | None = None
    given: Steps | None = None
    joins: tuple[Join, ...] = ()
    row: int = 0
    """So many steps of a recurrence are written out, where they are a row of each lane."""
    guarded: tuple[Parts, ...] = ()
    """The parts with choices in all of them, where the full parts are without."""
    too_long: tuple[int, ...] = ()
    """The operations of code that there were with each plan before: more than is worth compiling."""

    def with_steps(self, steps: Steps) -> NestPlan:
        """A plan with given steps."""
        threads = next((step.indices for step in steps if isinstance(step, Threads)), ())
        joins = tuple(step for step in steps if isinstance(step, Join))
        return replace(self, threads=threads, given=steps, joins=joins)

    @property
    def is_plain(self) -> bool:
        """Whether the body stands once, for single elements."""
        if self.given is not None:
            return not any(isinstance(step, Bind | Peel | Residues) for step in self.given)
        return self.tiling is None and all(part == WHOLE for part in self.parts)

    def is_worth(self, code: int) -> bool:
        """Whether so many operations are worth compiling: as many times more as there are lanes where vectors
        stand in single copies, for so much do they gain."""
        tiling = self.tiling
        lanes = tiling.width if tiling is not None and tiling.smaller(1) is None else 1
        return _is_worth(code, self.work, lanes)

    def smaller(self, code: int) -> NestPlan:
        """A plan with less code than so many operations, which are more than is worth compiling."""
        assert self.work is not None
        if self.row:
            return replace(self, row=0, too_long=(*self.too_long, code))
        if self.guarded:
            return replace(self, parts=self.guarded, guarded=(), too_long=(*self.too_long, code))
        tiling = self.tiling and self.tiling.smaller(_worthwhile(self.work) / code)
        made = replace(self, tiling=tiling, too_long=(*self.too_long, code))
        return made if tiling is not None else replace(made, parts=(WHOLE,) * len(self.parts))

    def of_equal(self, first: NestPlan) -> NestPlan:
        """This plan for an equal map, whose first plan is this one's."""
        return reduce(NestPlan.smaller, self.too_long, first)


def _is_worth(code: int, work: int | None, gain: int = 1) -> bool:
    """Whether so many operations are worth compiling for this work, None where it is not known, if they do it
    so many times as fast."""
    return work is None or code <= _worthwhile(gain * work)


def _worthwhile(work: int) -> int:
    """So many operations of code are worth compiling for this work."""
    return max(MUCH_CODE, work // MOST_CODE)


def plan_of(
    item: Map,
    function: MapFunction,
    machine: CpuMachine,
    rows: int | None = None,
    pick: Pick | None = None,
) -> NestPlan:
    """The plan of a map of a function, of which someone else may `pick` the tiling.

    With `rows`, so many values of the first index or more are computed at a time. What is kept from call to
    call has its last value in memory at once, with no sum in blocks: other calls may read it.
    """
    plain = (WHOLE,) * len(item.indices)
    if item.marks.in_place:
        return NestPlan(None, plain)
    recurrence = recurrence_of(item)
    if recurrence is not None:
        item = reversed_map(item, recurrence.down)
    work = None
    if _is_known(item, function):
        work = known_operations(item, function.tensors())
        if work < machine.least_work:
            return NestPlan(work, plain)
    if recurrence is not None and recurrence.order is not None:
        return NestPlan(work, plain)
    parts, tiling = parts_of(item, item.extents), None
    if item.marks.steps:
        parts[0] = WHOLE
    if (sweep := item.marks.sweep) is not None and parts[sweep.index].factor > 1:
        parts[sweep.index] = WHOLE
    body = operations_in(item)
    in_batches = recurrence is not None and bool(recurrence.batch)
    # Of a batch each step computes the same elements in the same thread, those of tiles past an end too.
    parts = [WHOLE] * len(parts) if in_batches else parts
    while machine.least_work and parts != [*plain] and not _is_worth(EACH * copies(parts) * body, work):
        parts = without_outermost(parts)
    # More code takes longer to compile.
    if work is None or machine.little * work >= machine.least_work * max(machine.little, body):
        code = None if work is None or not machine.least_work else _worthwhile(work)
        extents = _in_rows(item, rows)
        tiling = tiling_of(Accesses(item, function, extents, parts), machine, code, recurrence, pick)
        if tiling is not None and code is not None and code < TILE_CODE:
            tiling = replace(tiling, interleaves=False)
        if tiling is not None and item.marks.kept:
            tiling = replace(tiling, packed=None)
    threads: tuple[str, ...] = ()
    if work is None or work >= machine.dispatch:
        division = ThreadDivision(item.indices, item.extents, tiling, work)
        threads = division.axes() if recurrence is None else division.batch_axes(recurrence.batch)
        if work is not None and threads and recurrence is None:
            tiling = division.evened(threads[0])
    row = 0 if recurrence is None or tiling is None else _row(item, recurrence, tiling, machine)
    plan = NestPlan(work, tuple(parts), tiling, threads, row=row)
    return plan if tiling is None or recurrence is not None or rows is not None else _unguarded(item, plan)


def _unguarded(item: Map, plan: NestPlan) -> NestPlan:
    """A plan with full parts in which choices of one index fall one way, if lanes are in many tiles there."""
    tiling, work = plan.tiling, plan.work
    assert tiling is not None
    size = dict(zip(item.indices, item.extents, strict=True)).get(tiling.lane)
    # Tiles of edges are two, of twice the time.
    if work is None or size is None or size.constant < 2 * FEW_TILES * tiling.extent(tiling.lane):
        return plan
    if tiling.packed is not None or tiling.fold is not None:
        return plan
    parts = without_guards(item, item.extents, plan.parts, _worthwhile(tiling.width * work) // EACH)
    return plan if parts == plan.parts else replace(plan, parts=parts, guarded=plan.parts)


def _row(item: Map, recurrence: RecurrenceLoops, tiling: Candidate, machine: CpuMachine) -> int:
    """How many little steps of a recurrence are written out, which stand side by side in memory where lanes
    are rows; 0 of others."""
    last, size = item.indices[-1], item.extents[-1]
    is_last = recurrence.ordered == (last,) and tiling.order[-1] == last and tiling.lanes in recurrence.batch
    is_little = operations_in(item) <= machine.little and not any(item.body.folds())
    if item.order is None or not (is_last and is_little and is_transposable(tiling.width)):
        return 0
    is_whole = size.is_constant and size.constant <= machine.row
    return machine.row // 2 if not is_whole else size.constant if size.constant >= FEWEST else 0


def plan_in_groups(item: Map, function: MapFunction) -> NestPlan | None:
    """The plan of a map whose summands are added where they belong, each group of elements by one thread;
    None where they are in no groups."""
    found, type = keyed_map(item), item.tensors[0].type
    if found is None or (found.has_room and found.room(type) is None):
        return None
    (index,), work = item.indices, None
    names = BlockNames({*function.sizes, *function.tensors(), index, *indices_bound(item.body)})
    by_blocks = isinstance(found.group, int)
    outer = names.new(f"{index}_block" if by_blocks else "row")
    room = names.new(f"{item.name}_row") if found.has_room else ""
    grain = found.group if isinstance(found.group, int) else MULTIPLE
    if _is_known(item, function):
        work = known_operations(item, function.tensors())
    return NestPlan(work).with_steps((Threads((index,), (grain,)), Scatter(found.fold, index, outer, room)))


def plan_at_sum(over: Map, item: Map, function: MapFunction) -> NestPlan:
    """The plan of a map with one that is computed at the points of its sum."""
    work, grain = None, (MULTIPLE,)
    if all(_is_known(each, function) for each in (over, item)):
        work = sum(known_operations(each, function.tensors()) for each in (over, item))
    return NestPlan(work).with_steps((Threads(over.indices[:1], grain),))


def _is_known(item: Map, function: MapFunction) -> bool:
    """Whether a map depends on no size whose value is not known."""
    forms = (*item.extents, *forms_of(item.body))
    return all(form.variables.isdisjoint(function.sizes) for form in forms)


def _in_rows(item: Map, rows: int | None) -> Sequence[Affine]:
    """The extents of a map of which so many rows are computed."""
    row, extents = item.marks.row, item.extents
    return extents if rows is None else (*extents[:row], Affine.const(rows), *extents[row + 1 :])


def plan_in_chain(
    item: Map, function: MapFunction, machine: CpuMachine, pick: Pick | None = None
) -> NestPlan | None:
    """The plan of a map of a chain, whose rows run so many at a time or more; None where it cannot."""
    rows, row = 1 if item.marks.steps else item.marks.rows, item.marks.row
    plan = plan_of(item, function, machine, rows, pick)
    tiling = plan.tiling
    if plan.parts[row] != WHOLE:
        return None
    if tiling is not None:
        if tiling.packed is not None and tiling.packed.block is not None:
            return None
        if _suffers(item, function, plan, machine):
            return None
    return replace(plan, threads=(), rows=rows_of(item))


def plan_in_sweep(
    item: Map, function: MapFunction, machine: CpuMachine, pick: Pick | None = None
) -> NestPlan:
    """The plan of a map that runs along with a recurrence, or is one, for one value of an index or more at a
    time."""
    sweep = sweep_of(item)
    assert sweep is not None
    item = replace(item, marks=replace(item.marks, sweep=sweep))
    plan, index = plan_of(item, function, machine, pick=pick), item.indices[sweep.index]
    if item.order is None:
        alone = plan_of(replace(item, marks=Marks()), function, machine).tiling
        if alone is not None and alone.lanes != index and (alone.fold or alone.leaps):
            # Its sums are added up in the order that they have when it runs by itself.
            order = (index, *(name for name in alone.order if name != index))
            blocks = {name: count for name, count in alone.blocks.items() if name != index}
            least = {index: alone.extent(index)}
            tiling = replace(alone, order=order, blocks=blocks, packed=None, streams=False, least=least)
            plan = replace(plan, tiling=tiling)
    return replace(plan, threads=_divided(item, plan), rows=rows_of(item), row=0)


def _divided(item: Map, plan: NestPlan) -> tuple[str, ...]:
    """The index that threads divide in each step: one of a batch, if there is one."""
    recurrence = recurrence_of(item)
    if recurrence is None or len(recurrence.ordered) != 1:
        return ()
    division = ThreadDivision(item.indices, item.extents, plan.tiling, plan.work)
    taken = recurrence.ordered
    free = [name for name in item.indices if name not in recurrence.batch]
    in_batch = division.step_axis(free) if recurrence.batch else None
    found = in_batch or division.step_axis(taken)
    return (found,) if found else ()


def in_steps(
    items: Sequence[Map], plans: Sequence[NestPlan], count: Affine, machine: CpuMachine
) -> list[NestPlan]:
    """The plans of maps that run together for each of so many steps, which threads divide if that is worth
    it, as far as it is known; a thread computes what reads its part of another map."""
    works = [plan.work for plan in plans if plan.work is not None]
    is_known = len(works) == len(plans) and count.is_constant
    if is_known and 2 * sum(works) < machine.dispatch * count.constant:
        return [replace(plan, threads=()) for plan in plans]
    axes: dict[str, int] = {}
    found: list[NestPlan] = []
    for item, plan in zip(items, plans, strict=True):
        if item.order is None and plan.given is None:
            reads = (load.at[axes[load.tensor]] for load in item.loads() if load.tensor in axes)
            names = (name for name in item.indices if plan.rows is None or name != plan.rows.index)
            same = [name for name, form in product(names, reads) if form == Affine.var(name)]
            plan = replace(plan, threads=(same[0],)) if same else plan
        if plan.threads:
            axes |= {tensor.name: item.indices.index(plan.threads[0]) for tensor in item.tensors}
        found.append(plan)
    return found


def _suffers(item: Map, function: MapFunction, plan: NestPlan, machine: CpuMachine) -> bool:
    """Whether elements cost more by this plan, for some rows at a time: what it packs would not be read often
    enough."""
    first = item.indices[item.marks.row]
    if item.marks.steps or all(any(first in form.variables for form in load.at) for load in item.loads()):
        # No two rows read the same.
        return False
    assert plan.tiling is not None
    code = None if plan.work is None or not machine.least_work else _worthwhile(plan.work)
    few = cost_of_tiling(plan.tiling)
    full = least_cost(Accesses(item, function, parts=plan.parts), machine, code)
    # What packing saves in caches is not in the cost.
    return few[0] > SLACK * full[0] or few[1] < full[1]
