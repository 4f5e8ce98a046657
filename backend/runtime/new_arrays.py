"""Arrays for what a call writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy import empty, ndarray

from tadc.backend.runtime.addresses import addresses
from tadc.backend.runtime.reused_memory import KEPT
from tadc.backend.runtime.workspace import ALIGNMENT

if TYPE_CHECKING:
    from tadc.backend.runtime.host_arrays import Array

_SMALL = 1 << 14
"""Arrays of fewer bytes stay where NumPy puts them: to move one takes as long as to write it."""


def new_array(shape: tuple[int, ...], dtype: Any, size: int) -> Array:
    """An array of `size` bytes, of any content."""
    if size < _SMALL:
        return empty(shape, dtype)
    made = KEPT.take(size + ALIGNMENT)
    (begin,) = addresses((made,))
    return ndarray(shape, dtype, made, -(begin or 0) % ALIGNMENT)
