"""Element types as those of NumPy."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from tadc.frontend.dtypes import DTYPES

Scalar = Any
"""A number of NumPy, of the type of floats of a tensor, or a truth value."""


@cache
def numpy_type(name: str) -> np.dtype[Scalar]:
    """The type of NumPy's arrays with elements of a type of programs."""
    return np.dtype(DTYPES[name].library)
