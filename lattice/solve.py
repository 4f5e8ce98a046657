"""Integer solutions of quasi-affine systems: guards, a parametrisation and its domain.

The equalities leave in three steps: unknowns with a unit coefficient are eliminated, so
that the loops that remain are the caller's own; rows are divided by the gcd of their
coefficients under a guard on the parameters; the Smith normal form solves what is left,
x = I b + K z with LLL on the kernel K (eqs. 40 to 46 of Urban and van der Smagt 2017; the
integer condition that eq. 46 drops is kept as a guard).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import gcd

from tadc.lattice.affine import ZERO, Affine, Constraint, Floor, Lookup
from tadc.lattice.congruence import Quotients
from tadc.lattice.determined import determined
from tadc.lattice.effort import limited
from tadc.lattice.kernel_basis import backwards, short_basis, tight_order
from tadc.lattice.late_dataclasses import dataclass, field
from tadc.lattice.polyhedron import (
    NEVER,
    implied,
    irredundant,
    is_empty,
    normalised,
    tightened,
    without_floor,
)
from tadc.lattice.reduction import nearest_plane
from tadc.lattice.smith import smith
from tadc.lattice.trace import Determined, Division, Elimination, Reversed, SmithStep, Step, Tight, Trace


@dataclass(frozen=True)
class Solution:
    """The integer points of a system, as a function of its parameters.

    Where the guards hold, `substitution` maps the integer points of `domain` one to one
    onto the solutions; elsewhere there is no solution.
    """

    guards: tuple[Constraint, ...]
    """Conditions on parameters alone, none implied by the facts or by the others."""
    substitution: dict[str, Affine]
    """Each unknown as a form of parameters and kernel variables."""
    atoms: dict[Floor | Lookup, Affine]
    """Each floor and lookup of the input that depends on unknowns as such a form."""
    kernel: tuple[str, ...]
    """Loop variables, outermost first; an unknown that was not eliminated is its own."""
    domain: tuple[Constraint, ...]
    """Irredundant rows `>= 0` on kernel variables and parameters, and equalities with lookups."""
    exact: tuple[tuple[Affine, int], ...]
    """Pairs (e, c) where c divides e wherever the guards hold; `e.floordiv(c)` is one floor atom."""
    trace: Trace = field(repr=False, compare=False)
    """How it was found."""


def solve(
    unknowns: Sequence[str],
    constraints: Sequence[Constraint],
    facts: Sequence[Constraint],
    fresh: Callable[[str], str],
    *,
    linear: bool = False,
) -> Solution | None:
    """Solve constraints for the unknowns, given facts about the parameters.

    Unknowns come outermost first: where there is a choice the outer one is eliminated and
    the inner one stays a loop. `fresh(prefix)` gives a name that nothing else has.
    A loop that runs at most once becomes a floor division where its rows stay bounds of
    loops in this order; with `linear` it stays a loop, and no floor of a loop variable is left.
    None is a proof that no parameter value that the facts allow has a solution. Raises EliminationLimit.
    """
    with limited():
        return _solve(_Solver(unknowns, facts, fresh, linear), constraints)


def _solve(work: _Solver, constraints: Sequence[Constraint]) -> Solution | None:
    for row in constraints:
        work.add(row)
    try:
        work.solve_given()
        while work.prune():
            work.solve_equalities()
        return work.solution()
    except _NoSolution:
        return None


class _NoSolution(Exception):
    pass


class _Solver:
    """A system on its way from rows to a parametrisation."""

    def __init__(
        self, unknowns: Sequence[str], facts: Sequence[Constraint], fresh: Callable[[str], str], linear: bool
    ) -> None:
        self.linear = linear
        self.facts = tuple(facts)
        self.fresh = fresh
        self.unknowns = list(unknowns)
        self.asked = dict.fromkeys(unknowns)
        self.equalities: list[Affine] = []
        self.inequalities: list[Affine] = []
        self.values: dict[str, Affine] = {}
        self.atoms: dict[Floor | Lookup, str] = {}
        self.lookups: dict[str, Lookup] = {}
        self.aside: list[Affine] = []
        self.quotients = Quotients()
        self.guards: list[Constraint] = []
        self.steps: list[Step] = []

    def add(self, row: Constraint) -> None:
        """Take a constraint in, its floors and lookups of unknowns replaced by unknowns."""
        form = self._without_atoms(row.form)
        (self.equalities if row.equality else self.inequalities).append(form)

    def _without_atoms(self, form: Affine) -> Affine:
        # Top-level atoms are replaced whole: an unknown for an inner one would stay
        # caught inside the outer floor.
        return form.replace(self._unknown_for)

    def _unknown_for(self, atom: str | Floor | Lookup) -> Affine | None:
        if isinstance(atom, str):
            return None
        if atom.variables.isdisjoint(self.asked):
            return Affine.atom(atom)
        if atom not in self.atoms:
            name = self.fresh("q")
            self.atoms[atom] = name
            parts = tuple(map(self._without_atoms, atom.parts))
            self.unknowns.append(name)
            self.inequalities += self._defined(name, atom, parts)
        return Affine.var(self.atoms[atom])

    def _defined(self, name: str, atom: Floor | Lookup, parts: tuple[Affine, ...]) -> tuple[Affine, ...]:
        """The bounds of the unknown for an atom, with unknowns for what is in its parts."""
        value = Affine.var(name)
        if isinstance(atom, Floor):
            rest = parts[0] - value * atom.denominator
            return (rest, atom.denominator - 1 - rest)
        self.lookups[name] = Lookup(atom.array, parts[:-1], parts[-1])
        return (value, parts[-1] - 1 - value)

    def _holds(self, form: Affine, name: str) -> bool:
        """Whether a value depends on an unknown through lookups at places that do."""
        waiting, seen = set(form.variables & self.lookups.keys()), set[str]()
        while waiting:
            lookup = waiting.pop()
            seen.add(lookup)
            inside = frozenset[str]().union(*(at.variables for at in self.lookups[lookup].at))
            if name in inside:
                return True
            waiting |= (inside & self.lookups.keys()) - seen
        return False

    def solve_given(self) -> None:
        """Solve the equalities that were given, and note what that finds."""
        self.given = tuple(self.unknowns), tuple(self.equalities), tuple(self.inequalities)
        if self.lookups:
            self._put_fixed()
        self.solve_equalities()
        self._orient()
        self.found = len(self.steps), dict(self.values), tuple(self.unknowns)

    def _without_lookups(self) -> list[Affine]:
        """What rows say of unknowns where elements of index arrays are the least or greatest that they may
        be: the bounds of loops that no other rows bound, or at which an element is looked up, for the rows
        themselves are tested inside."""
        plain = [form for form in self.inequalities if form.variables.isdisjoint(self.lookups)]
        bounded = {(atom, k > 0) for form in plain for atom, k in form.terms}
        places = {n for lookup in self.lookups.values() for at in lookup.at for n in at.variables}
        found: list[Affine] = []
        for form in self.inequalities if self.lookups else ():
            for atom, k in form.terms:
                if isinstance(atom, str) and atom in self.lookups:
                    most = self.lookups[atom].below - 1
                    form = form - Affine.var(atom) * k + (most * k if k > 0 else ZERO)
            if any(
                atom in self.unknowns and (atom in places or (atom, k > 0) not in bounded)
                for atom, k in form.terms
            ):
                found.append(form)
        return [form for form in dict.fromkeys(found) if form not in self.inequalities]

    def _put_fixed(self) -> None:
        """Put in unknowns that have one value alone: then lookups at their places are known."""
        rows = set(self.inequalities)
        for form in self.inequalities:
            if -form in rows and len(form.terms) == 1 and abs(form.terms[0][1]) == 1:
                self.equalities.insert(0, form)
                self.steps.append(Tight(form))
                rows -= {form, -form}

    def solve_equalities(self) -> None:
        """Turn all equalities into values of unknowns and guards."""
        while self.equalities:
            self.equalities = [row for row in map(self._divided, self.equalities) if row is not None]
            if self.equalities and not self._eliminate_unit() and not self._put_aside():
                self._eliminate_by_smith()

    def _put_aside(self) -> bool:
        """Leave rows with lookups that no unit coefficient solves as they are: they are asked of elements."""
        rows = [row for row in self.equalities if not row.variables.isdisjoint(self.lookups)]
        self.aside += rows
        self.equalities = [row for row in self.equalities if row not in rows]
        return bool(rows)

    def _split(self, form: Affine) -> tuple[Affine, Affine]:
        """The part on unknowns, and the part on parameters with the constant."""
        mine = set(self.unknowns)
        inside = tuple(term for term in form.terms if term[0] in mine)
        outside = tuple(term for term in form.terms if term[0] not in mine)
        return Affine(inside, 0), Affine(outside, form.constant)

    def _divided(self, row: Affine) -> Affine | None:
        """The row with coprime coefficients on unknowns; None once it is a guard alone."""
        inside, outside = self._split(row)
        if not inside.terms:
            self._guard(Constraint(outside, equality=True))
            self.steps.append(Division(row, 0, ZERO, Constraint(outside, equality=True)))
            return None
        common = gcd(*(k for _, k in inside.terms))
        if common == 1:
            return row
        inside = Affine(tuple((atom, k // common) for atom, k in inside.terms), 0)
        quotient, guard = self._quotient(-outside, common)
        self.steps.append(Division(row, common, inside - quotient, guard))
        return inside - quotient

    def _quotient(self, form: Affine, divisor: int) -> tuple[Affine, Constraint | None]:
        """The form of parameters divided by a number, and the guard that the number divides it."""
        result = self.quotients.divide(form, divisor)
        if result is None:
            raise _NoSolution
        value, guard = result
        if guard is not None:
            self._guard(guard)
        return value, guard

    def _guard(self, guard: Constraint) -> None:
        guard = normalised(guard)
        if guard == NEVER or (not guard.form.terms and not guard.holds({})):
            raise _NoSolution
        if guard.form.terms and guard not in self.guards:
            if guard.equality and guard.form.terms[0][1] < 0:
                guard = Constraint(-guard.form, equality=True)
            self.guards.append(guard)

    def _eliminate_unit(self) -> bool:
        """Solve one row for an unknown with coefficient 1 or -1, if there is one.

        A lookup is read where its place is known: another unknown would stay a loop.
        """
        position = {name: i for i, name in enumerate(self.unknowns)}
        best: tuple[bool, int, int, int] | None = None
        for index, row in enumerate(self.equalities):
            for atom, k in row.terms:
                if abs(k) == 1 and isinstance(atom, str) and atom in position and self._may_be(atom, row):
                    candidate = (atom in self.lookups, position[atom], len(row.terms), index)
                    best = candidate if best is None else min(best, candidate)
        if best is None:
            return False
        name, row = self.unknowns[best[1]], self.equalities.pop(best[3])
        k = row.coefficient(name)
        value = (row - Affine.var(name) * k) * -k
        self.steps.append(Elimination(row, name, value))
        self._substitute({name: value})
        self.unknowns.remove(name)
        return True

    def _may_be(self, name: str, row: Affine) -> bool:
        """Whether a row may give an unknown its value: `e + src[e] = b` does not give e."""
        return not self.lookups or not self._holds(row, name)

    def _substitute(self, values: Mapping[str, Affine]) -> None:
        # Lookups stay in each other: another form of equal value need not be seen to be in range.
        plain = {name: form for name, form in values.items() if name not in self.lookups}
        self.lookups = {
            name: Lookup(lookup.array, tuple(at.substitute(plain) for at in lookup.at), lookup.below)
            for name, lookup in self.lookups.items()
        }
        self.equalities = [row.substitute(values) for row in self.equalities]
        self.aside = [row.substitute(values) for row in self.aside]
        self.inequalities = [row.substitute(values) for row in self.inequalities]
        self.values = {name: form.substitute(values) for name, form in self.values.items()} | dict(values)

    def _eliminate_by_smith(self) -> None:
        names = [name for name in self.unknowns if any(row.coefficient(name) for row in self.equalities)]
        form = smith([[row.coefficient(name) for name in names] for row in self.equalities])
        right_side = [-self._split(row)[1] for row in self.equalities]
        moved = [sum((b * k for b, k in zip(right_side, row, strict=True)), ZERO) for row in form.left]
        for rest in moved[form.rank :]:
            self._guard(Constraint(rest, equality=True))
        kernel = short_basis(form.kernel)
        loops = [self.fresh("z") for _ in kernel]
        quotients = [self._quotient(moved[j], form.diagonal[j][j])[0] for j in range(form.rank)]
        columns = [nearest_plane([row[j] for row in form.right], kernel) for j in range(form.rank)]
        factors = [*quotients, *map(Affine.var, loops)]
        right = [[vector[i] for vector in (*columns, *kernel)] for i in range(len(names))]
        values = {
            name: sum((factor * k for factor, k in zip(factors, row, strict=True)), ZERO)
            for name, row in zip(names, right, strict=True)
        }
        rows = tuple(self.equalities)
        self.steps.append(SmithStep(tuple(names), rows, form, right, tuple(quotients), tuple(loops)))
        self.equalities = []
        self._substitute(values)
        self.unknowns = [name for name in self.unknowns if name not in values] + loops

    def prune(self) -> bool:
        """Drop redundant inequalities; make equalities of those that can only be tight."""
        context = (*self.facts, *self.guards)
        self.inequalities += self._without_lookups()
        rows = self._needed([Constraint(self._written(row)) for row in self.inequalities])
        if NEVER in rows or is_empty((*rows, *context)):
            raise _NoSolution
        needed = list(rows)
        for i, row in enumerate(rows):
            rows[i] = tightened(row, (*rows[:i], *rows[i + 1 :], *context))
        if rows != needed:
            rows = self._needed(rows)
        self.inequalities = []
        known = (*rows, *context)
        for row in rows:
            if self.equalities or not self._is_linear(row.form) or not implied(-row.form, known):
                self.inequalities.append(row.form)
            else:
                self.equalities.append(row.form)
                self.steps.append(Tight(row.form))
        return bool(self.equalities) or self._determine()

    def _needed(self, rows: Sequence[Constraint]) -> list[Constraint]:
        """The rows that the others do not imply; those without lookups stay where only others imply them.

        They may bound the unknown that an element is looked up at, which a row about the element does not.
        """
        context = (*self.facts, *self.guards)
        plain = [row for row in rows if row.form.variables.isdisjoint(self.lookups)]
        needed = irredundant(plain, context)
        if len(plain) < len(rows):
            needed += irredundant([row for row in rows if row not in plain], (*context, *needed))
        return needed

    def _written(self, row: Affine) -> Affine:
        """The row without exact quotients, but for one that an inner unit coefficient makes a plain bound."""
        row = self.quotients.simplify(row)
        inner = next((name for name in reversed(self.unknowns) if row.coefficient(name)), None)
        return row if inner and abs(row.coefficient(inner)) == 1 else self.quotients.fraction(row)[0]

    def _is_linear(self, form: Affine) -> bool:
        return all(atom.variables.isdisjoint(self.unknowns) for atom in form.inner_atoms())

    def _determine(self) -> bool:
        """Replace a loop that runs at most once by its value."""
        found = None if self.linear else determined(self.unknowns, self.inequalities)
        if found is None or not self._may_be(found[0], found[1]):
            return False
        name, value, self.inequalities = found
        self.steps.append(Determined(name, value))
        self._substitute({name: value})
        self.unknowns.remove(name)
        return True

    def _orient(self) -> None:
        """Let the loops that are not the caller's own run so that they move the caller's unknowns upwards."""
        loops = [name for name in self.unknowns if name not in self.asked and name not in self.lookups]
        values = [self.values[name] for name in self.asked if name in self.values]
        for name in backwards(loops, values):
            loop = self.fresh("z")
            self._substitute({name: -Affine.var(loop)})
            self.unknowns[self.unknowns.index(name)] = loop
            self.steps.append(Reversed(name, loop))

    def solution(self) -> Solution:
        """What has been found."""
        self._orient()
        asked = self._read()
        rows = [*map(Constraint, self.inequalities), *asked]
        if self.lookups:
            rows = irredundant(rows, (*self.facts, *self.guards), self.unknowns)
            if NEVER in rows:
                raise _NoSolution
        domain: list[Constraint] = []
        for row in rows:
            if row.form.variables.isdisjoint(self.unknowns):
                self._guard(row if row.equality else _plain(row))
            else:
                domain.append(row)
        names = [*self.asked, *self.atoms.values()]
        values = {name: self.quotients.simplify(self.values.get(name, Affine.var(name))) for name in names}
        guards = tuple(irredundant(self.guards, self.facts))
        if NEVER in guards:
            raise _NoSolution
        forms = [*values.values(), *(row.form for row in (*domain, *guards))]
        used = {atom for form in forms for atom in form.floors()}
        return Solution(
            guards=guards,
            substitution={name: values[name] for name in self.asked},
            atoms={atom: values[name] for atom, name in self.atoms.items()},
            kernel=tight_order(self.unknowns, domain),
            domain=tuple(domain),
            exact=tuple(pair for atom, pair in self.quotients.exact.items() if atom in used),
            trace=self.trace(),
        )

    def _read(self) -> list[Constraint]:
        """Read the lookups that are still unknown at their places; ask of the others that they have their
        values."""
        read: dict[str, Affine] = {}
        while left := [name for name in self.lookups if name not in read]:
            # One at a place that is known, which is in no circle: no value was given that makes one.
            name = next(n for n in left if self.lookups[n].variables.isdisjoint(left))
            lookup = self.lookups[name]
            at = tuple(form.substitute(read) for form in lookup.at)
            read[name] = Affine.atom(Lookup(lookup.array, at, lookup.below))
        for name in [name for name in self.unknowns if name in read]:
            self.unknowns.remove(name)
            self._substitute({name: read[name]})
        rests = [*(form - self.values[name] for name, form in read.items()), *self.aside]
        return [Constraint(rest, equality=True) for rest in rests if rest != ZERO]

    def trace(self) -> Trace:
        """How it was found."""
        steps, values, free = self.found
        return Trace(
            *self.given,
            atoms=dict(self.atoms),
            steps=tuple(self.steps),
            linear=steps,
            values=values,
            free=free,
            guards=tuple(self.guards),
            exact=dict(self.quotients.exact),
        )


def _plain(row: Constraint) -> Constraint:
    """The guard without its only floor: `b // 10 <= 2` is `b <= 29`."""
    floors = [atom for atom, _ in row.form.terms if isinstance(atom, Floor)]
    if len(floors) != 1 or (len(row.form.terms) > 1 and abs(row.form.coefficient(floors[0])) > 1):
        return row
    return without_floor(row, floors[0]) or row
