"""Machine code that adds numbers where index arrays say: `backend/cpu/added.ll`."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tadc.backend.cpu.kept_code import own_code
from tadc.backend.runtime.addresses import addresses
from tadc.backend.runtime.inspector import INDEX
from tadc.backend.runtime.new_arrays import new_array
from tadc.frontend.dtypes import COMPUTED, DTYPES

if TYPE_CHECKING:
    from tadc.backend.cpu.linking import Library
    from tadc.backend.runtime.host_arrays import Array

#: LLVM's types of numbers.
_TYPES = {DTYPES[name].library: DTYPES[name].llvm for name in COMPUTED}


@cache
def _library() -> Library:
    from tadc.backend.cpu.kept_code import linked

    text = own_code("added.ll")
    parts = [re.sub(r"\bT\b", kind, text).replace("NAME", name) for name, kind in _TYPES.items()]
    return linked("\n".join(parts), [f"tadc_added_{name}" for name in _TYPES], level=2)


@cache
def _function(name: str) -> Callable[..., Any]:
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)
    return kind(_library()[f"tadc_added_{name}"])


def added(values: Array, slots: Array, count: int) -> Array:
    """So many sums, each of the values at its slot in their order; both arrays are contiguous."""
    sums: Array = new_array((count,), values.dtype, count * values.itemsize)
    sums.fill(0)
    add_to(sums, values, slots)
    return sums


def add_to(sums: Array, values: Array, slots: Array) -> None:
    """Add each of the values to the sum at its slot, in their order; all arrays are contiguous."""
    if slots.dtype == INDEX:
        from_values, from_slots, to = addresses((values, slots, sums))
        _function(values.dtype.name)(from_values, from_slots, values.size, to)
    else:
        np.add.at(sums, slots, values)
