"""Maps over the same elements in one nest of loops.

Maps of one shape become a `tad.maps` where each reads what another of them computes at its own element alone,
or where they read the same elements. What they share is computed once, memory is passed once, and a tensor
that only they read is a value and no tensor any more. So do maps whose sums share something dear: these sums
are one `tad.sums`, as they are in one map.

It is done where the whole costs no more than the parts do, as a machine says that computes them
(`FusionCost`), so a sum of products keeps the schedule it has. All else here is the same for every machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from tadc.dialect.mlir import ir
from tadc.dialect.shapes import sizes_of
from tadc.lattice.affine import Affine
from tadc.passes.maps.buffers import maps_of
from tadc.passes.maps.equal_maps import alike
from tadc.passes.maps.map_reads import MapReads
from tadc.passes.maps.marks import JOINED, PARTS
from tadc.passes.maps.merge_sums import merge_sums, sums_of
from tadc.passes.maps.share_values import Key, share_values
from tadc.passes.maps.tile_values import all_yielded, region_operations
from tadc.passes.maps.unused import erase_unused

MOST_OPERATIONS = 250
"""The most operations of maps together: more values at once do not fit in registers."""

MOST_MAPS = 8
"""The most maps together: memory is slow where it is written in many places by turns."""


class FusionCost(Protocol):
    """What a machine says of maps that are to be computed together."""

    def cost(self, op: Any, forms: Mapping[Any, Affine]) -> tuple[float, int]:
        """What a map costs, and how much of it has a better form than as it stands.

        `forms` has those of the sizes.
        """
        ...

    def is_small(self, op: Any, forms: Mapping[Any, Affine], point: Any) -> bool:
        """Whether a map has no schedule that could suffer; at `point`, after it, code may be made."""
        ...

    def pays(self, whole: tuple[float, int], parts: Sequence[tuple[float, int]]) -> bool:
        """Whether maps are better computed together, by the costs of the whole and of the parts."""
        ...


def fuse_function(function: Any, machine: FusionCost) -> None:
    """Fuse the maps of a function where it pays."""
    with function.context, ir.Location.unknown(function.context):
        _Fusion(function, machine).run()


@dataclass(eq=False)
class _Group:
    """Maps together: `op` computes the `tensors` that are needed outside, for all of its `members`."""

    op: Any
    members: list[MapReads]
    tensors: list[Any]
    price: tuple[float, int] | None = None
    needs: set[_Group] = field(default_factory=set["_Group"])

    @property
    def computed(self) -> set[Any]:
        """The tensors of all members."""
        return {value for member in self.members for value in member.op.results}

    def reaches(self, other: _Group) -> bool:
        """Whether this needs another group, directly or not."""
        seen: set[_Group] = set()
        open_groups: list[_Group] = [self]
        while open_groups:
            group = open_groups.pop()
            if group is other:
                return True
            if group not in seen:
                seen.add(group)
                open_groups += group.needs
        return False


class _Fusion:
    def __init__(self, function: Any, machine: FusionCost) -> None:
        self.function, self.machine = function, machine
        self.block = function.regions[0].blocks[0]
        self.forms = {value: Affine.var(f"s{n}") for n, value in enumerate(sizes_of(function))}
        # Of maps together one at least has to be needed.
        erase_unused(self.block)
        for op in maps_of(function):
            block = op.regions[0].blocks[0]
            if op.name == "tad.map" and len(sums_of(block)) > 1:
                share_values(block)
                merge_sums(block)
        self.maps = [MapReads(op, self.forms) for op in maps_of(function)]
        self.end = list(self.block.operations)[-1].operation
        self.returned = set(self.end.operands)
        self.readers: dict[Any, list[MapReads]] = {}
        for reads in self.maps:
            for tensor in reads.tensors:
                self.readers.setdefault(tensor, []).append(reads)
        self.by_tensor: dict[Any, _Group] = {}
        self.by_element: dict[Any, list[_Group]] = {}
        self.by_sum: dict[Any, list[_Group]] = {}
        self.prices: dict[Key, tuple[float, int]] = {}

    def run(self) -> None:
        """Form the groups, and put what they compute in order."""
        groups: list[_Group] = []
        for reads in self.maps:
            group = self.joined(reads)
            if group is None:
                group = _Group(reads.op, [reads], list(reads.op.results))
                groups.append(group)
            group.needs |= self.needed(reads) - {group}
            self.by_tensor |= dict.fromkeys(reads.op.results, group)
            for element in reads.elements:
                self.by_element.setdefault(element, []).append(group)
            for element in reads.summed:
                self.by_sum.setdefault(element, []).append(group)
        if len(groups) < len(self.maps):
            self.arrange(groups)

    def needed(self, reads: MapReads) -> set[_Group]:
        """The groups that compute what a map reads."""
        return {self.by_tensor[tensor] for tensor in reads.tensors if tensor in self.by_tensor}

    def joined(self, reads: MapReads) -> _Group | None:
        """The group that a map has become part of."""
        for group in self.candidates(reads):
            if self.fits(reads, group) and self.join(reads, group):
                return group
        return None

    def candidates(self, reads: MapReads) -> Iterator[_Group]:
        """Groups of the same shape that a map shares elements with, those first that it reads from."""
        wanted = [self.by_tensor[t] for t, is_own in reads.tensors.items() if is_own and t in self.by_tensor]
        for element in reads.elements:
            wanted += self.by_element.get(element, ())
        for element in reads.summed:
            wanted += self.by_sum.get(element, ())
        if not _marked(reads.op):
            yield from (
                g for g in dict.fromkeys(wanted) if _domain(g.op) == _domain(reads.op) and not _marked(g.op)
            )

    def fits(self, reads: MapReads, group: _Group) -> bool:
        """Whether a map may become part of a group."""
        if len(group.members) >= MOST_MAPS:
            return False
        if reads.operations + sum(m.operations for m in group.members) > MOST_OPERATIONS:
            return False
        computed = group.computed
        if not all(is_own for tensor, is_own in reads.tensors.items() if tensor in computed):
            return False
        return not any(other.reaches(group) for other in self.needed(reads) - {group})

    def join(self, reads: MapReads, group: _Group) -> bool:
        """Make a map part of a group, if that is worth it."""
        members = [*group.members, reads]
        tensors = [value for value in (*group.tensors, *reads.op.results) if self.is_needed(value, members)]
        made = self.merged(group, reads, tensors)
        price: tuple[float, int] | None = None
        if not self.is_small(reads.op) or not self.is_small(group.op):
            parts = [self.price(reads.op), group.price or self.price(group.op)]
            price = self.price(made)
            if not self.machine.pays(price, parts):
                made.erase()
                return False
        if len(group.members) > 1:
            group.op.erase()
        group.op, group.members, group.tensors, group.price = made, members, tensors, price
        return True

    def is_small(self, op: Any) -> bool:
        """Whether a map has no schedule that could suffer."""
        return self.machine.is_small(op, self.forms, ir.InsertionPoint(self.end))

    def price(self, op: Any) -> tuple[float, int]:
        """What a map costs, asked once for maps that are alike."""
        key = alike(op, set(self.forms))
        if key not in self.prices:
            self.prices[key] = self.machine.cost(op, self.forms)
        return self.prices[key]

    def is_needed(self, tensor: Any, members: Sequence[MapReads]) -> bool:
        """Whether a tensor is read by another map than these, or returned."""
        return tensor in self.returned or any(r not in members for r in self.readers.get(tensor, ()))

    def merged(self, group: _Group, reads: MapReads, tensors: Sequence[Any]) -> Any:
        """What computes these tensors of a group and of a map, at the end of the function."""
        first, op, end = group.op, reads.op, self.end
        made = ir.Operation.create(
            "tad.maps", results=[value.type for value in tensors], operands=list(first.operands),
            attributes={"domain": first.attributes["domain"]}, regions=1,
            loc=ir.Location.fused([value.location for value in tensors]), ip=ir.InsertionPoint(end),
        )  # fmt: skip
        given = first.regions[0].blocks[0].arguments
        block = ir.Block.create_at_start(
            made.regions[0], [v.type for v in given], [v.location for v in given]
        )
        computed = [*group.tensors, *op.results]
        both = [*_moved(first, block, end), *_moved(op, block, end)]
        last = ir.Operation.create("tad.yields", operands=both, loc=op.location, ip=ir.InsertionPoint(block))
        values = dict(zip(computed, last.operands, strict=True))
        for read in [r for r in region_operations(block) if r.name == "tad.read" and r.operands[0] in values]:
            read.results[0].replace_all_uses_with(values[read.operands[0]])
            read.erase()
        values = dict(zip(computed, last.operands, strict=True))
        wanted = [values[value] for value in tensors]
        ir.Operation.create("tad.yields", operands=wanted, loc=op.location, ip=ir.InsertionPoint(last))
        last.erase()
        share_values(block)
        merge_sums(block)
        return made

    def arrange(self, groups: Sequence[_Group]) -> None:
        """Put the groups in the place of the maps, each after those that it needs."""
        place = {id(reads): n for n, reads in enumerate(self.maps)}
        placed: set[_Group] = set()

        def put(group: _Group) -> None:
            if group in placed:
                return
            placed.add(group)
            for needed in sorted(group.needs, key=last):
                put(needed)
            group.op.move_before(self.end)

        def last(group: _Group) -> int:
            return place[id(group.members[-1])]

        for group in sorted(groups, key=last):
            put(group)
        for group in groups:
            if len(group.members) > 1:
                for value, result in zip(group.tensors, group.op.results, strict=True):
                    value.replace_all_uses_with(result)
        for group in groups:
            if len(group.members) > 1:
                for reads in reversed(group.members):
                    reads.op.erase()


def _marked(op: Any) -> bool:
    """Whether a map is computed in a way of its own."""
    return op.name == "tad.scan" or PARTS in op.attributes or JOINED in op.attributes


def _domain(op: Any) -> tuple[Any, ...]:
    """What maps that are fused have in common."""
    return (op.attributes["domain"], tuple(op.operands), op.results[0].type)


def _moved(op: Any, block: Any, end: Any) -> list[Any]:
    """The values that a copy of a map yields at the indices of a block, at whose end its operations stand."""
    copy = op.clone(ip=ir.InsertionPoint(end)).operation
    inner = copy.regions[0].blocks[0]
    for index, given in zip(inner.arguments, block.arguments, strict=True):
        index.replace_all_uses_with(given)
    values = all_yielded(inner)
    operations = [operation.operation for operation in inner.operations]
    for operation in operations[:-1]:
        block.append(operation)
    copy.erase()
    return values
