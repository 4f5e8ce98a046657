"""Calls that frameworks make in machine code, shown to those who watch calls.

Where somebody watches, `door.ll` calls Python in the place of a kernel's entry. There a call is one of the
function, on arrays of NumPy around the memory of the framework; results are written to its memory.
"""

from __future__ import annotations

import ctypes
import inspect
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from tadc.backend.environment import settings_of_blocks
from tadc.backend.runtime.call_watchers import WatchedCall, add_door, watched
from tadc.backend.runtime.parameters import Parameter
from tadc.frontend.diagnostics import CompileError
from tadc.native.framed_kernels import FRAMED

WATCH = "tadc.door.watch"
"""The function that machine code is told by who is shown calls."""

_TOLD = 64
"""So many errors, the last ones, stay in memory for frameworks to read."""

_Tell = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_Watcher = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_size_t] * 4)
_Entry = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_size_t, ctypes.c_size_t)

_told: deque[tuple[Any, str, BaseException]] = deque(maxlen=_TOLD)


class WatchedDoor:
    """A way into kernels by machine code, by the address of its function `WATCH`.

    `waits` waits for calls that the framework has begun, and gives the errors that some of them ended with.
    """

    def __init__(self, address: int, waits: Callable[[], Sequence[BaseException]] = tuple) -> None:
        self._tell, self.wait = _Tell(address), waits

    def add(self) -> None:
        """Let those who watch see its calls."""
        add_door(self)

    def watch(self, is_watched: bool) -> None:
        """Whether calls are to be shown."""
        self._tell(ctypes.cast(_watcher, ctypes.c_void_p) if is_watched else None)


def error_within(error: BaseException) -> BaseException | None:
    """The error of one who watched a call, of which a framework has made its own."""
    said = str(error)
    return next((found for _, text, found in reversed([*_told]) if text in said), None)


class _RefusedByKernel(Exception):
    """A kernel did nothing: its argument is the number of what does not hold."""


def _called(entry: int, tell: int, data: int, dims: int) -> int:
    """What a kernel's entry gives, or the address of a text."""
    try:
        frame = inspect.currentframe()
        if frame is None or frame.f_back is not None:
            return _watched(entry, tell, data, dims)
        # No thread of Python's: it has no block of its own.
        with settings_of_blocks():
            return _watched(entry, tell, data, dims)
    except _RefusedByKernel as refused:
        return refused.args[0]
    except BaseException as error:  # nothing else may pass through a framework
        text = str(error) if isinstance(error, CompileError) else f"{type(error).__name__}: {error}"
        made = ctypes.create_string_buffer(f"tadc: {text}".encode(errors="replace"))
        # Arrays in frames are around memory that the framework frees now: nobody may show them later.
        traceback.clear_frames(error.__traceback__)
        _told.append((made, text, error))
        return ctypes.addressof(made)


_watcher = _Watcher(_called)


def _watched(entry: int, tell: int, data: int, dims: int) -> int:
    kernel = FRAMED[entry]
    inputs, outputs = kernel.interface.arguments, kernel.interface.outputs
    addresses = _words(data, len(inputs) + len(outputs))
    shapes = (ctypes.c_int64 * _extents(outputs))()
    if code := _Entry(tell)(dims, ctypes.addressof(shapes)):
        raise _RefusedByKernel(code)
    given = _arrays(inputs, addresses, _words(dims, _extents(inputs)))
    results = _arrays(outputs, addresses[len(inputs) :], [*shapes])
    run = partial(_run, entry, data, dims, results)
    watched(WatchedCall(kernel.function, given, {}, results), run)
    return 0


def _run(entry: int, data: int, dims: int, results: Sequence[Any]) -> Any:
    if code := _Entry(entry)(data, dims):
        raise _RefusedByKernel(code)
    return results[0] if len(results) == 1 else results


def _words(address: int, count: int) -> list[int]:
    return [*(ctypes.c_int64 * count).from_address(address)] if count else []


def _extents(parameters: Sequence[Parameter]) -> int:
    return sum(len(p.shape) for p in parameters)


def _arrays(parameters: Sequence[Parameter], addresses: Sequence[int], extents: Sequence[int]) -> list[Any]:
    """Arrays of elements at addresses, with extents one after another."""
    found: list[Any] = []
    at = 0
    for parameter, address in zip(parameters, addresses, strict=False):
        shape = tuple(extents[at : at + len(parameter.shape)])
        size, at = prod(shape) * parameter.dtype.itemsize, at + len(shape)
        if size:
            there = memoryview((ctypes.c_char * size).from_address(address))
            found.append(np.frombuffer(there, parameter.dtype).reshape(shape))
        else:
            found.append(np.empty(shape, parameter.dtype))
    return found
