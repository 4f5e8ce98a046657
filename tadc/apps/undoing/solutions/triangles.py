"""Triangular blocks: each is solved element by element, in an order in which those before are known.

Of a lower triangular A of one tensor, with its elements in row-major order,

    x[i] = (r[i] - sum_{j < i} A[i, j] x[j]) / A[i, i]

where the sum is the tangent of element i along x, taken to be 0 from element i on: sums over indices and
whatever else makes up a row stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from tadc.apps.undoing.plans.forms import flat
from tadc.apps.undoing.plans.kinds import MatrixClass
from tadc.apps.undoing.solutions.inlined import direct
from tadc.apps.undoing.solutions.pieces import Pieces
from tadc.apps.undoing.solutions.roles import TANGENT, Role
from tadc.toolkit.language import Affine, Constraint, Definition, Read, Term, box, equals_zero, reachable
from tadc.toolkit.transforms import Simplifier


@dataclass
class Triangle:
    """The solution of a form whose blocks are triangles."""

    pieces: Pieces
    kind: MatrixClass

    def __post_init__(self) -> None:
        form = self.pieces.form
        (self.dying,), (self.new,) = form.dying, form.new
        self.shape, self.batch = form.shapes[self.new], self.kind.batch
        self.own = [Affine.var(f"i{n}") for n in range(len(self.shape))]
        # A seed knows the row that is computed, which a value in between does not.
        self.direct = Pieces(direct(form))

    @cached_property
    def pivot(self) -> Term:
        """`A[i, i]`."""
        algebra = self.pieces.algebra

        def seed(forms: Sequence[Affine]) -> Term:
            rows = [equals_zero(a - b) for a, b in zip(forms, self.own, strict=True)]
            return algebra.guard(rows, algebra.one, algebra.zero)

        _, found = self.direct.tangents("_d", {self.dying: seed})
        known = box([f"i{n}" for n in range(len(self.shape))], self.shape)
        return Simplifier(self.pieces.terms).visit(found[self.new], known)

    def before(self, forms: Sequence[Affine]) -> Term:
        """The element of the solution at some place, if it comes before the own one, else 0."""
        algebra = self.pieces.algebra
        read = self.pieces.terms.read(f"x_{self.dying}", forms, self.pieces.form.types[self.dying])
        found: Term = algebra.zero
        # In row-major order: before in the last index, or in one in front of it, the others alike.
        for n in reversed(range(self.batch, len(forms))):
            same = [equals_zero(forms[m] - self.own[m]) for m in range(self.batch, n)]
            found = algebra.guard([*same, self._less(forms[n], self.own[n])], read, found)
        return found

    def pivots(self) -> tuple[list[Definition], list[Definition]]:
        """The pivots, a value."""
        return [], [self.pieces.define(f"c_{self.new}", self.new, self.pivot)]

    def solved(self, rest: Mapping[str, Term]) -> list[Definition]:
        """`x_d` for a right side."""
        algebra = self.pieces.algebra
        _, before = self.direct.tangents("_b", {self.dying: self.before})
        return [self.defined(algebra.div(algebra.sub(rest[self.new], before[self.new]), self.pivot))]

    def defined(self, body: Term) -> Definition:
        """`x_d` as a recurrence."""
        made = self.pieces.define(f"x_{self.dying}", self.dying, body, Role(TANGENT, self.dying))
        return replace(made, order=self.order)

    def reads_before(self, term: Term) -> bool:
        """Whether a term reads what dies only at places some way before its own, in the last index."""
        sign = -1 if self.kind.upper else 1
        for read in reachable([term]):
            if isinstance(read, Read) and read.tensor == self.dying:
                *front, distance = (a - b for a, b in zip(self.own, read.indices, strict=True))
                if any(form != Affine.const(0) for form in front) or not distance.is_constant:
                    return False
                if sign * distance.constant <= 0:
                    return False
        return True

    @property
    def order(self) -> Affine:
        """The place of an element in its block, from the end if upper."""
        place = flat(self.shape[self.batch :], self.own[self.batch :])
        return -place if self.kind.upper else place

    def _less(self, one: Affine, other: Affine) -> Constraint:
        return Constraint(one - other - 1 if self.kind.upper else other - one - 1)
