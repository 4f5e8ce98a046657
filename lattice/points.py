"""Integer points of sets given by quasi-affine rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import count

from tadc.lattice.affine import Affine, Constraint, Floor, Lookup
from tadc.lattice.bounds import Level, open_bounds
from tadc.lattice.effort import limited
from tadc.lattice.solve import solve

BUDGET = 200_000
"""The most values of loop variables that a search tries if it is not told."""


class SearchLimit(Exception):
    """A search for an integer point tries too many values; whether there is one stays open."""


def find_point(constraints: Sequence[Constraint], budget: int | None = None) -> dict[str, int] | None:
    """An integer point where all constraints hold, by name of every variable; None if there is none.

    A lookup is a variable named as it reads, `src[e]`: an array is found with the point.

    Exact for bounded sets. Variables in order of their first appearance are as small as
    the ones before them allow, where the equalities have unit coefficients; a variable
    without any bound is 0. Raises SearchLimit where the budget of values to try is spent, and
    EliminationLimit of `loop_bounds`.
    """
    rows = list(map(_named, constraints))
    rows += dict.fromkeys(
        _named(Constraint(fact))
        for row in constraints
        for lookup in row.form.lookups()
        for fact in lookup.facts
    )
    with limited():
        return _find_point(rows, BUDGET if budget is None else budget)


def _named(row: Constraint) -> Constraint:
    """The row with a variable for each lookup."""

    def variable(atom: str | Floor | Lookup) -> Affine | None:
        return Affine.var(str(atom)) if isinstance(atom, Lookup) else None

    return Constraint(row.form.replace(variable), row.equality)


def _find_point(constraints: Sequence[Constraint], budget: int) -> dict[str, int] | None:
    names = list(dict.fromkeys(name for row in constraints for name in sorted(row.form.variables)))
    # Inner variables are eliminated first, so that the search runs over the outer ones.
    solution = solve(names[::-1], constraints, (), _fresh_names(names), linear=True)
    if solution is None:
        return None
    rank = {name: i for i, name in enumerate(names)}
    loops = sorted(solution.kernel, key=lambda name: rank.get(name, len(names)))
    point = _Search(open_bounds(loops, solution.domain, ()), budget).run()
    if point is None:
        return None
    return {name: solution.substitution[name].evaluate(point) for name in names}


def _fresh_names(taken: Iterable[str]) -> Callable[[str], str]:
    names = set(taken)
    numbers = count()

    def fresh(prefix: str) -> str:
        while (name := f"{prefix}{next(numbers)}") in names:
            pass
        return name

    return fresh


class _Search:
    """Depth-first search over loops."""

    def __init__(self, levels: Sequence[Level], budget: int) -> None:
        self.levels = levels
        self.limit = self.budget = budget
        self.point: dict[str, int] = {}

    def run(self, depth: int = 0) -> dict[str, int] | None:
        """The first point in the order of the loops from this depth on."""
        if depth == len(self.levels):
            return self.point
        level = self.levels[depth]
        for value in self._values(level):
            self.budget -= 1
            if self.budget < 0:
                raise SearchLimit(f"no integer point among the first {self.limit} tried")
            self.point[level.name] = value
            if (found := self.run(depth + 1)) is not None:
                return found
        return None

    def _values(self, level: Level) -> Iterable[int]:
        point = self.point
        lower = max((-(-bound.form.evaluate(point) // bound.divisor) for bound in level.lower), default=None)
        upper = min((bound.form.evaluate(point) // bound.divisor for bound in level.upper), default=None)
        if lower is not None and upper is not None:
            return range(lower, upper + 1)
        if lower is not None:
            return count(lower)
        if upper is not None:
            return count(upper, -1)
        return ((n + 1) // 2 * (1 if n % 2 else -1) for n in count())
