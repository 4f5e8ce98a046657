"""Maps over all entries that run in the loop of a sum over the entries of each row.

    y[i] = sum e where ptr[i] <= e <= ptr[i + 1] - 1: v[e] * x[col[e]]
    dv[e] = dy[ptr.owner[e]] * x[col[e]]

The rows follow one another, so all their loops together pass the entries once, in order: what both read is
read once, and the row of an entry is known there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine, Constraint, Floor, Lookup
from tadc.lattice.fibre import fibre_of
from tadc.lattice.polyhedron import implied
from tadc.passes.maps.blocks import Names, Renaming, apart, values_of
from tadc.passes.maps.map import Apply, Block, Choice, Fold, IndexNumber, Let, Load, Map, MapFunction, Marks
from tadc.passes.terms.costs import WEIGHTS

MOST_OPERATIONS = 8
"""A map of more operations is worth vectors, which a loop over the entries of a row has none of."""


def pairs_along(function: MapFunction) -> dict[int, int]:
    """The numbers of maps over rows, each with that of the map over entries that runs in its loop."""
    found: dict[int, int] = {}
    rows = [n for n, item in enumerate(function.maps) if row_entries(item, function) is not None]
    for number, item in enumerate(function.maps) if rows else ():
        of = next((n for n in rows if n not in found and runs_along(item, function.maps[n], function)), None)
        if of is not None and _can_meet(function, *sorted((number, of))):
            found[of] = number
    return found


def row_entries(item: Map, function: MapFunction) -> str | None:
    """The array whose ranges a map sums over, one for each element; None for any other map."""
    lets, indices = item.body.lets, item.indices
    fold = lets[0].value if len(lets) == 1 and len(indices) == 1 else None
    if not isinstance(fold, Fold) or fold.kind != "sum" or len(fold.indices) != 1 or len(item.tensors) != 1:
        return None
    if item.order is not None or item.marks != Marks() or item.tensors[0].type != fold.type:
        return None
    if not item.extents[0].is_constant or not item.extents[0].constant:
        return None
    fibre = fibre_of(fold.indices[0], fold.rows)
    if fibre is None or not fibre.is_all(fold.rows) or fibre.values != (Affine.var(indices[0]),):
        return None
    tensor = function.tensors()[fibre.array]
    return tensor.name if tensor.increasing and tensor.shape == (item.extents[0] + 1,) else None


def runs_along(item: Map, outer: Map, function: MapFunction) -> bool:
    """Whether a map over entries reads what the sums of rows do, and has no need of vectors."""
    ptr = row_entries(outer, function)
    if ptr is None or item.order is not None or item.marks != Marks() or len(item.indices) != 1:
        return False
    below = function.tensors()[ptr].below
    if below is None or item.extents[0] != below - 1 or not below.is_constant:
        return False
    lets = list(item.body.all_lets())
    if any(isinstance(let.value, Fold) for let in lets) or _operations(lets) > MOST_OPERATIONS:
        return False
    (index,), fold = item.indices, outer.body.lets[0].value
    assert isinstance(fold, Fold)
    same = Renaming(forms={index: Affine.var(fold.indices[0])})
    far = {let.value for let in fold.body.all_lets() if isinstance(let.value, Load) and _is_far(let.value)}
    made = {tensor.name for tensor in (*item.tensors, *outer.tensors)}
    reads = {load.tensor for each in (item, outer) for load in each.loads()}
    return made.isdisjoint(reads) and any(same.value(load) in far for load in item.loads())


def entries_in_row(item: Map, outer: Map, function: MapFunction) -> tuple[Block, Block]:
    """What a map computes of an entry of no row, and of one of a row that the indices of a map over rows and
    of its sum say; names are other than those of the sum."""
    (index,), fold = item.indices, outer.body.lets[0].value
    assert isinstance(fold, Fold)
    place, row = (Affine.var(fold.indices[0]),), Affine.var(outer.indices[0])
    values = apart(item.body, set(values_of(outer.body)), Names()).values
    block = Renaming(values, {index: place[0]}).block(item.body)
    ptr = row_entries(outer, function)
    owners = {tensor.name for tensor in function.arguments if tensor.owner_of == ptr}

    def known(atom: str | Floor | Lookup) -> Affine | None:
        is_own = isinstance(atom, Lookup) and atom.array in owners and atom.at == place
        return row if is_own else None

    facts = (Constraint(row), Constraint(outer.extents[0] - 1 - row))
    return block, _settled(block, lambda form: form.replace(known), facts)


def _is_far(load: Load) -> bool:
    """Whether an index array says where an element is."""
    return any(any(form.lookups()) for form in load.at)


def _operations(lets: Sequence[Let]) -> int:
    """What a map computes, those that take long counted as often."""
    applied = (let.value.function for let in lets if isinstance(let.value, Apply))
    return sum(WEIGHTS.get(function, 1) for function in applied)


def _can_meet(function: MapFunction, first: int, last: int) -> bool:
    """Whether a map may run where an earlier one does."""
    made = {tensor.name for item in function.maps[first:last] for tensor in item.tensors}
    return made.isdisjoint(load.tensor for load in function.maps[last].loads())


def _settled(block: Block, rule: Callable[[Affine], Affine], facts: Domain) -> Block:
    """A block where forms are others, without choices that facts make."""
    names: dict[str, str] = {}
    lets: list[Let] = []
    for let in block.lets:
        value = Renaming(names).value(let.value)
        match value:
            case Load(tensor, at, type):
                value = Load(tensor, tuple(map(rule, at)), type)
            case IndexNumber(form, type):
                value = IndexNumber(rule(form), type)
            case Choice(rows, then, otherwise, type):
                rows = tuple(Constraint(rule(row.form), row.equality) for row in rows)
                then = _settled(then, rule, (*facts, *rows))
                if all(implied(form, facts) for row in rows for form in row.inequalities):
                    lets += then.lets
                    names.update(zip(let.names, then.gives, strict=True))
                    continue
                value = Choice(rows, then, _settled(otherwise, rule, facts), type)
            case _:
                pass
        lets.append(Let(let.names, value, let.place))
    return Block(tuple(lets), tuple(names.get(name, name) for name in block.gives))
