"""Functions of a GPU from libdevice and from our own code: both against exact values, and each other."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

from tadc.backend.cuda.ptx import emit_ptx
from tadc.backend.cuda.toolkit import LIBDEVICE, toolkit_file
from tadc.backend.functions.scalar_functions import BINARY, BRANCHING, DEFINED
from tadc.backend.target import parse_target
from tests.backend.kernels import elementwise, llvm_text
from tests.backend.test_binary_functions import OPERATIONS
from tests.emulator.ptx_text import launch

Array = NDArray[Any]

#: mpmath's name of a function, where it is another, or the function itself.
EXACT: dict[str, Any] = {
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    "pow": lambda x: mpmath.power(x, x),
    "atan2": lambda x: mpmath.atan2(x, x),
    "fmod": lambda x: mpmath.mpf(0),
    "exp2": lambda x: mpmath.power(2, x),
    "log2": lambda x: mpmath.log(x, 2),
    "log10": lambda x: mpmath.log(x, 10),
}
#: Where functions are defined; and all others from -7 to 7.
RANGES = {
    "acos": (-1, 1), "asin": (-1, 1), "atanh": (-0.99, 0.99), "acosh": (1, 50), "log": (1e-3, 50),
    "log2": (1e-3, 50), "log10": (1e-3, 50), "log1p": (-0.99, 50), "pow": (1e-3, 7),
}  # fmt: skip
#: In units of the last place: what CUDA's manual grants the worst of libdevice's functions.
ULPS = 5
SIZE = 100


def computed(name: str, kind: str, x: Array, use_libdevice: bool) -> Array:
    operands = "%x, %x" if name in BINARY or BRANCHING.get(name) == 2 else "%x"
    text = elementwise(f"%y = {OPERATIONS.get(name, f'math.{name}')} {operands} : TYPE", kind, SIZE, gpu=True)
    ptx = emit_ptx(llvm_text(text, parse_target("cuda:sm_80")), 80, use_libdevice=use_libdevice)
    return launch(ptx, [x, np.zeros_like(x)], 256)[-1]


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("name", sorted(DEFINED))
def test_both_agree_with_exact_values(name: str, kind: str) -> None:
    dtype = {"f32": np.float32, "f64": np.float64}[kind]
    low, high = RANGES.get(name, (-7, 7))
    x = np.random.default_rng(0).uniform(low, high, SIZE).astype(dtype)
    exact = EXACT.get(name) or getattr(mpmath, name)
    with mpmath.workdps(40):
        values = [exact(mpmath.mpf(float(v))) for v in x]
        for use_libdevice in {False, toolkit_file(LIBDEVICE) is not None}:
            found = computed(name, kind, x, use_libdevice)
            for value, got in zip(values, found, strict=True):
                unit = float(np.spacing(dtype(abs(float(value)))))
                assert abs(mpmath.mpf(float(got)) - value) <= ULPS * unit, (use_libdevice, float(value), got)


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("name", sorted(DEFINED - {"fmod", "atan2", "pow"}))
def test_both_agree_on_special_values(name: str, kind: str) -> None:
    dtype = {"f32": np.float32, "f64": np.float64}[kind]
    special = np.array([0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0, 1e-30, -1e-30, 2.0], dtype)
    x = np.resize(special, SIZE)
    ours, theirs = (computed(name, kind, x, use) for use in (False, True))
    np.testing.assert_array_equal(np.isnan(ours), np.isnan(theirs))
    whole = ~np.isfinite(theirs) | (theirs == 0)
    np.testing.assert_array_equal(ours[whole], theirs[whole])
    np.testing.assert_array_equal(
        np.signbit(ours[whole & ~np.isnan(ours)]), np.signbit(theirs[whole & ~np.isnan(ours)])
    )
