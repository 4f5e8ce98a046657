"""Triangular blocks: each is solved element by element, in an order in which those before are known.

Of a lower triangular A of one tensor, with its elements in row-major order,

    x[i] = (r[i] - sum_{j < i} A[i, j] x[j]) / A[i, i]

where the sum is the tangent of element i along x, taken to be 0 from element i on: sums over indices and
whatever else makes up a row stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from tadc.frontend.program import Definition
from tadc.frontend.terms import Term
from tadc.inversion.forms import Form
from tadc.inversion.inlined import without
from tadc.inversion.kinds import Triangles
from tadc.inversion.pieces import Pieces
from tadc.lattice.affine import Affine, Constraint, equals_zero


@dataclass
class Triangle:
    """The solution of a form of class `Triangles`."""

    pieces: Pieces
    kind: Triangles

    def __post_init__(self) -> None:
        form = self.pieces.form
        (self.dying,), (self.new,) = form.dying, form.new
        self.shape = form.shapes[self.new]
        self.own = [Affine.var(f"i{n}") for n in range(len(self.shape))]
        # A seed knows the row that is computed, which a value in between does not.
        self.direct = Pieces(_direct(form))

    @cached_property
    def pivot(self) -> Term:
        """`A[i, i]`."""
        algebra = self.pieces.algebra

        def seed(forms: Sequence[Affine]) -> Term:
            rows = [equals_zero(a - b) for a, b in zip(forms, self.own, strict=True)]
            return algebra.guard(rows, algebra.one, algebra.zero)

        _, found = self.direct.tangents("_d", {self.dying: seed})
        return found[self.new]

    def solved(self, right: Term) -> Definition:
        """`x_d` for a right side."""
        algebra, name = self.pieces.algebra, f"x_{self.dying}"
        type = self.pieces.form.types[self.dying]

        def seed(forms: Sequence[Affine]) -> Term:
            read = self.pieces.terms.read(name, forms, type)
            found: Term = algebra.zero
            # In row-major order: before in the last index, or in one in front of it, the others alike.
            for n in reversed(range(self.kind.batch, len(forms))):
                same = [equals_zero(forms[m] - self.own[m]) for m in range(self.kind.batch, n)]
                found = algebra.guard([*same, self._before(forms[n], self.own[n])], read, found)
            return found

        _, before = self.direct.tangents("_b", {self.dying: seed})
        body = algebra.div(algebra.sub(right, before[self.new]), self.pivot)
        made = self.pieces.define(name, self.dying, body, is_output=True)
        return replace(made, order=self.order)

    @property
    def order(self) -> Affine:
        """The place of an element in its block, from the end if upper."""
        flat = Affine.const(0)
        for extent, form in zip(self.shape[self.kind.batch :], self.own[self.kind.batch :], strict=True):
            flat = flat * extent + form
        return flat if self.kind.lower else -flat

    def _before(self, one: Affine, other: Affine) -> Constraint:
        return Constraint(other - one - 1 if self.kind.lower else one - other - 1)


def _direct(form: Form) -> Form:
    """The form without values in between."""
    between = [d.name for d in form.program.definitions if d.name not in form.new]
    made = without(form.program.terms, form.program.definitions, between)
    return replace(form, program=replace(form.program, definitions=tuple(made)))
