"""Scalar functions at a million floats each, spread over all bit patterns, against wider arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

from tests.backend.kernels import Array, apply
from tests.backend.test_scalar_functions import BOUNDS, NAMES

ARCS = {"asin": "arcsin", "acos": "arccos", "atan": "arctan"}
#: Where SciPy is no more precise than f64.
ERRORS = ("erf", "erfc")
ARCS |= {"asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh"}


def wider(name: str) -> Callable[[Array], Array]:
    """NumPy's function, in the precision of its argument."""
    return getattr(scipy.special if name in ERRORS else np, ARCS.get(name, name))


def check(name: str, kind: str, x: Array, wide: Any) -> None:
    with np.errstate(all="ignore"):
        exact = wider(name)(x.astype(wide))
        found = apply(name, kind, x)
        limits = np.finfo(x.dtype)
        _, exponent = np.frexp(exact)
        unit = np.ldexp(wide(1), np.maximum(exponent - 1, int(limits.minexp)) - limits.nmant)
        errors = np.abs(found.astype(wide) - exact) / unit
        rounded = exact.astype(x.dtype)
    # Infinities, where one is expected or close to be, and NaN.
    special = ~np.isfinite(rounded) | np.isnan(exact)
    np.testing.assert_array_equal(found[special], rounded[special])
    worst = int(np.nanargmax(np.where(special, 0, errors)))
    print(f"{name} {kind}: {errors[worst]:.2f} ulp at {x[worst]!r}")
    assert np.isfinite(found[~special]).all()
    assert errors[worst] <= BOUNDS[name], f"{name}({x[worst]!r}) is off by {errors[worst]:.2f} ulp"


@pytest.mark.parametrize("name", NAMES)
def test_single_precision(name: str) -> None:
    bits = np.arange(0, 1 << 32, 4099, dtype=np.uint32)
    check(name, "f32", bits.view(np.float32), np.float64)


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="no float is wider than f64 here")
@pytest.mark.parametrize("name", [name for name in NAMES if name not in ERRORS])
def test_double_precision(name: str) -> None:
    bits = np.random.default_rng(4).integers(0, 1 << 64, 60_000, dtype=np.uint64)
    # Exponents near that of 1 matter most.
    near = (bits & np.uint64(0x800F_FFFF_FFFF_FFFF)) | (
        (bits >> np.uint64(32)) % np.uint64(64) + np.uint64(985) << np.uint64(52)
    )
    check(name, "f64", np.concatenate([bits, near]).view(np.float64), np.longdouble)
