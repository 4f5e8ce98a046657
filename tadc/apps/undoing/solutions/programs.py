"""The programs that a component is inverted with, in the language itself.

With tangents v and cotangents w that are given, A = dN/dD and B = dN/dS of new values N by dying ones D and
kept ones S (Pearlmutter and Siskind), tangents x of D, and cotangents z of N and u of S after the component:

    J^-1:  x_D = A^-1 (v_N - B v_S)
    J^-T:  z_N = A^-T w_D,  u_S = w_S - B^T z_N

A recurrence N = F(D, S, N) is of this kind with N among S, as dN = F_D dD + F_S dS + F_N dN.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from tadc.apps.undoing.plans.forms import ComponentForm
from tadc.apps.undoing.plans.kinds import Class, LowRank, MatrixClass, dense
from tadc.apps.undoing.solutions.band_recurrences import Recurrences, diagonals
from tadc.apps.undoing.solutions.colours import colours
from tadc.apps.undoing.solutions.pieces import Pieces, Seed, log_sum
from tadc.apps.undoing.solutions.roles import (
    COLUMN,
    COTANGENT,
    LEAST,
    PIVOT,
    RIGHT_SIDE,
    TANGENT,
    TOTAL,
    Role,
    RoledProgram,
    program_of,
    returning,
)
from tadc.apps.undoing.solutions.ways import WAYS, Way
from tadc.toolkit.language import Definition, Term


class Programs:
    """The programs of one form."""

    def __init__(self, form: ComponentForm, kind: Class) -> None:
        self.form, self.kind = form, kind

    @property
    def is_closed(self) -> bool:
        """Whether the language says the whole solution, as formulas."""
        return self.kind.is_closed

    @cached_property
    def value(self) -> RoledProgram:
        """The new values, and those in between."""
        made = self.form.program.definitions
        return Pieces(self.form).program(returning(made, [d.name for d in made]), taped=False)

    # -- products with the Jacobian ----------------------------------------------------------------

    @cached_property
    def jvp(self) -> RoledProgram:
        """The tangents of what is new, from those of what dies and stays."""
        pieces = Pieces(self.form, whole=True)
        seeds = {name: pieces.seed(name) for name in (*self.form.dying, *self.form.kept)}
        between, found = pieces.tangents("_t", seeds)
        return pieces.program([*between, *pieces.each("t", found, TANGENT)], taped=False)

    @cached_property
    def vjp(self) -> RoledProgram:
        """The cotangents of what was there, from those of what is new and stays."""
        pieces, form = Pieces(self.form, whole=True), self.form
        cotangents = {name: pieces.given(COTANGENT, name) for name in form.new}
        between, found = pieces.gradients("_g", (*form.dying, *form.kept), cotangents)
        for name in form.kept:
            found[name] = pieces.algebra.add(pieces.cotangent(name), found[name])
        return pieces.program([*between, *pieces.each("g", found, COTANGENT)], taped=False)

    # -- right-hand sides --------------------------------------------------------------------------

    def _rest(self, pieces: Pieces) -> tuple[list[Definition], dict[str, Term]]:
        """`v_N - B v_S`."""
        seeds = {name: pieces.seed(name) for name in self.form.kept}
        seeds |= {earlier: pieces.seed(name) for earlier, name in self.form.earlier.items()}
        between, found = pieces.tangents("_s", seeds)
        return between, {n: pieces.algebra.sub(pieces.tangent(n), body) for n, body in found.items()}

    @cached_property
    def right_side(self) -> RoledProgram:
        """What the system of the component is solved for."""
        pieces = Pieces(self.form)
        between, rest = self._rest(pieces)
        return pieces.program([*between, *pieces.each("r", rest, RIGHT_SIDE)], taped=True)

    @cached_property
    def back(self) -> RoledProgram:
        """The cotangents of what stays, from those of what is new."""
        pieces = Pieces(self.form)
        cotangents = {name: pieces.given(COTANGENT, name) for name in self.form.new}
        return pieces.program(self._left(pieces, cotangents), taped=False)

    def _left(self, pieces: Pieces, cotangents: dict[str, str]) -> list[Definition]:
        """`w_S - B^T z_N`; so too of a new value that reads itself."""
        earlier = self.form.earlier
        between, found = pieces.gradients("_g", (*self.form.kept, *earlier), cotangents)
        left: dict[str, Term] = {}
        for place, body in found.items():
            name = earlier.get(place, place)
            own = pieces.read(cotangents[name], name) if place in earlier else pieces.cotangent(name)
            left[name] = pieces.algebra.sub(own, body)
        return [*between, *pieces.each("u", left, COTANGENT)]

    # -- solutions as formulas ---------------------------------------------------------------------

    @cached_property
    def inverse(self) -> RoledProgram:
        """The tangents of what dies, and the least magnitude of pivots that are not the same everywhere."""
        pieces = Pieces(self.form)
        between, rest = self._rest(pieces)
        solved, pivots = self.solution(pieces, rest)
        return pieces.program([*between, *solved, *pieces.least(pivots)], taped=True)

    def solution(self, pieces: Pieces, rest: dict[str, Term]) -> tuple[list[Definition], list[Definition]]:
        """The tangents of what dies, behind what they read, for a right side, and what is divided by."""
        way = self._way(pieces)
        more, pivots = way.pivots()
        return [*more, *way.solved(rest)], pivots

    @cached_property
    def pivots(self) -> RoledProgram:
        """What is divided by, whose product is, but for its sign, the determinant."""
        pieces = Pieces(self.form)
        between, pivots = self._way(pieces).pivots()
        made = [pieces.result(pivot, Role(PIVOT, n)) for n, pivot in zip(self.form.new, pivots, strict=False)]
        names = {m.name for m in made}
        return pieces.program([*(d for d in between if d.name not in names), *made], taped=True)

    @cached_property
    def logabsdet(self) -> RoledProgram:
        """The sum of the logarithms of what is divided by."""
        made = self.pivots.program
        total = Definition("logabsdet", made.outputs[0].type, (), (), log_sum(made.terms, made.outputs))
        kept = returning(made.definitions, ())
        return RoledProgram(program_of([*kept, total], made.arguments, made.terms), {total.name: Role(TOTAL)})

    def _way(self, pieces: Pieces) -> Way:
        return WAYS[self.kind.base.method](pieces, self.kind.base)

    @cached_property
    def transposed(self) -> RoledProgram:
        """The new values, the cotangents of what is new and stays, and the least magnitude of pivots."""
        if self.kind.base.method == "recurrence":
            return Recurrences(Pieces(self.form), self.kind.base).up(self._left)
        # J^-1 v is linear in v: J^-T w is its gradient.
        pieces, form, inverse = Pieces(self.form), self.form, self.inverse
        solution = inverse.only(TANGENT)
        cotangents = {solution.names[role]: pieces.given(COTANGENT, role.name) for role in solution.outputs}
        by = {solution.names[role]: role.name for role in solution.inputs if role.kind == TANGENT}
        between, found = pieces.gradients("_g", tuple(by), cotangents, of=solution.program)
        gradients = dict.fromkeys(form.new, pieces.algebra.zero) | {by[v]: body for v, body in found.items()}
        least = [pieces.result(d, Role(LEAST)) for d in inverse.only(LEAST).program.outputs]
        made = returning(form.program.definitions, form.new)
        made += returning(inverse.only(LEAST).program.definitions[:-1], ())
        for name in [n for n in gradients if n not in form.new]:
            gradients[name] = pieces.algebra.add(pieces.cotangent(name), gradients[name])
        made += [*between, *pieces.each("z", gradients, COTANGENT)]
        return pieces.program([*made, *least], taped=False)

    def element(self, pivot: str, index: list[int]) -> tuple[str, list[int]]:
        """The tensor of the form, and its element, whose derivative a pivot is."""
        return pivot, index

    # -- matrices ----------------------------------------------------------------------------------

    @cached_property
    def columns(self) -> RoledProgram:
        """Sums of columns of A that share no row, a colour each (Curtis, Powell and Reid 1974)."""
        pieces, form = Pieces(self.form), self.form
        band = one_band(form, self.kind)
        if band is not None:
            between, steps = diagonals(pieces, range(-band.lower, band.upper + 1))
            made = [pieces.result(step, Role(COLUMN, step.name)) for step in steps]
            return pieces.program([*between, *made], taped=True)
        through = self.kind.through if isinstance(self.kind, LowRank) else ()
        lanes, seeds = colours(pieces, form.dying, self.kind.base)
        return self._by_lanes(pieces, lanes, seeds, through)

    @cached_property
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
        return pieces.program([*between, *pieces.each("c", found, COLUMN, (("lane", lanes),))], taped=True)

    @cached_property
    def inner(self) -> RoledProgram:
        """Of a low rank, the cotangents of what dies for those of the values `through`."""
        assert isinstance(self.kind, LowRank)
        pieces = Pieces(self.form)
        cotangents = {name: pieces.given(COTANGENT, name) for name in self.kind.through}
        between, found = pieces.gradients("_g", self.form.dying, cotangents)
        return pieces.program([*between, *pieces.each("g", found, COTANGENT)], taped=False)


def one_band(form: ComponentForm, kind: Class) -> MatrixClass | None:
    """The band that its diagonals make up: of one tensor of one dimension."""
    ranks = [len(form.shapes[name]) for name in (*form.dying, *form.new)]
    is_one = isinstance(kind, MatrixClass) and kind.method == "lapack" and kind.is_band and not kind.cyclic
    return kind.base if is_one and ranks == [1, 1] else None
