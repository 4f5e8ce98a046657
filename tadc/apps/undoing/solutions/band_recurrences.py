"""Narrow triangular bands: diagonals of a matrix, and the recurrences that solve with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from tadc.apps.undoing.plans.graph import differentiable_reads
from tadc.apps.undoing.plans.kinds import MatrixClass
from tadc.apps.undoing.solutions.colours import where
from tadc.apps.undoing.solutions.pieces import Pieces
from tadc.apps.undoing.solutions.ratios import given, is_light, ratio
from tadc.apps.undoing.solutions.roles import COTANGENT, TANGENT, Role, RoledProgram, returning
from tadc.toolkit.language import Affine, Constraint, Definition, Term


@dataclass
class Recurrences:
    """The programs of a component that is solved by a recurrence."""

    pieces: Pieces
    kind: MatrixClass

    def __post_init__(self) -> None:
        (self.dying,), (self.new,) = self.pieces.form.dying, self.pieces.form.new

    @cached_property
    def steps(self) -> tuple[list[Definition], list[Definition]]:
        """Definitions in between, and `c_k`, by the element k places before (after, if upper)."""
        sign = -1 if self.kind.lower else 1
        return diagonals(self.pieces, range(0, sign * self.kind.width, sign))

    @cached_property
    def coefficients(self) -> list[Term]:
        """The terms of `c_k`: read, where tensors in between make them up."""
        between, steps = self.steps
        if between:
            return [self.pieces.read(step.name, self.new) for step in steps]
        return [step.body for step in steps]

    @property
    def pivot(self) -> Term:
        """`c_0`, to divide by: read if it is expensive."""
        body = self.coefficients[0]
        return body if is_light(body) else self.pieces.read(self.steps[1][0].name, self.new)

    def pivots(self) -> tuple[list[Definition], list[Definition]]:
        """The pivots, a value, and all steps."""
        more, steps = self.steps
        return [*more, *steps], [self.pieces.define(f"c_{self.new}", self.new, self.pivot)]

    def solved(self, rest: Mapping[str, Term]) -> list[Definition]:
        """`x_d[i] = (r[i] - c_1[i] x_d[i - 1] - …) / c_0[i]`, in the order of i, behind `steps`."""
        order = BandRecurrence(self.pieces, self.dying, f"x_{self.dying}", -1 if self.kind.lower else 1)
        scaled, made = order.definitions(rest[self.new], self.coefficients, self.pivot)
        return [*scaled, self.pieces.result(made, Role(TANGENT, self.dying))]

    def up(self, left: Callable[[Pieces, dict[str, str]], list[Definition]]) -> RoledProgram:
        """`z_n[i] = (w_d[i] - c_1[i + 1] z_n[i + 1] - …) / c_0[i]`, against the order of i.

        Where factors cancel, the recurrence is that of `c_0 z_n`. `left` gives the definitions of what that
        leaves to other values.
        """
        pieces, form, algebra = self.pieces, self.pieces.form, self.pieces.algebra
        before, pivots = self.pivots()
        step = 1 if self.kind.lower else -1
        given = pieces.cotangent(self.dying)
        ratios = [ratio(algebra, c, self.coefficients[0]) for c in self.coefficients]
        cancelled = [found for found in ratios if found is not None]
        if len(cancelled) == len(ratios):
            order = BandRecurrence(pieces, self.new, f"y_{self.new}", step)
            there = [order.moved(c, k) for k, c in enumerate(cancelled)]
            scaled, product = order.definitions(given, there, algebra.one)
            scaled.append(product)
            body = algebra.div(pieces.read(product.name, self.new), self.pivot)
            made = pieces.define(f"z_{self.new}", self.new, body)
        else:
            order = BandRecurrence(pieces, self.new, f"z_{self.new}", step)
            there = [order.moved(c, k) for k, c in enumerate(self.coefficients)]
            scaled, made = order.definitions(given, there, self.pivot)
        if self.new not in form.earlier.values():
            made = pieces.result(made, Role(COTANGENT, self.new))
        values = returning(form.program.definitions, form.new)
        after = left(pieces, {self.new: f"z_{self.new}"})
        return pieces.program([*values, *before, *scaled, made, *after, *pieces.least(pivots)], taped=False)


def diagonals(pieces: Pieces, offsets: Sequence[int]) -> tuple[list[Definition], list[Definition]]:
    """`c_k`, the derivative of each new element by the dying one `offsets[k]` places after it.

    The offsets are consecutive numbers, of one tensor's last index.
    """
    (dying,), (new,) = pieces.form.dying, pieces.form.new
    own = Affine.var(f"i{len(pieces.form.shapes[new]) - 1}")
    if _is_direct(pieces):
        found: list[Definition] = []
        for k, offset in enumerate(offsets):
            place = own + offset

            def seed(forms: Sequence[Affine], place: Affine = place) -> Term:
                return where(pieces, forms[-1] - place)

            _, tangents = pieces.tangents(f"_{k}", {dying: seed})
            found.append(pieces.define(f"c_{k}", new, tangents[new]))
        return [], found
    count = len(offsets)

    def coloured(forms: Sequence[Affine]) -> Term:
        return where(pieces, forms[0] - forms[-1].mod(count))

    between, tangents = pieces.tangents("_c", {dying: coloured}, chunk=count)
    lanes = [{"lane": (own + offset).mod(count)} for offset in offsets]
    made = [
        pieces.define(f"c_{k}", new, pieces.terms.substitute(tangents[new], lane))
        for k, lane in enumerate(lanes)
    ]
    return between, made


def _is_direct(pieces: Pieces) -> bool:
    """Whether what is new reads what dies itself, and nothing in between that does."""
    steps = pieces.form.steps
    (new,) = (d for d in steps.definitions if d.name in pieces.form.new)
    return set(differentiable_reads(new.body)) <= {a.name for a in steps.arguments}


@dataclass
class BandRecurrence:
    """A recurrence along the last index of a tensor, in the direction in which `step` looks back."""

    pieces: Pieces
    like: str
    name: str
    step: int

    def __post_init__(self) -> None:
        *front, self.extent = self.pieces.form.shapes[self.like]
        self.index = f"i{len(front)}"
        self.own = Affine.var(self.index)

    def moved(self, term: Term, distance: int) -> Term:
        """The term so many steps back."""
        return self.pieces.terms.substitute(term, {self.index: self.own + self.step * distance})

    def bare(self, term: Term, distance: int) -> Term:
        """A term without the guard that holds where there is an element so many steps back."""
        everywhere = Constraint(self.own), Constraint(self.extent - 1 - self.own)
        return given(self.pieces.algebra, term, (*self.within(distance), *everywhere))

    def within(self, distance: int) -> list[Constraint]:
        """Where there is an element so many steps back."""
        place = self.own + self.step * distance
        return [Constraint(place if self.step < 0 else self.extent - 1 - place)]

    def definitions(
        self, right: Term, coefficients: Sequence[Term], pivot: Term
    ) -> tuple[list[Definition], Definition]:
        """The right side without what elements before take up, over the pivot, the first of the coefficients.

        What is cheap is computed in the recurrence itself, next to the one product and the one difference
        that wait for the element before.
        """
        pieces, algebra = self.pieces, self.pieces.algebra
        scaled: list[Definition] = []

        def near(term: Term, number: int) -> Term:
            if is_light(term):
                return term
            scaled.append(pieces.define(f"{self.name}_{number}", self.like, term))
            return pieces.read(scaled[-1].name, self.like)

        ratios = [ratio(algebra, c, coefficients[0]) for c in coefficients[1:]]
        quotients = [found for found in ratios if found is not None]
        if len(quotients) == len(ratios):
            first = near(algebra.div(right, pivot), 0)
        else:
            factor = algebra.div(algebra.one, pivot)
            scaled.append(pieces.define(f"{self.name}_p", self.like, factor))
            factor = pieces.read(scaled[-1].name, self.like)
            first = near(algebra.mul(right, factor), 0)
            quotients = [algebra.mul(c, factor) for c in coefficients[1:]]
        inside = [
            near(algebra.guard(self.within(k), self.bare(q, k), algebra.zero), k)
            for k, q in enumerate(quotients, 1)
        ]
        total = self._ended(first, inside)
        return scaled, replace(pieces.define(self.name, self.like, total), order=self.own * -self.step)

    def _ended(self, first: Term, quotients: Sequence[Term]) -> Term:
        """`first` less the products that there are; the last of a difference is that of the element before.

        One guard for all, that of the farthest element: the difference stays in this order.
        """
        algebra, found = self.pieces.algebra, first
        factors = [self.bare(q, k) for k, q in enumerate(quotients, 1)]
        for count in range(1, len(quotients) + 1):
            total = first
            for distance in range(count, 0, -1):
                before = self.moved(self.pieces.read(self.name, self.like), distance)
                product = algebra.mul(factors[distance - 1], before)
                total = algebra.sub(total, product)
            found = algebra.guard(self.within(count), total, found)
        return found
