"""Why a solution of `solve` is exact, as data: the Smith form of the whole system, and what to check.

With A the matrix of the equalities A x = e(b) and S = U A V its Smith normal form, x = V y gives
S y = U e(b): each y is a quotient, or free and a loop variable, or its row is a guard (Urban and van
der Smagt 2017, section 4). V is chosen so that its last columns are the loops that the compiler has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from functools import cached_property
from operator import add
from typing import Any, TypeVar, cast

from tadc.lattice.affine import ZERO, Affine, Constraint, Floor, Lookup
from tadc.lattice.congruence import Quotients
from tadc.lattice.late_dataclasses import dataclass
from tadc.lattice.loop_nests import LoopNest, loop_nest
from tadc.lattice.rational import combination, inverse, product
from tadc.lattice.smith import Matrix, SmithForm, smith
from tadc.lattice.solve import Solution
from tadc.lattice.trace import Reversed, SmithStep, Trace

T = TypeVar("T")


@dataclass(frozen=True)
class Certificate:
    """A system of equalities and inequalities, what was known of its parameters, and its solution."""

    unknowns: tuple[str, ...]
    rows: tuple[Constraint, ...]
    facts: tuple[Constraint, ...]
    solution: Solution

    @property
    def trace(self) -> Trace:
        """How the solution was found."""
        return self.solution.trace

    @cached_property
    def matrix(self) -> Matrix:
        """A: a row for each equality, a column for each unknown, those that stand for floors last."""
        trace = self.trace
        return [[row.coefficient(name) for name in trace.unknowns] for row in trace.equalities]

    @cached_property
    def right_side(self) -> tuple[Affine, ...]:
        """e(b), a form of the parameters for each equality."""
        trace = self.trace
        return tuple(
            sum((Affine.var(name) * k for name, k in zip(trace.unknowns, row, strict=True)), ZERO) - form
            for row, form in zip(self.matrix, trace.equalities, strict=True)
        )

    @cached_property
    def general(self) -> tuple[Affine, ...]:
        """Each unknown where the equalities hold: a form of the parameters and of the free unknowns."""
        values = self.trace.values
        return tuple(values.get(name, Affine.var(name)) for name in self.trace.unknowns)

    @cached_property
    def kernel(self) -> Matrix:
        """K, a column for each free unknown: how the unknowns move with it."""
        return [[form.coefficient(z) for z in self.trace.free] for form in self.general]

    @cached_property
    def offset(self) -> tuple[Affine, ...]:
        """The particular solution, where every free unknown is 0."""
        free = dict.fromkeys(self.trace.free, ZERO)
        return tuple(form.substitute(free) for form in self.general)

    @cached_property
    def smith(self) -> SmithForm:
        """S = U A V, where V ends in the columns of `kernel`.

        The others are such that `pseudo_inverse @ right_side` is `offset`, if that can be.
        """
        form = self._smith
        columns = [row[: form.rank] for row in form.right]
        right = [[*row, *loops] for row, loops in zip(columns, self.kernel, strict=True)]
        shift = self._shift(form, right)
        if shift and form.rank:
            moves = product(self.kernel, shift)
            columns = [list(map(add, row, move)) for row, move in zip(columns, moves, strict=True)]
            right = [[*row, *loops] for row, loops in zip(columns, self.kernel, strict=True)]
        return replace(form, right=right)

    @cached_property
    def _smith(self) -> SmithForm:
        size = len(self.trace.unknowns)
        identity = [[int(i == j) for j in range(size)] for i in range(size)]
        return smith(self.matrix) if self.matrix else SmithForm([], [], [], identity, 0)

    @cached_property
    def offset_is_product(self) -> bool:
        """Whether `offset` is `smith.pseudo_inverse @ right_side`, and not only up to the kernel."""
        right = [self.fraction(e) for e in self.right_side]
        return all(
            _total(row, right) == self.fraction(x)
            for row, x in zip(self.smith.pseudo_inverse, self.offset, strict=True)
        )

    def _shift(self, form: SmithForm, right: Matrix) -> Matrix | None:
        """What of the kernel to add to the other columns of V, so that they give `offset`; a row a loop."""
        try:
            back = inverse(right)
        except ValueError:
            return None
        offset = [self.fraction(x) for x in self.offset]
        wanted = [_total(row, offset) for row in back[form.rank :]]
        known = [self.fraction(y) for y in self.moved[: form.rank]]
        quotients = [scaled(y, Fraction(1, s)) for y, s in zip(known, form.factors, strict=True)]
        shift: Matrix = []
        for target in wanted:
            factors = spanned(target, quotients)
            if factors is None or any(f.denominator > 1 for f in factors):
                return None
            shift.append([int(f) for f in factors])
        return shift

    @cached_property
    def moved(self) -> tuple[Affine, ...]:
        """U e(b)."""
        left = self._smith.left
        return tuple(sum((e * k for e, k in zip(self.right_side, row, strict=True)), ZERO) for row in left)

    @cached_property
    def nest(self) -> LoopNest:
        """The loops over the solutions. Raises Unbounded, EliminationLimit."""
        solution = self.solution
        return loop_nest(solution.kernel, solution.domain, (*self.facts, *solution.guards))

    @cached_property
    def quotients(self) -> Quotients:
        """The exact divisions."""
        found = Quotients()
        found.exact.update(self.trace.exact)
        return found

    def fraction(self, form: Affine) -> Rational:
        """The form without exact quotients, by atom; the constant stands under None."""
        numerator, divisor = self.quotients.fraction(form)
        return rational(numerator, divisor)

    @cached_property
    def back(self) -> dict[str, Affine]:
        """Each variable of the trace as a form of the unknowns: the way from a solution to its loops."""
        back = {name: Affine.var(name) for name in self.trace.unknowns}
        atoms = {name: Affine.atom(atom) for atom, name in self.trace.atoms.items()}
        back |= {name: back[name].substitute(atoms) for name in back}
        for step in self.trace.steps:
            if isinstance(step, Reversed):
                back[step.loop] = -back[step.name]
            elif isinstance(step, SmithStep):
                rows = inverse(step.right)[step.form.rank :]
                for loop, row in zip(step.loops, rows, strict=True):
                    parts = (back[name] * k for name, k in zip(step.unknowns, row, strict=True))
                    back[loop] = sum(parts, ZERO)
        return back


def untouched(unknowns: Sequence[str], rows: Sequence[Constraint]) -> Solution:
    """The solution of rows without an equality between unknowns: every point is its own loop point."""
    own = set(unknowns)
    guards = tuple(row for row in rows if row.form.variables.isdisjoint(own))
    domain = tuple(row for row in rows if row not in guards)
    values = {name: Affine.var(name) for name in unknowns}
    forms = tuple(form for row in domain for form in row.inequalities)
    trace = Trace(tuple(unknowns), (), forms, {}, (), 0, {}, tuple(unknowns), guards, {})
    return Solution(guards, values, {}, tuple(unknowns), domain, (), trace)


def renamed(value: T, names: Mapping[str, str]) -> T:
    """Data with other names of variables, none of which may be taken."""
    return _renamed(value, names, {old: Affine.var(new) for old, new in names.items()})


def _renamed(value: Any, names: Mapping[str, str], forms: Mapping[str, Affine]) -> Any:
    match value:
        case Affine():
            return value.substitute(forms)
        case Floor() | Lookup():
            ((atom, _),) = Affine.atom(value).substitute(forms).terms
            return atom
        case str():
            return names.get(value, value)
        case tuple() | list():
            items = [_renamed(item, names, forms) for item in cast("Sequence[Any]", value)]
            return tuple(items) if isinstance(value, tuple) else items
        case dict():
            pairs = cast("dict[Any, Any]", value).items()
            return {_renamed(k, names, forms): _renamed(v, names, forms) for k, v in pairs}
        case _ if is_dataclass(value) and not isinstance(value, type):
            changed = {f.name: _renamed(getattr(value, f.name), names, forms) for f in fields(value)}
            return replace(value, **changed)
        case _:
            return value


Rational = Mapping[object, Fraction]
"""A form with rational coefficients, by atom; the constant stands under None."""


def rational(form: Affine, divisor: int = 1) -> Rational:
    """The form divided by a number."""
    made: dict[object, Fraction] = {atom: Fraction(k, divisor) for atom, k in form.terms}
    return made | ({None: Fraction(form.constant, divisor)} if form.constant else {})


def scaled(form: Rational, factor: Fraction) -> Rational:
    """A multiple of the form."""
    return {atom: k * factor for atom, k in form.items()}


def spanned(target: Rational, forms: Sequence[Rational]) -> list[Fraction] | None:
    """Factors with which the forms add up to the target, the same at every point; None if there are none."""
    atoms = list(dict.fromkeys(atom for form in (target, *forms) for atom in form))
    return combination(
        [[form.get(atom, Fraction(0)) for atom in atoms] for form in forms],
        [target.get(atom, Fraction(0)) for atom in atoms],
    )


def _total(factors: Sequence[int | Fraction], forms: Sequence[Rational]) -> Rational:
    total: dict[object, Fraction] = {}
    for factor, form in zip(factors, forms, strict=True):
        for atom, k in form.items():
            total[atom] = total.get(atom, Fraction(0)) + factor * k
    return {atom: k for atom, k in total.items() if k}
