"""Where the sizes of a call come from and what must hold of them: one list for all ways into a kernel.

Each way goes through the list with numbers of its own: integers, symbols of a framework, registers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Generic, TypeVar

from tadc.backend.runtime.parameters import Parameter
from tadc.frontend.extents import Extent, Shape, SizeSource, shape_at, size_sources
from tadc.lattice.late_dataclasses import dataclass

if TYPE_CHECKING:
    from tadc.frontend.terms import Domain

Number = TypeVar("Number")
Place = tuple[int, int]
"""A dimension of an argument."""


class Numbers(Generic[Number]):
    """Arithmetic on extents, and what is done where they are wrong: nothing here, as for symbols of which
    nobody knows. Numbers have Python's operators."""

    def told(self, length: Number, source: SizeSource, values: Mapping[str, Number]) -> Number | None:
        """The value of a symbol where a dimension is so long; None where there is none."""
        return source.value(length, values)  # type: ignore[arg-type,return-value]

    def size(self, value: Number) -> None:
        """Look whether a number is a size."""

    def same(self, length: Number, extent: Extent, place: Place, values: Mapping[str, Number]) -> None:
        """Look whether a dimension is as long as the program says."""

    def product(self, shape: Shape, values: Mapping[str, Number]) -> Number:
        """The number of elements of a shape."""
        return prod(shape_at(shape, values))  # type: ignore[arg-type,return-value]

    def outside(self, rows: Domain, values: Mapping[str, Number]) -> None:
        """Look whether sizes are outside of a set."""

    def settle(self) -> None:
        """Refuse what was wrong so far, if nothing did."""


@dataclass(frozen=True)
class SizeList:
    """The sizes of a kernel by name, its inputs with those that are made of index arrays, and which sets of
    sizes it refuses."""

    names: tuple[str, ...]
    inputs: tuple[Parameter, ...]
    excluded: tuple[Domain, ...] = ()

    @cached_property
    def arguments(self) -> tuple[Parameter, ...]:
        """The inputs that a call gives."""
        return tuple(p for p in self.inputs if p.inspected is None)

    @cached_property
    def sources(self) -> tuple[SizeSource, ...]:
        """How extents of arguments tell symbols, in an order to go by."""
        return size_sources([p.shape for p in self.arguments])

    @cached_property
    def counts(self) -> tuple[tuple[str, Shape], ...]:
        """Symbols that are how many elements an index array has, where no extent tells them."""
        told = {source.symbol for source in self.sources}
        return tuple((p.count, p.shape) for p in self.inputs if p.count in self.names and p.count not in told)

    @cached_property
    def untold(self) -> tuple[str, ...]:
        """The sizes that no argument tells."""
        told = {source.symbol for source in self.sources} | {name for name, _ in self.counts}
        return tuple(name for name in self.names if name not in told)

    @cached_property
    def extents(self) -> tuple[tuple[Place, Extent], ...]:
        """All extents of arguments, with their places."""
        return tuple(((n, d), size) for n, p in enumerate(self.arguments) for d, size in enumerate(p.shape))

    def values(
        self, length: Callable[[Place], Number] | None, given: Mapping[str, Number], numbers: Numbers[Number]
    ) -> dict[str, Number]:
        """The values of all symbols where dimensions are so long and some sizes are given; without lengths
        all but counts are."""
        values = dict(given)
        for value in given.values():
            numbers.size(value)
        for source in self.sources if length else ():
            if source.symbol not in values and source.rest.variables <= values.keys():
                found = numbers.told(length((source.argument, source.dimension)), source, values)  # type: ignore[misc]
                if found is not None:
                    values[source.symbol] = found
        numbers.settle()
        for place, extent in self.extents if length else ():
            numbers.same(length(place), extent, place, values)  # type: ignore[misc]
        numbers.settle()
        for name, shape in self.counts:
            values[name] = numbers.product(shape, values)
            numbers.size(values[name])
        for rows in self.excluded:
            numbers.outside(rows, values)
        return values


def lengths(shapes: Sequence[Sequence[Number]]) -> Callable[[Place], Number]:
    """How long the dimensions of arguments of these shapes are."""
    return lambda place: shapes[place[0]][place[1]]
