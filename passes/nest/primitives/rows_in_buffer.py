"""The primitive that computes a product of two sparse matrices row by row, in a buffer for its elements.

    for u in the rows of the elements:
        for p in row u:    w[y[p]] = 0
        for q, for t:      w[d[t]] += f(q, t)
        for p in row u:    S[p] = w[y[p]]

What is added for a column that row u has no element of is in no one's way: it is made 0 before it is used.

Or a row in which all elements of row u look for something is in the buffer, and `of` says where it is:

    for t in row u:    w[r[t]] = 0, of[r[t]] = u
    for t in row u:    w[r[t]] += v[t]
    for p in row u:    S[p] = sum q: if of[c[q]] is u, f(q) * w[c[q]], else 0
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tadc.frontend.terms import Domain
from tadc.lattice.affine import ZERO, Affine, Constraint
from tadc.passes.maps.map import Apply, Block, Fold, IndexNumber, Let, Load, Number, Tensor
from tadc.passes.maps.sparse_rows import RowProduct, RowSearch, sum_in_rows
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
        found = sum_in_rows(step.fold, fold, step.index)
        if found is None or found.row.array not in {t.name for t in nest.tensors if t.increasing}:
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
        if isinstance(found, RowProduct):
            rows: _Rows = _Products(step, compute, fold, found)
        else:
            rows = _Searches(step, compute, fold, found)
        return (*ends, If((some,), rows.all()))

    return with_loops(nest, step.index, rule)


class _Rows:
    """What is computed row by row."""

    def __init__(self, step: Buffer, compute: Compute, fold: Fold, found: RowProduct | RowSearch) -> None:
        self.step, self.compute, self.fold = step, compute, fold
        self.own, self.of, self.columns = found.own, found.row, found.columns
        self.place, self.row = Affine.var(step.index), Affine.var(step.row)

    def all(self) -> Body:
        """The room, with numbers in it, and the loop over rows."""
        step, made = self.step, list[Statement]()
        begin, end = (Affine.var(f"{step.row}_{name}") for name in ("begin", "end"))
        first, last = (Affine.atom(replace(self.of, at=(at,))) for at in (begin, end - 1))
        for room, number in self.rooms():
            start = self.number(room, self.place, number)
            loop = For(step.index, ZERO, self.columns, 1, "seq", (start,))
            made += (Stage(room, "stack"), loop)
        return (*made, For(step.row, first, last + 1, 1, "seq", self.one(begin, end)))

    def one(self, begin: Affine, end: Affine) -> Body:
        """A row: of its elements those of a range."""
        lower, upper = (self.of_row(form) for form in self.own)
        first, last = f"{self.step.row}_first", f"{self.step.row}_last"
        ends = At(first, extreme_of("max", [begin, lower])), At(last, extreme_of("min", [end, upper]))

        def over(body: Statement) -> For:
            return For(self.step.index, Affine.var(first), Affine.var(last), 1, "seq", (body,))

        return (*ends, *self.elements(over))

    def rooms(self) -> list[tuple[Tensor, float]]:
        """Buffers for a row, and what is in them first."""
        return [(Tensor(self.step.room, self.fold.type, (self.columns,)), 0.0)]

    def elements(self, over: Callable[[Statement], For]) -> Body:
        """What computes the elements of a row; `over` makes a loop over these."""
        raise NotImplementedError

    def loops(self, body: Statement, *loops: tuple[str, Domain]) -> Statement:
        """Loops around a statement, the innermost first."""
        for index, rows in loops:
            forms = [self.of_row(row.form) for row in rows]
            starts = [Affine.var(index) - form for form in forms if form.coefficient(index) == 1]
            stops = [Affine.var(index) + form + 1 for form in forms if form.coefficient(index) == -1]
            if not starts or not stops or len(starts) + len(stops) < len(rows):
                raise DoesNotFit(f"`{index}` has no bounds of its own")
            body = For(index, extreme_of("max", starts), extreme_of("min", stops), 1, "seq", (body,))
        return body

    def number(self, room: Tensor, at: Affine, number: float) -> Compute:
        """The statement that stores a number in a buffer."""
        block = Block((Let((self.step.fold,), Number(number, room.type)),), (self.step.fold,))
        return Compute(block, (Store(room.name, (at,), self.step.fold),))

    def of_row(self, form: Affine) -> Affine:
        """A form over the row."""
        return form.replace(lambda atom: self.row if atom == self.of else None)


class _Products(_Rows):
    """Each summand is added to what is in the buffer at its column."""

    def __init__(self, step: Buffer, compute: Compute, fold: Fold, found: RowProduct) -> None:
        super().__init__(step, compute, fold, found)
        self.found = found

    def elements(self, over: Callable[[Statement], For]) -> Body:
        """0 at the columns of the elements, what is added, and what is there then."""
        found, step, ((room, _),) = self.found, self.step, self.rooms()
        load = Block((Let((step.fold,), Load(step.room, (found.column,), self.fold.type)),), (step.fold,))
        store = Store(step.room, (found.added,), found.block.gives[0], joins=self.fold.kind)
        return (
            over(self.number(room, found.column, 0.0)),
            self.loops(Compute(found.block, (store,)), found.inner, found.outer),
            over(replace(self.compute, block=load)),
        )


class _Searches(_Rows):
    """What is in the row is in the buffer, at its columns, and in another one the number of the row there."""

    def __init__(self, step: Buffer, compute: Compute, fold: Fold, found: RowSearch) -> None:
        super().__init__(step, compute, fold, found)
        self.found = found
        self.marks = Tensor(f"{step.room}_of", "f64", (self.columns,))

    def rooms(self) -> list[tuple[Tensor, float]]:
        """No row has the number -1."""
        return [*super().rooms(), (self.marks, -1.0)]

    def elements(self, over: Callable[[Statement], For]) -> Body:
        """The row in the buffer, and the sums of what is found there."""
        found, step, (_, outer) = self.found, self.step, self.found.outer
        names = [f"{step.fold}_{n}" for n in range(5)]
        zero, row, mark, same, value = names
        made = Let((row,), IndexNumber(self.row, "f64")), Let((zero,), Number(0.0, self.fold.type))
        at, room = (found.column,), step.room
        start = Compute(Block(made, (zero,)), (Store(room, at, zero), Store(self.marks.name, at, row)))
        load = found.load.names[0]
        added = Compute(Block((found.load,), (load,)), (Store(room, at, load, joins=self.fold.kind),))
        there = Load(room, (found.asked,), self.fold.type)
        lets = (
            *(replace(let, value=there) if let == found.load else let for let in found.block.lets),
            *made,
            Let((mark,), Load(self.marks.name, (found.asked,), "f64")),
            Let((same,), Apply("=", (mark, row), "i1")),
            Let((value,), Apply("choose", (same, found.block.gives[0], zero), self.fold.type)),
        )
        fold = replace(self.fold, rows=outer, body=Block(lets, (value,)))
        sums = Block((Let((step.fold,), fold),), (step.fold,))
        filled = (self.loops(each, found.inner) for each in (start, added))
        return (*filled, over(replace(self.compute, block=sums)))
