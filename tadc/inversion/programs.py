"""The programs that a lump is inverted with, in the language itself.

Names: `v_n0` is what a tangent of `n0` is, `w_d0` a cotangent of `d0`; `x_d0` is the tangent of `d0` that is
solved for, `z_n0` the cotangent of `n0`, `u_s0` the cotangent of `s0` after the lump. With A = dN/dD and
B = dN/dS of new values N by dying ones D and kept ones S (Pearlmutter and Siskind):

    J^-1:  x_D = A^-1 (v_N - B v_S)
    J^-T:  z_N = A^-T w_D,  u_S = w_S - B^T z_N

A recurrence N = F(D, S, N) is of this kind with N among S, as dN = F_D dD + F_S dS + F_N dN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from math import prod
from typing import TypeGuard

from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import Read, Term, tensors_read
from tadc.inversion.classes import Banded, Blocks, Class, LowRank, Permutation, Recurrent, positions
from tadc.inversion.forms import Form
from tadc.inversion.graph import differentiable_reads
from tadc.inversion.pieces import Pieces, Seed, is_number
from tadc.lattice.affine import Affine, Constraint, box, equals_zero

#: Systems of this size are solved by Cramer's rule, in the kernel.
SMALL = 3


class Programs:
    """The programs of one form."""

    def __init__(self, form: Form, kind: Class) -> None:
        self.form, self.kind = form, kind

    @property
    def is_closed(self) -> bool:
        """Whether the language says the whole solution, as formulas."""
        form, kind = self.form, self.kind
        if isinstance(kind, Permutation | Recurrent):
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
        """`r_n`, what the system of the lump is solved for."""
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
        if isinstance(self.kind, Recurrent):
            return self._recurrence(pieces, between, rest[self.form.new[0]])
        if isinstance(self.kind, Permutation):
            more, factors = pieces.tangents("_p", {name: pieces.one for name in self.form.dying})
            scaled = [
                pieces.define(f"q_{n}", n, self._twice(pieces, rest[n], factors[n])) for n in self.form.new
            ]
            after, found = pieces.gradients("_g", self.form.dying, {n: f"q_{n}" for n in self.form.new})
            pivots = list(factors.items())
            before = [*between, *more, *scaled, *after]
        else:
            more, matrix = self._matrix(pieces)
            found, determinant = _cramer(pieces, matrix, [rest[n] for n in self.form.new], self.form.dying)
            pivots = [(self.form.new[0], determinant)]
            before = [*between, *more]
        made = [pieces.define(f"x_{name}", name, body, is_output=True) for name, body in found.items()]
        return pieces.program([*before, *made, *_least(pieces, pivots)], taped=True)

    def transposed(self) -> Program:
        """The new values, `z_n` and `u_s`, and `least` as `inverse`."""
        pieces, form = Pieces(self.form), self.form
        if isinstance(self.kind, Recurrent):
            return self._recurrence_back(pieces)
        if isinstance(self.kind, Permutation):
            more, factors = pieces.tangents("_p", {name: pieces.one for name in form.dying})
            seeds = {name: _seed(pieces, "w_", name) for name in form.dying}
            other, moved = pieces.tangents("_w", seeds)
            solved = {n: self._twice(pieces, moved[n], factors[n]) for n in form.new}
            pivots = list(factors.items())
            more = [*more, *other]
        else:
            more, matrix = self._matrix(pieces)
            turned = [list(row) for row in zip(*matrix, strict=True)]
            given = [pieces.read(pieces.given("w_", name), name) for name in form.dying]
            solved, determinant = _cramer(pieces, turned, given, form.new)
            pivots = [(form.new[0], determinant)]
        made = [
            pieces.define(f"z_{n}", n, body, is_output=n not in form.earlier.values())
            for n, body in solved.items()
        ]
        values = [replace(d, is_output=d.name in form.new) for d in form.program.definitions]
        left = self._left(pieces, {n: f"z_{n}" for n in form.new})
        return pieces.program([*values, *more, *made, *left, *_least(pieces, pivots)], taped=False)

    def _recurrence(self, pieces: Pieces, between: Sequence[Definition], rest: Term) -> Program:
        """`x_d[i] = (r[i] - c_1[i] x_d[i - 1] - …) / c_0[i]`, in the order of i."""
        assert isinstance(self.kind, Recurrent)
        (dying,), (new,) = self.form.dying, self.form.new
        more, steps = self._diagonals(pieces, self._offsets)
        down = Recurrence(pieces, dying, f"x_{dying}", -1 if self.kind.lower else 1)
        scaled, made = down.definitions(rest, [pieces.read(step.name, new) for step in steps])
        pivots = [(new, pieces.read(steps[0].name, new))]
        return pieces.program([*between, *more, *steps, *scaled, made, *_least(pieces, pivots)], taped=True)

    def _recurrence_back(self, pieces: Pieces) -> Program:
        """`z_n[i] = (w_d[i] - c_1[i + 1] z_n[i + 1] - …) / c_0[i]`, against the order of i."""
        assert isinstance(self.kind, Recurrent)
        form = self.form
        (dying,), (new,) = form.dying, form.new
        more, steps = self._diagonals(pieces, self._offsets)
        up = Recurrence(pieces, new, f"z_{new}", 1 if self.kind.lower else -1)
        given = pieces.read(pieces.given("w_", dying), dying)
        scaled, made = up.definitions(given, [up.read(step.name, k) for k, step in enumerate(steps)])
        pivots = [(new, pieces.read(steps[0].name, new))]
        values = [replace(d, is_output=d.name in form.new) for d in form.program.definitions]
        made = replace(made, is_output=new not in form.earlier.values())
        left = self._left(pieces, {new: f"z_{new}"})
        return pieces.program(
            [*values, *more, *steps, *scaled, made, *left, *_least(pieces, pivots)], taped=False
        )

    def _diagonals(self, pieces: Pieces, offsets: Sequence[int]) -> tuple[list[Definition], list[Definition]]:
        """`c_k`, the derivative of each new element by the dying one `offsets[k]` places after it.

        The offsets are consecutive numbers, of one tensor's last index.
        """
        (dying,), (new,) = self.form.dying, self.form.new
        own = Affine.var(f"i{len(self.form.shapes[new]) - 1}")
        if self._is_direct:
            found: list[Definition] = []
            for k, offset in enumerate(offsets):
                place = own + offset

                def seed(forms: Sequence[Affine], place: Affine = place) -> Term:
                    return _where(pieces, forms[-1] - place)

                _, tangents = pieces.tangents(f"_{k}", {dying: seed})
                found.append(pieces.define(f"c_{k}", new, tangents[new]))
            return [], found
        count = len(offsets)

        def coloured(forms: Sequence[Affine]) -> Term:
            return _where(pieces, forms[0] - forms[-1].mod(count))

        between, tangents = pieces.tangents("_c", {dying: coloured}, chunk=count)
        lanes = [{"lane": (own + offset).mod(count)} for offset in offsets]
        made = [
            pieces.define(f"c_{k}", new, pieces.terms.substitute(tangents[new], lane))
            for k, lane in enumerate(lanes)
        ]
        return between, made

    @property
    def _offsets(self) -> range:
        """The offsets of a recurrence, the pivot first."""
        assert isinstance(self.kind, Recurrent)
        sign = -1 if self.kind.lower else 1
        return range(0, sign * (self.kind.width + 1), sign)

    @property
    def _is_direct(self) -> bool:
        """Whether what is new reads what dies itself, and nothing in between that does."""
        steps = self.form.steps
        (new,) = (d for d in steps.definitions if d.name in self.form.new)
        return set(differentiable_reads(new.body)) <= {a.name for a in steps.arguments}

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
        if isinstance(kind, Recurrent):
            between, steps = self._diagonals(pieces, self._offsets)
            body = pieces.read(steps[0].name, form.new[0])
            made = pieces.define(f"c_{form.new[0]}", form.new[0], body, is_output=True, front=(("lane", 1),))
            return pieces.program([*between, *steps, made], taped=True)
        if is_one_band(form, kind):
            between, steps = self._diagonals(pieces, range(-kind.lower, kind.upper + 1))
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
        lanes, seeds = _one_each(pieces, through, 0)
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


def is_one_band(form: Form, kind: Class) -> TypeGuard[Banded]:
    """Whether a class is a band that its diagonals make up: of one tensor of one dimension."""
    shapes = [form.shapes[name] for name in (*form.dying, *form.new)]
    return (
        isinstance(kind, Banded)
        and not kind.cyclic
        and len(shapes) == 2
        and len(shapes[0]) == len(shapes[1]) == 1
    )


@dataclass(frozen=True)
class Recurrence:
    """A recurrence along the last index of a tensor, in the direction in which `step` looks back."""

    pieces: Pieces
    like: str
    name: str
    step: int

    def read(self, name: str, distance: int) -> Term:
        """The element of a tensor so many steps back."""
        rank = len(self.pieces.form.shapes[self.like])
        forms = [Affine.var(f"i{n}") for n in range(rank)]
        forms[-1] = forms[-1] + self.step * distance
        return self.pieces.terms.read(name, forms, self.pieces.form.types[self.like])

    def definitions(self, right: Term, coefficients: Sequence[Term]) -> tuple[list[Definition], Definition]:
        """The right side without what elements before take up, over the pivot.

        Quotients come first, as tensors: one product and one difference wait for the element before.
        """
        pieces, algebra = self.pieces, self.pieces.algebra
        extent = pieces.form.shapes[self.like][-1]
        own = Affine.var(f"i{len(pieces.form.shapes[self.like]) - 1}")
        pivot = pieces.define(f"{self.name}_p", self.like, algebra.div(algebra.one, coefficients[0]))
        factor = pieces.read(pivot.name, self.like)
        scaled = [pivot, pieces.define(f"{self.name}_0", self.like, algebra.mul(right, factor))]
        total = pieces.read(scaled[1].name, self.like)
        for distance in range(len(coefficients) - 1, 0, -1):
            place = own + self.step * distance
            inside = [Constraint(place if self.step < 0 else extent - 1 - place)]
            quotient = algebra.guard(inside, algebra.mul(coefficients[distance], factor), algebra.zero)
            scaled.append(pieces.define(f"{self.name}_{distance}", self.like, quotient))
            product = algebra.mul(pieces.read(scaled[-1].name, self.like), self.read(self.name, distance))
            total = algebra.sub(total, algebra.guard(inside, product, algebra.zero))
        made = replace(pieces.define(self.name, self.like, total, is_output=True), order=own * -self.step)
        return scaled, made


def _seed(pieces: Pieces, prefix: str, name: str) -> Seed:
    return pieces.seed_of(pieces.given(prefix, name), name)


def _cramer(
    pieces: Pieces, matrix: Sequence[Sequence[Term]], right: Sequence[Term], names: Sequence[str]
) -> tuple[dict[str, Term], Term]:
    """The solution by name, and the determinant."""
    determinant = _determinant(pieces, matrix)
    if len(matrix) == 1:
        return {names[0]: pieces.algebra.div(right[0], determinant)}, determinant
    found: dict[str, Term] = {}
    for column, name in enumerate(names):
        replaced = [[*row[:column], b, *row[column + 1 :]] for row, b in zip(matrix, right, strict=True)]
        found[name] = pieces.algebra.div(_determinant(pieces, replaced), determinant)
    return found, determinant


def _determinant(pieces: Pieces, matrix: Sequence[Sequence[Term]]) -> Term:
    """Leibniz's formula."""
    algebra, total = pieces.algebra, pieces.algebra.zero
    for order in permutations(range(len(matrix))):
        product: Term = algebra.one
        for row, column in enumerate(order):
            product = algebra.mul(product, matrix[row][column])
        swaps = sum(a > b for n, a in enumerate(order) for b in order[n + 1 :])
        total = algebra.sub(total, product) if swaps % 2 else algebra.add(total, product)
    return total


def _least(pieces: Pieces, pivots: Sequence[tuple[str, Term]]) -> list[Definition]:
    """The least magnitude of pivots, if they are not known."""
    if all(is_number(pivot) for _, pivot in pivots):
        return []
    total: Term | None = None
    for like, pivot in pivots:
        shape = pieces.form.shapes[like]
        body: Term = pieces.terms.apply("abs", [pivot])
        if shape:
            indices = [f"i{n}" for n in range(len(shape))]
            body = pieces.terms.reduce(indices, box(indices, shape), body, kind="min")
        total = body if total is None else pieces.terms.apply("min", [total, body])
    assert total is not None
    return [Definition("least", pieces.form.types[pivots[0][0]], (), (), total)]


def colours(pieces: Pieces, kind: Class) -> tuple[int, dict[str, Seed]]:
    """How many colours the columns need, and the seed of each dying value, 1 in its colour's lane."""
    form = pieces.form
    if isinstance(kind, Permutation):
        return 1, {name: pieces.one for name in form.dying}
    if isinstance(kind, Blocks):
        return _one_each(pieces, form.dying, kind.batch)
    if not isinstance(kind, Banded):
        return _one_each(pieces, form.dying, 0)
    width = kind.lower + kind.upper + 1
    left = form.size % width if kind.cyclic else 0
    places = positions(form, form.dying, kind.interleaved)

    def seed(name: str) -> Seed:
        start, step, _ = places[name]

        def found(forms: Sequence[Affine]) -> Term:
            lane, *element = forms
            place = _flat(form.shapes[name], element) * step + start
            same = _where(pieces, lane - place.mod(width))
            if not left:
                return same
            # The columns that do not fill a round have colours of their own.
            cut = form.size - left
            own = _where(pieces, lane - (place - cut + width))
            return pieces.algebra.guard([Constraint(cut - 1 - place)], same, own)

        return found

    return width + left, {name: seed(name) for name in form.dying}


def _one_each(pieces: Pieces, names: Sequence[str], batch: int) -> tuple[int, dict[str, Seed]]:
    """A lane for each element beyond the dimensions of a batch."""
    seeds: dict[str, Seed] = {}
    start = 0
    for name in names:
        shape = pieces.form.shapes[name][batch:]

        def seed(forms: Sequence[Affine], shape: tuple[int, ...] = shape, start: int = start) -> Term:
            lane, *element = forms
            return _where(pieces, lane - _flat(shape, element[batch:]) - start)

        seeds[name] = seed
        start += prod(shape)
    return start, seeds


def _where(pieces: Pieces, form: Affine) -> Term:
    """1 where a form is 0, else 0."""
    return pieces.algebra.guard([equals_zero(form)], pieces.algebra.one, pieces.algebra.zero)


def _flat(shape: Sequence[int], forms: Sequence[Affine]) -> Affine:
    flat = Affine.const(0)
    for extent, form in zip(shape, forms, strict=True):
        flat = flat * extent + form
    return flat


def reads_of(program: Program) -> set[str]:
    """The tensors that a program's definitions read."""
    return {name for d in program.definitions for name in tensors_read([d.body])}


__all__ = ["SMALL", "Programs", "Read", "colours", "reads_of"]
