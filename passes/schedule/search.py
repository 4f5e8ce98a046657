"""The cheapest tiling of a map: which index makes vectors, and how large tiles are."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import combinations, product

from tadc.passes.maps.map import Map, MapFunction
from tadc.passes.maps.recurrence import RecurrenceLoops, recurrence_of
from tadc.passes.maps.same_maps import is_for_caller
from tadc.passes.nest.squares import FEWEST, TOGETHER
from tadc.passes.schedule.accesses import GUARD, LOOKUP, Accesses, Loop, shape_bytes
from tadc.passes.schedule.candidate import COUNTS, POWERS, Candidate, Panels
from tadc.passes.schedule.cost import cost, writes_by_turns
from tadc.passes.schedule.cpu_machine import CpuMachine
from tadc.passes.schedule.leaps import leaping_candidates
from tadc.passes.schedule.loop_order import GAIN, TileLoops, comes_from_afar
from tadc.passes.schedule.packing import blocks_alone, packing
from tadc.passes.schedule.pressure import LiveValues
from tadc.passes.schedule.splits import copies
from tadc.passes.terms.costs import ELEMENT, TILE_CODE

SLACK = 1.02
"""Costs are alike of which one is so many times the other: less code is worth something, and what a panel
costs that is filled by columns, or saves in caches, is not all in them."""

MASKED = 4
"""So many times the operations count where bounds move with a tile."""

EACH = 3
"""So many operations of code does an operation of a tile make, for its indices and bounds."""

FOLD = 8
"""So many operations more has a tile where lanes are those of a reduction, to join them."""

LITTLE_MORE = {64: 0.1, 16: 0.05, 8: 0.01}
"""A body of so many operations or more stands in as few copies as take no more than this share more time: the
more it has, the more is in registers that costs do not count, and the more code a copy is."""

WITH_LINES = 16
"""Of so many candidates, the cheapest, it is looked at which lines come from afar."""

Pick = Callable[[Accesses, Sequence[Candidate]], "Candidate | None"]
"""Which of the candidates of a map is taken, all with their costs."""

VECTORS = POWERS[:-1]
"""Vectors of a tile along the index of lanes."""


def tiling_of(
    accesses: Accesses,
    machine: CpuMachine,
    code: int | None = None,
    recurrence: RecurrenceLoops | None = None,
    pick: Pick | None = None,
) -> Candidate | None:
    """The cheapest tiling with vectors of a map, or None where there is none worth having; another one where
    someone else is to `pick` it.

    Tiles are so small that they make about `code` operations at most. Of the ordered indices of a recurrence
    each value has its turn. A map that runs along with one has sums in order: `plan_in_sweep` gives it the
    order that it has by itself.
    """
    item = accesses.map
    if not machine.vector_bytes or item.marks.joined:
        return None
    follows = recurrence is not None and item.order is None
    best = _best(accesses, machine, code, recurrence, pick, in_order=follows)
    if best is None:
        return None
    packed, each = best.packed, best.cost
    if packed is None and recurrence is None:
        packed = blocks_alone(accesses, best, machine)
        best = replace(best, packed=packed)
    order = recurrence.loops(item.indices) if recurrence else TileLoops(accesses, best, machine).order()
    blocks = {name: count for name, count in best.blocks.items() if count > 1}
    best = replace(best, blocks=blocks, order=order)
    if best.fold is not None:
        return best
    # Loops of tiles that are packed, or go along with a recurrence, end with another index than that of rows.
    goes_on = not recurrence and best.lane == (order if packed is None else item.indices)[-1]
    is_plain = accesses.parts[best.lane].factor == 1 and not (packed and packed.block)
    streams = goes_on and is_plain and each <= machine.streamed
    streams = streams and may_stream(item, accesses.function, best.width, machine)
    packed = packed and _shares(packed, each * best.elements)
    return replace(best, packed=packed, leaps={} if follows else best.leaps, streams=streams)


def _shares(packed: Panels, whole: float) -> Panels:
    # Blocks alone cost nothing, also of a tiling that has no cost.
    rows = packed.rows and replace(packed.rows, share=packed.rows.cost / whole)
    return replace(packed, share=packed.cost and packed.cost / whole, rows=rows)


def may_stream(item: Map, function: MapFunction, width: int, machine: CpuMachine) -> bool:
    """Whether what a map stores in vectors of this width may go past the caches: nothing but the caller reads
    it, it is large, and its rows are whole lines."""
    for tensor in item.tensors:
        if not tensor.shape or (shape_bytes(tensor) or 0) < machine.share:
            return False
        element = ELEMENT[tensor.type]
        row = tensor.shape[-1].constant * element
        if width * element != machine.line or (len(tensor.shape) > 1 and row % machine.line):
            return False
        if not is_for_caller(tensor.name, function):
            return False
    return True


def least_cost(accesses: Accesses, machine: CpuMachine, code: int | None = None) -> tuple[float, int]:
    """What an element costs in the tiling that `tiling_of` chooses, or without vectors where that is none."""
    best = _best(accesses, machine, code, recurrence_of(accesses.map)) or _plain(accesses, machine)
    return cost_of_tiling(best)


def cost_of_tiling(tiling: Candidate) -> tuple[float, int]:
    """The cost of an element, and how many reads are packed."""
    return tiling.cost, len(tiling.packed.reads) if tiling.packed else 0


def _plain(accesses: Accesses, machine: CpuMachine) -> Candidate:
    candidate = Candidate(1, accesses.names[-1] if accesses.names else "")
    candidate.cost = cost(accesses, candidate, machine)
    return candidate


def _best(
    accesses: Accesses,
    machine: CpuMachine,
    code: int | None = None,
    recurrence: RecurrenceLoops | None = None,
    pick: Pick | None = None,
    *,
    in_order: bool = False,
) -> Candidate | None:
    """The candidate with the least cost, tiles along some indices alone; reductions `in_order` or not.

    The steps of a recurrence pack nothing. Where there is none of so little code, that with the least code.
    """
    names = accesses.names
    tiled = frozenset(names) if recurrence is None else recurrence.tiled(names)
    budget = TILE_CODE if code is None else min(TILE_CODE, code // EACH)
    budget //= copies([*accesses.parts.values()])
    if _moves(accesses):
        # Loops whose bounds move with a tile stand three times in its code, under masks.
        budget //= MASKED
    if accesses.body.size > budget:
        return None
    search = searched if pick is None else searched.__wrapped__
    return search(accesses, machine, budget, tiled, in_order, pick)


@lru_cache(64)
def searched(
    accesses: Accesses,
    machine: CpuMachine,
    budget: int,
    tiled: frozenset[str],
    in_order: bool,
    pick: Pick | None,
) -> Candidate | None:
    """The best candidate of so many operations; one pass after the other asks for that of the same map."""
    candidates = _Candidates(accesses, machine, budget).all(tiled)
    if in_order:
        candidates = (each for each in candidates if each.fold is None and not each.leaps)
    priced = list[Candidate]()
    for each in candidates:
        each.packed = packing(accesses, each, machine)
        each.cost = cost(accesses, each, machine)
        priced.append(each)
    if comes_from_afar(accesses, machine):
        share = math.inf if pick else 1 + max(LITTLE_MORE.values())
        priced = [*with_lines(accesses, priced, machine, share)]
    if pick is not None:
        return pick(accesses, priced)
    best = _worth_its_code(accesses, machine, priced)
    best = best and replace(best, cost=best.cost - best.lines)
    if best is not None and best.fold is not None and accesses.has_unlike_bounds(best.fold):
        # A few elements from anywhere are as soon added one by one.
        return best if best.cost < _plain(accesses, machine).cost else None
    return best


def with_lines(
    accesses: Accesses, found: Iterable[Candidate], machine: CpuMachine, share: float
) -> Iterator[Candidate]:
    """The cheapest candidates; where the loops of panels, which stand first, bring in far more lines from
    afar than others, with what these cost, and without panels; where they do not, in blocks alone too. Some
    are left out that cost more than so many times as much as another."""
    least = math.inf
    for each in sorted(found, key=lambda each: each.cost)[:WITH_LINES]:
        several = [each]
        if each.packed is not None:
            plain = replace(each, packed=None)
            plain.cost = cost(accesses, plain, machine)
            if min(each.cost, plain.cost) > share * least:
                continue
            lines, fewer = (TileLoops(accesses, one, machine).cost() for one in (each, plain))
            if fewer < GAIN * lines:
                pairs = ((each, lines), (plain, fewer))
                several = [replace(one, cost=one.cost + more, lines=more) for one, more in pairs]
            elif blocks := blocks_alone(accesses, plain, machine):
                blocked = replace(plain, packed=blocks)
                several.append(replace(blocked, cost=cost(accesses, blocked, machine)))
        least = min(least, *(one.cost for one in several))
        yield from several


def _worth_its_code(accesses: Accesses, machine: CpuMachine, found: Sequence[Candidate]) -> Candidate | None:
    """The candidate with the least cost; of a body that makes much code, that with the fewest copies among
    those of its kind that cost little more."""
    if not found:
        return None
    best = min(found, key=lambda each: each.cost)
    code = accesses.body.size * (MASKED if _moves(accesses) else 1)
    if best.fold is None:
        waits = accesses.body.inner and code < machine.little
        fewest = min(machine.hidden, _copies(best)) if waits else 1
    else:
        # Copies share vectors of the reduction, which gains more than the cost tells.
        tests = any(each.name == GUARD for each in best.fold.operations)
        fewest = 1 if tests or _moves(accesses) else math.prod(best.blocks.values())
    most = best.cost * (1 + next((more for size, more in LITTLE_MORE.items() if code >= size), 0))
    near = (each for each in found if each.cost <= most and _kind(each) == _kind(best))
    near = (each for each in near if _copies(each) >= fewest)
    return min(near, key=lambda each: (_copies(each), each.cost))


def _kind(candidate: Candidate) -> tuple[object, ...]:
    """What copies of a body have in common."""
    return candidate.width, candidate.lane, candidate.fold, tuple(candidate.leaps)


def _copies(candidate: Candidate) -> int:
    """How often a tile has the body."""
    return candidate.parts * math.prod(candidate.blocks.values())


def _moves(accesses: Accesses) -> bool:
    return any(loop.bounds for loop in accesses.body.below())


class _Candidates:
    """What fits sizes and registers, of so many operations at most."""

    def __init__(self, accesses: Accesses, machine: CpuMachine, budget: int) -> None:
        self.accesses, self.body, self.machine = accesses, accesses.body, machine
        self.budget, self.extents = budget, dict[str, int | None]()
        innermost = (loop for loop in self.body.below() if loop.binders and not loop.inner)
        self.live = [LiveValues(accesses, loop, machine) for loop in innermost]

    def all(self, tiled: frozenset[str]) -> Iterator[Candidate]:
        """All candidates, with tiles along some indices."""
        accesses, body, budget = self.accesses, self.body, self.budget
        width = self.machine.vector_bytes // accesses.widest
        self.extents = {
            name: accesses.extent(name) if accesses.is_known(name) else None
            for name in accesses.names
            if name in tiled - accesses.unlike
        }
        size = max(body.size, 1)
        most, code = budget // size, budget * (MASKED if _moves(accesses) else 1)
        if accesses.map.marks.parts:
            self.extents = {}
        for lane, extent in self.extents.items():
            for fitting in _widths(width, extent):
                for vectors in VECTORS:
                    room = extent is None or extent >= vectors * fitting
                    several = room and (body.inner or writes_by_turns(accesses, self.machine))
                    if vectors == 1 or several:
                        yield from self.blocked(Candidate(fitting, lane, None, {lane: vectors}), most)
                plain = Candidate(fitting, lane, None, {lane: 1})
                yield from leaping_candidates(body, plain, extent, EACH * code, self.machine)
        for loop in body.below():
            unlike = loop.binders and loop.binders[-1] in accesses.unlike
            if loop.binders and not unlike and not (loop.bounds and len(loop.binders) > 1):
                innermost, trips = loop.binders[-1], loop.trips[-1]
                fitting = _width(width, trips)
                for parts in VECTORS:
                    if fitting >= 4 and fitting * parts <= trips:
                        candidate = Candidate(fitting, innermost, loop, {}, parts)
                        yield from self.blocked(candidate, budget // (size + FOLD))

    def blocked(self, candidate: Candidate, most: int) -> Iterator[Candidate]:
        """A candidate, and those with copies along one more index."""
        own = math.prod(candidate.blocks.values()) * candidate.parts
        if own <= max(most, 1) and self.fits(candidate):
            yield candidate
        for name, extent in self.extents.items():
            if name == candidate.lane:
                continue
            blocks = COUNTS[1:] if self.body.inner or _shares_vectors(self.body, candidate, name) else ()
            if own == 1 and any(candidate.squares(read, name) for read in self.body.reads):
                blocks = (*blocks, candidate.width)
            if candidate.width >= TOGETHER and self.is_beside(candidate, name):
                blocks = (*blocks, *range(FEWEST, TOGETHER + 1))
            for block in sorted(set(blocks)):
                room = own * block <= most and (extent is None or extent >= block)
                made = candidate.with_blocks({**candidate.blocks, name: block}) if room else None
                if made is not None and self.fits(made):
                    yield made
        if self.accesses.in_steps and candidate.fold is not None and candidate.parts == 1:
            yield from self.both(candidate, most)

    def is_beside(self, candidate: Candidate, name: str) -> bool:
        """Whether elements that a tile reads are side by side along an index, lanes being apart, or those of
        rows that it writes, which fill no vector."""
        extent = self.extents.get(name)
        is_short = extent is not None and extent < candidate.width
        is_row = candidate.fold is None and name == self.accesses.names[-1] and is_short
        return is_row or any(
            candidate.squares(read, name) for loop in self.body.below() for read in loop.reads
        )

    def fits(self, candidate: Candidate) -> bool:
        """Whether what innermost loops hold fits in registers; of one result whatever it needs."""
        return all(
            candidate.results(live.loop) * live.loop.results == 1
            or live.pressure(candidate) <= self.machine.registers
            for live in self.live
        )

    def both(self, candidate: Candidate, most: int) -> Iterator[Candidate]:
        """A candidate with copies along two indices, where reads depend on one of them each: a vector is read
        for several results."""
        assert candidate.fold is not None
        most = min(most, self.machine.registers)
        apart = [read.names & self.extents.keys() for read in candidate.fold.reads]
        for (one, first), (other, second) in combinations(self.extents.items(), 2):
            if any({one, other} <= names for names in apart):
                continue
            for rows, columns in product(COUNTS[1:], repeat=2):
                fits = all(e is None or e >= n for e, n in ((first, rows), (second, columns)))
                room = fits and rows * columns <= most
                made = candidate.with_blocks({one: rows, other: columns}) if room else None
                if made is not None and self.fits(made):
                    yield made


def _width(width: int, extent: int | None) -> int:
    """The width, or the greatest power of two that an extent holds."""
    return width if extent is None or extent >= width else 1 << max(extent, 1).bit_length() - 1


def _widths(width: int, extent: int | None) -> Iterator[int]:
    """The widths of vectors of an index: of one that fills no vector but for a lane, all its values too."""
    fitting = _width(width, extent)
    if fitting >= 2:
        yield fitting
    if extent is not None and fitting < extent < width and extent + 1 == 2 * fitting:
        yield extent


def _shares_vectors(body: Loop, candidate: Candidate, name: str) -> bool:
    """Whether copies along an index share a vector that is not consecutive in memory, or elements of an index
    array."""
    lookups = (one for one in body.counts if one.name == LOOKUP and candidate.lane in one.names)
    if any(name not in one.names for one in lookups):
        return True
    strides = (read.strides.get(candidate.lane, 0) for read in body.reads if name not in read.names)
    return any(stride not in (0, 1, -1) for stride in strides)
