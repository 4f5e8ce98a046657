"""How the values of a tile get to memory.

A line of the cache that is written is read first. What nobody reads soon need not be in a cache: vectors that
are whole lines are then written past it, and nothing is read.

To store each lane of a vector alone takes longer than to compute it where a sum is short. Where lanes are far
apart and copies side by side, vectors of a few copies are interleaved in registers instead: what each lane
has of them is consecutive then, and stored together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tadc.dialect.mlir import ir
from tadc.frontend.terms import Domain
from tadc.lattice.affine import ZERO, Affine
from tadc.lattice.late_dataclasses import dataclass, field, replace
from tadc.passes.maps.scalar_lowering import Scalars
from tadc.passes.nest.caches import element_bytes
from tadc.passes.nest.joins import JOIN, Emit, Made, Point
from tadc.passes.nest.lockstep import LockstepContext, at_copy
from tadc.passes.nest.nest import Store
from tadc.passes.nest.squares import FEWEST, TOGETHER, are_side_by_side
from tadc.passes.nest.tile import LANE, Copy, Tile, at
from tadc.passes.nest.vector_lanes import Lanes
from tadc.passes.terms.costs import LINE

#: The values that a block gives to stores, in copies of a tile.
Elements = Sequence[tuple[Copy, Made]]


@dataclass(frozen=True)
class StorePlace:
    """Where a store goes: each of its buffers, and the forms of the element."""

    store: Store
    buffers: tuple[ir.Value, ...]
    forms: tuple[Affine, ...]


@dataclass
class TileStores:
    """The stores of a block in the copies of a tile. Those that are interleaved wait for each other."""

    lanes: Lanes
    tile: Tile
    places: Sequence[StorePlace]
    context: LockstepContext
    along: str = ""
    """The variable of copies along which vectors are interleaved."""
    within: Domain = ()
    waiting: list[Elements] = field(default_factory=list[Elements])

    def __post_init__(self) -> None:
        self.low = self.lanes.low
        self.point = self.context.point
        self.joins = any(place.store.joins for place in self.places)
        is_wide = self.tile.width >= TOGETHER and self.tile.copies.get(self.along, 1) >= FEWEST
        self.interleaves = is_wide and are_side_by_side(self.places[0].forms, self.along)

    def targets(self) -> Iterator[tuple[int, StorePlace, ir.Value]]:
        """Each buffer that a value goes to, with the number of the value."""
        return ((n, place, buffer) for n, place in enumerate(self.places) for buffer in place.buffers)

    def add(self, elements: Elements) -> None:
        """Take in the values of the next copy, or of the next copies where none are interleaved."""
        if not self.interleaves and not self.joins:
            self.store(elements)
            return
        self.waiting.append(elements)
        if not self.joins:
            self.interleave_waiting()

    def interleave_waiting(self, least: int = TOGETHER) -> None:
        """Store copies together, if enough wait."""
        if self.interleaves and len(self.waiting) >= least:
            self.interleave(self.waiting[:TOGETHER])
            self.waiting = self.waiting[TOGETHER:]

    def end(self) -> None:
        """Store what is left: joined with what is there, where stores join, in one branch for all copies."""
        if self.joins:
            self.waiting = self.joined(self.waiting)
            for _ in range(len(self.waiting) // TOGETHER):
                self.interleave_waiting()
        self.interleave_waiting(FEWEST)
        for elements in self.waiting:
            self.store(elements)
        self.waiting = []

    def joined(self, turns: Sequence[Elements]) -> list[Elements]:
        """The values joined with the elements that are there, unless these are fresh.

        Each block is a sum of its own: errors grow with the terms of a block and with the number of blocks,
        not with all terms (Higham, SIAM J. Sci. Comput. 1993).
        """
        flat = [element for elements in turns for element in elements]
        made = [list(values) for _, values in flat]
        for number, place in enumerate(self.places):
            if place.store.joins:
                given = [values[number] for values in made]
                for values, value in zip(made, self.joined_at(place, flat, given), strict=True):
                    values[number] = value
        pairs = iter([(copy, values) for (copy, _), values in zip(flat, made, strict=True)])
        return [[next(pairs) for _ in elements] for elements in turns]

    def joined_at(self, place: StorePlace, flat: Elements, given: Made) -> Made:
        """The values of one store in all copies."""
        low, join = self.low, JOIN[place.store.joins]
        is_sum = place.store.joins == "sum"

        def both(inside: Point) -> Made:
            found: Made = []
            for (copy, _), value in zip(flat, given, strict=True):
                forms = [at(form, copy) for form in place.forms]
                before = self.lanes.load(place.buffers[0], forms, None, inside)
                scalars, made = Scalars(low, inside, value.type), value.owner
                # As in a reduction a product is added in one rounding.
                if is_sum and not isinstance(made, ir.Block) and made.operation.name == "arith.mulf":
                    found.append(scalars.op("math.fma", *made.operation.operands, before))
                else:
                    found.append(join(scalars, before, value))
            return found

        if not place.store.fresh:
            return both(self.point)
        fresh = low.holds(self.context.rows(place.store.fresh), self.point)
        return low.choose(fresh, [v.type for v in given], lambda inside: given, both, self.point)

    # -- one by one ------------------------------------------------------------------------------

    def store(self, elements: Elements) -> None:
        """Store the values of copies, those of one tensor after the other."""
        if self.within:
            for element in elements:
                self.store_within([element])
            return
        for number, place, buffer in self.targets():
            plainly = self.writer(number, place, buffer, elements, streams=False)
            if not place.store.streams or not self.are_lines(place, buffer, elements):
                plainly(self.point)
                continue
            past = self.writer(number, place, buffer, elements, streams=True)
            starts = self.starts_a_line(buffer, [at(form, elements[0][0]) for form in place.forms])
            self.low.choose(starts, [], past, plainly, self.point)

    def store_within(self, elements: Elements) -> None:
        """Store the values of a copy where it is not beyond the map."""
        rows = at_copy(self.within, elements[0][0])

        def fill(inside: Point) -> Made:
            for number, place, buffer in self.targets():
                self.writer(number, place, buffer, elements, streams=False)(inside)
            return []

        self.low.choose(self.low.holds(rows, self.point), [], fill, None, self.point)

    def writer(
        self, number: int, place: StorePlace, buffer: ir.Value, elements: Elements, *, streams: bool
    ) -> Emit:
        """A function that stores the values of one tensor, of copies."""

        def emit(inside: Point) -> Made:
            for copy, values in elements:
                value, forms = values[number], [at(form, copy) for form in place.forms]
                if streams:
                    value = self.lanes.spread(value, inside)
                    self.lanes.store_run(value, buffer, forms, inside, self.vector_bytes(buffer))
                else:
                    self.lanes.store(value, buffer, forms, inside)
            return []

        return emit

    def vector_bytes(self, buffer: ir.Value) -> int:
        """The bytes of a vector of elements."""
        return self.lanes.width * element_bytes(buffer.type)

    def are_lines(self, place: StorePlace, buffer: ir.Value, elements: Elements) -> bool:
        """Whether vectors are consecutive in memory, and divide the lines of it where the first one does."""
        strides, _ = buffer.type.get_strides_and_offset()
        copies = [[at(form, copy) for form in place.forms] for copy, _ in elements]
        totals = [sum((f * k for f, k in zip(forms, strides, strict=True)), ZERO) for forms in copies]
        apart = [total - totals[0] for total in totals]
        return (
            LINE % self.vector_bytes(buffer) == 0
            and totals[0].coefficient(LANE) == 1
            and all(form.is_constant and form.constant % self.lanes.width == 0 for form in apart)
        )

    def starts_a_line(self, buffer: ir.Value, forms: Sequence[Affine]) -> ir.Value:
        """Whether the element of the first lane does; the vectors of other copies then divide lines too."""
        low, index, point = self.low, self.low.index_type, self.point
        strides, _ = buffer.type.get_strides_and_offset()
        total = sum((form * k for form, k in zip(forms, strides, strict=True)), ZERO).substitute({LANE: ZERO})
        place = low.affine([total * element_bytes(buffer.type)], point)
        start = low.create("memref.extract_aligned_pointer_as_index", [index], [buffer], point).results[0]
        address = low.create("arith.addi", [index], [start, place], point).results[0]
        mask = low.constant(index, LINE - 1, point)
        rest = low.create("arith.andi", [index], [address, mask], point).results[0]
        return low.compare("eq", rest, low.constant(index, 0, point), point)

    # -- interleaved -----------------------------------------------------------------------------

    def interleave(self, copies: Sequence[Elements]) -> None:
        """Store the values of some copies together."""
        filled = [*copies, *(copies[-1] for _ in range(TOGETHER - len(copies)))]
        for made, buffer, forms in _interleaved(self.lanes, filled, self.places, self.point):
            store_by_lane(self.lanes, made, len(copies), buffer, forms, self.point)


def store_by_lane(
    lanes: Lanes, interleaved: ir.Value, count: int, buffer: ir.Value, forms: Sequence[Affine], point: Point
) -> None:
    """Store what each lane has of interleaved vectors: so many elements, and one of none."""
    piece = ir.VectorType.get([TOGETHER], interleaved.type.element_type)
    short = replace(lanes, width=TOGETHER)
    for lane in range(lanes.width):
        attributes = {
            key: ir.ArrayAttr.get([ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)])
            for key, value in (("offsets", lane * TOGETHER), ("sizes", TOGETHER), ("strides", 1))
        }
        made = lanes.make("vector.extract_strided_slice", piece, [interleaved], point, attributes)
        there = [form.substitute({LANE: Affine.const(lane)}) for form in forms]
        short.store_first(count, made, buffer, there, point)


def store_residues(
    lanes: Lanes, groups: Sequence[Elements], places: Sequence[StorePlace], point: Point
) -> None:
    """Store the values of all residues of the lanes, which stand side by side, from the places of the
    first."""
    for made, buffer, forms in _interleaved(lanes, groups, places, point):
        lanes.store_run(made, buffer, forms, point)


def _interleaved(
    lanes: Lanes, groups: Sequence[Elements], places: Sequence[StorePlace], point: Point
) -> Iterator[tuple[ir.Value, ir.Value, list[Affine]]]:
    """The values of groups of copies interleaved, where each goes, and the element of the first one."""
    for number, place in enumerate(places):
        for buffer in place.buffers:
            for same in zip(*groups, strict=True):
                made = lanes.interleaved([values[number] for _, values in same], point)
                yield made, buffer, [at(form, same[0][0]) for form in place.forms]
