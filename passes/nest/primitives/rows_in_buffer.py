"""The primitive that computes a product of two sparse matrices row by row, in a buffer for its elements.

    for u in the rows of the elements:
        for p in row u:    w[y[p]] = 0
        for q, for t:      w[d[t]] += f(q, t)
        for p in row u:    S[p] = w[y[p]]

What is added for a column that row u has no element of is in no one's way: it is made 0 before it is used.
"""

from __future__ import annotations

from dataclasses import replace

from tadc.lattice.affine import ZERO, Affine, Constraint
from tadc.passes.maps.map import Block, Fold, Let, Load, Number, Tensor
from tadc.passes.maps.sparse_rows import RowProduct, product_of
from tadc.passes.nest.loop_bounds import extreme_of, parts_of
from tadc.passes.nest.nest import At, Body, Compute, For, If, Nest, Stage, Statement, Store
from tadc.passes.nest.primitives.rewriting import DoesNotFit, check_new, with_loops
from tadc.passes.nest.primitives.scattered import sum_in
from tadc.passes.nest.steps import Buffer
from tadc.passes.terms.costs import BUFFER, ELEMENT


def buffer(nest: Nest, step: Buffer) -> Nest:
    """The loop over elements with one over their rows around it, and room for one row."""
    names = (f"{step.row}_{name}" for name in ("begin", "end", "first", "last"))
    check_new(nest, step.row, step.room, *names)

    def rule(loop: For) -> Body:
        compute, fold = sum_in(loop, step.fold)
        found = product_of(step.fold, fold, step.index)
        if found is None or not {t.name for t in nest.tensors if t.increasing} >= {found.row.array}:
            raise DoesNotFit(f"`{step.fold}` is no product of sparse matrices in the order of rows")
        columns = found.columns
        if not columns.is_constant or columns.constant * ELEMENT[fold.type] > BUFFER:
            raise DoesNotFit(f"a row of `{step.fold}` has more than {BUFFER} bytes")
        starts, stops = parts_of(loop.start, "max"), parts_of(loop.stop, "min")
        if not starts or not stops:
            raise DoesNotFit(f"the ends of the loop over `{step.index}` are not known")
        begin, end = f"{step.row}_begin", f"{step.row}_end"
        some = Constraint(Affine.var(end) - 1 - Affine.var(begin))
        ends = (At(begin, extreme_of("max", starts)), At(end, extreme_of("min", stops)))
        return (*ends, If((some,), _Rows(step, compute, fold, found).all()))

    return with_loops(nest, step.index, rule)


class _Rows:
    """What is computed row by row."""

    def __init__(self, step: Buffer, compute: Compute, fold: Fold, found: RowProduct) -> None:
        self.step, self.compute, self.fold, self.found = step, compute, fold, found
        self.place, self.row = Affine.var(step.index), Affine.var(step.row)

    def all(self) -> Body:
        """The room, 0 first, and the loop over rows."""
        count, step = self.found.columns, self.step
        begin, end = (Affine.var(f"{step.row}_{name}") for name in ("begin", "end"))
        first, last = (Affine.atom(replace(self.found.row, at=(at,))) for at in (begin, end - 1))
        room = Tensor(step.room, self.fold.type, (count,))
        zeros = For(step.index, ZERO, count, 1, "seq", (self.zero(self.place),))
        return (Stage(room, "stack"), zeros, For(step.row, first, last + 1, 1, "seq", self.one(begin, end)))

    def one(self, begin: Affine, end: Affine) -> Body:
        """A row: of its elements those of a range."""
        step, found = self.step, self.found
        lower, upper = (self.of_row(form) for form in found.own)
        first, last = f"{step.row}_first", f"{step.row}_last"
        at = found.column
        load = Block((Let((step.fold,), Load(step.room, (at,), self.fold.type)),), (step.fold,))
        return (
            At(first, extreme_of("max", [begin, lower])),
            At(last, extreme_of("min", [end, upper])),
            self.over(first, last, self.zero(at)),
            self.added(),
            self.over(first, last, replace(self.compute, block=load)),
        )

    def added(self) -> Statement:
        """The loops over what is added."""
        (q, outer), (t, inner) = self.found.outer, self.found.inner
        block = self.found.block
        store = Store(self.step.room, (self.found.added,), block.gives[0], joins=self.fold.kind)
        body: Statement = Compute(block, (store,))
        for index, rows in ((t, inner), (q, outer)):
            forms = [self.of_row(row.form) for row in rows]
            starts = [Affine.var(index) - form for form in forms if form.coefficient(index) == 1]
            stops = [Affine.var(index) + form + 1 for form in forms if form.coefficient(index) == -1]
            if not starts or not stops or len(starts) + len(stops) < len(rows):
                raise DoesNotFit(f"`{index}` has no bounds of its own")
            body = For(index, extreme_of("max", starts), extreme_of("min", stops), 1, "seq", (body,))
        return body

    def zero(self, at: Affine) -> Compute:
        """The statement that makes an element of the room 0."""
        zero = Block((Let((self.step.fold,), Number(0.0, self.fold.type)),), (self.step.fold,))
        return Compute(zero, (Store(self.step.room, (at,), self.step.fold),))

    def over(self, first: str, last: str, body: Statement) -> For:
        """The loop over the elements of a row."""
        return For(self.step.index, Affine.var(first), Affine.var(last), 1, "seq", (body,))

    def of_row(self, form: Affine) -> Affine:
        """A form over the row."""
        return form.replace(lambda atom: self.row if atom == self.found.row else None)
