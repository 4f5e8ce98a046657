"""Maps that are computed at the points of another map's sum: `at e 1: y, dv`.

    y[i] = sum e where ptr[i] <= e <= ptr[i + 1] - 1: v[e] * x[col[e]]
    dv[e] = dy[ptr.owner[e]] * x[col[e]]

The loops over the entries of all rows visit each entry once, in order, so operands of both maps are read once
and the row of an entry is known. The same holds for the loops over i and k of `sum k: x[i, k]`, for a map
over both.
"""

from __future__ import annotations

from tadc.lattice.affine import Affine, box
from tadc.lattice.fibre import Fibre, fibre_of
from tadc.lattice.late_dataclasses import dataclass, replace
from tadc.passes.maps.blocks import Renaming
from tadc.passes.maps.map import Applied, Fold, Map, MapFunction, Marks
from tadc.passes.maps.run_together import chain_number
from tadc.passes.terms.costs import SCATTERED, WEIGHTS
from tadc.passes.where import LEAVE_OUT, AtRows, Where


@dataclass(frozen=True)
class AtSum:
    """The sum of a map `over`, at whose points a map `item` is computed: those of a `fibre`, else of a box.

    Elements of `item` are those `at` forms of the indices of `over` and of the sum.
    """

    over: Map
    item: Map
    fold: Fold
    fibre: Fibre | None
    at: tuple[Affine, ...]


def with_maps_at_sums(function: MapFunction, where: Where) -> MapFunction:
    """The function, with maps marked that run at the points of a sum: those that steps name, else those over
    all entries of rows that read what sums over the rows do, and have no need of vectors."""
    found = _given(function, where) if where.given is not None else _chosen(function)
    for pair in found:
        if where.given is None:
            names = (name for item in (pair.over, pair.item) for name in item.names)
            where.note(AtRows(pair.fold.indices, 1, where.with_merged(names)))
        marks = Marks(chain=chain_number(function))
        both = [replace(item, marks=marks) for item in (pair.over, pair.item)]
        maps, (first, last) = function.maps, sorted(map(function.maps.index, (pair.over, pair.item)))
        function = replace(function, maps=(*maps[:first], *both, *maps[first + 1 : last], *maps[last + 1 :]))
    return function


def pair_of(function: MapFunction, item: Map) -> AtSum | None:
    """The sum of a map with what is marked to be computed at its points; None for any other map."""
    if not item.marks.at_sum:
        return None
    over, inside = (each for each in function.maps if each.marks == item.marks)
    plain, other = (replace(each, marks=Marks()) for each in (over, inside))
    return at_sum(plain, other, function) if item == over else None


def _chosen(function: MapFunction) -> list[AtSum]:
    """For each sum over rows the first map that is worth to be computed at its points."""
    found: list[AtSum] = []
    folds = [(item, _sum_of(item)) for item in function.maps]
    sums = [item for item, fold in folds if fold and fibre_of(fold.indices[0], fold.rows)]
    for item in function.maps if sums else ():
        pairs = (at_sum(over, item, function) for over in sums if all(over is not p.over for p in found))
        pair = next((pair for pair in pairs if pair is not None and _is_worth(pair)), None)
        if pair is not None and _can_meet(function, pair):
            found.append(pair)
    return found


def _given(function: MapFunction, where: Where) -> list[AtSum]:
    """The pairs of the steps that name an index of a sum. Raises CompileError where one does not fit."""
    found, made = list[AtSum](), {tensor.name: item for item in function.maps for tensor in item.tensors}
    for step in where.wanted(AtRows) or ():
        maps = list({made[name].tensors: made[name] for name in step.tensors if name in made}.values())
        fold = _sum_of(maps[0]) if maps else None
        if fold is None or step.indices != fold.indices:
            continue
        where.check_known(step, step.tensors, made)
        pair = at_sum(maps[0], maps[1], function) if len(maps) == 2 and step.rows == 1 else None
        if pair is None or not _can_meet(function, pair) or any(pair.over is p.over for p in found):
            text = f"`{step.tensors[-1]}` is not computed at the points of the sum over `{fold.indices[0]}`"
            where.refuse(step, text, LEAVE_OUT)
        where.note(step)
        found.append(pair)
    return found


def at_sum(over: Map, item: Map, function: MapFunction) -> AtSum | None:
    """How a map is computed at the points of another one's sum; None where these are not its elements."""
    fold = _sum_of(over)
    if fold is None or item.order is not None or item.marks != Marks():
        return None
    made = {tensor.name for tensor in (*item.tensors, *over.tensors)}
    if not made.isdisjoint(name for each in (item, over) for name in each.read):
        return None
    point, rows = Affine.var(fold.indices[0]), tuple(map(Affine.var, over.indices))
    if item.extents and item.extents[:-1] == over.extents:
        is_box = set(fold.rows) == set(box(fold.indices, item.extents[-1:]))
        return AtSum(over, item, fold, None, (*rows, point)) if is_box else None
    fibre = fibre_of(fold.indices[0], fold.rows)
    if fibre is None or not fibre.is_all(fold.rows) or fibre.values != rows:
        return None
    count, ptr = over.extents[0], function.tensors()[fibre.array]
    is_whole = ptr.increasing and ptr.below is not None and item.extents == (ptr.below - 1,)
    is_known = count.is_constant and count.constant > 0 and ptr.shape == (count + 1,)
    return AtSum(over, item, fold, fibre, (point,)) if is_whole and is_known else None


def _sum_of(item: Map) -> Fold | None:
    """The sum over one index that a map is and nothing else."""
    fold = item.body.lets[0].value if len(item.body.lets) == 1 and len(item.tensors) == 1 else None
    if not isinstance(fold, Fold) or (fold.kind, len(fold.indices)) != ("sum", 1):
        return None
    is_plain = item.order is None and item.marks == Marks() and item.tensors[0].type == fold.type
    return fold if is_plain and item.indices else None


def _is_worth(pair: AtSum) -> bool:
    """Whether a map over entries reads what sums over rows do, and has no need of vectors: its operations
    take no longer than to store an element anywhere and to load it."""
    if pair.fibre is None or any(pair.item.body.folds()):
        return False
    same = Renaming(forms=dict(zip(pair.item.indices, pair.at, strict=True)))
    far = {load for load in pair.fold.body.loads() if any(form.has_lookups for form in load.at)}
    applied = (let.value for let in pair.item.body.all_lets() if isinstance(let.value, Applied))
    operations = sum(WEIGHTS.get(value.function, 1) for value in applied)
    return operations <= 2 * SCATTERED and any(same.value(load) in far for load in pair.item.loads())


def _can_meet(function: MapFunction, pair: AtSum) -> bool:
    """Whether the later of two maps may run where the other does."""
    first, last = sorted(map(function.maps.index, (pair.over, pair.item)))
    made = {tensor.name for item in function.maps[first:last] for tensor in item.tensors}
    return made.isdisjoint(function.maps[last].read)
