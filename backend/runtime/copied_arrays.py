"""Copies of arguments whose layout or type of elements is not the one that a kernel reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tadc.backend.runtime.call_messages import element, said
from tadc.backend.runtime.free_memory import format_bytes, free_for
from tadc.backend.runtime.inspector import Array

if TYPE_CHECKING:
    from tadc.backend.runtime.parameters import Parameter
    from tadc.frontend.diagnostics import Diagnostic

#: Up to here doubles have every integer.
_EVERY = 1 << 53


def as_read(parameter: Parameter, array: Array, dtype: np.dtype[Any]) -> Array | Diagnostic:
    """A contiguous, aligned array of a type, or why there is none, as `no_room` says it."""
    problem = no_room(parameter, array, dtype)
    if problem is not None:
        return problem
    try:
        with np.errstate(over="ignore"):
            return np.require(array, dtype, ["C_CONTIGUOUS", "ALIGNED"])
    except MemoryError:  # of a process with less memory than the system has
        return _no_room(parameter, array, dtype, "there is no room for it")


def no_room(parameter: Parameter, array: Array, dtype: np.dtype[Any]) -> Diagnostic | None:
    """The error (TAD0506) for an array that has to be copied, where there is too little memory for that."""
    is_read = array.dtype == dtype and array.flags.c_contiguous and array.flags.aligned
    needed = 0 if is_read else array.size * dtype.itemsize
    free = free_for(needed)
    return None if free is None else _no_room(parameter, array, dtype, f"{format_bytes(free)} are available")


def _no_room(parameter: Parameter, array: Array, dtype: np.dtype[Any], has: str) -> Diagnostic:
    helps: list[str] = []
    if 0 in array.strides:
        helps = ["its elements are repeated: pass them once, and let the formula read them more often"]
    why = f"strides {array.strides}" if array.dtype == dtype else f"elements of type {array.dtype.name}"
    needed = format_bytes(array.size * dtype.itemsize)
    return said("copy", parameter, needed=needed, has=has, why=why, helps=helps)


def inexact(parameter: Parameter, array: Array, copy: Array) -> Diagnostic | None:
    """The error (TAD0504) for an integer of 64 bits that no f64 is equal to; a copy has the nearest."""
    if array.dtype.kind not in "iu" or array.itemsize < 8 or not array.size:
        return None
    if array.max() <= _EVERY and array.min() >= -_EVERY:
        return None
    least, most = float(np.iinfo(array.dtype).min), float(np.iinfo(array.dtype).max)
    is_inside = (least <= copy) & (copy < most)  # the largest integer is rounded up
    differs = ~is_inside | (np.where(is_inside, copy, 0).astype(array.dtype) != array)
    if not differs.any():
        return None
    place = np.unravel_index(np.argmax(differs), array.shape)
    at = element(parameter, [int(n) for n in place])
    return said("inexact", parameter, place=at, found=array[place], nearest=copy[place])
