"""The values of size symbols at a call: told by the shapes of arrays or given by name, and checked once.

TAD0501  a size that no array tells is missing
TAD0503  arrays that disagree on a size
TAD0507  sizes for which the program has no meaning
TAD0508  what is no size
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tadc.backend.runtime.arrays import Parameter, declared
from tadc.frontend.diagnostics import ArgumentError, Diagnostic
from tadc.frontend.extents import SIZE_LIMIT, SizeSource, extent_text, required_text, size_sources, symbols_in
from tadc.frontend.terms import Domain

Sizes = dict[str, int]
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
    ) -> None:
        self.names = tuple(names)
        self.inputs = tuple(inputs)
        self.excluded = tuple(excluded)
        self.recheck = recheck
        self.sources = size_sources([p.shape for p in inputs])
        told = {source.symbol for source in self.sources}
        self.untold = tuple(name for name in self.names if name not in told)

    def values(self, shapes: Sequence[tuple[int, ...]], given: Mapping[str, Any]) -> Sizes:
        """The value of every symbol where the inputs have these shapes and `given` is given by name.

        Raises:
            ArgumentError: all that is wrong.
        """
        problems: list[Diagnostic] = []
        sizes = self._given(given, problems)
        told: dict[str, SizeSource] = {}
        for source in self.sources:
            self._tell(source, shapes, sizes, told, problems)
        if not problems:
            problems = self._disagreements(shapes, sizes, told)
        problems += [_missing(name) for name in self.untold if name not in given]
        if problems:
            raise ArgumentError(problems)
        ordered = {name: sizes[name] for name in self.names}
        self._check(ordered)
        return ordered

    def _given(self, given: Mapping[str, Any], problems: list[Diagnostic]) -> Sizes:
        sizes: Sizes = {}
        for name, value in given.items():
            try:
                sizes[name] = operator.index(value)
            except TypeError:
                message = f"size `{name}` must be an integer, not {type(value).__name__}"
                problems.append(Diagnostic("TAD0508", message))
                continue
            if not 0 <= sizes[name] < SIZE_LIMIT:
                message = f"size `{name}` cannot be {sizes[name]}"
                problems.append(Diagnostic("TAD0508", message, notes=["a size is in 0..2**40 - 1"]))
        return sizes

    def _tell(
        self,
        source: SizeSource,
        shapes: Sequence[tuple[int, ...]],
        sizes: Sizes,
        told: dict[str, SizeSource],
        problems: list[Diagnostic],
    ) -> None:
        """Read a symbol from a dimension, unless it is given."""
        if source.symbol in sizes or not source.rest.variables <= sizes.keys():
            return
        length = shapes[source.argument][source.dimension]
        value, left = divmod(length - source.rest.evaluate(sizes), source.factor)
        parameter = self.inputs[source.argument]
        if left or value < 0:
            place, extent = _where(parameter, source.dimension), parameter.shape[source.dimension]
            message = f"{place} has {length} elements, which `{extent_text(extent)}` cannot be"
            values = _text({n: sizes[n] for n in source.rest.variables})
            notes = [f"with {values}"] if values else []
            problems.append(Diagnostic("TAD0503", message, notes=[*notes, declared(parameter)]))
            return
        sizes[source.symbol] = value
        told[source.symbol] = source

    def _disagreements(
        self, shapes: Sequence[tuple[int, ...]], sizes: Sizes, told: Mapping[str, SizeSource]
    ) -> list[Diagnostic]:
        """Dimensions that are not as long as the sizes say."""
        problems: list[Diagnostic] = []
        for parameter, shape in zip(self.inputs, shapes, strict=True):
            for dimension, (extent, length) in enumerate(zip(parameter.shape, shape, strict=True)):
                if isinstance(extent, int) or extent.evaluate(sizes) == length:
                    continue
                expected = extent.evaluate(sizes)
                message = f"{_where(parameter, dimension)} has {length} elements, expected {expected}"
                notes = [declared(parameter)]
                for name in sorted(symbols_in([extent])):
                    notes.append(self._origin(name, sizes[name], told.get(name)))
                problems.append(Diagnostic("TAD0503", message, notes=notes))
        return problems

    def _origin(self, name: str, value: int, source: SizeSource | None) -> str:
        if source is None:
            return f"`{name}` is {value}, as given by name"
        return f"`{name}` is {value}, told by {_where(self.inputs[source.argument], source.dimension)}"

    def _check(self, sizes: Sizes) -> None:
        """Refuse sizes at which a read would leave its tensor or an extent be negative."""
        for rows in self.excluded:
            if not all(row.holds(sizes) for row in rows):
                continue
            found = self.recheck(sizes) if self.recheck else None
            if found == []:
                # The set is a rational shadow: a second, exact look may find nothing wrong.
                return
            problems = found or [Diagnostic("TAD0507", "the program has no meaning at these sizes")]
            for problem in problems:
                problem.code = "TAD0507"
                problem.notes[:0] = [
                    f"the sizes are {_text(sizes)}",
                    f"they must satisfy {required_text(rows)}",
                ]
            raise ArgumentError(problems)


def _where(parameter: Parameter, dimension: int) -> str:
    return f"dimension {dimension} of `{parameter.name}`"


def _missing(name: str) -> Diagnostic:
    return Diagnostic(
        "TAD0501",
        f"size `{name}` is missing",
        notes=["no array tells it"],
        helps=[f"pass it by name: `{name}=…`"],
    )


def _text(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in sizes.items())
