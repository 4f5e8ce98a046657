"""Other schedules for the maps of a function, by what they cost: what a person, or a clock, may try.

Of each map the tilings that were passed over, those first that differ in kind from all before them: in the
index of the lanes, their number, a reduction in lanes, panels, steps taken at once. Then what else may be
left out of the steps, one at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, zip_longest

from tadc.lattice.late_dataclasses import dataclass, replace
from tadc.passes.maps.map import Map, MapFunction
from tadc.passes.nest.primitives.rewriting import DoesNotFit
from tadc.passes.nest.steps import Interleave, Peel, Prefetch, Steps, Stream, Transpose
from tadc.passes.schedule.accesses import Accesses
from tadc.passes.schedule.candidate import Candidate
from tadc.passes.schedule.choose import plan_alone, runs_together
from tadc.passes.schedule.cpu_machine import CpuMachine
from tadc.passes.schedule.plans import NestPlan, plan_in_chain, plan_in_sweep
from tadc.passes.schedule.search import Pick
from tadc.passes.schedule.steps_of_plan import steps_of_plan

LEFT_OUT = Stream, Prefetch, Interleave, Transpose, Peel
"""The steps without which there are the same elements, in the same order of sums."""


@dataclass(frozen=True)
class Alternative:
    """Steps for a map, the tiling that they make, and what an element of it costs by the model, None where
    that has no word for it.

    One that `keeps_order` adds up in the order of the steps that were chosen.
    """

    steps: Steps
    cost: float | None = None
    keeps_order: bool = True
    tiling: Candidate | None = None


@dataclass(frozen=True)
class MapChoices:
    """The tensors of a map, what was chosen for it, and what else there is, the likeliest first.

    `accesses` is what costs are of; None where there is no tiling.
    """

    tensors: tuple[str, ...]
    chosen: Alternative
    others: Iterator[Alternative]
    accesses: Accesses | None


def choices(function: MapFunction, machine: CpuMachine) -> Iterator[MapChoices]:
    """The choices of all maps of a function that have any."""
    for together in runs_together(function, machine, {}):
        for number, plan in together:
            item = function.maps[number]
            if not item.marks.at_sum and not item.marks.in_place:
                yield _of_map(item, function, machine, _planner(item, function, machine, plan))


Planner = Callable[[Pick | None], NestPlan | None]
"""The plan of a map, of which someone else may pick the tiling; None where it does not fit."""


def _planner(item: Map, function: MapFunction, machine: CpuMachine, plan: NestPlan | None) -> Planner:
    """What plans a map, in the company in which its own plan was made."""
    if plan is None:
        return lambda pick: plan_alone(item, function, machine, {}, pick)
    if item.marks.sweep is not None or item.order is not None:
        return lambda pick: replace(plan_in_sweep(item, function, machine, pick), threads=plan.threads)
    return lambda pick: plan_in_chain(item, function, machine, pick)


def _of_map(item: Map, function: MapFunction, machine: CpuMachine, planned: Planner) -> MapChoices:
    """The choices of one map."""
    plan, priced, seen_by = planned(None), list[Candidate](), list[Accesses]()
    assert plan is not None

    def listing(accesses: Accesses, found: Sequence[Candidate]) -> Candidate | None:
        # Maps that are planned in several ways are priced more than once.
        if not priced:
            priced.extend(found)
            seen_by.append(accesses)
        return min(found, key=lambda each: each.cost, default=None)

    planned(listing)
    chosen = plan.tiling
    steps = steps_of_plan(item, function, plan, machine)

    def others() -> Iterator[Alternative]:
        seen = {steps}
        tilings = (_made(each, chosen) for each in _in_order(priced, chosen))
        for made in chain(tilings, _left_out(steps)):
            if made is not None and made.steps not in seen:
                seen.add(made.steps)
                yield made

    def _made(tiling: Candidate, chosen: Candidate | None) -> Alternative | None:
        try:
            other = planned(lambda accesses, found: tiling)
            found = other and steps_of_plan(item, function, other, machine)
        except DoesNotFit:
            return None
        if other is None or not found:
            return None
        keeps_order = _order_of_sums(other.tiling) == _order_of_sums(chosen)
        return Alternative(found, tiling.cost or None, keeps_order, tiling)

    first = Alternative(steps, chosen.cost + chosen.lines if chosen else None, tiling=chosen)
    return MapChoices(item.names, first, others(), seen_by[0] if seen_by else None)


def _left_out(steps: Steps) -> Iterator[Alternative]:
    """Steps without one of them."""
    for number, step in enumerate(steps):
        if isinstance(step, LEFT_OUT):
            yield Alternative((*steps[:number], *steps[number + 1 :]))


def _in_order(priced: Iterable[Candidate], chosen: Candidate | None) -> Iterator[Candidate]:
    """Candidates as they are worth trying: the cheapest of each kind, by turns with the next of any."""
    near = sorted(priced, key=lambda each: each.cost)
    firsts = {_kind(each): each for each in reversed(near)}
    kinds = sorted(firsts.values(), key=lambda each: each.cost)
    kinds += [replace(each, packed=None, cost=0.0) for each in kinds if each.packed]
    for pair in zip_longest(kinds, (each for each in near if each not in kinds)):
        yield from (each for each in pair if each is not None)


def _kind(candidate: Candidate) -> tuple[object, ...]:
    """What makes two tilings differ by more than in numbers."""
    panels = candidate.packed
    packed = panels and (panels.copied, panels.block is None)
    return (
        candidate.width,
        candidate.lane,
        candidate.fold and candidate.fold.fold,
        packed,
        tuple(candidate.leaps),
    )


def _order_of_sums(candidate: Candidate | None) -> object:
    """In which order a tiling adds up."""
    if candidate is None:
        return None
    fold = candidate.fold and (candidate.fold.fold, candidate.lane, candidate.width, candidate.parts)
    # What blocks of a sum give is added up.
    block = candidate.packed and candidate.packed.block
    return (fold, block, tuple(candidate.leaps.items())) if fold or block or candidate.leaps else None
