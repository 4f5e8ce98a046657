"""The inspector against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tadc.backend.runtime.inspector import (
    admitted,
    falls,
    is_same,
    joint_starts,
    owners,
    sorted_places,
    subscripts,
    taken,
)

TYPES = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
SIZES = [(0, 1), (0, 0), (1, 1), (7, 3), (64, 100), (1000, 17), (5000, 4000)]


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


@pytest.mark.parametrize(("count", "below"), SIZES)
def test_sorting_is_stable(count: int, below: int) -> None:
    keys = drawn(count, below)
    starts, places = sorted_places([keys], [below])
    np.testing.assert_array_equal(places, np.argsort(keys, kind="stable"))
    np.testing.assert_array_equal(starts, np.searchsorted(np.sort(keys), np.arange(below + 1)))


@pytest.mark.parametrize(("count", "below"), SIZES)
def test_tuples_are_sorted_by_the_first_array_then_by_the_next(count: int, below: int) -> None:
    arrays, bounds = [drawn(count, below), drawn(count, 5, 1), drawn(count, 3, 2)], [below, 5, 3]
    starts, places = sorted_places(arrays, bounds)
    np.testing.assert_array_equal(places, np.lexsort(arrays[::-1]))
    np.testing.assert_array_equal(starts, np.searchsorted(np.sort(arrays[0]), np.arange(below + 1)))


@pytest.mark.parametrize(("count", "below"), SIZES)
def test_how_many_tuples_are_less(count: int, below: int) -> None:
    row, col = drawn(count, below), drawn(count, 4, 1)
    found = joint_starts([row, col], [below, 4])
    cells = np.sort(row * 5 + col)
    expected = np.searchsorted(cells, np.arange(below * 5))
    np.testing.assert_array_equal(found, expected.reshape(below, 5))


@pytest.mark.parametrize("shape", [(6,), (3, 4), (2, 3, 5), (0, 3), (4, 1, 2)])
def test_subscripts_of_places(shape: tuple[int, ...]) -> None:
    places = np.random.default_rng(1).permutation(int(np.prod(shape))).astype(np.int32)
    for axis, expected in enumerate(np.unravel_index(places, shape)):
        np.testing.assert_array_equal(subscripts(places, shape, axis), expected)


def test_elements_at_places() -> None:
    array, places = drawn(50, 9), drawn(70, 50, 3)
    np.testing.assert_array_equal(taken(array, places), array[places])


@pytest.mark.parametrize("starts", [[0], [3], [0, 0, 4, 4, 9], [2, 2, 5], [2, 2, 2]])
def test_owners_of_elements(starts: list[int]) -> None:
    count, rows = 11, len(starts) - 1
    expected = np.searchsorted(starts, np.arange(count), "right") - 1
    expected[(expected < 0) | (np.arange(count) >= starts[-1])] = rows
    np.testing.assert_array_equal(owners(np.array(starts, np.int32), count), expected)
