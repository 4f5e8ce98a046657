"""Maps over the same elements become one loop nest.

Maps of one shape become one map of several tensors if each reads the others only at its own element, or if
they read the same elements. Common subexpressions are computed once, memory is traversed once, and tensors
that only these maps read become scalars. Maps whose sums share an expensive value are fused too: these sums
become one loop.

Maps are fused if the whole costs no more than the parts, by the cost model of the machine (`MapCost`), so a
sum of products keeps its schedule.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from tadc.lattice.affine import Affine
from tadc.lattice.late_dataclasses import dataclass, field, replace
from tadc.passes.maps.blocks import (
    BlockNames,
    Renaming,
    apart,
    indices_bound,
    numbered,
    shared,
    values_of,
    with_values,
)
from tadc.passes.maps.counted_sums import with_counted_sums
from tadc.passes.maps.keyed_sums import keyed_map
from tadc.passes.maps.lifted_folds import with_lifted_folds
from tadc.passes.maps.map import Block, Constant, Fold, Let, Map, MapFunction, TensorDecl
from tadc.passes.maps.merge_folds import merged, simplified
from tadc.passes.maps.reads_of_maps import Reads
from tadc.passes.maps.same_maps import Likeness, likeness
from tadc.passes.terms.costs import MUCH_CODE
from tadc.passes.where import LEAVE_OUT, Merge, Where

Cost = tuple[float, int]


class MapCost(Protocol):
    """What a machine says of maps that are to be computed together."""

    def cost(self, item: Map, function: MapFunction) -> Cost:
        """What a map of a function costs, and how many of its reads have a better form than as they stand."""
        ...

    def is_small(self, item: Map, function: MapFunction) -> bool:
        """Whether a map has no schedule that could suffer."""
        ...

    def pays(self, whole: Cost, parts: Sequence[Cost]) -> bool:
        """Whether maps are better computed together, by the costs of the whole and of the parts."""
        ...


def fused(function: MapFunction, machine: MapCost, where: Where) -> MapFunction:
    """The maps of a function fused where it pays, or where that is given; those that nothing needs are gone.

    Raises CompileError for maps that are given as one and cannot be.
    """
    function = with_lifted_folds(with_counted_sums(function))
    values = [let.value for item in function.maps for let in item.body.lets]
    sums = [value for value in values if isinstance(value, Fold) and value.kind == "sum"]
    # A sum alone has nothing to share.
    is_one = len(function.maps) < 2 and len(sums) < 2 and not where.wanted(Merge)
    return function if is_one else _Fusion(function, machine, where).run()


@dataclass(eq=False)
class _FusedMaps:
    """Maps together: `item` computes the tensors that are needed outside, for all `members`."""

    item: Map
    members: list[Reads]
    cost: Cost | None = None
    needs: set[_FusedMaps] = field(default_factory=set["_FusedMaps"])

    @property
    def computed(self) -> set[str]:
        return {tensor.name for member in self.members for tensor in member.item.tensors}

    def reaches(self, other: _FusedMaps) -> bool:
        """Whether this needs another group, directly or not."""
        seen: set[_FusedMaps] = set()
        open_groups: list[_FusedMaps] = [self]
        while open_groups:
            group = open_groups.pop()
            if group is other:
                return True
            if group not in seen:
                seen.add(group)
                open_groups += group.needs
        return False


class _Fusion:
    def __init__(self, function: MapFunction, machine: MapCost, where: Where) -> None:
        self.function, self.machine, self.where = function, machine, where
        self.steps = where.wanted(Merge)
        self.shapes = function.tensors()
        self.returned = set(function.results)
        # Of maps together one at least has to be needed.
        self.maps = [Reads(simplified(item)) for item in needed(function)]
        self.readers: dict[str, list[Reads]] = {}
        for reads in self.maps:
            for tensor in reads.tensors:
                self.readers.setdefault(tensor, []).append(reads)
        self.by_tensor: dict[str, _FusedMaps] = {}
        self.by_element: dict[object, list[_FusedMaps]] = {}
        self.costs: dict[Likeness, Cost] = {}

    def run(self) -> MapFunction:
        """Form the groups, and put what they compute in order."""
        groups: list[_FusedMaps] = []
        for step in self.steps or ():
            computed = {tensor.name for reads in self.maps for tensor in reads.item.tensors}
            self.where.check_known(step, step.tensors, computed)
            if len(set(step.tensors)) < 2:
                self.where.refuse(step, "it names one tensor", "name those that are computed in one nest")
        for reads in self.maps:
            group = self.joined(reads) if self.steps is None else self.given(reads)
            if group is None:
                group = _FusedMaps(reads.item, [reads])
                groups.append(group)
            group.needs |= self.needed(reads) - {group}
            self.by_tensor |= dict.fromkeys(reads.item.names, group)
            for element in (*reads.elements, *reads.summed):
                self.by_element.setdefault(element, []).append(group)
        for group in groups:
            if len(group.members) > 1:
                tensors = tuple(tensor.name for member in group.members for tensor in member.item.tensors)
                self.where.note(Merge(tensors))
                self.where.formulas |= set(tensors) - set(group.item.names)
        return replace(self.function, maps=self.arranged(groups))

    def given(self, reads: Reads) -> _FusedMaps | None:
        """The group that a map becomes part of by a step that is given."""
        names = set(reads.item.names)
        for step in self.steps or ():
            first = next((self.by_tensor[name] for name in step.tensors if name in self.by_tensor), None)
            if not names.isdisjoint(step.tensors) and first is not None:
                if problem := self.problem(reads, first):
                    name = next(name for name in step.tensors if name in names)
                    self.where.refuse(step, f"`{name}` {problem}", LEAVE_OUT)
                self.join(reads, first)
                return first
        return None

    def needed(self, reads: Reads) -> set[_FusedMaps]:
        """The groups that compute what a map reads."""
        return {self.by_tensor[tensor] for tensor in reads.tensors if tensor in self.by_tensor}

    def joined(self, reads: Reads) -> _FusedMaps | None:
        """The group that a map has become part of."""
        for group in self.candidates(reads):
            if self.fits(reads, group) and self.join(reads, group):
                return group
        return None

    def candidates(self, reads: Reads) -> Iterator[_FusedMaps]:
        """Groups of the same shape that a map shares elements with, those first that it reads from."""
        if _is_marked(reads.item):
            return
        wanted = [self.by_tensor[t] for t, is_own in reads.tensors.items() if is_own and t in self.by_tensor]
        for element in (*reads.elements, *reads.summed):
            wanted += self.by_element.get(element, ())
        for group in dict.fromkeys(wanted):
            if _domain(group.item) == _domain(reads.item):
                yield group

    def fits(self, reads: Reads, group: _FusedMaps) -> bool:
        """Whether a map may become part of a group."""
        # More values at once do not fit in registers.
        if reads.operations + sum(m.operations for m in group.members) > MUCH_CODE:
            return False
        return not self.problem(reads, group)

    def problem(self, reads: Reads, group: _FusedMaps) -> str:
        """Why a map cannot become part of a group; nothing where it can."""
        for item in (group.item, reads.item):
            if _is_marked(item):
                return f"has a nest of its own kind beside it: `{item.name}` is no plain map"
        if _domain(group.item) != _domain(reads.item):
            return "has other elements, or elements of another type"
        for tensor, is_own in reads.tensors.items():
            if tensor in group.computed and not is_own:
                return f"reads other elements of `{tensor}` than its own"
        for other in self.needed(reads) - {group}:
            if other.reaches(group):
                return f"needs `{other.item.name}`, which needs what it would be merged with"
        return ""

    def join(self, reads: Reads, group: _FusedMaps) -> bool:
        """Make a map part of a group, if that is worth it or given."""
        members = [*group.members, reads]
        item = both(group.item, reads.item, self.function)
        item = _only(item, [tensor for tensor in item.tensors if self.is_needed(tensor, members)])
        item = replace(item, body=merged(shared(item.body)))
        cost: Cost | None = None
        if self.steps is None and not (self.is_small(reads.item) and self.is_small(group.item)):
            parts = [self.cost(reads.item), group.cost or self.cost(group.item)]
            cost = self.cost(item)
            if not self.machine.pays(cost, parts):
                return False
        group.item, group.members, group.cost = item, members, cost
        return True

    def cost(self, item: Map) -> Cost:
        """What a map costs, asked once for maps that are alike."""
        key = likeness(item, self.function, self.shapes).key
        if key not in self.costs:
            self.costs[key] = self.machine.cost(item, self.function)
        return self.costs[key]

    def is_small(self, item: Map) -> bool:
        """Whether a map has no schedule that could suffer."""
        return self.machine.is_small(item, self.function)

    def is_needed(self, tensor: TensorDecl, members: Sequence[Reads]) -> bool:
        """Whether a tensor is read by another map than these, or returned."""
        name = tensor.name
        return name in self.returned or any(r not in members for r in self.readers.get(name, ()))

    def arranged(self, groups: Sequence[_FusedMaps]) -> tuple[Map, ...]:
        """The maps of the groups, each after those that it needs."""
        place = {id(reads): n for n, reads in enumerate(self.maps)}
        placed: dict[_FusedMaps, None] = {}

        def put(group: _FusedMaps) -> None:
            if group in placed:
                return
            for needed in sorted(group.needs, key=last):
                put(needed)
            placed[group] = None

        def last(group: _FusedMaps) -> int:
            return place[id(group.members[-1])]

        for group in sorted(groups, key=last):
            put(group)
        return tuple(g.item if len(g.members) < 2 else numbered(g.item) for g in placed)


def needed(function: MapFunction) -> list[Map]:
    """The maps of a function that compute what it returns, or what one of them reads."""
    used = set(function.results)
    found: list[Map] = []
    for item in reversed(function.maps):
        if not used.isdisjoint(item.names):
            used.update(item.read)
            found.append(item)
    return found[::-1]


def both(first: Map, other: Map, function: MapFunction) -> Map:
    """One map for two over the same elements: what the other reads of the first's is a value."""
    body = first.body
    names = BlockNames({*function.sizes, *first.indices, *indices_bound(body)})
    renaming = apart(other.body, set(values_of(body)), names)
    own = dict(zip(other.indices, map(Affine.var, first.indices), strict=True))
    second = Renaming(renaming.values, {**renaming.forms, **own}).block(other.body)
    values = dict(zip(first.names, body.gives, strict=True))
    second = with_values(second, values)
    lets = (*_numbers(body), *_numbers(second), *_others(body), *_others(second))
    tensors = (*first.tensors, *other.tensors)
    return replace(first, tensors=tensors, body=Block(lets, (*body.gives, *second.gives)))


def _only(item: Map, wanted: Sequence[TensorDecl]) -> Map:
    given = dict(zip(item.names, item.body.gives, strict=True))
    gives = tuple(given[tensor.name] for tensor in wanted)
    return replace(item, tensors=tuple(wanted), body=replace(item.body, gives=gives))


def _numbers(block: Block) -> list[Let]:
    return [let for let in block.lets if isinstance(let.value, Constant)]


def _others(block: Block) -> list[Let]:
    return [let for let in block.lets if not isinstance(let.value, Constant)]


def _is_marked(item: Map) -> bool:
    """Whether a map is computed in a way of its own."""
    marks = item.marks
    is_own = item.order is not None or marks.parts or marks.joined or marks.kept
    return is_own or keyed_map(item) is not None


def _domain(item: Map) -> tuple[object, ...]:
    """What maps that are fused have in common."""
    return item.extents, item.tensors[0].type
