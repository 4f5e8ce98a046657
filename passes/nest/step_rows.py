"""Steps that are written out, of which each lane has a row in memory: read and stored by rows.

    for i1 = 0 to 16 lane {
        for k = 0 to 16 unroll { f[i, k] = f[i, k - 1]*x[i] }
    }

To store a lane at a time takes longer than to compute a step. So what the steps compute stays in registers,
where later steps find it, and is stored as rows in the end, transposed. What steps read of rows is transposed
before the first of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from tadc.dialect.mlir import ir
from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine
from tadc.lattice.late_dataclasses import dataclass, field
from tadc.lattice.polyhedron import implied
from tadc.passes.nest.joins import Made, Point
from tadc.passes.nest.lockstep import InRegisters
from tadc.passes.nest.shuffles import transposed
from tadc.passes.nest.squares import TOGETHER, Squares, is_transposable
from tadc.passes.nest.stores import Elements, StorePlace, store_by_lane
from tadc.passes.nest.tile import LANE, Tile, at
from tadc.passes.nest.vector_lanes import Lanes

Forms = tuple[Affine, ...]

STEP = "@step"
"""The variable of the steps, among those of a tile."""


def step_between(places: Sequence[Forms]) -> int:
    """1 where places follow each other in a row of each lane, -1 where they do from its end, 0 elsewhere."""
    if len(places) < 2 or not places[0] or LANE in places[0][-1].variables:
        return 0
    moved = places[1][-1] - places[0][-1]
    sign = moved.constant if moved.is_constant and abs(moved.constant) == 1 else 0
    same = all(
        place[:-1] == places[0][:-1] and place[-1] == places[0][-1] + sign * n
        for n, place in enumerate(places)
    )
    return sign if same and any(LANE in form.variables for form in places[0][:-1]) else 0


@dataclass
class StepRows:
    """Where the stores of each step go; `given` are elements in registers, by their buffers and places."""

    lanes: Lanes
    tile: Tile
    places: Sequence[Sequence[StorePlace]]
    point: Point
    given: InRegisters = field(default_factory=InRegisters)
    groups: list[Elements] = field(default_factory=list[Elements])

    def fits(self, reads: Sequence[Sequence[tuple[str, Forms]]]) -> bool:
        """Whether all stores are rows, and what steps read of these is from before, or of a step before."""
        stores = list(zip(*self.places, strict=True))
        signs = [step_between([place.forms for place in each]) for each in stores]
        if not is_transposable(self.lanes.width) or not all(signs):
            return False
        if any(place.store.joins or place.store.streams for place in self.places[0]):
            return False
        for each, sign in zip(stores, signs, strict=True):
            own = each[0].store.tensor
            for number, step in enumerate(reads):
                for read in (forms for tensor, forms in step if tensor == own):
                    back = (each[number].forms[-1] - read[-1]) * sign
                    if read[:-1] != each[0].forms[:-1] or not back.is_constant or back.constant < 1:
                        return False
        return True

    def read(self, buffer: ir.Value, places: Sequence[Forms], facts: Domain) -> None:
        """Read what steps read at these places by rows, where it is known that all of it is there."""
        sign, shape = step_between(places), buffer.type.shape
        known = (*facts, *self.tile.facts)
        ends = (
            end
            for place in (places[0], places[-1])
            for form, size in zip(place, shape, strict=True)
            for end in (form, size - 1 - form)
        )
        if not sign or min(shape) < 0 or not all(implied(end, known) for end in ends):
            return
        ordered = places[::sign]
        for first in range(0, len(ordered), self.lanes.width):
            part = ordered[first : first + self.lanes.width]
            forms = (*part[0][:-1], part[0][-1] + Affine.var(STEP))
            square = Squares(self.lanes, buffer, forms, (STEP, len(part)), self.point)
            for copy in self.tile.points(self.tile.copies):
                for number, place in enumerate(part):
                    key = (buffer, *(at(form, copy) for form in place))
                    self.given[key] = square.vector({**copy, STEP: number})

    def add(self, elements: Elements) -> None:
        """Take in the values of the next step."""
        for copy, values in elements:
            for value, place in zip(values, self.places[len(self.groups)], strict=True):
                made = self.lanes.spread(value, self.point)
                for buffer in place.buffers:
                    self.given[buffer, *(at(form, copy) for form in place.forms)] = made
        self.groups.append(elements)

    def store(self) -> None:
        """Store all of it."""
        for number, each in enumerate(zip(*self.places, strict=True)):
            sign = step_between([place.forms for place in each])
            for same in zip(*self.groups, strict=True):
                vectors = [self.lanes.spread(values[number], self.point) for _, values in same][::sign]
                forms = [at(form, same[0][0]) for form in each[::sign][0].forms]
                for buffer in each[0].buffers:
                    self.store_rows(vectors, buffer, forms)

    def store_rows(self, vectors: Made, buffer: ir.Value, forms: Sequence[Affine]) -> None:
        """Store the elements that each lane has of vectors, side by side."""
        *others, last = forms
        width, place = self.lanes.width, 0
        while len(vectors) - place >= width:
            rows = transposed(self.lanes.low, vectors[place : place + width], self.point)
            for lane, row in enumerate(rows):
                there = [form.substitute({LANE: Affine.const(lane)}) for form in others]
                self.lanes.store_run(row, buffer, [*there, last + place], self.point)
            place += width
        for first in range(place, len(vectors), TOGETHER):
            part = vectors[first : first + TOGETHER]
            filled = [*part, *(part[-1] for _ in range(TOGETHER - len(part)))]
            made = self.lanes.interleaved(filled, self.point)
            store_by_lane(self.lanes, made, len(part), buffer, [*others, last + first], self.point)
