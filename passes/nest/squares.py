"""Loads that are side by side in memory along copies of a tile, where its lanes are far apart.

    x[j, i]    of lanes along j and a few copies along i, or a few steps of a sum over i

A gather takes one element of a line for each lane, and comes back to the line for the next copy, if it is
still near then: lines a power of two apart share few places of a cache. So a vector is read along the copies
for each lane instead, and these are transposed in registers: squares of as many copies as there are lanes, or
short vectors of what a few copies have, under a mask where they are fewer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tadc.dialect.mlir import ir
from tadc.lattice.affine import Affine
from tadc.lattice.late_dataclasses import dataclass, field, replace
from tadc.passes.nest.joins import Made, Point
from tadc.passes.nest.shuffles import columns, transposed
from tadc.passes.nest.tile import LANE, Copy, Tile, at
from tadc.passes.nest.vector_lanes import Lanes

TOGETHER = 4
"""So many copies at most are together in a short vector."""

FEWEST = 3
"""Fewer copies are not worth shuffles."""


class Squares:
    """One load of a block: its vector in each copy of a tile, made with those of the copies beside it."""

    def __init__(
        self, lanes: Lanes, buffer: ir.Value, forms: Sequence[Affine], copies: tuple[str, int], point: Point
    ) -> None:
        """`copies` are their variable and number."""
        self.lanes, self.buffer, self.forms, self.point = lanes, buffer, forms, point
        self.name, self.count = copies
        is_square = self.count == lanes.width
        self.short = lanes if is_square else replace(lanes, width=TOGETHER)
        self.transposed = transposed if is_square else columns
        self.made: dict[tuple[Affine, ...], Made] = {}

    def vector(self, copy: Copy) -> ir.Value:
        """The elements that the lanes read in a copy."""
        place, width = copy[self.name], self.short.width
        first = place - place % width
        forms = tuple(at(form, {**copy, self.name: first}) for form in self.forms)
        if forms not in self.made:
            mask = self.mask(self.count - first)
            rows = [self.row(forms, lane, mask) for lane in range(self.lanes.width)]
            self.made[forms] = self.transposed(self.lanes.low, rows, self.point)
        return self.made[forms][place - first]

    def mask(self, left: int) -> ir.Value | None:
        """Which elements of a short vector there are, if not all."""
        width = self.short.width
        return self.short.first(left, self.point) if left < width else None

    def row(self, forms: Sequence[Affine], lane: int, mask: ir.Value | None) -> ir.Value:
        """The elements that a lane reads in copies side by side."""
        *others, last = (form.substitute({LANE: Affine.const(lane)}) for form in forms)
        return self.short.load_run(self.buffer, [*others, last + Affine.var(LANE)], mask, self.point)


@dataclass(frozen=True)
class ReductionSteps:
    """A few steps of a reduction that stand one after the other, of which this is one.

    `form` is what its index is by a variable of this name, from 0 to `count` less one, and `first` where the
    loop begins. What is side by side along them is read in the first of them, and `made`.
    """

    index: str
    form: Affine
    name: str
    first: Affine
    count: int
    step: int = 0
    made: dict[tuple[object, ...], Squares] = field(default_factory=dict[tuple[object, ...], Squares])

    def forms(self, at: Sequence[Affine], forms: Mapping[str, Affine]) -> tuple[Affine, ...]:
        """Subscripts over the variable, where `forms` are those of indices."""
        return tuple(form.substitute({**forms, self.index: self.form}) for form in at)

    def vector(
        self, lanes: Lanes, buffer: ir.Value, forms: tuple[Affine, ...], point: Point
    ) -> Callable[[Copy], ir.Value]:
        """A function that gives the vector of this step in a copy; elements of all steps are side by side."""
        square = self.made.setdefault(
            (buffer, forms), Squares(lanes, buffer, forms, (self.name, self.count), point)
        )
        return lambda copy: square.vector({**copy, self.name: self.step})


def has_square(forms: Sequence[Affine], tile: Tile, name: str) -> bool:
    """Whether copies along a variable are side by side in memory where lanes are not, as many as there are
    lanes, or a few."""
    is_wide = is_transposable(tile.width) and tile.copies.get(name, 1) >= FEWEST
    return is_wide and are_side_by_side(forms, name)


def is_transposable(width: int) -> bool:
    """Whether short vectors of so many lanes may be transposed: shuffles do that for powers of two."""
    return width >= TOGETHER and not width & (width - 1)


def are_side_by_side(forms: Sequence[Affine], name: str, lane: str = LANE) -> bool:
    """Whether elements are side by side in memory along a variable, where those along the lanes are further
    apart than short vectors are long."""
    if not forms:
        return False
    *others, last = forms
    names = frozenset[str]().union(*(form.variables for form in others))
    are_apart = lane in names or abs(last.coefficient(lane)) > TOGETHER
    rest = last - Affine.var(name) - Affine.var(lane) * last.coefficient(lane)
    return are_apart and name not in names and rest.variables.isdisjoint({name, lane})
