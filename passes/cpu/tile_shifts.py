"""Loops whose bounds move with the points of a tile, where two do in the same way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tadc.lattice.affine import Affine, Constraint
from tadc.lattice.bounds import Level
from tadc.passes.cpu.splits import MOST_TERMS
from tadc.passes.nest.lanes import extreme

if TYPE_CHECKING:
    from tadc.passes.cpu.tile_body import Context
    from tadc.passes.cpu.tile_reductions import TileReduction


@dataclass(frozen=True)
class Shift:
    """Bounds that move with the tile `by` the same, a number of `steps` apart; and the others.

    Each are those that are not above an index and those that are above it.
    """

    by: Affine
    steps: int
    same: tuple[list[Affine], list[Affine]]
    others: tuple[list[Affine], list[Affine]]

    @property
    def is_exact(self) -> bool:
        """Whether there are always so many steps."""
        return len(self.same[0]) == len(self.same[1]) == 1


def shift_of(level: Level, bound: Mapping[str, Affine], moving: Set[str]) -> Shift | None:
    """How the closest bounds of a level move with variables of a tile; None if they do not."""
    found = closest_bounds(level, bound, moving)
    return found if found is not None and found.by.terms else None


def closest_bounds(level: Level, bound: Mapping[str, Affine], moving: Set[str]) -> Shift | None:
    """The bounds that move as the closest ones do; None where no two move alike."""
    lower = [b.ceil().substitute(bound) for b in level.lower]
    upper = [b.floor().substitute(bound) + 1 for b in level.upper]
    closest: tuple[int, Affine] | None = None
    for low in lower:
        for high in upper:
            move, distance = _moved(low, moving), high - low
            if move is None or not distance.is_constant:
                continue
            if closest is None or distance.constant < closest[0]:
                closest = distance.constant, move
    if closest is None:
        return None
    by = closest[1]
    same = [[form for form in forms if _moved(form, moving) == by] for forms in (lower, upper)]
    others = [[form for form in forms if _moved(form, moving) != by] for forms in (lower, upper)]
    return Shift(by, closest[0], (same[0], same[1]), (others[0], others[1]))


def _moved(form: Affine, moving: Set[str]) -> Affine | None:
    """How a form moves with the tile; None where not by a multiple."""
    names = sorted(form.variables & moving)
    part = Affine.of({name: form.coefficient(name) for name in names}, 0)
    return None if (form - part).variables & moving else part


def shifted_loop(
    of: TileReduction,
    shift: Shift,
    levels: Sequence[Level],
    bound: Mapping[str, Affine],
    carried: list[Any],
    masked: bool,
    context: Context,
) -> list[Any]:
    """A loop of the same steps for all points of the tile, each at an index of its own.

    It is under masks where not all of these are between the other bounds. A few steps stand one after the
    other: their masks are the same in the loops around them.
    """
    level, low, point = levels[0], of.body.low, context.point
    start = low.affine([form - shift.by for form in shift.same[0]], point, "affine.max")
    stop = low.affine([form - shift.by for form in shift.same[1]], point, "affine.min")

    def run(masked: bool) -> Callable[[Any], list[Any]]:
        def inside(index: Affine, values: list[Any], at: Any) -> list[Any]:
            inner = {**bound, level.name: index + shift.by}
            return of.loop(levels[1:], inner, values, masked, context.moved(at))

        def steps(at: Any) -> list[Any]:
            if not shift.is_exact or shift.steps > of.body.tile.few or len(levels) > 1:
                return of.one_loop(level.name, (start, stop, 1), carried, inside, at)
            values = carried
            for step in range(shift.steps):
                values = inside(low.variable(start) + step, values, at)
            return values

        return steps

    if masked or not (shift.others[0] or shift.others[1]):
        return run(masked)(point)
    if shift.steps <= MOST_TERMS:
        # Tiles where all points have all steps are in a full part of their own.
        return run(True)(point)
    first, last = low.variable(start) + shift.by, low.variable(stop) - 1 + shift.by
    forms = [first - form for form in shift.others[0]] + [form - 1 - last for form in shift.others[1]]
    rows = tuple(Constraint(extreme(form, of.body.tile.ranges, -1)) for form in forms)
    types = [value.type for value in carried]
    return low.choose(low.holds(rows, point), types, run(False), run(True), point)
