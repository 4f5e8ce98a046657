"""The loops over the tiles of a map.

Where a tile does not fit at the end of a range, the last one is moved back and computes some
elements again: an element depends on nothing but the inputs, so it gets the same value, also where
another thread computes it. Nothing is left for a slower loop, and no store is masked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from tadc.dialect.locations import unnamed
from tadc.dialect.mlir import ir
from tadc.frontend.terms import Domain
from tadc.lattice.affine import ZERO, Affine, Constraint
from tadc.passes.cpu.packing import Panels
from tadc.passes.cpu.panel_loops import PanelLoops
from tadc.passes.cpu.splits import PLAIN, Split, copies
from tadc.passes.cpu.tile_body import Context, TileBody
from tadc.passes.cpu.tile_schedule import Schedule, variable
from tadc.passes.cpu.tile_stores import Elements, TileStores
from tadc.passes.cpu.tile_transposes import TransposedStores, woven_copies
from tadc.passes.maps.lower_body import BodyLowering, box_rows
from tadc.passes.maps.tile_values import ACROSS, Copy, Dependence, all_yielded, at
from tadc.passes.nest.lanes import Lanes

FEW_COPIES = 4
"""So many copies of a body may stand before and after a full part too."""

FEW_TILES = 4
"""An index of so few tiles has no full part."""

#: The first value of an index, by its position, and the one after its last.
Ends = Mapping[int, tuple[Affine, Affine]]


@dataclass(frozen=True)
class Part:
    """The indices from `start` up to `stop`, in groups of the split; tiles end at `limit` at most."""

    start: Affine
    stop: Affine
    limit: Affine
    split: Split = PLAIN
    least: Affine = ZERO
    """Where a tile that is moved back may start."""
    most: int | None = None
    """The most groups that it has, if that is known."""


@dataclass(frozen=True)
class Around:
    """Loops that are made: the base of each of their indices, its split, and what holds inside."""

    bases: Mapping[int, Affine] = field(default_factory=dict[int, Affine])
    splits: Mapping[int, Split] = field(default_factory=dict[int, Split])
    known: Domain = ()

    def and_one(self, index: int, base: Affine, split: Split, rows: Domain) -> Around:
        """These and one more inside."""
        return Around({**self.bases, index: base}, {**self.splits, index: split}, self.known + rows)


class TileLoops:
    """A map on its way to loops over tiles. Its sizes are no less than the extents of a tile."""

    def __init__(
        self,
        op: Any,
        sizes: Sequence[Affine],
        lowering: BodyLowering,
        schedule: Schedule,
        found: Sequence[Split],
        ends: Ends | None = None,
    ) -> None:
        """`found` has the split of each index; one without `ends` takes all of its values."""
        self.op, self.sizes, self.low = op, sizes, lowering
        self.schedule: Schedule = schedule
        self.stores = TileStores(lowering, op, schedule.width, schedule.streams)
        self.splits = [self.fitting(index, split) for index, split in enumerate(found)]
        self.ends: Ends | None = ends
        self.block = op.regions[0].blocks[0]
        self.panels = Panels()
        self.packing: PanelLoops = PanelLoops(self, schedule.packed)

    def fitting(self, index: int, split: Split) -> Split:
        """The split, if tiles may fit its full part."""
        size, tile = self.sizes[index], self.schedule.extent(index)
        if not size.is_constant:
            return split
        if size.constant < split.factor * tile:
            return PLAIN
        # Tiles before and after the full part take the time of one in it and more.
        tiles = -(-size.constant // (split.factor * tile))
        if split.rows and tile > 1 and tiles <= FEW_TILES:
            return Split(split.factor) if split.factor > 1 else PLAIN
        return split

    def emit(self, point: Any) -> None:
        """Make the loops."""
        self.loops(self.schedule.order, self.splits, Around(), point)

    def loops(self, rest: Sequence[int], found: Sequence[Split], around: Around, point: Any) -> None:
        """The loops over the indices that have no base yet."""
        if self.packing.around(rest, found, around, point):
            return
        if not rest:
            self.elements(around, point)
            return
        index, inner = rest[0], rest[1:]
        plain = [PLAIN] * len(found)
        for part in self.parts(index, found[index], point):
            if part.start == part.stop:
                continue
            below = plain if part.split is PLAIN and not self.stays(index, found) else found
            self.loop(part, index, inner, below, around, point)

    def stays(self, index: int, found: Sequence[Split]) -> bool:
        """Whether loops inside are split also where that of an index is not."""
        if found[index] is PLAIN:
            return True
        return self.schedule.width > 1 and copies(found[index + 1 :]) <= FEW_COPIES

    def parts(self, index: int, split: Split, point: Any) -> list[Part]:
        """The full part, and those before and after it."""
        size = self.sizes[index]
        if split is PLAIN:
            return [self.clipped(index, Part(ZERO, size, size), point)]
        start, stop = self.full_part(index, split, size, point)
        c = split.factor
        found = [
            Part(ZERO, start * c, size),
            Part(start, stop, stop, split, start),
            Part(stop * c, size, size),
        ]
        if 1 < c <= FEW_COPIES and size.is_constant and self.schedule.extent(index) > 1:
            # In the same groups: then all lanes of a tile take the same steps.
            whole, groups = size.floordiv(c), Split(c)
            found[0] = Part(ZERO, start, whole, groups)
            found[2:] = [Part(stop, whole, whole, groups), Part(whole * c, size, size)]
        return [self.clipped(index, part, point) for part in found]

    def given(self, index: int, point: Any) -> tuple[Affine, Affine]:
        """The first value of an index that is not split, and the one after the last."""
        whole = self.clipped(index, Part(ZERO, self.sizes[index], self.sizes[index]), point)
        return whole.start, whole.stop

    def clipped(self, index: int, part: Part, point: Any) -> Part:
        """What of a part is between the ends, which are in range; a group belongs where it starts."""
        span = part.stop - part.start
        part = replace(part, most=span.constant if span.is_constant else None)
        if self.ends is None or index not in self.ends or part.most == 0:
            return part
        c = part.split.factor
        start, stop = (-((-end).floordiv(c)) for end in self.ends[index])
        first, last = part.start == ZERO, part.stop == self.sizes[index]
        stop = stop if last else self.low.extreme("affine.min", [part.stop, stop], point)
        return Part(
            start if first else self.low.extreme("affine.max", [part.start, start], point),
            stop,
            stop if self.schedule.stays else part.limit,
            part.split,
            part.least,
            part.most,
        )

    def full_part(self, index: int, split: Split, size: Affine, point: Any) -> tuple[Affine, Affine]:
        """The first group of the full part, whose elements are in range and meet the rows, and its end.

        Where no tile fits, it is empty and starts at 0.
        """
        c = split.factor
        whole = size.floordiv(c)
        lower, upper = [ZERO], [whole]
        for row in split.rows:
            k, rest = row.slope, row.rest
            if k > 0:
                lower.append(-rest.floordiv(k * c))
            else:
                upper.append((rest + k * (c - 1)).floordiv(-k * c) + 1)
        start = self.low.extreme("affine.min", [whole, self.low.extreme("affine.max", lower, point)], point)
        stop = self.low.extreme("affine.max", [start, self.low.extreme("affine.min", upper, point)], point)
        return self.roomy(start, stop, self.schedule.extent(index), point)

    def roomy(self, start: Affine, stop: Affine, tile: int, point: Any) -> tuple[Affine, Affine]:
        """The ends where a tile fits between them, else 0 and 0."""
        room = stop - start - tile
        if tile == 1 or room.is_constant:
            return (start, stop) if tile == 1 or room.constant >= 0 else (ZERO, ZERO)
        fits = self.low.holds((Constraint(room),), point)
        zero = self.low.constant(self.low.index_type, 0, point)

        def chosen(form: Affine) -> Affine:
            return self.low.variable(self.low.select(fits, self.low.affine([form], point), zero, point))

        return chosen(start), chosen(stop)

    def loop(
        self, part: Part, index: int, inner: Sequence[int], found: Sequence[Split], around: Around, point: Any
    ) -> None:
        """The loops over the tiles of a part."""
        whole = self.schedule
        self.schedule = self.narrowed(part, index)
        self.tiles(part, index, inner, found, around, point)
        self.schedule = whole

    def narrowed(self, part: Part, index: int) -> Schedule:
        """The schedule with no more vectors than a part has elements for: those before and after a full part
        have few."""
        schedule = self.schedule
        if index != schedule.lanes or schedule.packed is not None or part.most is None:
            return schedule
        vectors = max(1, -(-part.most // schedule.width))
        if vectors >= schedule.blocks.get(index, 1):
            return schedule
        return replace(schedule, blocks={**schedule.blocks, index: vectors})

    def tiles(
        self, part: Part, index: int, inner: Sequence[int], found: Sequence[Split], around: Around, point: Any
    ) -> None:
        """The loops over tiles of one size, and over the one that is left."""
        tile = self.schedule.extent(index)
        below = (index, inner, found, around, point)
        stop = self.low.affine([part.stop], point)
        if tile == 1 or index == self.schedule.lanes or not self.panels.is_exact:
            self.one_loop(part, (part.start, stop), *below)
            return
        # Results are taken up where the last block left them, so no element may be computed twice.
        span = part.stop - part.start
        middle = part.start + span.floordiv(tile) * tile
        self.one_loop(part, (part.start, self.low.affine([middle], point)), *below)
        # Where ends are given, they are multiples of the tile, or the size.
        size = self.sizes[index]
        if span.is_constant:
            rest = span.constant % tile
        else:
            rest = size.constant % tile if size.is_constant and self.splits[index] is PLAIN else 1
        if not rest:
            return
        whole = self.schedule
        self.schedule = replace(whole, blocks={**whole.blocks, index: rest})
        self.one_loop(part, (middle, stop), *below)
        self.schedule = whole

    def one_loop(
        self,
        part: Part,
        ends: tuple[Affine, Any],
        index: int,
        inner: Sequence[int],
        found: Sequence[Split],
        around: Around,
        point: Any,
    ) -> None:
        """The loop over the tiles between two ends of a part; what is inside, once for each residue."""
        low, tile = self.low, self.schedule.extent(index)
        start, stop = low.affine([ends[0]], point), ends[1]
        step = low.constant(low.index_type, tile, point)
        made = low.create("scf.for", [], [start, stop, step], point, regions=1)
        place = self.block.arguments[index].location
        block = ir.Block.create_at_start(made.regions[0], [low.index_type], [place])
        inside = ir.InsertionPoint(block)
        base = low.variable(block.arguments[0])
        rows: Domain = (Constraint(base - part.start), Constraint(part.stop - base - tile))
        if tile > 1 and (index == self.schedule.lanes or not self.panels.is_exact):
            base, rows = self.moved_back(base, part, tile, inside)
        split = part.split
        if index == self.schedule.lanes:
            self.loops(inner, found, around.and_one(index, base, split, rows), inside)
        else:
            for residue in range(split.factor):
                more = self.met(split, self.schedule.form(index, base) * split.factor + residue)
                form = base * split.factor + residue
                self.loops(inner, found, around.and_one(index, form, split, rows + more), inside)
        low.location = unnamed(self.op.location)
        low.create("scf.yield", [], [], inside)

    def moved_back(self, position: Affine, part: Part, tile: int, point: Any) -> tuple[Affine, Domain]:
        """Where the tile at a position starts so that it ends at the limit at most."""
        last = part.limit - tile
        span = part.stop - part.start
        if span.is_constant and span.constant % tile == 0 and (part.stop == part.limit):
            base = position
        else:
            base = self.low.extreme("affine.min", [position, last], point)
        return base, (Constraint(last - base), Constraint(base - part.least))

    def met(self, split: Split, form: Affine) -> Domain:
        """The rows of a split, which hold at all points of a tile in its full part."""
        return tuple(Constraint(form * row.slope + row.rest) for row in split.rows)

    # -- the elements of a tile ------------------------------------------------------------------

    def elements(self, around: Around, point: Any) -> None:
        """Evaluate the body at the points of a tile, for each residue of the lanes; store the values."""
        lanes = self.schedule.lanes
        bases, used = around.bases, around.splits
        split = PLAIN if lanes is None else used[lanes]
        woven = split.factor > 1 and lanes == len(self.sizes) - 1
        groups: list[list[tuple[Copy, list[Any]]]] = []
        first: list[Affine] = []
        for residue in range(split.factor):
            forms: list[Affine] = []
            more: Domain = ()
            for index in range(len(self.sizes)):
                factor = used[index].factor
                if index == lanes:
                    form = self.schedule.form(index, bases[index]) * factor + residue
                    more = self.met(split, form)
                else:
                    # A residue is in the base already, and the copies step over groups.
                    form = self.schedule.form(index, ZERO) * factor + bases[index]
                forms.append(form)
            groups.append([])
            places = self.places(forms)
            first = first or places
            known = (*around.known, *more)
            if woven:
                self.values(forms, known, point, groups[-1].extend)
            else:
                self.store(forms, places, known, point)
        if woven:
            self.stores.weave(groups, first, point)

    def store(self, forms: Sequence[Affine], places: Sequence[Affine], known: Domain, point: Any) -> None:
        """Store the values at the points of a tile whose indices have these forms."""
        name = woven_copies(places, self.schedule.tile) if self.schedule.weaves else None
        if name is None:
            self.values(forms, known, point, partial(self.stores.store, places, point))
            return
        stores = TransposedStores(self.stores, places, name, point)
        self.values(forms, known, point, stores.add)
        stores.end()

    def places(self, forms: list[Affine]) -> list[Affine]:
        """Where an element is stored whose loops have these forms."""
        return forms

    def values(
        self, forms: Sequence[Affine], known: Domain, point: Any, then: Callable[[Elements], None]
    ) -> None:
        """Hand over the values in the copies of a tile where the indices have these forms."""
        low, tile = self.low, self.schedule.tile
        arguments = dict(zip(self.block.arguments, forms, strict=True))
        depends = Dependence(self.block, arguments, tile, self.schedule.lanes_of)
        body = TileBody(low, tile, depends, self.panels, self.stored(forms), self.schedule.runs)
        low.forms.update(arguments)
        facts = (*known, *box_rows(forms, self.sizes), *low.known)
        along = None if self.schedule.lanes is None else variable(self.schedule.lanes)
        own = [name for name in tile.copies if name not in ACROSS]

        def hand_over(turn: Copy) -> None:
            rest = [name for name in own if name not in turn]
            copies = [{**turn, **copy} for copy in tile.points(rest)]
            values = all_yielded(self.block)
            then([(copy, [body.value(value, copy) for value in values]) for copy in copies])

        body.in_turns(self.block, Context(point, facts), [name for name in own if name != along], hand_over)

    def stored(self, forms: Sequence[Affine]) -> Callable[[Copy, Any], Any]:
        """What loads the value of a copy back, between the blocks of a reduction."""
        buffer = self.low.memrefs[self.op.results[0]]
        lanes = Lanes(self.low, self.schedule.width)
        names = [name for name in self.schedule.tile.copies if name not in ACROSS]

        def load(copy: Copy, point: Any) -> Any:
            whole = {name: copy.get(name, 0) for name in names}
            place = self.low.place(self.op.results[0], forms)
            return lanes.load(buffer, [at(form, whole) for form in place], None, point)

        return load
