"""Copies of arguments whose layout or type of elements is not the one that a kernel reads."""

from __future__ import annotations

from typing import Any

import numpy as np

from tadc.backend.runtime.free_memory import format_bytes, free_for
from tadc.backend.runtime.inspector import Array
from tadc.frontend.diagnostics import Diagnostic

#: Below this many bytes memory is not asked for.
_SMALL = 1 << 24

#: Up to here doubles have every integer.
_EVERY = 1 << 53


def as_read(name: str, array: Array, dtype: np.dtype[Any], note: str) -> Array | Diagnostic:
    """A contiguous, aligned array of a type, or why there is none, as `no_room` says it."""
    problem = no_room(name, array, dtype, note)
    if problem is not None:
        return problem
    try:
        with np.errstate(over="ignore"):
            return np.require(array, dtype, ["C_CONTIGUOUS", "ALIGNED"])
    except MemoryError:  # of a process with less memory than the system has
        return _no_room(name, array, dtype, "there is no room for it", note)


def no_room(name: str, array: Array, dtype: np.dtype[Any], note: str) -> Diagnostic | None:
    """The error (TAD0506) for an array that has to be copied, where there is too little memory for that.

    `note` says how the program declares the array of this name.
    """
    is_read = array.dtype == dtype and array.flags.c_contiguous and array.flags.aligned
    needed = 0 if is_read else array.size * dtype.itemsize
    free = free_for(needed) if needed > _SMALL else None
    return None if free is None else _no_room(name, array, dtype, f"{format_bytes(free)} are available", note)


def _no_room(name: str, array: Array, dtype: np.dtype[Any], has: str, note: str) -> Diagnostic:
    needed = format_bytes(array.size * dtype.itemsize)
    message = f"`{name}` has to be copied, which takes {needed} of memory: {has}"
    helps: list[str] = []
    if 0 in array.strides:
        helps = ["its elements are repeated: pass them once, and let the formula read them more often"]
    why = f"strides {array.strides}" if array.dtype == dtype else f"elements of type {array.dtype.name}"
    return Diagnostic("TAD0506", message, notes=[f"it has {why}", note], helps=helps)


def inexact(name: str, array: Array, copy: Array, note: str) -> Diagnostic | None:
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
    at = f"{name}[{', '.join(map(str, place))}]" if place else name
    return Diagnostic(
        "TAD0504",
        f"`{at}` is {array[place]}, which f64 cannot hold without loss",
        notes=[f"the nearest f64 is {copy[place]:.0f}; it holds all integers up to 2**53", note],
        helps=[f"if the loss is intended, write `{name}.astype(numpy.float64)`"],
    )
