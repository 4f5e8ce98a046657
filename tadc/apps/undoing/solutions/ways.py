"""The ways in which formulas solve with the matrix of a component, by the class of the matrix."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from typing import Protocol

from tadc.apps.undoing.plans.kinds import MatrixClass, Method
from tadc.apps.undoing.solutions.band_recurrences import Recurrences
from tadc.apps.undoing.solutions.pieces import Pieces
from tadc.apps.undoing.solutions.roles import TANGENT
from tadc.apps.undoing.solutions.triangles import Triangle
from tadc.toolkit.language import Definition, Term
from tadc.toolkit.transforms import is_const


class Way(Protocol):
    """How a matrix is solved with."""

    def pivots(self) -> tuple[list[Definition], list[Definition]]:
        """What is divided by, `c_n`, with definitions in front that it reads."""
        ...

    def solved(self, rest: Mapping[str, Term]) -> list[Definition]:
        """The tangents of what dies, `x_d`, for a right side, behind definitions that they read."""
        ...


@dataclass
class Permutation:
    """Each new element depends on one that dies: of J = D P the inverse is (J^T D^-1) / (J^T 1).

    A factor divided by twice would overflow where its square is no number of the type.
    """

    pieces: Pieces
    kind: MatrixClass

    @cached_property
    def factors(self) -> tuple[list[Definition], dict[str, Term]]:
        """D."""
        return self.pieces.tangents("_p", {name: self.pieces.one for name in self.pieces.form.dying})

    def pivots(self) -> tuple[list[Definition], list[Definition]]:
        """As `Way.pivots`."""
        between, found = self.factors
        return between, self.pieces.each("c", found)

    def solved(self, rest: Mapping[str, Term]) -> list[Definition]:
        """As `Way.solved`."""
        pieces, algebra, form = self.pieces, self.pieces.algebra, self.pieces.form
        _, factors = self.factors
        made = pieces.each("q", {n: algebra.div(rest[n], factors[n]) for n in form.new})
        between, found = pieces.gradients("_g", form.dying, {n: f"q_{n}" for n in form.new})
        made += between
        if not all(is_const(factor, 1) for factor in factors.values()):
            made += pieces.each("o", dict.fromkeys(form.new, algebra.one))
            between, there = pieces.gradients("_o", form.dying, {n: f"o_{n}" for n in form.new})
            made += between
            found = {name: algebra.div(found[name], there[name]) for name in form.dying}
        return [*made, *pieces.each("x", found, TANGENT)]


@dataclass
class Cramer:
    """Small matrices at each element, by Cramer's rule."""

    pieces: Pieces
    kind: MatrixClass

    @cached_property
    def matrix(self) -> tuple[list[Definition], list[list[Term]]]:
        """The elements of A, of new values by dying ones."""
        between: list[Definition] = []
        columns: list[dict[str, Term]] = []
        for name in self.pieces.form.dying:
            more, found = self.pieces.tangents(f"_{name}", {name: self.pieces.one})
            between += more
            columns.append(found)
        return between, [[column[n] for column in columns] for n in self.pieces.form.new]

    def pivots(self) -> tuple[list[Definition], list[Definition]]:
        """As `Way.pivots`."""
        between, matrix = self.matrix
        first = self.pieces.form.new[0]
        return between, [self.pieces.define(f"c_{first}", first, self.determinant(matrix))]

    def solved(self, rest: Mapping[str, Term]) -> list[Definition]:
        """As `Way.solved`."""
        pieces, form, (_, matrix) = self.pieces, self.pieces.form, self.matrix
        found: dict[str, Term] = {}
        for k, name in enumerate(form.dying):
            replaced = [[*row[:k], rest[n], *row[k + 1 :]] for n, row in zip(form.new, matrix, strict=True)]
            found[name] = pieces.algebra.div(self.determinant(replaced), self.determinant(matrix))
        return pieces.each("x", found, TANGENT)

    def determinant(self, matrix: Sequence[Sequence[Term]]) -> Term:
        """Leibniz's formula."""
        algebra, total = self.pieces.algebra, self.pieces.algebra.zero
        for order in permutations(range(len(matrix))):
            product: Term = algebra.one
            for row, column in enumerate(order):
                product = algebra.mul(product, matrix[row][column])
            swaps = sum(a > b for n, a in enumerate(order) for b in order[n + 1 :])
            total = algebra.sub(total, product) if swaps % 2 else algebra.add(total, product)
        return total


#: The ways of classes that formulas solve.
WAYS: dict[Method, Callable[[Pieces, MatrixClass], Way]] = {
    "formula": Cramer,
    "permutation": Permutation,
    "recurrence": Recurrences,
    "triangles": Triangle,
}
