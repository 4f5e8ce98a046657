"""Products of two sparse matrices at a given pattern, row by row (F. G. Gustavson, Two fast algorithms for
sparse matrices, 1978).

    C[e] = sum{q}_(row x[e] of A) (sum{t}_(key of y[e] and c[q] in B) (if {…} then (A[q]*B[t]) else (0)))

searches B for each element of a row of A, once for each e. If rows of C are longer than those of B, it is
cheaper to go through the rows of B that a row of A names, and to add each product to the element of C in its
column:

    S[p] = sum{q}_(row u of A) (sum{t: d[t] = y[p]}_(row c[q] of B) (A[q]*B[t]))    for all p of row u at once

where p are the positions of C sorted by row, and u is the row of p. `nest/primitives/scattered.py` visits all
such t once, with a buffer for the elements of a row. If a row does not fit, the columns of B and C are
divided into groups that do. The products of an element are added in the order of the row of A.

If rows are shorter, as in the gradients by A and B, but many elements search one row of B, these are computed
together, in the order of y, and search a buffer with that row:

    S[p] = sum{q}_(row x[p] of A) (sum{t: r[t] = c[q]}_(row y[p] of B) (A[q]*B[t]))
"""

from __future__ import annotations

from tadc.frontend.extents import as_form
from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import Apply, Domain, Guard, Reduce, Term
from tadc.lattice.affine import Affine, Constraint
from tadc.lattice.fibre import fibre_of
from tadc.lattice.late_dataclasses import dataclass, field, replace
from tadc.passes.terms.algebra import is_const
from tadc.passes.terms.costs import BUFFER, ELEMENT, FEW_ELEMENTS, LARGER, SPREAD
from tadc.passes.terms.inspected_arrays import Arrays
from tadc.passes.terms.names import Names

LEAST_ELEMENTS = FEW_ELEMENTS
"""Fewer elements are not worth a buffer that is 0 first."""

SEARCHED = 3
"""What looking for an element takes, in the time to add a product."""


def with_sparse_products(program: Program, limit: int | None = None) -> Program:
    """The program with such products row by row, where their elements take no more bytes than a limit; the
    index arrays that they need are further arguments."""
    if program.sizes or not program.index_arrays():
        return program
    arrays, names = Arrays(program), Names(program)
    walks = (_ByRows(program, arrays, names, d, limit) for d in program.definitions)
    definitions = [made for walk in walks for made in walk.run()]
    made = program.with_definitions(definitions)
    return made if made is program else arrays.in_program(made)


@dataclass(frozen=True)
class _Product:
    """What a definition is: a sum over the rows of `ptr` that `x` tells of one over what is found by `key` in
    `r`, whose element is `column`, and in `d`, whose element is that of `y`."""

    ptr: str
    q: str
    t: str
    x: str
    y: str
    r: str
    d: str
    key: str
    column: Affine
    term: Term


@dataclass
class _ByRows:
    """Takes products out of the body of a definition: `new` are definitions of their elements."""

    program: Program
    arrays: Arrays
    names: Names
    definition: Definition
    limit: int | None
    new: list[Definition] = field(default_factory=list[Definition])

    def run(self) -> list[Definition]:
        """What the definition becomes."""
        d = self.definition
        if len(d.indices) != 1 or d.order is not None:
            return [d]
        body = self.term(d.body)
        return [*self.new, replace(d, body=body)] if self.new else [d]

    def term(self, term: Term) -> Term:
        """A term that reads what products in it have become."""
        if isinstance(term, Apply):
            below = [self.term(operand) for operand in term.operands]
            same = all(x is y for x, y in zip(below, term.operands, strict=True))
            return term if same else self.program.terms.apply(term.function, below, term.span)
        d, found = self.definition, _Match(self.program, self.arrays, self.definition).product(term)
        sizes = _ProductSizes.of(found, self.arrays, term) if found is not None else None
        if found is None or sizes is None or term.type is None:
            return term
        if self.limit is not None and sizes.elements * ELEMENT[term.type] > self.limit:
            return term
        if sizes.pays():
            rows = _OrderedRows(self.program, self.arrays, found, sizes)
        elif sizes.pays_to_spread():
            rows = _Spread(self.program, self.arrays, found)
        else:
            return term
        p = self.names.index("p", ())
        name = self.names.free(f"{d.name}_rows")
        self.new.append(Definition(name, term.type, d.shape, (p,), rows.sum_of(p, term), False, d.span))
        perm = self.arrays.perm([rows.rows], 0).name
        place = self.arrays.perm([perm], 0).lookup([Affine.var(d.indices[0])])
        return self.program.terms.read(name, [place], term.type)


@dataclass
class _Match:
    """Looks for products in a definition of one index."""

    program: Program
    arrays: Arrays
    definition: Definition

    def product(self, term: Term) -> _Product | None:
        """The product that a term is, if it is one."""
        outer = self.range(term)
        if outer is None:
            return None
        ptr, x, q, body = outer
        inner = self.range(body)
        if inner is None or (row := self.own(x)) is None:
            return None
        by, _, t, body = inner
        key = next(iter(self.arrays.made_of("ptr", by)), None)
        if key is None or not isinstance(body, Guard):
            return None
        if not is_const(body.otherwise, 0) or not self.arrays.is_place(t, key, body.then):
            return None
        told = self.told(body.conditions, t, key)
        own = {name: array for name, form in told.items() if (array := self.own(form)) is not None}
        others = [name for name, form in told.items() if self.index not in form.variables]
        if len(told) != 2 or len(own) != 1 or len(others) != 1:
            return None
        ((name, column),), (other,) = own.items(), others
        if self.index in body.then.free:
            return None
        return _Product(ptr, q, t, row, column, other, name, key, told[other], body.then)

    @property
    def index(self) -> str:
        return self.definition.indices[0]

    def range(self, term: Term) -> tuple[str, Affine, str, Term] | None:
        """Of a sum over the range of an element of an increasing array the array, which element, the index
        and the summand."""
        if not isinstance(term, Reduce) or term.kind != "sum" or len(term.binders) != 1:
            return None
        (name,), rows, body = self.program.terms.open(term)
        fibre = fibre_of(name, rows)
        if fibre is None or not fibre.is_all(rows) or not self.arrays[fibre.array].increasing:
            return None
        return fibre.array, fibre.values[0], name, body

    def own(self, form: Affine) -> str | None:
        """The array whose element at the place of the definition's element a form is."""
        lookup = form.lookup
        return lookup.array if lookup is not None and lookup.at == (Affine.var(self.index),) else None

    def told(self, conditions: Domain, t: str, key: str) -> dict[str, Affine]:
        """The values of elements at t, by their arrays; nothing where conditions say more."""
        found: dict[str, Affine] = {}
        for row in conditions:
            atoms = (atom for atom, k in row.form.terms if abs(k) == 1)
            here = [a for a in atoms if self.arrays.sorted_by(a, key) and a.at == (Affine.var(t),)]
            if not row.equality or len(here) != 1:
                return {}
            taken, told = self.arrays.made_of("taken", here[0].array), row.form.solved(here[0])
            if not taken or told is None:
                return {}
            found[taken[0]] = told
        return found if len(found) == len(conditions) else {}


@dataclass(frozen=True)
class _ProductSizes:
    """How many rows and columns the product has, those of the buffer, and of how many parts a row is."""

    rows: int
    columns: int
    buffer: int
    elements: int
    shared: int
    looked_in: int
    walked: int

    @classmethod
    def of(cls, found: _Product, arrays: Arrays, term: Term) -> _ProductSizes | None:
        """Those of a product of arrays of one dimension."""
        shapes = [arrays[name].shape for name in (found.x, found.y, found.r, found.d)]
        below = [arrays.below(name) for name in (found.x, found.y, found.r, found.d)]
        (elements, *more), (looked_in, *others) = shapes[0], shapes[2]
        if more or others or shapes[1] != shapes[0] or shapes[3] != shapes[2] or below[3] != below[1]:
            return None
        numbers = [number for number in (*below[:3], elements, looked_in) if isinstance(number, int)]
        if len(numbers) < 5 or not all(numbers) or term.type is None:
            return None
        rows, columns, shared, elements, looked_in = numbers
        buffer, most = min(BUFFER // ELEMENT[term.type], columns), as_form(arrays.below(found.ptr)) - 1
        return cls(rows, columns, buffer, elements, shared, looked_in, most.constant)

    @property
    def parts(self) -> int:
        """The parts of a row that are each in a group of columns."""
        return -(-self.columns // self.buffer)

    def pays(self) -> bool:
        """Whether rows of the product have so many elements that it is less to add what is in the rows of
        the second factor than to look for what is in a column of it, once for each."""
        added, searched = self.looked_in * self.rows, SEARCHED * self.elements * self.shared
        if self.elements < LEAST_ELEMENTS or added > searched:
            return False
        parts = self.parts * (self.rows + self.shared)
        return self.parts == 1 or parts <= LARGER * (self.elements + self.looked_in)

    def pays_to_spread(self) -> bool:
        """Whether so many elements are looked for that it is less to have each row in a buffer for that."""
        searched = SEARCHED * self.elements * self.walked // self.rows
        return self.elements >= LEAST_ELEMENTS and self.shared <= SPREAD and searched >= self.looked_in


class _Sums:
    """The sums of the elements of a product in another order: `rows` has where each element is in that, and
    `others` where each of the second factor is."""

    rows: str
    others: str

    def __init__(self, program: Program, arrays: Arrays, found: _Product) -> None:
        self.terms, self.arrays, self.found = program.terms, arrays, found

    def nested(self, outer: Domain, inner: Domain, whole: Term) -> Term:
        """The sum over both indices where rows hold."""
        q, t, key = self.found.q, self.found.t, self.found.key
        term = self.arrays.resorted(self.terms, self.found.term, t, key, self.others)
        summand = self.terms.reduce([t], inner, term, hints=["t"], span=whole.span)
        return self.terms.reduce([q], outer, summand, hints=["q"], span=whole.span)


class _OrderedRows(_Sums):
    """The sum of the elements of a product in the order of rows, or of their parts."""

    def __init__(self, program: Program, arrays: Arrays, found: _Product, sizes: _ProductSizes) -> None:
        super().__init__(program, arrays, found)
        self.sizes = sizes
        self.rows = self.parts_of(found.x, found.y, sizes.elements)
        self.others = self.parts_of(found.r, found.d, sizes.looked_in)

    def parts_of(self, row: str, column: str, count: int) -> str:
        """The array of the parts of rows that elements are in."""
        parts = self.sizes.parts
        if parts == 1:
            return row
        place = [Affine.var("#0")]
        first, second = (self.arrays[name].lookup(place) for name in (row, column))
        form = first * parts + second.floordiv(self.sizes.buffer)
        below = as_form(self.arrays.below(row)) * parts
        return self.arrays.values([row, column], form, [Affine.const(count)], below).name

    def column(self, name: str) -> str:
        """The array of the columns of elements in their group."""
        if self.sizes.parts == 1:
            return name
        shape, size = list(map(as_form, self.arrays[name].shape)), self.sizes.buffer
        form = self.arrays[name].lookup([Affine.var("#0")]).mod(size)
        return self.arrays.values([name], form, shape, Affine.const(size)).name

    def sum_of(self, p: str, whole: Term) -> Term:
        """The sum for place p, over what is in rows: all in one part of a row have the same bounds."""
        arrays, found, parts = self.arrays, self.found, self.sizes.parts
        place, q, t = Affine.var(p), Affine.var(found.q), Affine.var(found.t)
        part = arrays.taken(self.rows, self.rows).lookup([place])
        column = found.column * parts + part.mod(parts)
        ptr = arrays[found.ptr]
        outer = ptr.fibre([part.floordiv(parts)], q).rows
        own = arrays.ptr([self.rows]).fibre([part], place).rows
        inner = arrays.ptr([self.others]).fibre([column], t).rows
        element = arrays.taken(self.column(found.y), self.rows).lookup([place])
        same = Constraint(arrays.taken(self.column(found.d), self.others).lookup([t]) - element, True)
        return self.nested((*own, *outer), (*inner, same), whole)


class _Spread(_Sums):
    """The sum of the elements of a product in the order of the rows in which it looks for something."""

    def __init__(self, program: Program, arrays: Arrays, found: _Product) -> None:
        super().__init__(program, arrays, found)
        self.rows, self.others = found.y, found.d

    def sum_of(self, p: str, whole: Term) -> Term:
        """The sum for place p, over what is found in a row; all of one row look for it there."""
        arrays, found = self.arrays, self.found
        place, q, t = Affine.var(p), Affine.var(found.q), Affine.var(found.t)
        row = arrays.taken(found.y, found.y).lookup([place])
        outer = arrays[found.ptr].fibre([arrays.taken(found.x, found.y).lookup([place])], q).rows
        own, inner = arrays.ptr([found.y]).fibre([row], place), arrays.ptr([found.d]).fibre([row], t)
        same = Constraint(arrays.taken(found.r, found.d).lookup([t]) - found.column, equality=True)
        return self.nested((*own.rows, *outer), (*inner.rows, same), whole)
