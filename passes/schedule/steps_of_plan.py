"""A plan as the steps of a schedule, which primitives take on the plain nest of a map."""

from __future__ import annotations

from tadc.lattice.affine import Affine, Constraint
from tadc.lattice.late_dataclasses import dataclass
from tadc.passes.maps.blocks import names_in
from tadc.passes.maps.closest_bounds import closest_bounds
from tadc.passes.maps.filled_tensors import set_in_place
from tadc.passes.maps.map import Fold, Load, Map, MapFunction
from tadc.passes.maps.recurrence import recurrence_of, sweep_of
from tadc.passes.nest import steps as st
from tadc.passes.nest.plain import going_down
from tadc.passes.nest.primitives.apply import apply_steps
from tadc.passes.nest.squares import TOGETHER
from tadc.passes.nest.sum_points import nest_of
from tadc.passes.schedule.accesses import ElementRead
from tadc.passes.schedule.candidate import Candidate, Leap, Panels
from tadc.passes.schedule.cpu_machine import CpuMachine
from tadc.passes.schedule.joined_maps import as_joined
from tadc.passes.schedule.orders import Loops, Within, divided, in_order, with_needed_orders
from tadc.passes.schedule.packing import along
from tadc.passes.schedule.plans import NestPlan
from tadc.passes.schedule.prefetches import reads_ahead
from tadc.passes.schedule.reduction_parts import with_parts
from tadc.passes.schedule.side_by_side import beside, transposed_reads
from tadc.passes.schedule.splits import FEW_COPIES, FEW_TILES, WHOLE, Parts, copies
from tadc.passes.schedule.thread_division import ThreadDivision
from tadc.passes.terms.costs import WRITTEN_OUT


def steps_of_plan(item: Map, function: MapFunction, plan: NestPlan, machine: CpuMachine) -> st.Steps:
    """What a plan says, step by step."""
    if plan.given is not None:
        return plan.given
    steps = (*plan.joins, *_PlanSteps(*as_joined(item, function, plan.joins), plan, machine).all())
    return with_parts([item], steps, lambda steps: apply_steps(nest_of(function, item), steps))


@dataclass
class _IndexLoops:
    """The loops that an index has become, and the kinds of those inside.

    Of an index in groups, `edges` are those over what is left outside of groups.
    """

    tile: str
    residue: str = ""
    chunk: str = ""
    copies: str = ""
    lane: str = ""
    edges: _IndexLoops | None = None


class _PlanSteps:
    """The steps so far, and what the indices have become."""

    def __init__(self, item: Map, function: MapFunction, plan: NestPlan, machine: CpuMachine) -> None:
        self.map, self.function, self.plan, self.machine = item, function, plan, machine
        self.recurrence = recurrence_of(item)
        self.plain = self.recurrence.loops(item.indices) if self.recurrence else item.indices
        self.tiling = plan.tiling or Candidate(order=self.plain)
        self.extents = dict(zip(item.indices, item.extents, strict=True))
        self.parts = {n: self.fitting(n, part) for n, part in zip(item.indices, plan.parts, strict=True)}
        self.loops = {name: _IndexLoops(self.plain_loop(name)) for name in item.indices}
        self.fresh = names_in(item, function.sizes).part
        self.steps: list[st.Step] = []
        self.cuts: list[str] = []

    def plain_loop(self, index: str) -> str:
        return going_down(index) if self.recurrence and index in self.recurrence.down else index

    def all(self) -> st.Steps:
        """All steps."""
        if self.map.marks.in_place:
            return (st.Points(set_in_place(self.map)),)
        if self.recurrence is not None and self.recurrence.order is not None:
            return ()
        self.steps.append(st.Reorder(tuple(self.loops[name].tile for name in self.tiling.order)))
        self.peel()
        self.divide()
        self.residues()
        self.reductions()
        self.split()
        self.cut()
        self.steps += in_order(self.order())
        self.stage()
        self.registers()
        self.memory()
        self.fold_in_lanes()
        self.fits()
        return with_needed_orders([self.plain_loop(name) for name in self.plain], self.steps)

    # -- loops -----------------------------------------------------------------------------------

    def fitting(self, index: str, part: Parts) -> Parts:
        """The parts of an index, if tiles may fit its full part."""
        size, tile = self.extents[index], self.tiling.extent(index)
        if not size.is_constant:
            return part
        if size.constant < part.factor * tile:
            return WHOLE
        if self.tiling.packed is not None and tile == 1 and part.factor == 1:
            # All elements of a tile have the same bounds anyway, and the loop in it is long.
            return WHOLE
        # Tiles before and after the full part take the time of one in it and more.
        tiles = -(-size.constant // (part.factor * tile))
        if part.rows and tile > 1 and tiles <= FEW_TILES and self.tiling.packed is None:
            return Parts(part.factor)
        return part

    def peel(self) -> None:
        """Full parts."""
        tiling = self.tiling
        parts = [self.parts[name] for name in self.map.indices]
        for index in tiling.order:
            part = self.parts[index]
            if part == WHOLE:
                continue
            # Parts are those of the map that counts as its loops do (`reversed_map`).
            loop = self.loops[index].tile
            rows = tuple(Constraint(Affine.var(loop) * row.slope + row.rest) for row in part.rows)
            size, tile = self.extents[index], tiling.extent(index)
            groups = 1 < part.factor <= FEW_COPIES and size.is_constant and tile > 1
            after = parts[self.map.indices.index(index) + 1 :]
            everywhere = tiling.width > 1 and copies(after) <= FEW_COPIES
            self.steps.append(st.Peel(loop, rows, part.factor, tile, groups, everywhere))

    def residues(self) -> None:
        """What is computed by residue."""
        for index in self.tiling.order:
            factor = self.parts[index].factor
            if factor > 1:
                loops = self.loops[index]
                group, loops.residue = self.fresh(index), self.fresh(index)
                self.steps.append(st.Residues(loops.tile, factor, group, loops.residue))
                loops.tile = group

    def reductions(self) -> None:
        """What the loops of reductions take at once."""
        tiling = self.tiling
        for index, leap in tiling.leaps.items():
            self.leap(index, leap)
        if tiling.interleaves and tiling.width > 1:
            short = [name for let in self.map.body.all_lets() if (name := self.short(let.value))]
            self.steps += [st.Bind("unroll", (name,)) for name in short]

    def leap(self, index: str, leap: Leap) -> None:
        """The innermost loop of a reduction takes steps a vector apart one after the other, written out."""
        inner: Within = ("unroll", leap.steps), ("", self.tiling.width)
        splits, ((_, block), (_, steps), (_, lane)) = divided(self.fresh, index, "", inner, "clip")
        self.steps += splits
        if leap.parts > 1:
            turns, part = self.fresh(index), self.fresh(index)
            self.steps += [st.Split(lane, leap.parts, "exact", turns, part), st.Bind("jam", (part,))]
            lane = turns
        self.steps += [st.Reorder((block, lane, steps)), st.Bind("unroll", (steps,))]

    def fold_in_lanes(self) -> None:
        """The innermost loop of a reduction takes vectors, whose lanes are joined at the end."""
        tiling = self.tiling
        if tiling.fold is None:
            return
        inner: Within = ("jam", tiling.parts), ("lane", tiling.width)
        splits, (_, *inside) = divided(self.fresh, tiling.lane, "", inner, "clip")
        # Lanes around copies: these are joined first, as vectors.
        self.steps += [*splits, *(st.Bind(kind, (name,)) for kind, name in reversed(inside) if kind)]

    def short(self, value: object) -> str | None:
        """The innermost index of a reduction whose steps are few, and as many for all points of a tile."""
        if not isinstance(value, Fold) or not value.indices:
            return None
        name = value.indices[-1]
        pair = closest_bounds(name, value.rows)
        # Tiles have several values of these.
        tiled = {name for name in self.map.indices if self.tiling.extent(name) > 1}
        if pair is None or tiled.isdisjoint(pair[0].variables):
            return None
        low, high = pair
        k = low.coefficient(name)
        few = k == -high.coefficient(name) and (low + high).constant // k <= WRITTEN_OUT
        return name if few else None

    def split(self) -> None:
        """Tiles, of copies and lanes."""
        tiling = self.tiling
        rows = tiling.packed.rows if tiling.packed else None
        # Tiles that are computed again are made of the one loop that there is before others have ends.
        tails: dict[str, st.Tail] = {index: self.tail(index, tiling.extent(index)) for index in tiling.order}
        for index in sorted(tiling.order, key=lambda index: tails[index] != "again"):
            tile, loops = tiling.extent(index), self.loops[index]
            if rows is not None and index == rows.name:
                outer, inner = self.fresh(index), self.fresh(index)
                self.steps.append(st.Split(loops.tile, rows.chunk, "clip", outer, inner))
                loops.chunk, loops.tile = outer, inner
            if tile == 1:
                continue
            self.tiles(index, loops, tails[index])
            # Where the size is not known, there may be as many as no group of tiles holds.
            if index == tiling.lanes and loops.residue and not self.extents[index].is_constant:
                loops.edges = _IndexLoops(index)
                self.tiles(index, loops.edges, "overlap")

    def tiles(self, index: str, loops: _IndexLoops, tail: st.Tail) -> None:
        """Tiles of a loop of an index, of copies and lanes."""
        tiling = self.tiling
        width = tiling.width if index == tiling.lanes else 1
        # Vectors that are left are no whole number of tiles of several.
        copies = 1 if tail == "rest" and width > 1 else tiling.blocks.get(index, 1)
        inner: Within = ("jam", copies), ("lane", width)
        splits, ((_, outer), *inside) = divided(self.fresh, index, "", inner, tail, loops.tile)
        names = {kind: name for kind, name in inside}
        self.steps += splits
        loops.tile, loops.copies, loops.lane = outer, names.get("jam", ""), names.get("lane", "")

    def tail(self, index: str, tile: int) -> st.Tail:
        """What is done where tiles do not fit."""
        size, packed = self.extents[index], self.tiling.packed
        rows = (self.plan.rows.index,) if self.plan.rows else ()
        in_ranges = index in (*self.plan.threads, *rows)
        is_whole = self.parts[index] == WHOLE and size.is_constant and not size.constant % tile
        if packed is not None and packed.rows is not None and index == packed.rows.name:
            return "rest"
        if is_whole and not in_ranges:
            return "exact"
        if self.map.marks.tape is not None and self.is_around_steps(index):
            # It begins at a later step: what that reads, other steps have taken the place of in its window.
            return "rest"
        if packed is None or packed.block is None:
            return "overlap"
        if index != self.tiling.lanes:
            return "rest"
        return "again" if packed.rows is not None or self.cuts_around(packed) else "overlap"

    def is_around_steps(self, index: str) -> bool:
        """Whether tiles of an index run through steps of a recurrence one after the other."""
        sweep, order = sweep_of(self.map), self.tiling.order
        assert sweep is not None
        return order.index(index) <= order.index(self.map.indices[sweep.index])

    def cut(self) -> None:
        """Blocks of a reduction."""
        packed = self.tiling.packed
        if packed is None:
            return
        for binder, steps in packed.cuts.items():
            outer = self.fresh(binder)
            self.steps.append(st.Cut(packed.loop.fold, binder, steps, outer))
            self.cuts.append(outer)

    def order(self) -> Loops:
        """Loops over tiles, chunks and blocks, then those of a tile: what all lanes read is used up at
        once."""
        tiling, packed = self.tiling, self.tiling.packed
        found: Loops = []
        around = len(packed.around) if packed and packed.rows else None
        cuts = 0
        if packed:
            cuts = packed.batches(tiling.order) if self.cuts_around(packed) else len(packed.names)
        for number, index in enumerate((*tiling.order, "")):
            if number == cuts:
                found.extend(("", name) for name in self.cuts)
            if packed and packed.rows and number == around:
                found.append(("", self.loops[packed.rows.name].chunk))
            if index:
                found.extend(("", loops.tile) for loops in self.with_edges(index))
                found.extend([("", self.loops[index].residue)] if index != tiling.lanes else [])
        last = [] if tiling.lanes is None else [tiling.lanes]
        found.extend(("", self.loops[index].residue) for index in last)
        names = [*(name for name in tiling.blocks if name not in last), *last]
        found.extend(("jam", loops.copies) for index in names for loops in self.with_edges(index))
        found.extend(("lane", loops.lane) for index in last for loops in self.with_edges(index))
        return [(kind, name) for kind, name in found if name]

    def cuts_around(self, packed: Panels) -> bool:
        """Whether blocks of a reduction are around tiles, all of which read what is in the second cache then;
        where it is not known how many lanes there are, around those of the same lanes."""
        return packed.rows is not None or self.extents[packed.lane].is_constant

    def with_edges(self, index: str) -> list[_IndexLoops]:
        """The loops that an index has become, and those outside of its groups."""
        loops = self.loops[index]
        return [loops, loops.edges] if loops.edges else [loops]

    # -- memory ----------------------------------------------------------------------------------

    def stage(self) -> None:
        """What is packed."""
        packed, tiling = self.tiling.packed, self.tiling
        if packed is None or tiling.lanes is None:
            return
        rows, lanes = packed.rows, self.loops[tiling.lanes]
        if rows is not None:
            loops = self.loops[rows.name]
            for read in rows.reads:
                over = (loops.tile, *self.inner_binders(packed, read), loops.copies)
                fill: st.Fill = "vectors" if read.strides[rows.name] == 1 else "gather"
                self.steps.append(st.StageRead(read.name, loops.chunk, over, fill))
        inside = self.loops[tiling.order[len(packed.names | packed.around) - 1]].tile
        inside = self.cuts[-1] if self.cuts and not self.cuts_around(packed) else inside
        for read in packed.reads:
            own = (*self.inner_binders(packed, read), *([lanes.copies] if lanes.copies else []), lanes.lane)
            self.steps.append(st.StageRead(read.name, inside, own, self.fill(packed, read)))

    def inner_binders(self, packed: Panels, read: ElementRead) -> list[str]:
        """The indices of a reduction that move a read inside a block; not one that has one value there."""
        binders = packed.loop.binders[packed.outer :]
        inner = binders[1:] if packed.block == 1 and len(binders) > 1 else binders
        return [name for name in inner if name in read.names]

    def fill(self, packed: Panels, read: ElementRead) -> st.Fill:
        """How a panel for lanes is filled."""
        if read.strides[packed.lane] == 1:
            return "vectors"
        transposed = self.tiling.interleaves and along(packed.loop, read, self.tiling.width)
        return "transpose" if transposed else "gather"

    def registers(self) -> None:
        """Vectors that are transposed or interleaved."""
        tiling, lanes = self.tiling, self.tiling.lanes
        factors = {name: part.factor for name, part in self.parts.items()}
        copied = tiling.packed.copied if tiling.packed else frozenset[str]()
        for read, index in transposed_reads(self.map.body, tiling, factors):
            if read not in copied:
                loop = self.loops[index].copies if index in self.loops else index
                if index not in self.loops and st.Bind("unroll", (index,)) not in self.steps:
                    self.steps.append(st.Bind("unroll", (index,)))
                self.steps.append(st.Transpose(read, loop))
        if lanes is None:
            return
        if self.plan.row:
            self.step_rows()
        elif self.loops[lanes].residue and lanes == self.map.indices[-1]:
            self.steps.append(st.Interleave(self.loops[lanes].residue))
        elif tiling.interleaves and tiling.width >= TOGETHER:
            index = beside([Affine.var(name) for name in self.map.indices], tiling, factors)
            if index is not None:
                self.steps.append(st.Interleave(self.loops[index].copies))

    def step_rows(self) -> None:
        """Steps are written out, and what they store, and read of rows, is transposed."""
        index = self.map.indices[-1]
        loop, size = self.loops[index].tile, self.extents[index]
        if size != Affine.const(self.plan.row):
            outer, inner = self.fresh(index), self.fresh(index)
            self.steps.append(st.Split(loop, self.plan.row, "rest", outer, inner))
            loop = inner
        self.steps += [st.Bind("unroll", (loop,)), st.Interleave(loop)]
        for let in self.map.body.all_lets():
            if isinstance(let.value, Load) and let.value.tensor not in self.map.names and let.value.at:
                *others, last = let.value.at
                are_rows = any(self.tiling.lane in form.variables for form in others)
                moved = last.coefficient(index)
                if are_rows and abs(moved) == 1 and (last - Affine.var(index) * moved).is_constant:
                    self.steps.append(st.Transpose(let.names[0], loop))

    def memory(self) -> None:
        """What is asked for ahead, and what is stored past the caches."""
        tiling = self.tiling
        for read, how in reads_ahead(self.map, self.function, tiling, self.machine).items():
            self.steps.append(st.Prefetch(read, how))
        if tiling.streams:
            self.steps.append(st.Stream(self.map.names))

    def divide(self) -> None:
        """Ranges that are computed at a time."""
        plan = self.plan
        self.steps += [plan.rows] if plan.rows else []
        if plan.threads:
            division = ThreadDivision(self.map.indices, self.map.extents, plan.tiling, plan.work)
            self.steps.append(st.Threads(plan.threads, tuple(map(division.grain, plan.threads))))

    def fits(self) -> None:
        """The plain nest where no tile fits."""
        least = self.tiling.least
        tiles = [(name, max(self.tiling.extent(name), least.get(name, 1))) for name in self.map.indices]
        unknown = tuple((n, tile) for n, tile in tiles if tile > 1 and not self.extents[n].is_constant)
        if unknown:
            self.steps.append(st.Fits(unknown))
