"""The bounds of an index that move together, those closest to each other: they bound it where no edge is
near.

In `max(0, i - 4) <= k <= min(9, i)` these are `i - 4` and `i`: both move with i, four apart.
"""

from __future__ import annotations

from collections.abc import Sequence

from tadc.lattice.affine import ZERO, Affine, Constraint


def closest_bounds(name: str, rows: Sequence[Constraint]) -> tuple[Affine, Affine] | None:
    """The lower and the upper bound, as forms that are not negative; None where no two move together."""
    forms = [form for row in rows for form in row.inequalities]
    lower = [form for form in forms if form.coefficient(name) > 0]
    upper = [form for form in forms if form.coefficient(name) < 0]
    best: tuple[float, Affine, Affine] | None = None
    for low in lower:
        for high in upper:
            j, k = low.coefficient(name), -high.coefficient(name)
            distance = low * k + high * j
            if distance.is_constant and (best is None or distance.constant / (j * k) < best[0]):
                best = distance.constant / (j * k), low, high
    return None if best is None else (best[1], best[2])


def counted_from(name: str, rows: Sequence[Constraint]) -> tuple[Affine, int | None] | None:
    """The first value of an index by its closest bounds, and the number of values; 0 and None where there are
    none.

    None where that is no linear form. It is that of an element, whatever more is known where it is computed.
    """
    pair = closest_bounds(name, rows)
    if pair is None:
        return ZERO, None
    low, high = pair
    if (low.coefficient(name), high.coefficient(name)) != (1, -1) or not low.is_linear:
        return None
    return Affine.var(name) - low, (low + high).constant + 1


def step_with(name: str, rows: Sequence[Constraint], own: Sequence[str]) -> Affine:
    """How far the closest bounds of an index move with some others, where by whole steps."""
    pair = closest_bounds(name, rows)
    if pair is None:
        return ZERO
    low, k = pair[0], pair[0].coefficient(name)
    moves = {index: -low.coefficient(index) for index in own if low.coefficient(index)}
    whole = all(move % k == 0 for move in moves.values())
    return Affine.of({index: move // k for index, move in moves.items()}, 0) if whole else ZERO
