"""The ways in which formulas solve with the matrix of a component, by the class of the matrix."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from typing import Protocol

from tadc.apps.undoing.plans.kinds import MatrixClass, Method
from tadc.apps.undoing.solutions.band_recurrences import Recurrences
from tadc.apps.undoing.solutions.pieces import Pieces, is_number
from tadc.apps.undoing.solutions.roles import TANGENT
from tadc.apps.undoing.solutions.triangles import Triangle
from tadc.toolkit.language import Definition, Term
from tadc.toolkit.transforms import is_const

#: From so many rows on one is eliminated by its pivot.
_ELIMINATED = 3


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
    """Small matrices at each element, by Cramer's rule.

    Of three rows the one with the largest first element is eliminated before: the error of a determinant of
    three rows is that of its largest product, which may be larger by the square of the condition number.
    """

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

    @cached_property
    def rows(self) -> tuple[list[Definition], list[list[Term]]]:
        """The elements of A; of three rows the one to eliminate is in front, the elements are definitions."""
        made, matrix = self.matrix
        if self.kind.size < _ELIMINATED:
            return made, matrix
        made = list(made)
        columns = [self._named(made, f"e{k}", column) for k, column in enumerate(zip(*matrix, strict=True))]
        columns = [self._named(made, f"f{k}", self._swapped(column)) for k, column in enumerate(columns)]
        return made, [list(row) for row in zip(*columns, strict=True)]

    @cached_property
    def left(self) -> tuple[list[Definition], list[Term], list[list[Term]]]:
        """Of three rows, what of the first is taken from each other, and what is left of those, with
        definitions behind `rows`."""
        algebra, made = self.pieces.algebra, list[Definition]()
        (first, *others) = self.rows[1]
        # The first element is 0 only where all are.
        shares = [algebra.safe(row[0], algebra.div(algebra.one, first[0])) for row in others]
        shares = self._named(made, "l", shares)
        left: list[list[Term]] = []
        for n, (share, row) in enumerate(zip(shares, others, strict=True)):
            pairs = zip(row[1:], first[1:], strict=True)
            left.append(self._named(made, f"s{n}", [algebra.sub(x, algebra.mul(share, y)) for x, y in pairs]))
        return made, shares, left

    def pivots(self) -> tuple[list[Definition], list[Definition]]:
        """As `Way.pivots`."""
        made, rows = self.rows
        if self.kind.size < _ELIMINATED:
            body = self.determinant(rows)
        else:
            more, _, left = self.left
            made, body = [*made, *more], self.pieces.algebra.mul(rows[0][0], self.determinant(left))
        first = self.pieces.form.new[0]
        return made, [self.pieces.define(f"c_{first}", first, body)]

    def solved(self, rest: Mapping[str, Term]) -> list[Definition]:
        """As `Way.solved`."""
        pieces, algebra, form, rows = self.pieces, self.pieces.algebra, self.pieces.form, self.rows[1]
        right, made = [rest[n] for n in form.new], list[Definition]()
        if self.kind.size < _ELIMINATED:
            found = self._by_determinants(rows, right)
        else:
            _, shares, left = self.left
            right = self._named(made, "b", right)
            top, *others = self._named(made, "d", self._swapped(right))
            others = [
                algebra.sub(x, algebra.mul(share, top)) for x, share in zip(others, shares, strict=True)
            ]
            found = self._by_determinants(left, self._named(made, "t", others))
            for x, y in zip(rows[0][1:], found, strict=True):
                top = algebra.sub(top, algebra.mul(x, y))
            found = [algebra.div(top, rows[0][0]), *found]
        return [*made, *pieces.each("x", dict(zip(form.dying, found, strict=True)), TANGENT)]

    def _by_determinants(self, rows: Sequence[Sequence[Term]], right: Sequence[Term]) -> list[Term]:
        """Cramer's rule."""
        replaced = [
            [[*row[:k], x, *row[k + 1 :]] for row, x in zip(rows, right, strict=True)]
            for k in range(len(rows))
        ]
        return [self.pieces.algebra.div(self.determinant(r), self.determinant(rows)) for r in replaced]

    def _swapped(self, column: Sequence[Term]) -> list[Term]:
        """A column with the element in front of which the row has the largest element in the first one."""
        algebra, found = self.pieces.algebra, list(column)
        first = self._named([], "e0", [row[0] for row in self.matrix[1]])
        for n in range(1, len(found)):
            if not is_const(first[n], 0):
                sizes = algebra.apply("abs", first[0]), algebra.apply("abs", first[n])
                for values in (found, first):
                    values[0], values[n] = (
                        algebra.select("<", *sizes, values[n], values[0]),
                        algebra.select("<", *sizes, values[0], values[n]),
                    )
        return found

    def _named(self, made: list[Definition], letter: str, bodies: Sequence[Term]) -> list[Term]:
        """Reads of new definitions of terms, one for each new value; what is a number stays."""
        names = self.pieces.form.new[-len(bodies) :]
        new = self.pieces.each(letter, dict(zip(names, bodies, strict=True)))
        made += [d for d in new if not is_number(d.body)]
        return [
            d.body if is_number(d.body) else self.pieces.read(d.name, n)
            for n, d in zip(names, new, strict=True)
        ]

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
