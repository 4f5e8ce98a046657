"""The exact linear program: is `form > -1` wherever rows `a x + c >= 0` hold?

A condensed tableau in integers, a denominator a row. The variables x are free; a row's
value is its slack. Unlike a tableau per question, one that stands at a vertex answers
many questions, each from where the last one ended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd, lcm

from tadc.lattice.effort import spend

Linear = tuple[Mapping[int, int], int]
"""Coefficients by variable, and the constant."""

Direction = tuple[list[int], int]
"""Values of all variables over one positive denominator."""


class Tableau:
    """A vertex of {x : every row >= 0, every equality = 0}.

    Each basic variable is a row: `denominator * basic = row[0] + sum row[j] * column j`.
    Labels below `width` are the free variables, label `width + i` is the slack of row i.
    """

    __slots__ = ("_basis", "_columns", "_dens", "_rows", "feasible", "ray", "width")

    def __init__(self, width: int, equalities: Sequence[Linear], inequalities: Sequence[Linear]) -> None:
        """Find a vertex for rows over variables `0..width - 1`; `feasible` tells whether there is one."""
        self.width = width
        self.ray: Direction | None = None
        self._columns: list[int] = list(range(-1, width))
        self._rows: list[list[int]] = [_dense(width, row) for row in (*inequalities, *equalities)]
        self._dens: list[int] = [1] * len(self._rows)
        count = len(inequalities)
        self._basis: list[int] = [width + i if i < count else -1 for i in range(len(self._rows))]
        self.feasible = self._impose_equalities() and self._reach_feasibility()

    def bounded(self, form: Linear) -> bool:
        """Whether `form > -1` wherever all rows hold; they must be feasible.

        If not, `vertex` is a point with `form <= -1`, or `ray` is a direction along which
        the form falls without end.
        """
        objective, den = self._express(form)
        return self._minimise(objective, den)

    def drop_if_redundant(self, row: int) -> bool:
        """Remove row number `row` if the others imply it over the integers; tell whether they do."""
        saved = list(self._rows), list(self._dens), list(self._basis), list(self._columns)
        label = self.width + row
        if label not in self._basis:
            column = self._columns.index(label)
            blocking = self._blocking(column, 1)
            if blocking is None:
                return False
            self._pivot(blocking, column)
        i = self._basis.index(label)
        objective, den = self._rows.pop(i), self._dens.pop(i)
        del self._basis[i]
        if self._minimise(objective, den):
            return True
        self._rows, self._dens, self._basis, self._columns = saved
        return False

    @property
    def entries(self) -> int:
        """How many numbers it has: those that a pivot may change."""
        return len(self._rows) * len(self._columns)

    @property
    def vertex(self) -> Direction:
        """Where the tableau stands."""
        values = {label: (row[0], den) for label, row, den in self._basic_variables()}
        return self._direction(values)

    def _basic_variables(self) -> list[tuple[int, list[int], int]]:
        rows = zip(self._basis, self._rows, self._dens, strict=True)
        return [(label, row, den) for label, row, den in rows if label < self.width]

    def _direction(self, values: Mapping[int, tuple[int, int]]) -> Direction:
        common = lcm(*(den for _, den in values.values()))
        found = [0] * self.width
        for label, (value, den) in values.items():
            found[label] = value * (common // den)
        return found, common

    def _impose_equalities(self) -> bool:
        """Make each equality's slack a column and delete it; False if one cannot hold."""
        while -1 in self._basis:
            i = self._basis.index(-1)
            row = self._rows[i]
            column = next((j for j in range(1, len(row)) if row[j]), None)
            if column is not None:
                self._pivot(i, column)
                del self._columns[column]
                for other in self._rows:
                    del other[column]
            elif row[0]:
                return False
            else:
                del self._rows[i], self._dens[i], self._basis[i]
        return True

    def _reach_feasibility(self) -> bool:
        """Bring the free variables into the basis, then mend negative slacks by Bland's rule.

        The mending is that of Dutertre and de Moura 2006: a negative slack leaves for the
        first column that can raise it. It ends, and a row that no column can raise is a proof
        that there is no point.
        """
        self._enter_free_variables()
        while True:
            negative = [
                (label, i)
                for i, (label, row) in enumerate(zip(self._basis, self._rows, strict=True))
                if row[0] < 0 and label >= self.width
            ]
            if not negative:
                return True
            _, i = min(negative)
            row = self._rows[i]
            raising = [(self._columns[j], j) for j in range(1, len(row)) if row[j] > 0]
            if not raising:
                return False
            self._pivot(i, min(raising)[1])

    def _enter_free_variables(self) -> None:
        for column, variable in enumerate(self._columns):
            if not 0 <= variable < self.width:
                continue
            best: tuple[bool, int, int] | None = None
            for i, row in enumerate(self._rows):
                if row[column] and self._basis[i] >= self.width:
                    # Sparse rows with a unit pivot keep the tableau sparse and integral.
                    candidate = (abs(row[column]) != 1, -row.count(0), i)
                    best = candidate if best is None else min(best, candidate)
            if best is not None:
                self._pivot(best[2], column)

    def _express(self, form: Linear) -> tuple[list[int], int]:
        """Write a form of the free variables in the columns."""
        coefficients, constant = form
        where = {label: i for i, label in enumerate(self._basis) if label < self.width}
        den = lcm(*(self._dens[where[v]] for v in coefficients if v in where))
        total = [0] * len(self._columns)
        total[0] = constant * den
        for variable, k in coefficients.items():
            if variable in where:
                i = where[variable]
                factor = k * (den // self._dens[i])
                total = [x + factor * y for x, y in zip(total, self._rows[i], strict=True)]
            else:
                total[self._columns.index(variable)] += k * den
        return total, den

    def _minimise(self, objective: list[int], den: int) -> bool:
        """Whether the objective stays above -1; stop as soon as it does not."""
        self.ray = None
        patience = 2 * len(self._columns)
        while objective[0] > -den:
            column = self._entering(objective, patience)
            if column is None:
                return True
            free = self._columns[column] < self.width
            blocking = None if free else self._blocking(column, -1)
            if blocking is None:
                self.ray = self._ray(column, -1 if free and objective[column] > 0 else 1)
                return False
            self._pivot(blocking, column)
            pivot, pivot_den = self._rows[blocking], self._dens[blocking]
            objective, den = _eliminate(objective, den, column, pivot, pivot_den)
            patience -= 1
        return False

    def _entering(self, objective: list[int], patience: int) -> int | None:
        """A column that lowers the objective: the steepest, later Bland's, which cannot cycle."""
        best: tuple[int, int] | None = None
        for j in range(1, len(objective)):
            k = objective[j]
            if not k or (k > 0 and self._columns[j] >= self.width):
                continue
            if self._columns[j] < self.width:
                return j
            candidate = (k if patience > 0 else self._columns[j], j)
            if best is None or candidate < best:
                best = candidate
        return None if best is None else best[1]

    def _blocking(self, column: int, sign: int) -> int | None:
        """The row whose slack is the first to reach zero as the column moves against `sign`."""
        found: int | None = None
        value = slope = 0
        for i, row in enumerate(self._rows):
            t = row[column] * sign
            if t <= 0 or self._basis[i] < self.width:
                continue
            if found is not None:
                order = row[0] * slope - value * t
                if order > 0 or (order == 0 and self._basis[i] > self._basis[found]):
                    continue
            found, value, slope = i, row[0], t
        return found

    def _ray(self, column: int, sign: int) -> Direction:
        values = {label: (sign * row[column], den) for label, row, den in self._basic_variables()}
        if self._columns[column] < self.width:
            values[self._columns[column]] = (sign, 1)
        return self._direction(values)

    def _pivot(self, i: int, column: int) -> None:
        """Exchange the basic variable of row i with the column's. Raises EliminationLimit."""
        rows, dens = self._rows, self._dens
        spend(self.entries)
        row, den = rows[i], dens[i]
        t = row[column]
        if t < 0:
            pivot, pivot_den = list(row), -t
            pivot[column] = -den
        else:
            pivot, pivot_den = [-x for x in row], t
            pivot[column] = den
        if pivot_den != 1:
            pivot, pivot_den = _reduced(pivot, pivot_den)
        for k, other in enumerate(rows):
            if other[column] and k != i:
                rows[k], dens[k] = _eliminate(other, dens[k], column, pivot, pivot_den)
        rows[i], dens[i] = pivot, pivot_den
        self._basis[i], self._columns[column] = self._columns[column], self._basis[i]


def _dense(width: int, row: Linear) -> list[int]:
    coefficients, constant = row
    dense = [0] * (width + 1)
    dense[0] = constant
    for variable, k in coefficients.items():
        dense[variable + 1] = k
    return dense


def _reduced(row: list[int], den: int) -> tuple[list[int], int]:
    common = gcd(den, *row)
    return (row, den) if common == 1 else ([x // common for x in row], den // common)


def _eliminate(
    row: list[int], den: int, column: int, pivot: list[int], pivot_den: int
) -> tuple[list[int], int]:
    """Put the pivot row in place of the column."""
    factor = row[column]
    if not factor:
        return row, den
    if pivot_den == 1:
        result = [x + factor * y for x, y in zip(row, pivot, strict=True)]
    else:
        result = [x * pivot_den + factor * y for x, y in zip(row, pivot, strict=True)]
    result[column] = factor * pivot[column]
    den *= pivot_den
    return (result, den) if den == 1 else _reduced(result, den)
