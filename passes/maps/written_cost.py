"""What maps cost, asked of a planner that looks at operations of the dialect: it gets them, for as long as it
looks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from tadc.dialect.mlir import ir
from tadc.dialect.shapes import sizes_of
from tadc.lattice.affine import Affine
from tadc.passes.maps.buffers import maps_of
from tadc.passes.maps.fuse import Cost
from tadc.passes.maps.map import Map, MapFunction
from tadc.passes.maps.write_maps import MapWriter

T = TypeVar("T")


class OperationCost(Protocol):
    """What a machine says of maps, as operations, that are to be computed together."""

    def cost(self, op: Any, forms: Mapping[Any, Affine]) -> Cost:
        """What a map costs, and how many of its reads have a better form than as they stand.

        `forms` has those of the sizes.
        """
        ...

    def is_small(self, op: Any, forms: Mapping[Any, Affine], point: Any) -> bool:
        """Whether a map has no schedule that could suffer; at `point`, after it, code may be made."""
        ...

    def pays(self, whole: Cost, parts: Sequence[Cost]) -> bool:
        """Whether maps are better computed together, by the costs of the whole and of the parts."""
        ...


class WrittenCost:
    """The same of maps of a function, which was read as `known`."""

    def __init__(self, function: Any, known: MapFunction, machine: OperationCost) -> None:
        self.machine = machine
        self.writer = MapWriter(function, known)
        self.forms = {value: Affine.var(f"s{n}") for n, value in enumerate(sizes_of(function))}
        self.operations = {id(item): op for item, op in zip(known.maps, maps_of(function), strict=True)}
        self.small: dict[int, tuple[Map, bool]] = {}

    def cost(self, item: Map, function: MapFunction) -> Cost:
        """What a map costs."""
        return self._ask(item, lambda op: self.machine.cost(op, self.forms))

    def is_small(self, item: Map, function: MapFunction) -> bool:
        """Whether a map has no schedule that could suffer."""
        if id(item) not in self.small:
            point = ir.InsertionPoint(self.writer.end)
            found = self._ask(item, lambda op: self.machine.is_small(op, self.forms, point))
            self.small[id(item)] = item, found
        return self.small[id(item)][1]

    def pays(self, whole: Cost, parts: Sequence[Cost]) -> bool:
        """Whether maps are better computed together."""
        return self.machine.pays(whole, parts)

    def _ask(self, item: Map, question: Callable[[Any], T]) -> T:
        """The answer for the operation of a map."""
        op = self.operations.get(id(item))
        if op is not None:
            return question(op)
        made = self.writer.map(item)
        try:
            return question(made)
        finally:
            made.erase()
