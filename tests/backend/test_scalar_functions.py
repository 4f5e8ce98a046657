from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest

from tadc.backend.cpu.processors import Processor
from tadc.backend.functions.scalar_functions import BINARY, BRANCHING, DEFINED
from tadc.passes.numpy_types import numpy_type
from tests.backend.kernels import Array, apply, function

NAMES = sorted(name for name in DEFINED - set(BINARY) if BRANCHING.get(name, 1) == 1)

inf, nan = math.inf, math.nan


def log2(x: Any) -> Any:
    return mpmath.log(x, 2)


def exp2(x: Any) -> Any:
    return mpmath.power(2, x)


def cbrt(x: Any) -> Any:
    return mpmath.sign(x) * mpmath.cbrt(abs(x))


REFERENCE: dict[str, Any] = {name: getattr(mpmath, name, None) for name in NAMES} | {
    "exp2": exp2,
    "log2": log2,
    "cbrt": cbrt,
    "erfc": lambda x: mpmath.erfc(min(x, 10_000)),
}

#: The error in units in the last place that each function stays below, in both types.
BOUNDS = {
    "exp": 1.1, "exp2": 0.9, "expm1": 1.7, "log": 0.9, "log1p": 0.9, "log2": 0.9, "log10": 0.8,
    "sin": 1.6, "cos": 1.6, "tan": 1.3, "asin": 1.3, "acos": 1.3, "atan": 1.9, "cbrt": 0.8, "erf": 1.8,
    "erfc": 1.9,
    "sinh": 1.8, "cosh": 1.3, "tanh": 1.4, "asinh": 1.3, "acosh": 1.9, "atanh": 1.1,
}  # fmt: skip

#: Where functions are real.
DOMAIN = {
    **{"log": (0.0, inf), "log2": (0.0, inf), "log10": (0.0, inf), "log1p": (-1.0, inf)},
    **{"asin": (-1.0, 1.0), "acos": (-1.0, 1.0), "acosh": (1.0, inf), "atanh": (-1.0, 1.0)},
}
#: … but not at the ends.
POLES = {"log", "log2", "log10", "log1p", "atanh"}


def points(name: str, kind: str) -> Array:
    """Arguments of every size, dense where functions change character."""
    dtype = numpy_type(kind)
    limits = np.finfo(dtype)
    draw = np.random.default_rng(7)
    largest = math.log10(float(limits.max))
    half_pi = np.arange(1, 300) * (math.pi / 2)
    parts = [
        draw.uniform(-1, 1, 200),
        draw.uniform(-1, 1, 200) * 10.0 ** draw.uniform(-12, 0, 200),
        draw.uniform(0.4, 2.1, 400),
        1 + draw.uniform(-1, 1, 100) * 10.0 ** draw.uniform(-7, -1, 100),
        draw.uniform(-12, 12, 300),
        draw.uniform(-100, 100, 200),
        draw.uniform(-1100, 1100, 200),
        draw.uniform(-1, 1, 200) * 10.0 ** draw.uniform(0, largest, 200),
        draw.choice([-1, 1], 200) * (1 - 10.0 ** draw.uniform(-16, 0, 200)),
        1 + 10.0 ** draw.uniform(-16, 0, 200),
        draw.uniform(0, 1, 50) * float(limits.tiny),
        half_pi,
        np.arange(-12, 13) * math.log(2),
        2.0 ** np.arange(-30.0, 60.0),
        [0.0, float(limits.tiny), float(limits.max), -float(limits.max), 0.625, math.sqrt(0.5), math.sqrt(2)],
    ]
    x = np.concatenate(parts).astype(dtype)
    # The neighbours too: thresholds are at round numbers.
    with np.errstate(over="ignore"):
        above, below = (np.nextafter(x[-120:], dtype.type(end)) for end in (inf, -inf))
    x = np.concatenate([x, above, below])
    low, high = DOMAIN.get(name, (-inf, inf))
    inside = (x > low) & (x < high) if name in POLES else (x >= low) & (x <= high)
    return x[np.isfinite(x) & inside]


def error_in_ulp(x: Array, y: Array, reference: Any) -> Array:
    """How far results are from exact ones, in units in the last place of these."""
    limits = np.finfo(y.dtype)
    errors = np.zeros(len(x))
    with mpmath.workprec(200):
        # The spacing of floats at the result, and below the least normal the spacing of denormals.
        for number, (argument, found) in enumerate(zip(x.tolist(), y.tolist(), strict=True)):
            exact = reference(mpmath.mpf(argument))
            if abs(exact) > mpmath.mpf(float(limits.max)) * (1 + mpmath.mpf(2) ** -(limits.nmant + 2)):
                errors[number] = 0 if found == math.copysign(inf, exact) else inf
                continue
            exponent = max(mpmath.frexp(exact)[1] - 1, int(limits.minexp)) if exact else int(limits.minexp)
            errors[number] = abs(mpmath.mpf(found) - exact) / mpmath.mpf(2) ** (exponent - limits.nmant)
    return errors


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("name", NAMES)
def test_error_is_below_its_bound(name: str, kind: str) -> None:
    x = points(name, kind)
    errors = error_in_ulp(x, apply(name, kind, x), REFERENCE[name])
    worst = int(np.argmax(errors))
    print(f"{name} {kind}: {errors[worst]:.2f} ulp at {x[worst]!r}")
    assert errors[worst] < BOUNDS[name], f"{name}({x[worst]!r}) is off by {errors[worst]:.2f} ulp"


def test_no_bound_is_above_two_and_a_half_ulp() -> None:
    assert max(BOUNDS.values()) <= 2.5
    assert set(BOUNDS) == set(NAMES)


SPECIAL: dict[str, list[tuple[float, float]]] = {
    "exp": [(0.0, 1.0), (-0.0, 1.0), (inf, inf), (-inf, 0.0), (1e4, inf), (-1e4, 0.0)],
    "exp2": [(0.0, 1.0), (3.0, 8.0), (-1.0, 0.5), (inf, inf), (-inf, 0.0), (-2e4, 0.0), (2e4, inf)],
    "expm1": [(0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -1.0), (-1e4, -1.0), (1e4, inf)],
    "log": [(1.0, 0.0), (0.0, -inf), (-0.0, -inf), (inf, inf), (-1.0, nan), (-inf, nan)],
    "log2": [(1.0, 0.0), (8.0, 3.0), (2.0**-149, -149.0), (0.0, -inf), (-0.0, -inf), (inf, inf), (-1.0, nan)],
    "log10": [(1.0, 0.0), (1000.0, 3.0), (0.0, -inf), (-0.0, -inf), (inf, inf), (-1.0, nan), (-inf, nan)],
    "log1p": [(0.0, 0.0), (-0.0, -0.0), (-1.0, -inf), (inf, inf), (-2.0, nan), (-inf, nan)],
    "tanh": [(0.0, 0.0), (-0.0, -0.0), (inf, 1.0), (-inf, -1.0), (100.0, 1.0), (-100.0, -1.0)],
    "sinh": [(0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -inf), (1e4, inf), (-1e4, -inf)],
    "cosh": [(0.0, 1.0), (-0.0, 1.0), (inf, inf), (-inf, inf), (1e4, inf), (-1e4, inf)],
    "asinh": [(0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -inf)],
    "acosh": [(1.0, 0.0), (inf, inf), (0.999, nan), (0.0, nan), (-3.0, nan), (-inf, nan)],
    "atanh": [(0.0, 0.0), (-0.0, -0.0), (1.0, inf), (-1.0, -inf), (1.001, nan), (-inf, nan), (inf, nan)],
    "asin": [(0.0, 0.0), (-0.0, -0.0), (1.001, nan), (-1.001, nan), (inf, nan), (-inf, nan)],
    "acos": [(1.0, 0.0), (1.001, nan), (-1.001, nan), (inf, nan), (-inf, nan)],
    "atan": [(0.0, 0.0), (-0.0, -0.0), (inf, math.pi / 2), (-inf, -math.pi / 2)],
    "cbrt": [(0.0, 0.0), (-0.0, -0.0), (1.0, 1.0), (-8.0, -2.0), (27.0, 3.0), (inf, inf), (-inf, -inf)],
    "erf": [(0.0, 0.0), (-0.0, -0.0), (7.0, 1.0), (-7.0, -1.0), (inf, 1.0), (-inf, -1.0)],
    "erfc": [(0.0, 1.0), (-0.0, 1.0), (30.0, 0.0), (-30.0, 2.0), (inf, 0.0), (-inf, 2.0)],
    "tan": [(0.0, 0.0), (-0.0, -0.0), (inf, nan), (-inf, nan)],
    "sin": [(0.0, 0.0), (-0.0, -0.0), (inf, nan), (-inf, nan)],
    "cos": [(0.0, 1.0), (-0.0, 1.0), (inf, nan), (-inf, nan)],
}


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("name", NAMES)
def test_special_values_are_exact(name: str, kind: str) -> None:
    cases = [*SPECIAL[name], (nan, nan)]
    x, expected = (np.array(column, numpy_type(kind)) for column in zip(*cases, strict=True))
    found = apply(name, kind, x)
    np.testing.assert_array_equal(found, expected)
    signs = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found[signs]), np.signbit(expected[signs]))


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize(
    "name", ["expm1", "log1p", "tanh", "sinh", "asinh", "atanh", "sin", "tan", "asin", "atan"]
)
def test_denormals_come_out_unchanged(name: str, kind: str) -> None:
    least = float(np.finfo(numpy_type(kind)).smallest_subnormal)
    x = np.array([least, -least, 5 * least, -12345 * least], numpy_type(kind))
    np.testing.assert_array_equal(apply(name, kind, x), x)


def test_powers_of_ten_have_exact_logarithms() -> None:
    np.testing.assert_array_equal(apply("log10", "f64", 10.0 ** np.arange(23)), np.arange(23.0))


@pytest.mark.parametrize(("kind", "bits"), [("f32", range(-149, 128)), ("f64", range(-1074, 1024))])
def test_powers_of_two_are_exact(kind: str, bits: range) -> None:
    n = np.array(bits, numpy_type(kind))
    powers = np.ldexp(numpy_type(kind).type(1), np.array(bits, np.int32))
    np.testing.assert_array_equal(apply("exp2", kind, n), powers)
    np.testing.assert_array_equal(apply("log2", kind, powers), n)


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_huge_arguments_are_reduced_exactly(name: str) -> None:
    # The last two are the doubles (of all) nearest to a multiple of pi/2, and the largest.
    x = np.array(
        [2.0**30, 2.0**30 + 2.0**-22, 1e15, 1e22, 1e300, 6381956970095103 * 2.0**797, 1.7976931348623157e308]
    )
    x = np.concatenate([x, -x])
    errors = error_in_ulp(x, apply(name, "f64", x), REFERENCE[name])
    assert errors.max() < 1.5


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_one_huge_lane_leaves_the_others_as_they_are(kind: str) -> None:
    x = np.linspace(-50, 50, 4096).astype(numpy_type(kind))
    alone = apply("sin", kind, x)
    mixed = x.copy()
    mixed[::7] = 1e30
    found = apply("sin", kind, mixed)
    keep = np.arange(4096) % 7 != 0
    np.testing.assert_array_equal(found[keep], alone[keep])
    np.testing.assert_allclose(found[~keep], float(mpmath.sin(mpmath.mpf(float(mixed[0])))), rtol=1e-6)


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("name", ["exp", "exp2", "sinh", "cosh"])
def test_with_and_without_an_instruction_that_scales(
    name: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hosts with and without it give the same bits, denormals and overflow too."""
    x = np.concatenate([points(name, kind), np.linspace(-1100, 1100, 4001).astype(numpy_type(kind))])
    found: list[Array] = []
    for answer in (True, False):
        monkeypatch.setattr(Processor, "has_ldexp", answer)
        function.cache_clear()
        found.append(apply(name, kind, x))
    function.cache_clear()
    np.testing.assert_array_equal(found[0], found[1])
