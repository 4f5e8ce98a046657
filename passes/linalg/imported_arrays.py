"""Arrays of an imported module: what an element is, read where it is used or stored as a definition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tadc.lattice.late_dataclasses import dataclass
from tadc.passes.linalg.elements import Scalar, Value, as_value
from tadc.passes.linalg.index_forms import Counter, IndexForm, of_atom
from tadc.passes.linalg.source_places import SourcePlace

#: An array of NumPy, of any type of elements.
Numbers = Any
#: An element: what stands at index expressions, one for each dimension.
At = Callable[[tuple[IndexForm, ...]], Scalar]


@dataclass(eq=False)
class ImportedArray:
    """An array: its shape, MLIR's name of its element type, and its elements.

    A view reads `source` at other places. `weight` says how much a read writes out.
    """

    shape: tuple[IndexForm, ...]
    type: str
    at: At
    place: SourcePlace | None = None
    source: ImportedArray | None = None
    weight: int = 0
    reduces: bool = False
    is_stored: bool = False
    uses: int = 1
    kind: str = ""

    def read(self, at: Sequence[IndexForm]) -> Value:
        """An element as a value; a condition as 1 or 0."""
        return as_value(self.at(tuple(at)))

    @property
    def root(self) -> ImportedArray:
        """What a view is a view of."""
        found = self
        while found.source is not None and not found.is_stored:
            found = found.source
        return found

    @property
    def is_float(self) -> bool:
        """Whether elements are floating numbers."""
        return self.type in ("f16", "bf16", "f32", "f64")


def view(
    array: ImportedArray,
    shape: Sequence[IndexForm],
    where: Callable[[tuple[IndexForm, ...]], Sequence[IndexForm]],
    place: SourcePlace | None,
) -> ImportedArray:
    """An array that reads another at other places."""
    return ImportedArray(
        tuple(shape), array.type, lambda at: array.at(tuple(where(at))), place, array, kind=array.kind
    )


def counters_of(shape: Sequence[IndexForm]) -> tuple[Counter, ...]:
    """A new counter for each dimension."""
    return tuple(Counter(size) for size in shape)


def forms_at(counters: Sequence[Counter]) -> tuple[IndexForm, ...]:
    """Counters as index expressions; 0 for one of a single value."""
    return tuple(map(of_atom, counters))
