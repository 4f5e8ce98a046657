"""Machine code that looks at what a call from Python gives, and runs the kernel: `call.ll`."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache

from tadc.backend.cpu import scratch_memory
from tadc.backend.cpu.jit import passing, trampoline
from tadc.backend.cpu.kept_code import linked, own_code
from tadc.backend.cpu.linking import Library

#: A kernel may be given more arguments than it takes: on the machines we compile for who calls removes them.
#: So there are a few ways to pass some, and each serves kernels of fewer.
COUNTS = (8, 24, 128)

_CALL = "tadc_call"
_PYTHON = ("PyEval_SaveThread", "PyEval_RestoreThread", "PyBool_FromLong")


@cache
def call_code() -> int:
    """The address of `tadc_call`."""
    return _library()[_CALL]


def passing_code(count: int) -> int | None:
    """The address of a function that gives a kernel at least so many arguments; None for too many."""
    fits = [most for most in COUNTS if count <= most]
    return _library()[_name(fits[0])] if fits else None


def run(address: int, words: Sequence[int | None]) -> None:
    """Run the kernel at an address on addresses of tensors and on sizes, in the order of its arguments."""
    passing_at = passing_code(len(words)) or trampoline(len(words))["call"]
    count = next((most for most in COUNTS if len(words) <= most), len(words))
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(passing_at)
    call(address, (ctypes.c_void_p * count)(*words))


@cache
def _library() -> Library:
    text = own_code("call.ll")
    parts = [text, *(passing(count, _name(count)) for count in COUNTS)]
    externals = {name: _address_of(name) for name in _PYTHON} | scratch_memory.addresses()
    return linked("\n".join(parts), [_CALL, *map(_name, COUNTS)], externals, level=1)


def _name(count: int) -> str:
    return f"tadc_pass_{count}"


def _address_of(name: str) -> int:
    return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0
