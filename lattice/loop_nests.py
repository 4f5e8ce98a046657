"""An integer set as nested loops over one index each, and what they leave to guards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tadc.lattice.affine import Affine, Constraint
from tadc.lattice.bounds import Bound, Level, Unbounded, bounds_innermost, loop_bounds, without_inner
from tadc.lattice.effort import limited
from tadc.lattice.late_dataclasses import dataclass
from tadc.lattice.polyhedron import implied, not_implied


@dataclass(frozen=True)
class LoopNest:
    """Run `levels` where `outside` holds, and the body where `inside` does."""

    outside: tuple[Constraint, ...]
    levels: tuple[Level, ...]
    inside: tuple[Constraint, ...]

    def points(self, parameters: Mapping[str, int]) -> Iterator[dict[str, int]]:
        """The points that the loops visit, with the parameters, in the order of the loops."""
        if all(row.holds(parameters) for row in self.outside):
            yield from self._below(0, dict(parameters))

    def _below(self, depth: int, point: dict[str, int]) -> Iterator[dict[str, int]]:
        if depth == len(self.levels):
            if all(row.holds(point) for row in self.inside):
                yield dict(point)
            return
        level = self.levels[depth]
        lower = max(bound.ceil().evaluate(point) for bound in level.lower)
        upper = min(bound.floor().evaluate(point) for bound in level.upper)
        for value in range(lower, upper + 1):
            point[level.name] = value
            yield from self._below(depth + 1, point)


def loop_nest(binders: Sequence[str], rows: Sequence[Constraint], facts: Sequence[Constraint]) -> LoopNest:
    """The nest that visits {binders : rows} where the facts hold. Raises Unbounded and EliminationLimit."""
    with limited():
        return _loop_nest(binders, rows, facts)


def _loop_nest(binders: Sequence[str], rows: Sequence[Constraint], facts: Sequence[Constraint]) -> LoopNest:
    own = set(binders)
    inside = [row for row in rows if row.equality and row.form.variables & own]
    bounding = [row for row in rows if not row.equality and row.form.variables & own]
    outside = not_implied([row for row in rows if not row.form.variables & own], facts)
    known = [*facts, *outside]
    levels = _box(binders, bounding)
    if levels is None:
        try:
            levels, left = _eliminate(binders, bounding, known)
        except Unbounded:
            # An index that only an equality bounds, or a row with the index inside a floor and outside.
            sides = [Constraint(form) for row in inside for form in row.inequalities]
            made = without_inner(binders, [*bounding, *sides], known)
            made = [row for row in made if row.form.variables & own]
            levels, left = _eliminate(binders, [*bounding, *sides, *made], known)
        inside += left
    return LoopNest(outside, levels, tuple(dict.fromkeys(inside)))


def _box(binders: Sequence[str], rows: Sequence[Constraint]) -> tuple[Level, ...] | None:
    """The levels where each index has one lower and one upper bound, free of the others."""
    own = set(binders)
    lower: dict[str, Bound] = {}
    upper: dict[str, Bound] = {}
    for row in rows:
        names = row.form.variables & own
        name = next(iter(names))
        k = row.form.coefficient(name)
        rest = row.form - Affine.var(name) * k
        side = lower if k > 0 else upper
        if len(names) > 1 or not k or name in rest.variables or name in side:
            return None
        side[name] = Bound(-rest if k > 0 else rest, abs(k))
    if len(lower) < len(own) or len(upper) < len(own):
        return None
    return tuple(Level(name, (lower[name],), (upper[name],)) for name in binders)


def _eliminate(
    binders: Sequence[str], rows: Sequence[Constraint], facts: Sequence[Constraint]
) -> tuple[tuple[Level, ...], list[Constraint]]:
    """Levels for all rows if that can be, and the rows that they leave to a guard."""
    own = set(binders)
    try:
        return loop_bounds(binders, rows, facts), []
    except ValueError:
        plain = [row for row in rows if not any(atom.variables & own for atom in row.form.floors())]
        plain = [row for row in plain if bounds_innermost(row.form, binders)]
    known = [*facts, *plain]
    left = [row for row in rows if row not in plain and not implied(row.form, known)]
    return loop_bounds(binders, plain, facts), left
