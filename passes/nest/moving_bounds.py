"""Loops whose bounds move with the points of a tile, where two do in the same way."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass

from tadc.lattice.affine import Affine
from tadc.lattice.bounds import Level


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
    if closest is None or not closest[1].terms:
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
