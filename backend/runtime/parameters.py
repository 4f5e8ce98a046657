"""A tensor that a kernel takes, gives or has in between."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

from tadc.frontend.extents import Extent, Shape, as_form, is_static, shape_at, shape_text, type_text
from tadc.lattice.late_dataclasses import dataclass, field, replace

if TYPE_CHECKING:
    import numpy as np

    from tadc.frontend.program import Inspected, Pattern


@dataclass(frozen=True)
class Parameter:
    """A tensor of a kernel: `type` is `f32` or `f64`, shape () a scalar, extents may be forms of sizes.

    One of the type `i32` is an index array, as `Argument` says: its elements are at least 0 and less than
    `below`. What is `inspected` is made at a call.
    """

    name: str
    type: str
    shape: Shape
    below: Extent | None = None
    increasing: bool = False
    inspected: Inspected | None = None
    #: Of a sparse tensor: its whole shape, and which index arrays say where what it stores is.
    pattern: Pattern | None = None
    is_static: bool = field(init=False, repr=False, compare=False)
    #: The extents that are numbers, with their positions.
    numbers: tuple[tuple[int, int], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_static", is_static(self.shape))
        numbers = tuple((n, size) for n, size in enumerate(self.shape) if isinstance(size, int))
        object.__setattr__(self, "numbers", numbers)

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The element type as that of NumPy, which a header is written without."""
        from tadc.passes.numpy_types import numpy_type

        return numpy_type(self.type)

    def fits(self, shape: tuple[Any, ...]) -> bool:
        """Whether a shape has the right rank and the extents that do not depend on sizes."""
        if len(shape) != len(self.shape):
            return False
        for n, size in self.numbers:
            # An extent may be a symbol of a framework, of which nobody knows.
            if shape[n] != size and isinstance(shape[n], int):
                return False
        return True

    @property
    def count(self) -> str:
        """The name of the size that is how many elements an index array of several dimensions has."""
        return f"{self.name}.count"

    def at(self, sizes: Mapping[str, int]) -> Parameter:
        """The tensor where the sizes have these values."""
        if self.is_static and isinstance(self.below, int | None):
            return self
        below = None if self.below is None else as_form(self.below).evaluate(sizes)
        inspected = self.inspected and self.inspected.at(sizes)
        return replace(self, shape=shape_at(self.shape, sizes), below=below, inspected=inspected)

    def __str__(self) -> str:
        """As a program declares it: `a: f64[3, 5]`, `src: index[E] in N`, `A: f64[N, M] at (row, col)`."""
        if self.pattern is not None:
            at = ", ".join(self.pattern.at)
            whole = f"{self.name}: {self.type}[{shape_text(self.pattern.shape)}]"
            return f"{whole} at {f'({at})' if self.pattern.at[1:] else at}"
        return f"{self.name}: {type_text(self.type, self.shape, self.below, increasing=self.increasing)}"

    @property
    def bytes(self) -> int:
        """The memory that it takes, where no extent depends on sizes."""
        return self.dtype.itemsize * prod(shape_at(self.shape, {}))
