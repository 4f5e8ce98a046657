"""What is known of arrays that a function of arrays is called with: shapes and element types."""

from __future__ import annotations

from typing import Any

from tadc.frontend.dtypes import FLOATS
from tadc.frontend.elsewhere import TYPES


def shape_of_given(array: Any) -> tuple[int, ...]:
    """The shape of an array of any library, a number or a list."""
    return tuple(int(size) for size in _with_type(array).shape)


def element_type_of(array: Any) -> str:
    """The element type of a program for an array; f64 of integers, numbers and lists."""
    name = str(_with_type(array).dtype).rpartition(".")[2]
    meant = TYPES.get(name)
    found = (meant.text if meant else None) or name
    return found if found in FLOATS else "f64"


def _with_type(array: Any) -> Any:
    if hasattr(array, "dtype") and hasattr(array, "shape"):
        return array
    import numpy as np

    return np.asarray(array)
