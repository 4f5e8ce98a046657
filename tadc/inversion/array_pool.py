"""Memory of large arrays, used again: new pages cost more than most kernels do."""

from __future__ import annotations

from typing import Any

import numpy as np

from tadc.backend.runtime.addresses import addresses
from tadc.backend.runtime.host_arrays import Array, Parameter
from tadc.backend.runtime.workspace import ALIGNMENT
from tadc.frontend.extents import shape_at
from tadc.frontend.forks import new_lock

#: Smaller arrays are made anew.
LARGE = 1 << 16
#: So many bytes are held while nothing runs.
_HELD = 1 << 30


class Store:
    """Free arrays, by shape and type, for all calls; each call borrows from it through a `Pool`."""

    def __init__(self) -> None:
        self._free: dict[Any, list[Array]] = {}
        self._bytes = 0
        self._lock = new_lock()

    def take(self, parameter: Parameter) -> Array:
        """An array for a parameter, its elements undefined."""
        key = (parameter.shape, parameter.dtype)
        with self._lock:
            free = self._free.get(key)
            if free:
                self._bytes -= free[-1].nbytes
                return free.pop()
        memory = np.empty(parameter.bytes + ALIGNMENT, np.uint8)
        (begin,) = addresses((memory,))
        shape = shape_at(parameter.shape, {})
        return np.ndarray(shape, parameter.dtype, memory.data, -(begin or 0) % ALIGNMENT)

    def give(self, array: Array) -> None:
        """Take an array back that nothing refers to."""
        with self._lock:
            if self._bytes + array.nbytes <= _HELD:
                self._bytes += array.nbytes
                self._free.setdefault((array.shape, array.dtype), []).append(array)


class Pool:
    """The arrays of one call."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._own: dict[int, Array] = {}

    def out(self, outputs: tuple[Parameter, ...]) -> list[Array | None]:
        """Where a kernel is to write; None for what is small."""
        found: list[Array | None] = []
        for parameter in outputs:
            if parameter.bytes < LARGE:
                found.append(None)
                continue
            array = self.store.take(parameter)
            self._own[id(array)] = array
            found.append(array)
        return found

    def give(self, array: Array) -> None:
        """An array of the call that is not needed any more; the arguments' own are let alone."""
        if self._own.pop(id(array), None) is not None:
            self.store.give(array)

    def keep(self, array: Array) -> Array:
        """An array as a result: it leaves the pool, and what the caller passed in is copied."""
        return array if self._own.pop(id(array), None) is not None else np.array(array)

    def close(self) -> None:
        """Give everything back."""
        for array in self._own.values():
            self.store.give(array)
        self._own = {}
