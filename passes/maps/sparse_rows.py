"""Maps whose one sum is that of a product of two sparse matrices, over what is in rows.

    S[p] = sum q where ptr[u] <= p < ptr[u + 1] and (bounds of q by u):
               sum t where (bounds of t by u and q) and d[t] = y[p]: f(q, t)

with u = row[p], an element of an array that increases. What is added does not depend on p, so the elements of
a row are computed together (`nest/primitives/rows_in_buffer.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tadc.frontend.terms import Domain
from tadc.lattice.affine import ZERO, Affine, Lookup
from tadc.lattice.fibre import fibre_of
from tadc.passes.maps.map import Apply, Block, Fold, IndexNumber, Let, Load, Map, Number


@dataclass(frozen=True)
class _OverRows:
    """Two sums for the elements of rows: the name, the row of an element, where the elements of rows begin
    and end, the loops of both sums, and the column of the element, or of what the inner loop runs over."""

    fold: str
    row: Lookup
    own: tuple[Affine, Affine]
    outer: tuple[str, Domain]
    inner: tuple[str, Domain]
    column: Affine

    @property
    def columns(self) -> Affine:
        """A number that columns are less than."""
        ((atom, _),) = self.column.terms
        assert isinstance(atom, Lookup)
        return atom.below


@dataclass(frozen=True)
class RowSearch(_OverRows):
    """A sum that looks for what is in the row of its element: the columns that are looked for, what is in the
    row, and what is summed up of it."""

    asked: Affine
    load: Let
    block: Block


@dataclass(frozen=True)
class RowProduct(_OverRows):
    """A sum of products over what is in rows: the column of what is added, and that itself."""

    added: Affine
    block: Block


def _sum_of(item: Map) -> tuple[str, Fold, str] | None:
    """The one sum that a map over one index is, with its name and the index."""
    if item.order is not None or len(item.indices) != 1 or len(item.body.lets) != 1:
        return None
    (let,), fold = item.body.lets, item.body.lets[0].value
    return (let.names[0], fold, item.indices[0]) if isinstance(fold, Fold) else None


def _inner_sum(fold: Fold) -> tuple[tuple[Let, ...], Fold] | None:
    """Of a sum over one index of a sum over one index the inner one, and what stands before it."""
    lets, let = _last(fold.body)
    inner = let.value if let is not None else None
    if not isinstance(inner, Fold) or {fold.kind, inner.kind} != {"sum"}:
        return None
    one_each = len(fold.indices) == len(inner.indices) == len(inner.body.gives) == 1
    return (lets, inner) if one_each else None


def in_rows(item: Map) -> RowProduct | RowSearch | None:
    """The product or the search in rows that a map is; None for any other map."""
    found = _sum_of(item)
    return None if found is None else sum_in_rows(*found)


def sum_in_rows(name: str, fold: Fold, index: str) -> RowProduct | RowSearch | None:
    """The product or the search that a sum is for the elements of an index; None where it is neither."""
    return _product_of(name, fold, index) or _search_of(name, fold, index)


def _product_of(name: str, fold: Fold, index: str) -> RowProduct | None:
    """The product that a sum is for the elements of an index; None where it is none."""
    if (sums := _inner_sum(fold)) is None:
        return None
    lets, inner = sums
    own = tuple(row for row in fold.rows if row.form.coefficient(index))
    told = tuple(row for row in inner.rows if row.equality)
    outer, bounds = (tuple(r for r in rows if r not in (*own, *told)) for rows in (fold.rows, inner.rows))
    row_of, ends = _row(own, index)
    columns = _columns(told, index, inner.indices[0])
    if row_of is None or ends is None or columns is None:
        return None
    block = Block((*lets, *inner.body.lets), inner.body.gives)
    forms = [_without(row.form, row_of) for row in (*outer, *bounds)]
    if any(index in form.variables for form in (*forms, *_forms(block))):
        return None
    q, t = fold.indices[0], inner.indices[0]
    return RowProduct(name, row_of, ends, (q, outer), (t, bounds), *columns, block)


def _search_of(name: str, fold: Fold, index: str) -> RowSearch | None:
    """The search that a sum is for the elements of an index; None where it is none.

    S[p] = sum q where ptr[u] <= p < ptr[u + 1] and (bounds of q by p):
               sum t where (bounds of t by u) and r[t] = c(q): f(q) * v[t]
    """
    if (sums := _inner_sum(fold)) is None:
        return None
    lets, inner = sums
    (q,), (t,) = fold.indices, inner.indices
    own = tuple(row for row in fold.rows if row.form.coefficient(index))
    told = tuple(row for row in inner.rows if row.equality)
    row, ends = _row(own, index)
    if row is None or ends is None or len(told) != 1:
        return None
    outer, bounds = (tuple(r for r in rows if r not in (*own, *told)) for rows in (fold.rows, inner.rows))
    atoms = [atom for atom, _ in told[0].form.terms if isinstance(atom, Lookup)]
    here = [atom for atom in atoms if atom.at == (Affine.var(t),)]
    if len(here) != 1 or {q, index} & {n for r in bounds for n in _without(r.form, row).variables}:
        return None
    column, k = Affine.atom(here[0]), told[0].form.coefficient(here[0])
    asked, block = column - told[0].form * k, Block((*lets, *inner.body.lets), inner.body.gives)
    load = _factor(block, t)
    if abs(k) != 1 or load is None or {t, index} & asked.variables or _reads(load, q, index):
        return None
    others = [form for let in block.lets if let is not load for form in _forms(Block((let,), ()))]
    if any({t, index} & form.variables for form in others):
        return None
    return RowSearch(name, row, ends, (q, outer), (t, bounds), column, asked, load, block)


def _reads(load: Let, *names: str) -> bool:
    """Whether a load depends on some indices."""
    assert isinstance(load.value, Load)
    return any(name in form.variables for form in load.value.at for name in names)


def _factor(block: Block, t: str) -> Let | None:
    """The one load by an index in a block, of which what it gives is a multiple."""
    loads = [let for let in block.lets if isinstance(let.value, Load) and _reads(let, t)]
    if len(loads) != 1 or any(len(let.names) != 1 for let in block.lets):
        return None
    (load,), made = loads, {let.names[0]: let.value for let in block.lets}
    moving = {load.names[0]}
    for let in block.lets:
        value = let.value
        met = [name for name in value.operands if name in moving] if isinstance(value, Apply) else []
        if not isinstance(value, Apply | Load | Number | IndexNumber) or len(met) > 1:
            return None
        if met and isinstance(value, Apply) and (value.function not in ("mul", "neg") or value.exponent):
            return None
        moving.update(let.names if met else ())
    return load if block.gives[0] in moving and block.gives[0] in made else None


def _last(block: Block) -> tuple[tuple[Let, ...], Let | None]:
    """The values of a block but the one that it gives, and that, if no other uses anything else of it."""
    *others, last = block.lets
    is_last = block.gives == last.names and not any(isinstance(let.value, Fold) for let in others)
    return tuple(others), last if is_last else None


def _row(rows: Domain, index: str) -> tuple[Lookup | None, tuple[Affine, Affine] | None]:
    """The row of an element, and where it begins and the next one does, over the row as the place."""
    fibre = fibre_of(index, rows)
    row = fibre.values[0].lookup if fibre is not None and len(fibre.values) == 1 else None
    if fibre is None or row is None or row.at != (Affine.var(index),) or not fibre.is_all(rows):
        return None, None
    return row, (Affine.atom(fibre.start), Affine.atom(fibre.stop))


def _columns(told: Domain, index: str, t: str) -> tuple[Affine, Affine] | None:
    """The column of an element, and that of what is added to it."""
    atoms = [atom for row in told for atom, k in row.form.terms if isinstance(atom, Lookup) and abs(k) == 1]
    element = next((Affine.atom(atom) for atom in atoms if atom.at == (Affine.var(index),)), None)
    added = next((Affine.atom(atom) for atom in atoms if atom.at == (Affine.var(t),)), None)
    if len(told) != 1 or element is None or added is None:
        return None
    return (element, added) if told[0].form in (element - added, added - element) else None


def _without(form: Affine, row: Lookup) -> Affine:
    return form.replace(lambda atom: ZERO if atom == row else None)


def _forms(block: Block) -> Iterator[Affine]:
    """All forms of the values of a block of loads and functions."""
    for let in block.all_lets():
        match let.value:
            case Load(at=at):
                yield from at
            case IndexNumber(form=form):
                yield form
            case _:
                pass
