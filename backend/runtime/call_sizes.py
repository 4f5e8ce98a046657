"""The values of size symbols at a call: told by the shapes of arrays or given by name, and checked once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from tadc.backend.runtime.call_messages import said
from tadc.backend.runtime.parameters import Parameter
from tadc.backend.runtime.size_list import Numbers, Place, SizeList, lengths
from tadc.frontend.diagnostics import ArgumentError, Diagnostic
from tadc.frontend.extents import LENGTH, Extent, SizeSource, extent_text, symbols_in
from tadc.frontend.size_values import SizeValues, refused, values_text

if TYPE_CHECKING:
    from tadc.frontend.terms import Domain

#: What is wrong with the program at sizes that may be excluded; None where that cannot be told.
Recheck = Callable[[Mapping[str, int]], list[Diagnostic] | None]


class SizeSymbols:
    """The size symbols of a kernel, and how calls give them values."""

    def __init__(
        self,
        names: Sequence[str],
        inputs: Sequence[Parameter],
        excluded: Sequence[Domain] = (),
        recheck: Recheck | None = None,
        fixed: Mapping[str, int] | None = None,
    ) -> None:
        """`fixed` are the sizes that the kernel is compiled for."""
        self.list = SizeList(tuple(names), tuple(inputs), tuple(excluded))
        self.names, self.untold, self.inputs = self.list.names, self.list.untold, self.list.arguments
        self.fixed = dict(fixed or {})
        #: All that a call may name, with those that the kernel is compiled for.
        self.known = (*self.names, *self.fixed)
        self.input_names = tuple(p.name for p in self.inputs)
        self.recheck = recheck

    def values(self, shapes: Sequence[tuple[int, ...]], given: Mapping[str, int]) -> SizeValues:
        """The value of every symbol where the inputs have these shapes and `given` is given by name.

        Raises:
            ArgumentError: all that is wrong.
        """
        integers = _Integers(self)
        for name, value in given.items():
            if self.fixed.get(name, value) != value:
                integers.refuse(said("other size", name=name, value=value, expected=self.fixed[name]))
        sizes = {name: value for name, value in given.items() if name in self.names}
        found = self.list.values(lengths(shapes), sizes, integers)
        return {name: found[name] for name in self.names}


class _Integers(Numbers[int]):
    """The numbers of a call, with all that is wrong with them."""

    def __init__(self, symbols: SizeSymbols) -> None:
        self.symbols, self.inputs = symbols, symbols.inputs
        self.problems: list[Diagnostic] = []
        #: Which dimensions told symbols.
        self.sources: dict[str, SizeSource] = {}

    def refuse(self, problem: Diagnostic) -> None:
        if all(known.message != problem.message for known in self.problems):
            self.problems.append(problem)

    def settle(self) -> None:
        if self.problems:
            raise ArgumentError(self.problems)

    def told(self, length: int, source: SizeSource, values: Mapping[str, int]) -> int | None:
        value, left = divmod(length - source.rest.evaluate(values), source.factor)
        if not left and value >= 0:
            self.sources[source.symbol] = source
            return value
        parameter = self.inputs[source.argument]
        axis, notes = source.dimension, self._beside(source, values)
        extent = extent_text(parameter.shape[axis])
        self.refuse(said("no extent", parameter, axis=axis, found=length, expected=extent, notes=notes))
        return None

    def same(self, length: int, extent: Extent, place: Place, values: Mapping[str, int]) -> None:
        expected = extent if isinstance(extent, int) else extent.evaluate(values)
        if length != expected:
            problem = said("extent", self.inputs[place[0]], axis=place[1], found=length, expected=expected)
            problem.notes += [self._origin(name, values[name]) for name in sorted(symbols_in([extent]))]
            self.refuse(problem)

    def outside(self, rows: Domain, values: Mapping[str, int]) -> None:
        """Refuse sizes at which a read would leave its tensor or an extent be negative."""
        if all(row.holds(values) for row in rows):
            sizes = {name: values[name] for name in self.symbols.names}
            found = self.symbols.recheck(sizes) if self.symbols.recheck else None
            # The set is a rational shadow: a second, exact look may find nothing wrong.
            if found != []:
                raise ArgumentError(refused(found, {**self.symbols.fixed, **sizes}, rows))

    def where(self, source: SizeSource) -> str:
        return f"dimension {source.dimension} of `{self.inputs[source.argument].name}`"

    def _beside(self, source: SizeSource, values: Mapping[str, int]) -> list[str]:
        """What a dimension tells a symbol with: the values of others, and the lengths of other dimensions."""
        known = values_text({n: values[n] for n in source.rest.variables if n in self.symbols.names})
        others = [self.sources[n] for n in sorted(source.rest.variables) if n.startswith(LENGTH)]
        here = self.where(source)
        notes = [f"with {known}"] if known else []
        return notes + [f"{self.where(o)} has {values[o.symbol]}" for o in others if self.where(o) != here]

    def _origin(self, name: str, value: int) -> str:
        source = self.sources.get(name)
        if source is not None:
            return f"`{name}` is {value}, from {self.where(source)}"
        sparse = [p for p in self.inputs if p.pattern and name in symbols_in(p.pattern.shape)]
        how = f"as `{sparse[0].name}` or its name tells" if sparse else "as given by name"
        return f"`{name}` is {value}, {how}"
