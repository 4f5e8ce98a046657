"""Element types as those of NumPy."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from tadc.frontend.dtypes import DTYPES, FLOATS
from tadc.frontend.packages import imported

Scalar = Any
"""A number of NumPy, of the type of floats of a tensor, or a truth value."""


@cache
def numpy_type(name: str) -> np.dtype[Scalar]:
    """The type of NumPy's arrays with elements of a type of programs."""
    record = DTYPES[name]
    if record.package:
        imported(record.package, f"NumPy has no {name} of its own", "bf16")
    return np.dtype(record.library)


def numpy_floats() -> dict[str, np.dtype[Scalar]]:
    """The types of floats that NumPy has here."""
    packages = {name: DTYPES[name].package for name in FLOATS}
    return {name: numpy_type(name) for name in FLOATS if not packages[name] or find_spec(packages[name])}
