"""What a compilation leaves in memory once its function is gone."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable

import numpy as np
import pytest

import tadc
from tadc.backend.object_code import object_code

SEVERAL = """
define void @several(ptr %x) {
entry:
  br label %loop
loop:
  %n = phi i64 [ 0, %entry ], [ %more, %loop ]
  %at = getelementptr double, ptr %x, i64 %n
  %value = load double, ptr %at
  %power = call double @tadc_exp_f64(double %value)
  store double %power, ptr %at
  %more = add i64 %n, 1
  %again = icmp ult i64 %more, 64
  br i1 %again, label %loop, label %done
done:
  ret void
}
declare double @tadc_exp_f64(double)
"""


class _Malloc(ctypes.Structure):
    """`struct mallinfo2` of glibc."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()
    ]


def allocated() -> int:
    """The bytes of C's heap that are in use, of all threads."""
    ask = ctypes.CDLL(None).mallinfo2
    ask.restype = _Malloc
    gc.collect()
    found = ask()
    return found.uordblks + found.hblkhd


needs_glibc = pytest.mark.skipif(
    not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="not glibc 2.33 or newer"
)


def kept(compile: Callable[[int], object], times: int) -> float:
    """The bytes that each of so many compilations keeps, after a few that fill caches."""
    for n in range(4):
        compile(n)
    before = allocated()
    for n in range(times):
        compile(100 + n)
    return (allocated() - before) / times


@needs_glibc
def test_machine_code() -> None:
    """30 KiB for each pass manager, of which there are three, if these are not freed."""
    assert kept(lambda _: object_code(SEVERAL), 12) < 16 << 10


@needs_glibc
def test_functions() -> None:
    """MLIR, LLVM, the code that is linked, what Python keeps of terms."""

    def compiled(number: int) -> None:
        f = tadc.function(f"x: f64[N]; y[i] = exp({number}*x[i]) + sin(x[i])")
        assert f(np.zeros(3)).tolist() == [1, 1, 1]

    assert kept(compiled, 8) < 32 << 10
