"""Products in short rows, with the factors shared by all elements of a row in front.

    f[i, m: 3] = sum{j} (x[j, m] * w[j] / r[i, j])   is   sum{j} (w[j] / r[i, j] * x[j, m])

A quotient is then computed once for the elements of a row, which are computed together: as copies in a tile,
or as sums of one loop (`rows.py`). Products without quotients stay as written.
"""

from __future__ import annotations

from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import Apply, Term, Terms, holds_reduction, operands
from tadc.lattice.late_dataclasses import dataclass, field
from tadc.passes.rewrites.reciprocals import is_reciprocal
from tadc.passes.terms.algebra import Algebra, is_product
from tadc.passes.terms.costs import COMPARED
from tadc.passes.terms.products import ScaledProduct, product_of


def with_row_products(program: Program) -> Program:
    """The program where products in sums of short rows begin with the quotient that a row shares."""
    holds: dict[int, bool] = {}
    return program.with_bodies(
        _RowWalk(program.terms, frozenset(short)).visit(d.body)
        if (short := short_indices(d)) and holds_reduction(d.body, holds)
        else d.body
        for d in program.definitions
    )


def short_indices(definition: Definition) -> list[str]:
    """The indices of a definition along which rows are short."""
    sizes = zip(definition.indices, definition.shape, strict=True)
    return [index for index, size in sizes if isinstance(size, int) and 1 < size <= COMPARED]


@dataclass
class _RowWalk:
    """One walk over a definition whose indices in `short` are those of rows."""

    terms: Terms
    short: frozenset[str]
    known: dict[int, Term] = field(default_factory=dict[int, Term])

    def __post_init__(self) -> None:
        self.algebra = Algebra(self.terms)

    def visit(self, term: Term) -> Term:
        """The term with its products, and those in it, in the new order."""
        if term.free.isdisjoint(self.short):
            return term
        if term.number not in self.known:
            made = self.product(term) if is_product(term) else None
            if made is None:
                made = self.terms.rebuild(term, [self.visit(t) for t in operands(term)])
                made = self.safe(made) or made
            self.known[term.number] = made
        return self.known[term.number]

    def product(self, term: Term) -> Term | None:
        """A product with a quotient that rows share in front; None of one that has none."""
        product = product_of(term, reciprocals=True)
        own, shared = product.split(lambda t: not t.free.isdisjoint(self.short))
        if not (shared.under or any(map(is_reciprocal, shared.over))) or not own.length:
            return None
        front = ScaledProduct(1, shared.over, shared.under).term(self.algebra)
        over, under = (tuple(map(self.visit, part)) for part in (own.over, own.under))
        made = ScaledProduct(product.scale, (front, *over), under).term(self.algebra)
        return made if made.type == term.type else None

    def safe(self, term: Term) -> Term | None:
        """`safe(g, x / r)` as `safe(safe(g, 1 / r), x)`, where rows share r and g."""
        if not isinstance(term, Apply) or term.function != "safe":
            return None
        g, quotient = term.operands
        product = product_of(quotient, reciprocals=True)
        own, shared = product.split(lambda t: not t.free.isdisjoint(self.short))
        if (
            not (shared.under or any(map(is_reciprocal, shared.over)))
            or not own.over
            or not g.free.isdisjoint(self.short)
        ):
            return None
        front = self.algebra.safe(g, ScaledProduct(1, shared.over, shared.under).term(self.algebra))
        made = self.algebra.safe(front, ScaledProduct(product.scale, own.over, own.under).term(self.algebra))
        return made if made.type == term.type else None
