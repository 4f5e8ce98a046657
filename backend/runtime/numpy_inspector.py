"""The functions of `backend/cpu/inspector.ll` and `admit.ll` in NumPy, for a Python that has no LLVM.

Each has their arguments, with arrays of one dimension, writes the same numbers, and takes O(n log n) where
they sort in O(n).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Array: TypeAlias = "NDArray[Any]"


def admit(given: Array, to: Array | None, _count: int) -> int:
    """The largest, taken as unsigned; all of them as 32-bit integers into `to`."""
    if to is not None:
        to[...] = given.astype(to.dtype)
    wide = given.astype(np.int64)
    unsigned = wide.view(np.uint64) if given.itemsize > 4 else wide & 0xFFFFFFFF
    return int(unsigned.max(initial=0))


def same(given: Array, kept: Array, _count: int) -> bool:
    """Whether elements are those that are kept."""
    return bool(np.array_equal(given, kept))


def falls(array: Array, _count: int) -> bool:
    """Whether an element is less than the one before."""
    flat = array.reshape(-1)
    return bool((flat[1:] < flat[:-1]).any())


def long(begins: Array, ends: Array | None, _count: int, length: int) -> bool:
    """Whether a range has so many elements."""
    first, last = _ranges(begins, ends)
    return bool((last.astype(np.int64) - first >= length).any())


def sort(keys: Array, order: Array | None, count: int, below: int, starts: Array, places: Array) -> None:
    """How many keys are less than each, and the places in their order, of equal ones in the order given."""
    given = np.arange(count) if order is None else order
    places[...] = given[np.argsort(keys[given], kind="stable")]
    starts[...] = _before(keys, below + 1)


def cells(numbers: Array, array: Array, _count: int, factor: int) -> None:
    """The numbers of cells, by one more subscript."""
    wide = _wide(numbers)
    wide[...] = wide * factor + array


def starts(numbers: Array, _count: int, made: Array, extent: int) -> None:
    """How many cells are less than each."""
    made[...] = _before(_wide(numbers), extent)


def subscripts(places: Array, _count: int, stride: int, extent: int, made: Array) -> None:
    """One subscript of each place."""
    made[...] = places // stride % extent


def taken(array: Array, places: Array, _count: int, made: Array) -> None:
    """The elements at places."""
    made[...] = array[places]


def owners(starts: Array, ends: int, count: int, made: Array) -> None:
    """The row of each place; the number of rows for none."""
    here = np.arange(count)
    row = np.searchsorted(starts, here, "right") - 1
    made[...] = np.where((row < 0) | (row >= ends - 1), ends - 1, row)


def wholes(begins: Array, ends: Array | None, count: int, length: int, most: int, made: Array) -> None:
    """How many whole parts of ranges are before each, at most so many."""
    first, last = _ranges(begins, ends)
    each = np.maximum(last.astype(np.int64) - first, 0)[: max(count - 1, 0)] // length
    made[:1] = 0
    made[1:] = np.minimum(np.cumsum(each), most)


def rests(begins: Array, before: Array, _count: int, length: int, made: Array) -> None:
    """Where what is left of ranges after their parts begins."""
    made[:-1] = begins[: max(made.size - 1, 0)] + np.diff(before) * length
    made[-1:] = 0


def parts(begins: Array, before: Array, _count: int, length: int, made: Array, _most: int) -> None:
    """Where each part begins; 0 where there are fewer."""
    each = np.diff(before)
    numbers: Array = np.arange(int(each.sum())) - np.repeat(before[:-1], each)
    made[...] = 0
    made[: numbers.size] = np.repeat(begins[: each.size], each) + numbers * length


def ranks(order: Array, _count: int, first: int, asked: int, made: Array) -> None:
    """How many others stand before those that ask."""
    asks = (order >= first) & (order < first + asked)
    made[order[asks] - first] = np.cumsum(~asks)[asks]


def joined(one: Array, _count: int, other: Array, _more: int, made: Array) -> None:
    """The elements of one array, then those of the other."""
    made[...] = np.concatenate([one, other])


def filled(to: Array, _count: int, value: int) -> None:
    """One number, everywhere."""
    _wide(to)[...] = value


def counted(to: Array, count: int, stride: int, extent: int, factor: int) -> None:
    """And multiples of a subscript of each place."""
    _wide(to)[...] += np.arange(count) // stride % extent * factor


def quotients(to: Array, _count: int, of: Array, divisor: int, factor: int) -> None:
    """And multiples of quotients, rounded down."""
    _wide(to)[...] += _wide(of) // divisor * factor


def crossed(to: Array, _count: int, before: int, other: Array, extent: int) -> None:
    """The places of elements by one more subscript; -1 where one is out of range."""
    row, column = _wide(to), _wide(other)
    fits = (0 <= row) & (row < before) & (0 <= column) & (column < extent)
    row[...] = np.where(fits, row * extent + column, -1)


def looked(to: Array, _count: int, places: Array, array: Array, size: int, factor: int) -> None:
    """And multiples of elements, of those that are there."""
    at = _wide(places)
    fits = (0 <= at) & (at < size)
    _wide(to)[fits] += array[at[fits]].astype(np.int64) * factor


def summed(to: Array, _count: int, array: Array, factor: int) -> None:
    """And multiples of the elements."""
    _wide(to)[...] += array.astype(np.int64) * factor


def narrowed(of: Array, _count: int, made: Array) -> None:
    """The same numbers, of 32 bits."""
    made[...] = _wide(of)


def spread(made: Array, count: int, seed: int, starts: Array, _rows: int) -> None:
    """Numbers that look random, below the length of the longest row."""
    with np.errstate(over="ignore"):
        mixed = np.arange(count, dtype=np.uint32) * np.uint32(2654435761)
        mixed += np.uint32(seed * 2135587861 & 0xFFFFFFFF)
        for shift, factor in ((16, 2246822507), (13, 3266489909)):
            mixed = (mixed ^ mixed >> np.uint32(shift)) * np.uint32(factor)
    mixed ^= mixed >> np.uint32(16)
    longest = np.diff(starts.astype(np.uint64)).max(initial=1)
    made[...] = mixed.astype(np.uint64) * longest >> np.uint64(32)


def _wide(array: Array) -> Array:
    """Memory of integers of 64 bits."""
    return array.view(np.int64)


def _ranges(begins: Array, ends: Array | None) -> tuple[Array, Array]:
    return (begins, ends) if ends is not None else (begins[:-1], begins[1:])


def _before(numbers: Array, extent: int) -> Array:
    """How many numbers are less than 0, 1, …."""
    found = np.zeros(extent, np.int64)
    counted = np.bincount(numbers, minlength=extent)
    found[1:] = np.cumsum(counted)[: extent - 1]
    return found
