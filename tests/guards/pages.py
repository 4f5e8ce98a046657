"""Kernels on arrays that lie directly before, or directly after, a page that cannot be accessed.

A read or a write outside of an array ends the process, or, where it stays in the array's own pages, finds
NaN there, or leaves a trace.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tadc
from tadc.backend.cpu.python_calls import run
from tadc.backend.runtime.host_kernel import HostKernel
from tadc.backend.runtime.index_arguments import IndexArguments
from tadc.backend.runtime.parameters import Parameter
from tadc.frontend.extents import as_form, shape_at

_PAGE = mmap.PAGESIZE
_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
#: A byte of a NaN of either type.
_FILL = 0xFF


class Fenced:
    """An array in pages between two that cannot be accessed; it touches the one after it, or before it."""

    def __init__(self, parameter: Parameter, *, at_end: bool) -> None:
        size = parameter.bytes
        pages = max(1, -(-size // _PAGE))
        mapping = mmap.mmap(-1, (pages + 2) * _PAGE)
        start = ctypes.addressof(ctypes.c_char.from_buffer(mapping))
        for fence in (start, start + (pages + 1) * _PAGE):
            if _LIBC.mprotect(fence, _PAGE, 0):
                raise OSError(ctypes.get_errno(), "mprotect")
        room = np.frombuffer(memoryview(mapping)[_PAGE : (pages + 1) * _PAGE], np.uint8)
        room[:] = _FILL
        here = len(room) - size if at_end else 0
        self.address = start + _PAGE + here
        self.array = room[here : here + size].view(parameter.dtype).reshape(shape_at(parameter.shape, {}))
        self._around = room[:here], room[here + size :]

    def is_alone(self) -> bool:
        """Whether nothing was written around the array."""
        return all(bool((part == _FILL).all()) for part in self._around)


def check(function: tadc.Function, sizes: Mapping[str, int], seed: int = 0) -> None:
    """Assert that a function has the same bits, and touches nothing else, on both sides of such pages.

    Every argument, result and tensor in between has pages of its own.
    """
    kernel = function.compiled().kernel
    assert isinstance(kernel, HostKernel)
    rng = np.random.default_rng(seed)
    given = {p.name: _drawn(rng, p.at(sizes)) for p in kernel.inputs}
    numbers = kernel.sizes.values([a.shape for a in given.values()], sizes) if kernel.sizes else {}
    told = {name: value for name, value in numbers.items() if kernel.sizes and name in kernel.sizes.untold}
    expected = kernel((), {**given, **told})
    arrays = list(given.values())
    if any(p.below is not None for p in kernel.inputs):
        arrays = IndexArguments(kernel.inputs, kernel.made, numbers).complete(arrays)
    kinds = ((*kernel.inputs, *kernel.made), kernel.outputs, [t.tensor for t in kernel.temporaries])
    for at_end in (False, True):
        held = [[Fenced(p.at(numbers), at_end=at_end) for p in tensors] for tensors in kinds]
        inputs, outputs, _ = held
        for fenced, array in zip(inputs, arrays, strict=True):
            fenced.array[...] = array
        addresses = [fenced.address for tensors in held for fenced in tensors]
        run(kernel.address, [*addresses, *numbers.values()])
        where = f"at_end={at_end}\n{function}"
        _assert_same([i.array for i in inputs], arrays, where)
        _assert_same([o.array for o in outputs], expected, where)
        assert all(fenced.is_alone() for tensors in held for fenced in tensors), f"a write, {where}"


def _drawn(rng: np.random.Generator, parameter: Parameter) -> NDArray[Any]:
    shape = shape_at(parameter.shape, {})
    if parameter.below is None:
        return rng.uniform(-1, 1, shape).astype(parameter.dtype)
    drawn = rng.integers(0, max(as_form(parameter.below).constant, 1), shape)
    return (np.sort(drawn) if parameter.increasing else drawn).astype(parameter.dtype)


def _assert_same(found: Sequence[NDArray[Any]], expected: Sequence[object], where: str) -> None:
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other, where)
