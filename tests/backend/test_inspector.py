"""What looks at index arrays against NumPy, as machine code and where there is no LLVM."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tadc.backend.runtime import inspector
from tadc.backend.runtime.inspector import admitted, falls, is_long, is_same

TYPES = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]


@pytest.fixture(autouse=True, params=["LLVM", "NumPy"])
def functions(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What computes."""
    if request.param == "LLVM":
        return
    monkeypatch.setattr(inspector, "_library", no_llvm)
    monkeypatch.setattr(inspector, "inspector_function", inspector.inspector_function.__wrapped__)


def no_llvm() -> None:
    raise ImportError


def drawn(count: int, below: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(0, below, count, np.int32) if count else np.zeros(0, np.int32)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("count", [0, 1, 5, 77, 1000])
def test_elements_become_32_bits_and_the_largest_is_found(dtype: str, count: int) -> None:
    given = np.random.default_rng(count).integers(0, 120, count).astype(dtype)
    made, largest = admitted(given)
    assert made.dtype == np.int32
    assert (made is given) == (dtype == "int32")
    np.testing.assert_array_equal(made, given)
    assert largest == max(given, default=-1)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("place", [0, 3, 40])
def test_what_is_no_index_is_larger_than_any(dtype: str, place: int) -> None:
    given = np.ones(41, dtype)
    given[place] = np.iinfo(dtype).min or np.iinfo(dtype).max
    _, largest = admitted(given)
    small = np.iinfo(dtype).min == 0 and np.iinfo(dtype).bits < 32
    assert largest == np.iinfo(dtype).max if small else largest >= 2**31


def test_a_64_bit_integer_does_not_wrap_around() -> None:
    assert admitted(np.array([1, 2**32 + 1, 3]))[1] == 2**32 + 1


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8"])
@pytest.mark.parametrize("count", [1, 70_001])
def test_one_element_that_differs_is_seen(dtype: str, count: int) -> None:
    kept = drawn(count, 200)
    given = kept.astype(dtype)
    assert is_same(given, kept)
    for place in {0, count // 2, count - 1}:
        other = given.copy()
        other[place] += 1
        assert not is_same(other, kept)


@pytest.mark.parametrize("values", [[], [3], [1, 1, 2], [0, 5, 5, 9] * 1, range(100)])
def test_what_increases_does_not_fall(values: list[int]) -> None:
    array = np.array(values, np.int32)
    assert not falls(array)
    if len(array) > 1 and array[0] != array[-1]:
        assert falls(np.roll(array, 1))


@pytest.mark.parametrize("values", [[0, 3, 3, 10, 21], [0, 0], [4], [0, 7, 7, 7, 9, 40]])
def test_ranges_that_are_long(values: list[int]) -> None:
    begins, ends = np.array(values, np.int32), np.array(values[1:], np.int32)
    longest = int(np.diff(values).max(initial=0))
    assert not is_long(begins, None, longest + 1)
    if longest:
        assert is_long(begins, None, longest)
        assert is_long(begins[:-1].copy(), ends, longest)
