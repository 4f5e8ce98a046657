"""The inspector against NumPy, as machine code and where there is no LLVM."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tadc.backend.runtime import inspector
from tadc.backend.runtime.inspector import (
    admitted,
    falls,
    is_long,
    is_same,
    joint_starts,
    owners,
    parts,
    ranks,
    rests,
    sorted_places,
    spread,
    subscripts,
    taken,
    wholes,
)

TYPES = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
SIZES = [(0, 1), (0, 0), (1, 1), (7, 3), (64, 100), (1000, 17), (5000, 4000)]


@pytest.fixture(autouse=True, params=["LLVM", "NumPy"])
def functions(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What computes."""
    if request.param == "LLVM":
        return
    monkeypatch.setattr(inspector, "_library", no_llvm)
    monkeypatch.setattr(inspector, "_function", inspector._function.__wrapped__)


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


@pytest.mark.parametrize("values", [[0, 3, 3, 10, 21], [0, 0], [4], [0, 7, 7, 7, 9, 40]])
def test_parts_of_ranges(values: list[int]) -> None:
    """Ranges are cut into parts of 3 as a loop cuts them; what is left of each begins behind its parts."""
    begins, length = np.array(values, np.int32), 3
    places = [list(range(a, b - length + 1, length)) for a, b in pairwise(values)]
    before = wholes(begins, None, length, 100)
    np.testing.assert_array_equal(before, np.cumsum([0, *map(len, places)]))
    flat = [place for each in places for place in each]
    np.testing.assert_array_equal(parts(begins, before, length, len(flat) + 2), [*flat, 0, 0])
    left = [a + length * len(each) for a, each in zip(values, places, strict=False)]
    np.testing.assert_array_equal(rests(begins, before, length), [*left, 0])
    np.testing.assert_array_equal(wholes(begins, None, length, 2), np.minimum(before, 2))
    ends = begins[1:].copy()
    np.testing.assert_array_equal(wholes(begins[:-1].copy(), ends, length, 100), before)
    longest = int(np.diff(values).max(initial=0))
    assert not is_long(begins, None, longest + 1)
    if longest:
        assert is_long(begins, None, longest)
        assert is_long(begins[:-1].copy(), ends, longest)


@pytest.mark.parametrize("after_equal", [False, True])
def test_how_many_tuples_are_less_than_others(after_equal: bool) -> None:
    arrays, asked = [drawn(60, 5), drawn(60, 4, 1)], [drawn(23, 5, 2), drawn(23, 4, 3)]
    expected = np.searchsorted(
        np.sort(arrays[0] * 4 + arrays[1]), asked[0] * 4 + asked[1], "right" if after_equal else "left"
    )
    np.testing.assert_array_equal(ranks(arrays, asked, [5, 4], after_equal=after_equal), expected)


def test_numbers_that_look_random_are_the_same_everywhere() -> None:
    """Bits are mixed as at the end of MurmurHash3, in exact integers here."""
    expected: list[int] = []
    for n in range(50):
        mixed = (n * 2654435761 + 3 * 2135587861) % 2**32
        for shift, factor in ((16, 2246822507), (13, 3266489909)):
            mixed = (mixed ^ mixed >> shift) * factor % 2**32
        expected.append((mixed ^ mixed >> 16) * 9 >> 32)
    starts = np.array([0, 2, 11, 11, 15], np.int32)
    np.testing.assert_array_equal(spread(50, 3, starts), expected)
