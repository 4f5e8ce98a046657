"""Powers, angles and remainders, against mpmath and C's special values."""

from __future__ import annotations

import itertools
import math
from functools import cache
from typing import Any

import mpmath
import numpy as np
import pytest

from tadc.backend.runtime.host_kernel import HostKernel
from tadc.backend.runtime.parameters import Parameter
from tadc.passes.numpy_types import numpy_type
from tests.backend.kernels import Array, compiled
from tests.backend.test_scalar_functions import error_in_ulp

SIZE = 1024
OPERATIONS = {"pow": "math.powf", "atan2": "math.atan2", "fmod": "arith.remf"}
REFERENCE: dict[str, Any] = {"pow": mpmath.power, "atan2": mpmath.atan2}
BOUNDS = {"pow": 1.0, "atan2": 2.0}

inf, nan = math.inf, math.nan


@cache
def function(name: str, kind: str) -> HostKernel:
    array = f"memref<{SIZE}x{kind}>"
    text = f"""
func.func @k(%X: {array} {{llvm.noalias}}, %Z: {array} {{llvm.noalias}}, %Y: {array} {{llvm.noalias}}) {{
  affine.for %i = 0 to {SIZE} {{
    %x = memref.load %X[%i] : {array}
    %z = memref.load %Z[%i] : {array}
    %y = {OPERATIONS[name]} %x, %z : {kind}
    memref.store %y, %Y[%i] : {array}
  }}
  return
}}"""
    return compiled(text, [Parameter(n, kind, (SIZE,)) for n in "xz"], [Parameter("y", kind, (SIZE,))])


def apply(name: str, kind: str, x: Array, z: Array) -> Array:
    parts: list[Array] = []
    for start in range(0, len(x), SIZE):
        given = [np.resize(part[start : start + SIZE], SIZE) for part in (x, z)]
        parts.append(function(name, kind)(given)[0][: len(x) - start])
    return np.concatenate(parts)


def points(name: str, kind: str) -> tuple[Array, Array]:
    """Pairs of every size; for powers such that results cover their range, denormals too."""
    limits, draw = np.finfo(numpy_type(kind)), np.random.default_rng(11)
    low, high = (math.log10(float(end)) for end in (limits.smallest_subnormal, limits.max))
    signs = draw.choice([-1.0, 1.0], (2, 600))
    any_size = 10.0 ** draw.uniform(low, high - 1e-3, (2, 600))
    close = draw.uniform(0, 2, (2, 600))
    if name != "pow":
        pairs = np.concatenate([signs * any_size, signs * close], axis=1)
    else:
        near_one = 1 + signs[0] * 10.0 ** draw.uniform(-6, -0.1, 600)
        x = np.concatenate([any_size[0], near_one, close[0], -close[0]]).astype(limits.dtype)
        y = draw.uniform(limits.minexp - limits.nmant - 2, limits.maxexp + 1, len(x)) / np.log2(np.abs(x))
        y[-1200:-600] = draw.uniform(-20, 20, 600)
        y[-600:] = draw.integers(-60, 60, 600)
        pairs = np.stack([x.astype(np.float64), y])
    with np.errstate(over="ignore"):
        x, y = pairs.astype(limits.dtype)
    keep = np.isfinite(y) & (x != 0)
    return x[keep], y[keep]


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("name", BOUNDS)
def test_error_is_below_its_bound(name: str, kind: str) -> None:
    x, z = points(name, kind)
    second = iter(z.tolist())
    errors = error_in_ulp(x, apply(name, kind, x, z), lambda first: REFERENCE[name](first, next(second)))
    worst = int(np.argmax(errors))
    print(f"{name} {kind}: {errors[worst]:.2f} ulp at {x[worst]!r}, {z[worst]!r}")
    assert errors[worst] < BOUNDS[name], f"{name}({x[worst]!r}, {z[worst]!r}): {errors[worst]:.2f} ulp"


def c_library(name: str, x: float, z: float) -> float:
    """Python's function, with what it raises as C's value."""
    try:
        return getattr(math, name)(x, z)
    except OverflowError:
        return math.copysign(inf, x) if z % 2 == 1 else inf
    except ValueError:
        # A power of a negative number is no real number; of zero it is infinite.
        if name == "pow" and x == 0:
            return math.copysign(inf, x) if abs(z) % 2 == 1 else inf
        return nan


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_special_values_are_those_of_c(name: str, kind: str) -> None:
    limits = np.finfo(numpy_type(kind))
    least, odd = float(limits.smallest_subnormal), 2.0 ** (limits.nmant + 1) - 1
    positive = [0.0, 1.0, 2.0, 3.0, 0.5, 2.5, inf, float(limits.max), least, odd, odd + 1, 1 + limits.eps]
    values = [*positive, *(-v for v in positive), nan]
    x, z = np.array(list(itertools.product(values, values)), limits.dtype).T.copy()
    found = apply(name, kind, x, z)
    with np.errstate(over="ignore", under="ignore"):
        expected = np.array(
            [c_library(name, *pair) for pair in zip(x.tolist(), z.tolist(), strict=True)]
        ).astype(limits.dtype)
    np.testing.assert_allclose(found, expected, rtol=2 * float(limits.eps), atol=0)
    signs = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found[signs]), np.signbit(expected[signs]))


def test_a_square_is_a_product() -> None:
    x = np.random.default_rng(2).uniform(-9, 9, SIZE).astype(np.float32)
    np.testing.assert_array_max_ulp(apply("pow", "f32", x, np.full_like(x, 2)), x * x, 1)


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_remainders_are_exact(kind: str) -> None:
    """Those of quotients with hundreds of digits, too."""
    x, z = points("fmod", kind)
    # Quotients next to integers.
    with np.errstate(over="ignore"):
        whole = z * np.random.default_rng(1).integers(1, 1 << 20, len(z)).astype(z.dtype)
    x, z = np.concatenate([x, np.nextafter(whole, z.dtype.type(0)), whole]), np.concatenate([z, z, z])
    keep = np.isfinite(x) & (z != 0)
    x, z = x[keep], z[keep]
    expected = [math.fmod(*pair) for pair in zip(x.tolist(), z.tolist(), strict=True)]
    np.testing.assert_array_equal(apply("fmod", kind, x, z), np.array(expected, x.dtype))
