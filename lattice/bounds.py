"""Loop bounds of an integer set by Fourier-Motzkin elimination with exact pruning.

Each row bounds the innermost loop variable in it, and does so exactly, so the loops
visit the integer points of the set and no others. The rows that elimination adds for
outer loops hold on the rational shadow: an outer loop may have empty inner ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from tadc.lattice.affine import Affine, Constraint, Floor, Lookup
from tadc.lattice.effort import EliminationLimit, limited
from tadc.lattice.late_dataclasses import dataclass
from tadc.lattice.polyhedron import (
    NEVER,
    atom_facts,
    irredundant,
    is_empty,
    normalised,
    tightened,
    without_floor,
)

LIMIT = 2000
"""The most rows that an elimination may make."""


class Unbounded(Exception):
    """A loop variable has no lower or no upper bound."""


@dataclass(frozen=True)
class Bound:
    """`form / divisor`, rounded up as a lower bound and down as an upper one."""

    form: Affine
    divisor: int

    def ceil(self) -> Affine:
        """The bound as a lower one."""
        return -((-self.form).floordiv(self.divisor))

    def floor(self) -> Affine:
        """The bound as an upper one."""
        return self.form.floordiv(self.divisor)


@dataclass(frozen=True)
class Level:
    """A loop from the greatest lower bound to the least upper bound, both included."""

    name: str
    lower: tuple[Bound, ...]
    upper: tuple[Bound, ...]


def loop_bounds(
    binders: Sequence[str], rows: Sequence[Constraint], facts: Sequence[Constraint]
) -> tuple[Level, ...]:
    """The loops, outermost first, that visit {binders : rows} in lexicographic order.

    The facts hold of the parameters. An empty set gives loops that do not run. Raises
    Unbounded, EliminationLimit, and ValueError for a row without a binder that the facts
    do not imply or with a floor from which its innermost binder cannot be solved.
    """
    levels = open_bounds(binders, rows, facts)
    for level in levels:
        if not level.lower or not level.upper:
            raise Unbounded(f"`{level.name}` has no {'upper' if level.lower else 'lower'} bound")
    return levels


def open_bounds(
    binders: Sequence[str], rows: Sequence[Constraint], facts: Sequence[Constraint]
) -> tuple[Level, ...]:
    """The bounds of loops, where a side without one is left empty."""
    with limited():
        return _open_bounds(binders, rows, facts)


def _open_bounds(
    binders: Sequence[str], rows: Sequence[Constraint], facts: Sequence[Constraint]
) -> tuple[Level, ...]:
    inside = set(binders)
    rows = irredundant([_solved_for_innermost(row, binders) for row in rows], facts)
    exact = _exact_floors(facts)
    if NEVER in rows or is_empty((*rows, *facts)):
        return tuple(_never(name) for name in binders)
    for row in rows:
        if not row.form.variables & inside:
            raise ValueError(f"`{row}` has no loop variable and does not follow from what is known")
    rows_of = _eliminate(binders, rows, facts)
    if rows_of is None:
        return tuple(_never(name) for name in binders)
    levels: list[Level] = []
    known = list(facts)
    for name in binders:
        needed = irredundant([tightened(row, known) for row in rows_of[name]], known)
        # What is known can be empty where the rational shadow of the rows is not.
        levels.append(_never(name) if NEVER in needed else level_of(name, needed, exact))
        known += needed
    return tuple(levels)


def _never(name: str) -> Level:
    return Level(name, (Bound(Affine.const(1), 1),), (Bound(Affine.const(0), 1),))


def _eliminate(
    binders: Sequence[str], rows: Sequence[Constraint], facts: Sequence[Constraint]
) -> dict[str, list[Constraint]] | None:
    """Rows by the innermost binder in them, those made for outer loops included; None if no point is left."""
    rows_of: dict[str, list[Constraint]] = {}
    current = list(rows)
    for name in reversed(binders):
        # Rows made for this loop can have it inside a floor, which leaves as a variable of its own.
        current = without_inner([name], current, facts)
        rows_of[name] = [row for row in current if row.form.coefficient(name)]
        current = project(name, current, facts)
        if NEVER in current:
            return None
    return rows_of


def project(
    atom: str | Floor | Lookup, rows: Sequence[Constraint], facts: Sequence[Constraint]
) -> list[Constraint]:
    """The rational shadow of the rows along a variable or another atom, pruned. Raises EliminationLimit."""
    sides = [side for row in rows for side in row.inequalities]
    below = [(form, form.coefficient(atom)) for form in sides if form.coefficient(atom) > 0]
    above = [(form, -form.coefficient(atom)) for form in sides if form.coefficient(atom) < 0]
    if not below and not above:
        return list(rows)
    made = [Constraint(form) for form in sides if not form.coefficient(atom)]
    if len(made) + len(below) * len(above) > LIMIT:
        text = "; ".join(str(row) for row in rows)
        raise EliminationLimit(f"eliminating `{atom}` makes more than {LIMIT} rows of: {text}")
    for low, j in below:
        for high, k in above:
            common = gcd(j, k)
            made.append(normalised(Constraint(low * (k // common) + high * (j // common))))
    return irredundant(made, facts)


def without_inner(
    names: Sequence[str], rows: Sequence[Constraint], facts: Sequence[Constraint]
) -> list[Constraint]:
    """Rows that follow from these and have none of the names inside another atom. Raises EliminationLimit."""
    own = set(names)
    current = list(rows)
    while True:
        found = (atom for row in current for atom, _ in row.form.terms if not isinstance(atom, str))
        atoms = {atom: len(list(Affine.atom(atom).inner_atoms())) for atom in found if atom.variables & own}
        if not atoms:
            return current
        # What is defined by others before these, and each with its definition, which pruning leaves out.
        atom = max(atoms, key=lambda atom: atoms[atom])
        current = project(atom, [*current, *atom_facts([Affine.atom(atom)])], facts)


def bounds_innermost(form: Affine, binders: Sequence[str]) -> bool:
    """Whether `form >= 0` is a bound of the innermost binder in it, or has no binder."""
    return _solve_for_innermost(Constraint(form), binders) is not None


def _solve_for_innermost(row: Constraint, binders: Sequence[str]) -> Constraint | None:
    """The row with its innermost binder out of floors; None if that cannot be."""
    while True:
        name = next((b for b in reversed(binders) if b in row.form.variables), None)
        atoms = [(a, k) for a, k in row.form.terms if name in ((a,) if isinstance(a, str) else a.variables)]
        if name is None or atoms == [(name, row.form.coefficient(name))]:
            return row
        atom = atoms[0][0]
        solved = without_floor(row, atom) if len(atoms) == 1 and isinstance(atom, Floor) else None
        if solved is None:
            return None
        row = solved


def _solved_for_innermost(row: Constraint, binders: Sequence[str]) -> Constraint:
    solved = _solve_for_innermost(row, binders)
    if solved is None:
        raise ValueError(f"`{row}` does not bound its innermost loop variable")
    return solved


def _exact_floors(facts: Sequence[Constraint]) -> frozenset[Floor]:
    """The floors `e // c` for which a fact says `e - c*(e // c) = 0`."""
    return frozenset(
        atom
        for fact in facts
        if fact.equality
        for atom, k in fact.form.terms
        if isinstance(atom, Floor)
        and abs(k) == atom.denominator
        and fact.form == (atom.numerator - Affine.atom(atom) * atom.denominator) * (1 if k < 0 else -1)
    )


def level_of(name: str, rows: Sequence[Constraint], exact: frozenset[Floor] = frozenset()) -> Level:
    """The loop that rows say which each bound the variable; easy bounds first.

    The floors in `exact` have no remainder.
    """
    lower: list[Bound] = []
    upper: list[Bound] = []
    for row in rows:
        for form in row.inequalities:
            k = form.coefficient(name)
            rest = form - Affine.var(name) * k
            if k > 0:
                lower.append(_without_exact(Bound(-rest, k), exact))
            else:
                upper.append(_without_exact(Bound(rest, -k), exact))
    return Level(name, tuple(sorted(lower, key=_reading)), tuple(sorted(upper, key=_reading)))


def _without_exact(bound: Bound, exact: frozenset[Floor]) -> Bound:
    """A bound without a floor in the division: `(b // 2) / 3` is `b / 6` where b is even."""
    form, divisor = bound.form, bound.divisor
    for atom, _ in bound.form.terms:
        if divisor > 1 and isinstance(atom, Floor) and atom in exact:
            scale = atom.denominator // gcd(atom.denominator, form.coefficient(atom))
            k = form.coefficient(atom) * scale
            form = (form * scale) - Affine.atom(atom) * k + atom.numerator * (k // atom.denominator)
            divisor *= scale
    return Bound(form, divisor)


def _reading(bound: Bound) -> tuple[bool, bool, str]:
    return not bound.form.is_constant, bound.divisor != 1, str(bound.form)
