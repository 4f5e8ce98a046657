"""Run programs on arrays that lie directly before and directly after an inaccessible page.

A read outside of an argument ends this process.
"""

from __future__ import annotations

import ctypes
import mmap
import re

import numpy as np

import tadc

PROGRAMS = [
    "x: f64[5]\ny: f64[4]\nf[i: 6] = if {i - 2 >= 0} then (x[i-1]*y[i-2]) else (0)",
    "x: f64[5]\nf[i: 5] = if {i = 0} then (1) else (x[i - 1]**3)",
    "x: f64[10]\nf[i: 7] = x[i+2]**2",
    "x: f64[9]\nf[i: 4] = x[2*i]**3",
    "x: f64[6, 7]\nf[i: 4, j: 3] = x[i+j, i-j+2]**3",
    "x: f64[14]\nf[i: 3, j: 6] = exp(x[4*i+j])",
    "x: f64[6]\nf[i: 5] = if {i - 2 >= 0} then (exp(sum{k}_0^3 (x[i - 2 + k]**3))) else (x[i])",
    "x: f64[6]\nk: f64[3]\n"
    "f[i: 6] = sum{t} (if {0 <= i + t - 1 and i + t - 1 <= 5} then (x[i + t - 1]) else (0) * k[t])",
    "x: f64[5, 5]\nf[i] = sum{k}_0^(i) (x[i, k]**3)",
    "x: f64[0]\ny: f64[3]\nf[i: 3] = sum{k} (x[k]) + y[i]",
]


class FencedPages:
    """Pages between two that cannot be accessed."""

    def __init__(self, pages: int = 1) -> None:
        page = mmap.PAGESIZE
        self._mapping = mmap.mmap(-1, (pages + 2) * page)
        start = ctypes.addressof(ctypes.c_char.from_buffer(self._mapping))
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        for fence in (start, start + (pages + 1) * page):
            if libc.mprotect(fence, page, 0):
                raise OSError(ctypes.get_errno(), "mprotect")
        self._open = memoryview(self._mapping)[page : (pages + 1) * page]

    def hold(self, array: np.ndarray, *, at_end: bool) -> np.ndarray:
        """A copy of the array that touches the fence after it, or the one before it."""
        room = self._open[len(self._open) - array.nbytes :] if at_end else self._open[: array.nbytes]
        fenced = np.frombuffer(room, array.dtype).reshape(array.shape)
        fenced[...] = array
        return fenced


def main() -> None:
    """Value, gradients and second derivatives of every program, on both sides."""
    rng = np.random.default_rng(0)
    for program in PROGRAMS:
        functions = [tadc.function(program)]
        functions += [tadc.vjp(functions[-1])]
        functions += [tadc.vjp(functions[-1])]
        arrays: dict[str, np.ndarray] = {}
        for function in functions:
            for name, sizes in re.findall(r"^(\w+): f64(?:\[([\d, ]*)\])?$", str(function), re.MULTILINE):
                if name not in arrays:
                    arrays[name] = rng.uniform(-1, 1, [int(size) for size in sizes.split(",") if size])
            given = {name: arrays[name] for name in function.inputs}
            expected = function(**given)
            for at_end in (False, True):
                held = {name: FencedPages().hold(array, at_end=at_end) for name, array in given.items()}
                np.testing.assert_equal(function(**held), expected, f"at_end={at_end}\n{function}")


if __name__ == "__main__":
    main()
