"""The values of size symbols at a call: told by the shapes of arrays or given by name, and checked once.

TAD0501  a size that no array tells is missing
TAD0503  arrays that disagree on a size
TAD0507  sizes for which the program has no meaning
TAD0508  what is no size
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

from tadc.backend.runtime.host_arrays import Parameter, declared
from tadc.backend.runtime.kept_indices import Relation
from tadc.frontend.diagnostics import ArgumentError, Diagnostic
from tadc.frontend.extents import (
    LENGTH,
    SizeSource,
    extent_text,
    shape_at,
    size_sources,
    symbol_of,
    symbols_in,
)
from tadc.frontend.size_values import SizeValues, refused, values_text
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
        """`fixed` are the sizes that the kernel is compiled for.

        Of the inputs that are inspected, those count that have an element for each of an array that is given.
        """
        self.names = tuple(names)
        self.fixed = dict(fixed or {})
        counted = counted_inputs(inputs)
        self.inputs = (*(p for p in inputs if p.inspected is None), *(p for p, _ in counted))
        #: Which arrays have as many elements as the last inputs.
        self._counted = tuple(n for _, n in counted)
        self.excluded = tuple(excluded)
        self.recheck = recheck
        self.sources = size_sources([p.shape for p in self.inputs])
        told = {source.symbol for source in self.sources}
        #: How many elements index arrays have that no other array has as many of.
        self.counts = [(p.count, p.shape) for p in inputs if p.count in self.names and p.count not in told]
        told.update(name for name, _ in self.counts)
        self.untold = tuple(name for name in self.names if name not in told)

    def of_relations(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, int]:
        """The sizes that no array tells and a `tadc.relation` among some arguments does."""
        told = told_by_relations([p for p in self.inputs if p.inspected is None], args, kwargs)
        return {name: size for name, size in told.items() if name in self.untold}

    def missing(self, given: Mapping[str, Any], *, besides_sparse: bool = False) -> list[Diagnostic]:
        """Errors for sizes that no array tells and that are not given by name.

        `besides_sparse`: but for those that a sparse array in the place of one that is wrong would tell.
        """
        shapes = [p.pattern.shape for p in self.inputs if p.pattern is not None and besides_sparse]
        told = symbols_in([extent for shape in shapes for extent in shape])
        return [size_missing(name) for name in self.untold if name not in given and name not in told]

    def values(self, shapes: Sequence[tuple[int, ...]], given: Mapping[str, int]) -> SizeValues:
        """The value of every symbol where the inputs have these shapes and `given` is given by name.

        Raises:
            ArgumentError: all that is wrong.
        """
        shapes = [*shapes, *((prod(shapes[n]),) for n in self._counted)]
        problems = [self._again(name, value) for name, value in given.items() if self._is_other(name, value)]
        sizes = {name: value for name, value in given.items() if name in self.names}
        told: dict[str, SizeSource] = {}
        for source in self.sources:
            self._tell(source, shapes, sizes, told, problems)
        for name, shape in self.counts if not problems else ():
            sizes[name] = prod(shape_at(shape, sizes))
        if not problems:
            problems = self._disagreements(shapes, sizes, told)
        if problems:
            raise ArgumentError(problems)
        ordered = {name: sizes[name] for name in self.names}
        self._check(ordered)
        return ordered

    def _tell(
        self,
        source: SizeSource,
        shapes: Sequence[tuple[int, ...]],
        sizes: SizeValues,
        told: dict[str, SizeSource],
        problems: list[Diagnostic],
    ) -> None:
        """Read a symbol from a dimension, unless it is given."""
        if source.symbol in sizes or not source.rest.variables <= sizes.keys():
            return
        length = shapes[source.argument][source.dimension]
        value, left = divmod(length - source.rest.evaluate(sizes), source.factor)
        parameter = self.inputs[source.argument]
        if (left or value < 0) and self.inputs[source.argument].inspected is not None:
            return  # said of the array that it is made of
        if left or value < 0:
            place, extent = _where(parameter, source.dimension), parameter.shape[source.dimension]
            message = f"{place} has {length} elements, which `{extent_text(extent)}` cannot be"
            if all(problem.message != message for problem in problems):
                notes = [*self._beside(source, sizes, told), declared(parameter)]
                problems.append(Diagnostic("TAD0503", message, notes=notes))
            return
        sizes[source.symbol] = value
        told[source.symbol] = source

    def _beside(self, source: SizeSource, sizes: SizeValues, told: Mapping[str, SizeSource]) -> list[str]:
        """What a dimension tells a symbol with: the values of others, and the lengths of other dimensions."""
        values = values_text({n: sizes[n] for n in source.rest.variables if n in self.names})
        lengths = [told[name] for name in sorted(source.rest.variables) if name.startswith(LENGTH)]
        notes = [f"with {values}"] if values else []
        for other in lengths:
            if (other.argument, other.dimension) != (source.argument, source.dimension):
                notes.append(
                    f"{_where(self.inputs[other.argument], other.dimension)} has {sizes[other.symbol]}"
                )
        return notes

    def _disagreements(
        self, shapes: Sequence[tuple[int, ...]], sizes: SizeValues, told: Mapping[str, SizeSource]
    ) -> list[Diagnostic]:
        """Dimensions that are not as long as the sizes say, of the arrays that are given."""
        problems: list[Diagnostic] = []
        for parameter, shape in zip(self.inputs, shapes, strict=True):
            if parameter.inspected is not None:
                continue
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
            sparse = [p for p in self.inputs if p.pattern and name in symbols_in(p.pattern.shape)]
            how = f"as `{sparse[0].name}` or its name tells" if sparse else "as given by name"
            return f"`{name}` is {value}, {how}"
        return f"`{name}` is {value}, told by {_where(self.inputs[source.argument], source.dimension)}"

    def _check(self, sizes: SizeValues) -> None:
        """Refuse sizes at which a read would leave its tensor or an extent be negative."""
        for rows in self.excluded:
            if not all(row.holds(sizes) for row in rows):
                continue
            found = self.recheck(sizes) if self.recheck else None
            if found == []:
                # The set is a rational shadow: a second, exact look may find nothing wrong.
                return
            raise ArgumentError(refused(found, {**self.fixed, **sizes}, rows))

    def _is_other(self, name: str, value: Any) -> bool:
        return name in self.fixed and self.fixed[name] != value

    def _again(self, name: str, value: Any) -> Diagnostic:
        message = f"size `{name}` cannot be {value}: the kernel is compiled for {name} = {self.fixed[name]}"
        return Diagnostic("TAD0508", message)


def counted_inputs(inputs: Sequence[Parameter]) -> list[tuple[Parameter, int]]:
    """What is inspected and has an element for each of an array that is given, with the place of that."""
    places = {p.name: n for n, p in enumerate(p for p in inputs if p.inspected is None)}
    abouts = [(p, p.inspected) for p in inputs]
    return [(p, places[a.of[0]]) for p, a in abouts if a and a.kind in _COUNTED and a.of[0] in places]


#: Kinds of what is inspected that have as many elements as the first array that they are made of.
_COUNTED = ("perm", "taken")


def told_by_relations(
    inputs: Sequence[Parameter], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, int]:
    """The sizes that index arrays are declared below, where a `tadc.relation` is given for one."""
    given = {**dict(zip((p.name for p in inputs), args, strict=False)), **kwargs}
    told: dict[str, int] = {}
    for parameter in inputs:
        value = given.get(parameter.name)
        symbol = symbol_of(parameter.below) if parameter.below is not None else None
        if isinstance(value, Relation) and symbol is not None:
            told.setdefault(symbol, value.below)
    return told


def _where(parameter: Parameter, dimension: int) -> str:
    if parameter.inspected is not None:
        return f"`{parameter.inspected.of[0]}`"
    return f"dimension {dimension} of `{parameter.name}`"


def size_missing(name: str) -> Diagnostic:
    """The error (TAD0501) for a size that is not given."""
    return Diagnostic(
        "TAD0501",
        f"size `{name}` is missing",
        notes=["no array tells it"],
        helps=[f"pass it by name: `{name}=…`"],
    )
