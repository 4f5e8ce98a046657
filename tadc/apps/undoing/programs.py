"""The programs that a component is inverted with, in the language itself.

With tangents v and cotangents w that are given, A = dN/dD and B = dN/dS of new values N by dying ones D and
kept ones S (Pearlmutter and Siskind), tangents x of D, and cotangents z of N and u of S after the component:

    J^-1:  x_D = A^-1 (v_N - B v_S)
    J^-T:  z_N = A^-T w_D,  u_S = w_S - B^T z_N

A recurrence N = F(D, S, N) is of this kind with N among S, as dN = F_D dD + F_S dS + F_N dN.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations

from tadc.apps.undoing.band_recurrences import Recurrences, diagonals
from tadc.apps.undoing.colours import colours
from tadc.apps.undoing.forms import ComponentForm
from tadc.apps.undoing.kinds import Class, LowRank, MatrixClass, dense
from tadc.apps.undoing.pieces import Pieces, Seed
from tadc.apps.undoing.roles import (
    COLUMN,
    COTANGENT,
    LEAST,
    PIVOT,
    RIGHT_SIDE,
    TANGENT,
    Role,
    RoledProgram,
    returning,
)
from tadc.apps.undoing.triangles import Triangle
from tadc.toolkit.language import Definition, Term
from tadc.toolkit.transforms import is_const


class Programs:
    """The programs of one form."""

    def __init__(self, form: ComponentForm, kind: Class) -> None:
        self.form, self.kind = form, kind

    @property
    def is_closed(self) -> bool:
        """Whether the language says the whole solution, as formulas."""
        return self.kind.is_closed

    # -- values ------------------------------------------------------------------------------------

    def value(self, taped: Sequence[str]) -> RoledProgram:
        """The new values, and those in between that are taped."""
        pieces = Pieces(self.form)
        made = returning(self.form.program.definitions, {*self.form.new, *taped})
        return pieces.program(made, taped=False)

    def taped(self, programs: Sequence[RoledProgram]) -> tuple[str, ...]:
        """The values in between that programs take as arguments."""
        read = {a.name for made in programs for a in made.program.arguments}
        between = [d.name for d in self.form.program.definitions if d.name not in self.form.new]
        return tuple(name for name in between if name in read)

    # -- products with the Jacobian ----------------------------------------------------------------

    def jvp(self) -> RoledProgram:
        """The tangents of what is new, from those of what dies and stays."""
        pieces = Pieces(self.form, whole=True)
        seeds = {name: pieces.seed(name) for name in (*self.form.dying, *self.form.kept)}
        between, found = pieces.tangents("_t", seeds)
        made = [pieces.define(f"t_{n}", n, body, Role(TANGENT, n)) for n, body in found.items()]
        return pieces.program([*between, *made], taped=False)

    def vjp(self) -> RoledProgram:
        """The cotangents of what was there, from those of what is new and stays."""
        pieces, form = Pieces(self.form, whole=True), self.form
        cotangents = {name: pieces.given(COTANGENT, name) for name in form.new}
        between, found = pieces.gradients("_g", (*form.dying, *form.kept), cotangents)
        made: list[Definition] = []
        for name, body in found.items():
            if name in form.kept:
                body = pieces.algebra.add(pieces.cotangent(name), body)
            made.append(pieces.define(f"g_{name}", name, body, Role(COTANGENT, name)))
        return pieces.program([*between, *made], taped=False)

    # -- right-hand sides --------------------------------------------------------------------------

    def _rest(self, pieces: Pieces) -> tuple[list[Definition], dict[str, Term]]:
        """`v_N - B v_S`."""
        seeds = {name: pieces.seed(name) for name in self.form.kept}
        seeds |= {earlier: pieces.seed(name) for earlier, name in self.form.earlier.items()}
        between, found = pieces.tangents("_s", seeds)
        return between, {n: pieces.algebra.sub(pieces.tangent(n), body) for n, body in found.items()}

    def right_side(self) -> RoledProgram:
        """What the system of the component is solved for."""
        pieces = Pieces(self.form)
        between, rest = self._rest(pieces)
        made = [pieces.define(f"r_{n}", n, body, Role(RIGHT_SIDE, n)) for n, body in rest.items()]
        return pieces.program([*between, *made], taped=True)

    def back(self) -> RoledProgram:
        """The cotangents of what stays, from those of what is new."""
        pieces = Pieces(self.form)
        cotangents = {name: pieces.given(COTANGENT, name) for name in self.form.new}
        return pieces.program(self._left(pieces, cotangents), taped=False)

    def _left(self, pieces: Pieces, cotangents: dict[str, str]) -> list[Definition]:
        """`w_S - B^T z_N`; so too of a new value that reads itself."""
        earlier = self.form.earlier
        between, found = pieces.gradients("_g", (*self.form.kept, *earlier), cotangents)
        made = list(between)
        for place, body in found.items():
            name = earlier.get(place, place)
            own = pieces.read(cotangents[name], name) if place in earlier else pieces.cotangent(name)
            made.append(
                pieces.define(f"u_{name}", name, pieces.algebra.sub(own, body), Role(COTANGENT, name))
            )
        return made

    # -- solutions as formulas ---------------------------------------------------------------------

    def inverse(self) -> RoledProgram:
        """The tangents of what dies, and the least magnitude of pivots that are not the same everywhere."""
        pieces = Pieces(self.form)
        between, rest = self._rest(pieces)
        more, pivots = self._pivots(pieces)
        solved = self._solved(pieces, rest, pivots)
        return pieces.program([*between, *more, *solved, *pieces.least(pivots)], taped=True)

    def solution(self, pieces: Pieces, rest: dict[str, Term]) -> list[Definition]:
        """The tangents of what dies, behind what they read, of a form that is closed, for a right side."""
        more, pivots = self._pivots(pieces)
        return [*more, *self._solved(pieces, rest, pivots)]

    def pivots(self) -> RoledProgram:
        """What is divided by, whose product is, but for its sign, the determinant."""
        pieces = Pieces(self.form)
        between, pivots = self._pivots(pieces)
        made = [pieces.result(pivot, Role(PIVOT, n)) for n, pivot in zip(self.form.new, pivots, strict=False)]
        names = {m.name for m in made}
        return pieces.program([*(d for d in between if d.name not in names), *made], taped=True)

    def _pivots(self, pieces: Pieces) -> tuple[list[Definition], list[Definition]]:
        """What is divided by, with definitions in front that it reads."""
        form, kind = self.form, self.kind.base
        if kind.method == "recurrence":
            made = Recurrences(pieces, kind)
            more, steps = made.steps
            return [*more, *steps], made.pivots
        between: list[Definition] = []
        if kind.method == "triangles":
            found = {form.new[0]: Triangle(pieces, kind).pivot}
        elif kind.method == "permutation":
            between, found = pieces.tangents("_p", {name: pieces.one for name in form.dying})
        else:
            between, matrix = self._matrix(pieces)
            found = {form.new[0]: determinant(pieces, matrix)}
        return between, [pieces.define(f"c_{name}", name, body) for name, body in found.items()]

    def _solved(
        self, pieces: Pieces, rest: dict[str, Term], pivots: Sequence[Definition]
    ) -> list[Definition]:
        """The tangents of what dies, behind definitions that they read."""
        kind = self.kind.base
        if kind.method == "recurrence":
            return Recurrences(pieces, kind).down(rest[self.form.new[0]])
        if kind.method == "triangles":
            return [Triangle(pieces, kind).solved(rest[self.form.new[0]])]
        before: list[Definition] = []
        if kind.method == "permutation":
            factors = {n: pivot.body for n, pivot in zip(self.form.new, pivots, strict=True)}
            before, found = self._brought_back(pieces, rest, factors)
        else:
            _, matrix = self._matrix(pieces)
            found = _cramer(pieces, matrix, [rest[n] for n in self.form.new], self.form.dying)
        return [*before, *(pieces.define(f"x_{n}", n, body, Role(TANGENT, n)) for n, body in found.items())]

    def transposed(self) -> RoledProgram:
        """The new values, the cotangents of what is new and stays, and the least magnitude of pivots."""
        if self.kind.base.method == "recurrence":
            return Recurrences(Pieces(self.form), self.kind.base).up(self._left)
        # J^-1 v is linear in v: J^-T w is its gradient.
        pieces, form, inverse = Pieces(self.form), self.form, self.inverse()
        solution = inverse.only(TANGENT)
        cotangents = {solution.names[role]: pieces.given(COTANGENT, role.name) for role in solution.outputs}
        by = {solution.names[role]: role.name for role in solution.inputs if role.kind == TANGENT}
        between, found = pieces.gradients("_g", tuple(by), cotangents, of=solution.program)
        gradients = dict.fromkeys(form.new, pieces.algebra.zero) | {by[v]: body for v, body in found.items()}
        least = [pieces.result(d, Role(LEAST)) for d in inverse.only(LEAST).program.outputs]
        made = returning(form.program.definitions, form.new)
        made += returning(inverse.only(LEAST).program.definitions[:-1], ())
        for name, body in gradients.items():
            if name not in form.new:
                body = pieces.algebra.add(pieces.cotangent(name), body)
            between.append(pieces.define(f"z_{name}", name, body, Role(COTANGENT, name)))
        return pieces.program([*made, *between, *least], taped=False)

    def _brought_back(
        self, pieces: Pieces, rest: dict[str, Term], factors: dict[str, Term]
    ) -> tuple[list[Definition], dict[str, Term]]:
        """`r_N` over the factors, at the places of what dies: of J = D P the inverse is (J^T D^-1) / (J^T 1).

        A factor divided by twice would overflow where its square is no number of the type.
        """
        algebra, form = pieces.algebra, self.form
        scaled = [pieces.define(f"q_{n}", n, algebra.div(rest[n], factors[n])) for n in form.new]
        between, found = pieces.gradients("_g", form.dying, {n: f"q_{n}" for n in form.new})
        if all(is_const(factor, 1) for factor in factors.values()):
            return [*scaled, *between], found
        ones = [pieces.define(f"o_{n}", n, algebra.one) for n in form.new]
        more, there = pieces.gradients("_o", form.dying, {n: f"o_{n}" for n in form.new})
        result = {name: algebra.div(found[name], there[name]) for name in form.dying}
        return [*scaled, *between, *ones, *more], result

    def _matrix(self, pieces: Pieces) -> tuple[list[Definition], list[list[Term]]]:
        """The elements of A, of new values by dying ones."""
        between: list[Definition] = []
        columns: list[dict[str, Term]] = []
        for name in self.form.dying:
            more, found = pieces.tangents(f"_{name}", {name: pieces.one})
            between += more
            columns.append(found)
        return between, [[column[n] for column in columns] for n in self.form.new]

    def element(self, pivot: str, index: list[int]) -> tuple[str, list[int]]:
        """The tensor of the form, and its element, whose derivative a pivot is."""
        return pivot, index

    # -- matrices ----------------------------------------------------------------------------------

    def columns(self) -> RoledProgram:
        """Sums of columns of A that share no row, a colour each (Curtis, Powell and Reid 1974)."""
        pieces, form = Pieces(self.form), self.form
        band = one_band(form, self.kind)
        if band is not None:
            between, steps = diagonals(pieces, range(-band.lower, band.upper + 1))
            made = [pieces.result(step, Role(COLUMN, form.new[0], n)) for n, step in enumerate(steps)]
            return pieces.program([*between, *made], taped=True)
        through = self.kind.through if isinstance(self.kind, LowRank) else ()
        lanes, seeds = colours(pieces, form.dying, self.kind.base)
        return self._by_lanes(pieces, lanes, seeds, through)

    def outer(self) -> RoledProgram:
        """Of a low rank, the derivative of what is new by the values `through`, a lane each."""
        assert isinstance(self.kind, LowRank)
        pieces = Pieces(self.form)
        lanes, seeds = colours(pieces, self.kind.through, dense(self.kind.rank))
        return self._by_lanes(pieces, lanes, seeds, self.kind.through)

    def _by_lanes(
        self, pieces: Pieces, lanes: int, seeds: Mapping[str, Seed], fixed: Sequence[str]
    ) -> RoledProgram:
        """The tangents of what is new along many seeds at once."""
        between, found = pieces.tangents("_c", seeds, fixed=fixed, chunk=lanes)
        front = (("lane", lanes),)
        made = [pieces.define(f"c_{n}", n, found[n], Role(COLUMN, n), front=front) for n in self.form.new]
        return pieces.program([*between, *made], taped=True)

    def inner(self) -> RoledProgram:
        """Of a low rank, the cotangents of what dies for those of the values `through`."""
        assert isinstance(self.kind, LowRank)
        pieces = Pieces(self.form)
        cotangents = {name: pieces.given(COTANGENT, name) for name in self.kind.through}
        between, found = pieces.gradients("_g", self.form.dying, cotangents)
        made = [pieces.define(f"g_{name}", name, body, Role(COTANGENT, name)) for name, body in found.items()]
        return pieces.program([*between, *made], taped=False)


def _cramer(
    pieces: Pieces, matrix: Sequence[Sequence[Term]], right: Sequence[Term], names: Sequence[str]
) -> dict[str, Term]:
    """The solution by name."""
    divisor = determinant(pieces, matrix)
    if len(matrix) == 1:
        return {names[0]: pieces.algebra.div(right[0], divisor)}
    found: dict[str, Term] = {}
    for column, name in enumerate(names):
        replaced = [[*row[:column], b, *row[column + 1 :]] for row, b in zip(matrix, right, strict=True)]
        found[name] = pieces.algebra.div(determinant(pieces, replaced), divisor)
    return found


def determinant(pieces: Pieces, matrix: Sequence[Sequence[Term]]) -> Term:
    """Leibniz's formula."""
    algebra, total = pieces.algebra, pieces.algebra.zero
    for order in permutations(range(len(matrix))):
        product: Term = algebra.one
        for row, column in enumerate(order):
            product = algebra.mul(product, matrix[row][column])
        swaps = sum(a > b for n, a in enumerate(order) for b in order[n + 1 :])
        total = algebra.sub(total, product) if swaps % 2 else algebra.add(total, product)
    return total


def one_band(form: ComponentForm, kind: Class) -> MatrixClass | None:
    """The band that its diagonals make up: of one tensor of one dimension."""
    ranks = [len(form.shapes[name]) for name in (*form.dying, *form.new)]
    is_one = isinstance(kind, MatrixClass) and kind.method == "lapack" and kind.is_band and not kind.cyclic
    return kind.base if is_one and ranks == [1, 1] else None
