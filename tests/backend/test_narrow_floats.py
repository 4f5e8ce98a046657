"""Floats of 16 bits: every one of them to wider floats, and what is around them back."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tadc.backend.cpu.jit import load
from tadc.backend.cpu.processors import host
from tadc.backend.functions import narrow_floats
from tadc.backend.functions.scalar_functions import scalar_function
from tadc.backend.ir_text import declarations
from tadc.backend.object_code import object_code
from tadc.passes.numpy_types import numpy_type

Array = NDArray[Any]
LANES = 16
CASES = [
    pytest.param(name, wide, has_half, id=f"{name}-{wide}-{'instructions' if has_half else 'integers'}")
    for name, has_half in (("f16", False), ("f16", True), ("bf16", False))
    for wide in ("f32", "f64")
]


@pytest.fixture(autouse=True)
def silent() -> Iterator[None]:
    """NumPy warns of what is asked for here: numbers that are none, and that are too large."""
    with np.errstate(all="ignore"):
        yield


def every(name: str) -> Array:
    """All patterns of bits, as numbers."""
    return np.arange(1 << 16, dtype=np.uint16).view(numpy_type(name))


def converted(function: str, wide: str, has_half: bool, values: Array, result: Any) -> Array:
    """What a conversion makes of values, 16 at a time."""
    if has_half and not host().has_half:
        pytest.skip("this machine has no such instructions")
    symbol = f"tadc_{function}_v{LANES}{wide}"
    body = scalar_function(symbol, has_half=has_half)
    assert body is not None
    given, made = "i16", {"f32": "float", "f64": "double"}[wide]
    if function.startswith("to"):
        given, made = made, given
    loop = f"""
define void @k(ptr %x, ptr %y, i64 %n) {{
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %from = getelementptr {given}, ptr %x, i64 %i
  %to = getelementptr {made}, ptr %y, i64 %i
  %v = load <{LANES} x {given}>, ptr %from, align 1
  %c = call <{LANES} x {made}> @{symbol}(<{LANES} x {given}> %v)
  store <{LANES} x {made}> %c, ptr %to, align 1
  %next = add i64 %i, {LANES}
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""
    text = "\n".join([*sorted(declarations(body)), body, loop])
    library = load(object_code(text), ["k"])
    padded = np.ascontiguousarray(np.resize(values, -(-len(values) // LANES) * LANES))
    found = np.empty(len(padded), result)
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(library["k"])
    run(padded.ctypes.data, found.ctypes.data, len(padded))
    return found[: len(values)]


def nearest(name: str, values: Array) -> Array:
    """The bits of the nearest numbers, of two the one whose last bit is 0, by looking them up in all."""
    table = every(name)[: 1 << 15]
    table = table[np.isfinite(table)].astype(np.longdouble)
    ends = np.append(table, table[-1] + (table[-1] - table[-2]))  # an infinity stands where it would be next
    size = np.minimum(np.abs(values).astype(np.longdouble), ends[-1])
    above = np.clip(np.searchsorted(ends, size), 1, len(ends) - 1)
    low, high = size - ends[above - 1], ends[above] - size
    bits = np.where((low < high) | ((low == high) & (above % 2 == 1)), above - 1, above)
    return (bits | (np.signbit(values) << 15)).astype(np.uint16)


@pytest.mark.parametrize(("name", "wide", "has_half"), CASES)
def test_every_pattern_becomes_the_same_number(name: str, wide: str, has_half: bool) -> None:
    values = every(name)
    found = converted(f"from{name}", wide, has_half, values.view(np.uint16), numpy_type(wide))
    expected = values.astype(np.float32).astype(numpy_type(wide))
    np.testing.assert_array_equal(found, expected)
    is_number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found[is_number]), np.signbit(expected[is_number]))


@pytest.mark.parametrize(("name", "wide", "has_half"), CASES)
def test_what_is_between_becomes_the_nearest(name: str, wide: str, has_half: bool) -> None:
    """Numbers themselves, ties between two, and the next ones beside each; what overflows."""
    kind = numpy_type(wide)
    finite = every(name)[: 1 << 15]
    finite = finite[np.isfinite(finite)].astype(kind)
    last = finite[-1] + (finite[-1] - finite[-2]) / 2
    ties = np.append((finite[:-1] + finite[1:]) / 2, last).astype(kind)
    around = [np.nextafter(ties, end, dtype=kind) for end in (kind.type(0), kind.type(np.inf))]
    limits = np.finfo(kind)
    ends = np.array([np.inf, limits.max, limits.tiny, limits.smallest_subnormal, 0], kind)
    values = np.concatenate([finite, ties, *around, ends])
    values = np.concatenate([values, -values])
    found = converted(f"to{name}", wide, has_half, values, np.uint16)
    np.testing.assert_array_equal(found, nearest(name, values))
    nan = np.array([np.nan, -np.nan], kind)
    assert np.isnan(converted(f"to{name}", wide, has_half, nan, np.uint16).view(numpy_type(name))).all()


def test_a_nan_stays_one_whatever_its_bits() -> None:
    """One whose upper bits are all 0 would be an infinity if the lower ones were cut off."""
    bits = np.array([0x7F800001, 0x7F80FFFF, 0x7FFFFFFF, 0xFFC00000], np.uint32)
    for name in ("f16", "bf16"):
        found = converted(f"to{name}", "f32", False, bits.view(np.float32), np.uint16)
        assert np.isnan(found.view(numpy_type(name))).all()


def test_names_of_types_may_have_capitals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(narrow_floats.CONVERSIONS, "fromF16E5", ("from", "f16"))
    text = scalar_function("tadc_fromF16E5_f32")
    assert text == (scalar_function("tadc_fromf16_f32") or "").replace("fromf16", "fromF16E5")
