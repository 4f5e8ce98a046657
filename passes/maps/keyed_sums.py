"""Sums with an equality that says to which element a summand belongs:

    S[i] = sum{q, t} f(q, t) where the bounds of q and t hold, and b[q, t] = a[i]

The bounds depend on i by way of its group alone: a block of so many elements, `i // 64`, or a fibre, `row[i]`
where `ptr[row[i]] <= i < ptr[row[i] + 1]`. So loops over the elements of a group and over what is summed may
be interchanged, and each summand is added where it belongs (`nest/primitives/scattered.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from tadc.frontend.terms import Domain
from tadc.lattice.affine import ZERO, Affine, Constraint, Floor, Lookup
from tadc.lattice.fibre import Fibre, fibre_of
from tadc.lattice.late_dataclasses import dataclass
from tadc.passes.maps.blocks import forms_of
from tadc.passes.maps.map import Applied, Block, Constant, Fold, IndexNumber, Let, Load, Map, Type
from tadc.passes.terms.costs import BUFFER, ELEMENT

Loop = tuple[str, Domain]
"""An index and its bounds."""


@dataclass(frozen=True)
class KeyedSum:
    """The sum of a name over `loops`, in loops `around` that elements have too: summands have the key
    `added`, and belong to the elements whose key, `asked`, is equal.

    `block` is the summand. In loops around it is a multiple of what one `load` of it reads, and nothing else
    of it depends on the loops of the sum.
    """

    fold: str
    around: tuple[Loop, ...]
    loops: tuple[Loop, ...]
    asked: Affine
    added: Affine
    block: Block
    load: Let | None
    group: Fibre | int | None

    @property
    def has_room(self) -> bool:
        """Whether the keys are elements of index arrays: those of elements are not their indices."""
        return self.added.lookup is not None and self.asked.lookup is not None

    def room(self, type: Type) -> Affine | None:
        """How many keys there are, if memory that is near holds a number of a type for each."""
        keys = self.added.lookup.below if self.added.lookup is not None else None
        if keys is None or not keys.is_constant or keys.constant * ELEMENT[type] > BUFFER:
            return None
        return keys


def keyed_map(item: Map) -> KeyedSum | None:
    """The sum in groups that a map is; None for any other map."""
    if item.order is not None or len(item.indices) != 1 or len(item.body.lets) != 1:
        return None
    (let,), fold = item.body.lets, item.body.lets[0].value
    found = keyed_sum(let.names[0], fold, item.indices[0]) if isinstance(fold, Fold) else None
    return found if found is not None and found.group is not None else None


def keyed_sum(name: str, fold: Fold, index: str) -> KeyedSum | None:
    """How the summands of a sum belong to the elements of an index; None where no equality says so."""
    loops, ends, block = _nested(fold)
    counts = range(len(loops)) if fold.kind == "sum" else ()
    found = (_keyed(name, index, loops[:count], loops[count:], ends, block) for count in counts)
    return next(filter(None, found), None)


def _nested(fold: Fold) -> tuple[list[Loop], Domain, Block]:
    """The loops of a sum and of the sums that it is of, bounds that are of none of them, and the summand."""
    loops, ends, before = dict[str, list[Constraint]](), list[Constraint](), list[Let]()
    while True:
        loops |= {index: [] for index in fold.indices}
        for row in fold.rows:
            own = [index for index in loops if index in row.form.variables]
            (loops[own[-1]] if own else ends).append(row)
        *others, last = fold.body.lets
        inner = last.value
        is_sum = isinstance(inner, Fold) and inner.kind == fold.kind and inner.loop == "seq"
        if not isinstance(inner, Fold) or not is_sum or fold.body.gives != last.names:
            block = Block((*before, *fold.body.lets), fold.body.gives)
            return [(index, tuple(rows)) for index, rows in loops.items()], tuple(ends), block
        before, fold = [*before, *others], inner


def _keyed(
    name: str, index: str, around: Sequence[Loop], loops: Sequence[Loop], ends: Domain, block: Block
) -> KeyedSum | None:
    """How the summands of the loops inside belong to elements, which are those of an index and of loops."""
    own, outside = {each for each, _ in loops}, {index, *(each for each, _ in around)}
    told = [row for _, rows in (*around, *loops) for row in rows if row.equality]
    key = _key(told[0], own, index) if len(told) == 1 else None
    if key is None or any(block.folds()):
        return None
    bounds = [(each, tuple(row for row in rows if not row.equality)) for each, rows in loops]
    forms = [row.form for _, rows in bounds for row in rows]
    group = _group(index, ends, forms)
    if group is None or any(not outside.isdisjoint(group[1](form).variables) for form in forms):
        return None
    asked, added = key
    load = _factor(block, own) if around else None
    if around:
        if load is None or asked.lookup is None or not outside.isdisjoint(_variables(load)):
            return None
        if any(not {index, *own}.isdisjoint(_variables(let)) for let in block.lets if let is not load):
            return None
    elif asked.lookup is not None and any(index in form.variables for form in forms_of(block)):
        return None
    return KeyedSum(name, tuple(around), tuple(bounds), asked, added, block, load, group[0])


def _key(row: Constraint, own: Collection[str], index: str) -> tuple[Affine, Affine] | None:
    """The key of an element, and of a summand, which are equal where a row holds: an index, or elements of
    index arrays that have equally many values."""
    if abs(row.form.coefficient(index)) == 1:
        added = row.form.solved(index)
        return None if added is None else (Affine.var(index), added)
    for atom, k in row.form.terms:
        if isinstance(atom, Lookup) and abs(k) == 1 and not atom.variables.isdisjoint(own):
            asked = row.form.solved(atom)
            if asked is None or asked.lookup is None or asked.lookup.below != atom.below:
                return None
            return (asked, Affine.atom(atom)) if asked.variables.isdisjoint(own) else None
    return None


def _group(
    index: str, ends: Domain, forms: Sequence[Affine]
) -> tuple[Fibre | int | None, Callable[[Affine], Affine]] | None:
    """The group of an element, by way of which bounds depend on it, and how these are without the group."""
    if ends:
        fibre = fibre_of(index, ends)
        if fibre is None or fibre.owner is None or not fibre.is_all(ends):
            return None
        owner = fibre.owner
        return fibre, lambda form: form.replace(lambda atom: ZERO if atom == owner else None)
    counts = {
        floor.denominator for form in forms for floor in form.floors() if floor.numerator == Affine.var(index)
    }
    if len(counts) > 1:
        return None
    block = Floor(Affine.var(index), *counts) if counts else None
    return next(iter(counts), None), lambda form: form.replace(lambda atom: ZERO if atom == block else None)


def _variables(let: Let) -> frozenset[str]:
    """The indices that the value of a name depends on, but by way of other values."""
    return frozenset[str]().union(*(form.variables for form in forms_of(Block((let,), ()))))


def _factor(block: Block, own: Collection[str]) -> Let | None:
    """The one load by some indices in a block, of which what it gives is a multiple."""
    loads = [let for let in block.lets if not _variables(let).isdisjoint(own)]
    if len(loads) != 1 or not isinstance(loads[0].value, Load):
        return None
    moving = {loads[0].names[0]}
    for let in block.lets:
        value = let.value
        met = [name for name in value.operands if name in moving] if isinstance(value, Applied) else []
        if not isinstance(value, Applied | Load | Constant | IndexNumber) or len(met) > 1:
            return None
        if met and isinstance(value, Applied) and (value.function not in ("mul", "neg") or value.exponent):
            return None
        moving.update(let.names if met else ())
    return loads[0] if block.gives[0] in moving else None
