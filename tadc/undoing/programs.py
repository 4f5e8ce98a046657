"""The programs that a component is inverted with, in the language itself.

Names: `v_n0` is what a tangent of `n0` is, `w_d0` a cotangent of `d0`; `x_d0` is the tangent of `d0` that is
solved for, `z_n0` the cotangent of `n0`, `u_s0` the cotangent of `s0` after the component. With A = dN/dD and
B = dN/dS of new values N by dying ones D and kept ones S (Pearlmutter and Siskind):

    J^-1:  x_D = A^-1 (v_N - B v_S)
    J^-T:  z_N = A^-T w_D,  u_S = w_S - B^T z_N

A recurrence N = F(D, S, N) is of this kind with N among S, as dN = F_D dD + F_S dS + F_N dN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import Term
from tadc.passes.terms.algebra import is_const
from tadc.undoing.band_recurrences import Recurrences, diagonals
from tadc.undoing.colours import colours, one_each
from tadc.undoing.forms import Form
from tadc.undoing.kinds import SMALL, Banded, Blocks, Class, LowRank, Permutation, Recurrent, Triangles
from tadc.undoing.pieces import Pieces, Seed, least
from tadc.undoing.transposed_solutions import transposed
from tadc.undoing.triangles import Triangle


class Programs:
    """The programs of one form."""

    def __init__(self, form: Form, kind: Class) -> None:
        self.form, self.kind = form, kind

    @property
    def is_closed(self) -> bool:
        """Whether the language says the whole solution, as formulas."""
        form, kind = self.form, self.kind
        if isinstance(kind, Permutation | Recurrent | Triangles):
            return True
        if not isinstance(kind, Blocks) or kind.size > SMALL:
            return False
        shapes = {form.shapes[name] for name in (*form.dying, *form.new)}
        return len(shapes) == 1 and len(next(iter(shapes))) == kind.batch

    # -- values ------------------------------------------------------------------------------------

    def value(self, taped: Sequence[str]) -> Program:
        """The new values, and those in between that are taped."""
        pieces = Pieces(self.form)
        wanted = {*self.form.new, *taped}
        made = [replace(d, is_output=d.name in wanted) for d in self.form.program.definitions]
        return pieces.program(made, taped=False)

    def taped(self, programs: Sequence[Program]) -> tuple[str, ...]:
        """The values in between that programs take as arguments."""
        read = {a.name for program in programs for a in program.arguments}
        between = [d.name for d in self.form.program.definitions if d.name not in self.form.new]
        return tuple(name for name in between if name in read)

    # -- products with the Jacobian ----------------------------------------------------------------

    def jvp(self) -> Program:
        """`t_n`, the tangents of what is new, from `v_d` and `v_s`."""
        pieces = Pieces(self.form, whole=True)
        seeds = {name: _seed(pieces, "v_", name) for name in (*self.form.dying, *self.form.kept)}
        between, found = pieces.tangents("_t", seeds)
        made = [pieces.define(f"t_{n}", n, body, is_output=True) for n, body in found.items()]
        return pieces.program([*between, *made], taped=False)

    def vjp(self) -> Program:
        """`g_d` and `g_s`, the cotangents of what was there, from `w_n` and `w_s`."""
        pieces, form = Pieces(self.form, whole=True), self.form
        cotangents = {name: pieces.given("w_", name) for name in form.new}
        between, found = pieces.gradients("_g", (*form.dying, *form.kept), cotangents)
        made: list[Definition] = []
        for name, body in found.items():
            if name in form.kept:
                body = pieces.algebra.add(pieces.read(pieces.given("w_", name), name), body)
            made.append(pieces.define(f"g_{name}", name, body, is_output=True))
        return pieces.program([*between, *made], taped=False)

    # -- right-hand sides --------------------------------------------------------------------------

    def _rest(self, pieces: Pieces) -> tuple[list[Definition], dict[str, Term]]:
        """`v_N - B v_S`."""
        seeds = {name: _seed(pieces, "v_", name) for name in self.form.kept}
        for earlier, name in self.form.earlier.items():
            seeds[earlier] = _seed(pieces, "v_", name)
        between, found = pieces.tangents("_s", seeds)
        rest = {
            name: pieces.algebra.sub(pieces.read(pieces.given("v_", name), name), body)
            for name, body in found.items()
        }
        return between, rest

    def right_side(self) -> Program:
        """`r_n`, what the system of the component is solved for."""
        pieces = Pieces(self.form)
        between, rest = self._rest(pieces)
        made = [pieces.define(f"r_{n}", n, body, is_output=True) for n, body in rest.items()]
        return pieces.program([*between, *made], taped=True)

    def back(self) -> Program:
        """`u_s`, the cotangents of what stays, from `z_n` and `w_s`."""
        pieces = Pieces(self.form)
        cotangents = {name: pieces.given("z_", name) for name in self.form.new}
        return pieces.program(self._left(pieces, cotangents), taped=False)

    def _left(self, pieces: Pieces, cotangents: dict[str, str]) -> list[Definition]:
        """`w_S - B^T z_N`; so too `u_n` of a new value that reads itself."""
        earlier = self.form.earlier
        between, found = pieces.gradients("_g", (*self.form.kept, *earlier), cotangents)
        made = list(between)
        for place, body in found.items():
            name = earlier.get(place, place)
            own = pieces.read(cotangents[name] if place in earlier else pieces.given("w_", name), name)
            made.append(pieces.define(f"u_{name}", name, pieces.algebra.sub(own, body), is_output=True))
        return made

    # -- solutions as formulas ---------------------------------------------------------------------

    def inverse(self) -> Program:
        """`x_d`, and `least`, the least magnitude of pivots that are not the same everywhere."""
        pieces = Pieces(self.form)
        between, rest = self._rest(pieces)
        more, pivots = self._pivots(pieces)
        solved = self._solved(pieces, rest, pivots)
        return pieces.program([*between, *more, *solved, *least(pieces, pivots)], taped=True)

    def solution(self, pieces: Pieces, rest: dict[str, Term]) -> list[Definition]:
        """`x_d`, behind definitions that it reads, of a form that is closed, for a right side."""
        more, pivots = self._pivots(pieces)
        return [*more, *self._solved(pieces, rest, pivots)]

    def pivots(self) -> Program:
        """`c_n`: what is divided by, whose product is, but for its sign, the determinant."""
        pieces = Pieces(self.form)
        between, pivots = self._pivots(pieces)
        made = [replace(pivot, is_output=True) for pivot in pivots]
        return pieces.program(
            [*(d for d in between if d.name not in {m.name for m in made}), *made], taped=True
        )

    def _pivots(self, pieces: Pieces) -> tuple[list[Definition], list[Definition]]:
        """What is divided by, with definitions in front that it reads."""
        form, kind = self.form, self.kind
        if isinstance(kind, Recurrent):
            made = Recurrences(pieces, kind)
            more, steps = made.steps
            return [*more, *steps], made.pivots
        if isinstance(kind, Triangles):
            return [], [pieces.define(f"c_{form.new[0]}", form.new[0], Triangle(pieces, kind).pivot)]
        if isinstance(kind, Permutation):
            between, factors = pieces.tangents("_p", {name: pieces.one for name in form.dying})
            return between, [pieces.define(f"c_{name}", name, body) for name, body in factors.items()]
        between, matrix = self._matrix(pieces)
        return between, [pieces.define(f"c_{form.new[0]}", form.new[0], determinant(pieces, matrix))]

    def _solved(
        self, pieces: Pieces, rest: dict[str, Term], pivots: Sequence[Definition]
    ) -> list[Definition]:
        """`x_d`, behind definitions that it reads."""
        kind = self.kind
        if isinstance(kind, Recurrent):
            return Recurrences(pieces, kind).down(rest[self.form.new[0]])
        if isinstance(kind, Triangles):
            return [Triangle(pieces, kind).solved(rest[self.form.new[0]])]
        before: list[Definition] = []
        if isinstance(kind, Permutation):
            factors = {n: pivot.body for n, pivot in zip(self.form.new, pivots, strict=True)}
            before, found = self._brought_back(pieces, rest, factors)
        else:
            _, matrix = self._matrix(pieces)
            found, _ = _cramer(pieces, matrix, [rest[n] for n in self.form.new], self.form.dying)
        return [*before, *(pieces.define(f"x_{n}", n, body, is_output=True) for n, body in found.items())]

    def transposed(self) -> Program:
        """The new values, `z_n` and `u_s`, and `least` as `inverse`."""
        pieces, form = Pieces(self.form), self.form
        if isinstance(self.kind, Recurrent):
            return Recurrences(pieces, self.kind).up(self._left)
        if isinstance(self.kind, Triangles):
            return transposed(form, self.inverse())
        if isinstance(self.kind, Permutation):
            more, factors = pieces.tangents("_p", {name: pieces.one for name in form.dying})
            seeds = {name: _seed(pieces, "w_", name) for name in form.dying}
            other, moved = pieces.tangents("_w", seeds)
            solved = {n: self._twice(pieces, moved[n], factors[n]) for n in form.new}
            pivots = [pieces.define(f"c_{n}", n, body) for n, body in factors.items()]
            more = [*more, *other]
        else:
            more, matrix = self._matrix(pieces)
            across = [list(row) for row in zip(*matrix, strict=True)]
            given = [pieces.read(pieces.given("w_", name), name) for name in form.dying]
            solved, divisor = _cramer(pieces, across, given, form.new)
            pivots = [pieces.define(f"c_{form.new[0]}", form.new[0], divisor)]
        made = [
            pieces.define(f"z_{n}", n, body, is_output=n not in form.earlier.values())
            for n, body in solved.items()
        ]
        values = [replace(d, is_output=d.name in form.new) for d in form.program.definitions]
        left = self._left(pieces, {n: f"z_{n}" for n in form.new})
        return pieces.program([*values, *more, *made, *left, *least(pieces, pivots)], taped=False)

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

    def _twice(self, pieces: Pieces, body: Term, factor: Term) -> Term:
        """Divided twice: of J = D P the inverse is J^T D^-2."""
        return pieces.algebra.div(pieces.algebra.div(body, factor), factor)

    def _matrix(self, pieces: Pieces) -> tuple[list[Definition], list[list[Term]]]:
        """The elements of A, of new values by dying ones."""
        between: list[Definition] = []
        columns: list[dict[str, Term]] = []
        for name in self.form.dying:
            more, found = pieces.tangents(f"_{name}", {name: pieces.one})
            between += more
            columns.append(found)
        return between, [[column[n] for column in columns] for n in self.form.new]

    # -- matrices ----------------------------------------------------------------------------------

    def columns(self) -> Program:
        """`c_n`: sums of columns of A that share no row, a colour each (Curtis, Powell and Reid 1974)."""
        pieces, form = Pieces(self.form), self.form
        kind = self.kind
        if isinstance(kind, Recurrent | Triangles):
            between, pivots = self._pivots(pieces)
            body = pivots[0].body
            made = pieces.define(f"c_{form.new[0]}", form.new[0], body, is_output=True, front=(("lane", 1),))
            return pieces.program([*between, made], taped=True)
        band = one_band(form, kind)
        if band is not None:
            between, steps = diagonals(pieces, range(-band.lower, band.upper + 1))
            made = [replace(step, is_output=True) for step in steps]
            return pieces.program([*between, *made], taped=True)
        through = kind.through if isinstance(kind, LowRank) else ()
        base = kind.base if isinstance(kind, LowRank) else kind
        lanes, seeds = colours(pieces, base)
        between, found = pieces.tangents("_c", seeds, fixed=through, chunk=lanes)
        front = (("lane", lanes),)
        made = [pieces.define(f"c_{n}", n, found[n], is_output=True, front=front) for n in form.new]
        return pieces.program([*between, *made], taped=True)

    def outer(self) -> Program:
        """`c_n`: of a low rank, the derivative of what is new by the values `through`, a lane each."""
        assert isinstance(self.kind, LowRank)
        pieces = Pieces(self.form)
        through = self.kind.through
        lanes, seeds = one_each(pieces, through, 0)
        between, found = pieces.tangents("_c", seeds, fixed=through, chunk=lanes)
        front = (("lane", lanes),)
        made = [pieces.define(f"c_{n}", n, found[n], is_output=True, front=front) for n in self.form.new]
        return pieces.program([*between, *made], taped=True)

    def inner(self) -> Program:
        """`g_d`: of a low rank, the cotangents of what dies for cotangents `w_h` of the values `through`."""
        assert isinstance(self.kind, LowRank)
        pieces = Pieces(self.form)
        cotangents = {name: pieces.given("w_", name) for name in self.kind.through}
        between, found = pieces.gradients("_g", self.form.dying, cotangents)
        made = [pieces.define(f"g_{name}", name, body, is_output=True) for name, body in found.items()]
        return pieces.program([*between, *made], taped=False)


def _seed(pieces: Pieces, prefix: str, name: str) -> Seed:
    return pieces.seed_of(pieces.given(prefix, name), name)


def _cramer(
    pieces: Pieces, matrix: Sequence[Sequence[Term]], right: Sequence[Term], names: Sequence[str]
) -> tuple[dict[str, Term], Term]:
    """The solution by name, and the determinant."""
    divisor = determinant(pieces, matrix)
    if len(matrix) == 1:
        return {names[0]: pieces.algebra.div(right[0], divisor)}, divisor
    found: dict[str, Term] = {}
    for column, name in enumerate(names):
        replaced = [[*row[:column], b, *row[column + 1 :]] for row, b in zip(matrix, right, strict=True)]
        found[name] = pieces.algebra.div(determinant(pieces, replaced), divisor)
    return found, divisor


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


def one_band(form: Form, kind: Class) -> Banded | None:
    """The band that its diagonals make up: of one tensor of one dimension."""
    shapes = [form.shapes[name] for name in (*form.dying, *form.new)]
    is_one = len(shapes) == 2 and len(shapes[0]) == len(shapes[1]) == 1
    return kind if is_one and isinstance(kind, Banded) and not kind.cyclic else None
