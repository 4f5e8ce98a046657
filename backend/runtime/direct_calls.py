"""Calls that machine code looks at and runs, for as long as they are like one before.

What fits a plan of a kernel is decided by facts of NumPy's arrays: type, shape, layout, whether it can be
written, whether outputs share memory. Asked in Python these take longer than a small kernel; NumPy's and
CPython's C API promise compiled extensions where they are, and `backend/cpu/call.ll` reads them there. What
does not fit goes through Python, which converts it or says what is wrong.
"""

from __future__ import annotations

import ctypes
import platform
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from numpy import array, int64, ndarray

from tadc.backend.runtime.addresses import LAYOUT_IS_KNOWN

if TYPE_CHECKING:
    from tadc.backend.runtime.parameters import Parameter
    from tadc.backend.runtime.workspace import Workspace

#: NumPy's flags C_CONTIGUOUS, ALIGNED and WRITEABLE.
READ, WRITTEN = 0x0101, 0x0501

#: As in Python's `methodobject.h`.
_FASTCALL = 0x0080

_MACHINES = ("x86_64", "AMD64", "aarch64", "arm64", "riscv64")

#: Takes the inputs, the outputs; True if the kernel has run.
DirectCall = Callable[..., bool]


class _Method(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("about", ctypes.c_char_p),
    )


#: One for all calls, made for the first.
_methods: list[_Method] = []


def is_supported() -> bool:
    """Whether objects can be read outside of Python here, with nobody changing them at the same time."""
    has_lock: Callable[[], bool] = getattr(sys, "_is_gil_enabled", lambda: True)
    return (
        LAYOUT_IS_KNOWN
        and sys.implementation.name == "cpython"
        and has_lock()
        and platform.machine() in _MACHINES
    )


def direct_call(
    kernel: int,
    inputs: Sequence[Parameter],
    outputs: Sequence[Parameter],
    between: Workspace[int],
    sizes: Sequence[int],
) -> DirectCall | None:
    """Calls of the kernel at an address whose tensors have these static shapes; None where there are none."""
    if not is_supported():
        return None
    from tadc.backend.cpu.python_calls import call_code, passing_code

    count, offsets = len(inputs) + len(outputs), between.offsets
    passing = passing_code(count + len(offsets) + len(sizes))
    if passing is None:
        return None
    if not _methods:
        _methods.append(_Method(b"call", call_code(), _FASTCALL, None))
        # At the end of the process modules may go before the functions that were made of this.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(_methods[0]))
    plan = [kernel, passing, count, len(inputs), len(offsets), len(sizes), id(ndarray), id(float)]
    plan += [between.bytes, *offsets, *sizes]
    for parameter in inputs:
        plan += _about(parameter, READ, _number(parameter))
    for parameter in outputs:
        plan += _about(parameter, WRITTEN, 0)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    return make(ctypes.addressof(_methods[0]), array(plan, int64), None)


def _number(parameter: Parameter) -> int:
    """The type of NumPy's numbers that a scalar may be; none of an index, which is looked at before."""
    return 0 if parameter.shape or parameter.below is not None else id(parameter.dtype.type)


def _about(parameter: Parameter, flags: int, number: int) -> list[Any]:
    """What `call.ll` compares an array with."""
    shape = parameter.shape
    return [id(parameter.dtype), number, flags, parameter.bytes, len(shape), *shape]
